//! Charts as SVG, written by hand: no dependency, no clock, no randomness, the same bytes every time.
//!
//! - [`Plot`]: curves, points with error bars, or bars over two axes;
//! - [`HeatMap`]: a matrix with its numbers in the cells;
//! - [`Intervals`]: estimates with intervals, one row for each thing that is estimated;
//! - [`Figure`]: panels in a grid, as one SVG or as HTML that wraps on a narrow screen;
//! - `png`: the same drawing in pixels, with the cargo feature `png`.
//!
//! Colours are those of Okabe and Ito, which colour-blind readers can tell apart; dash patterns and
//! markers tell the series apart in black-and-white print. The drawing is dark on light by default and
//! follows `prefers-color-scheme: dark` where it stands inside an HTML page. No text is smaller than
//! 12 px at the nominal size, and a panel is 380 px wide, so that one column suits a phone.
//!
//! ```
//! use mpu_report::chart::{Figure, Mark, Plot, Point, Series};
//!
//! let points = (1..=5).map(|epoch| Point::new(f64::from(epoch), 80.0 + f64::from(epoch)));
//! let plot = Plot::new("mnist, k = 4", "epoch", "accuracy (%)")
//!     .with(Series::new("test", Mark::Line, points));
//! let svg = Figure::new("Accuracy").columns(1).with(plot).to_svg();
//! assert!(svg.starts_with("<svg") && svg.contains("accuracy (%)"));
//! ```

mod figure;
mod frame;
mod heat_map;
mod intervals;
mod marks;
mod markup;
mod palette;
mod plot;
#[cfg(feature = "png")]
mod raster;
mod scale;
mod series;
#[cfg(test)]
mod tests;

pub use figure::{Figure, Panel};
pub use heat_map::{HeatMap, Shading};
pub use intervals::{Estimate, IntervalRow, Intervals};
pub use palette::Style;
pub use plot::Plot;
#[cfg(feature = "png")]
pub use raster::{PngError, png};
pub use series::{Mark, Point, Series};
