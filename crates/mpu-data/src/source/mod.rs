//! Benchmark data: where it comes from, how it is read, whether it is what was published.
//!
//! | module | what it does |
//! |---|---|
//! | [`catalog`] | the nine datasets: [`DatasetId`] and what is known of each ([`Card`]) |
//! | [`resolve`] | where files are looked for ([`Locations`]), in which order, and what is here |
//! | [`load`](mod@load) | from files to checked rows: [`load()`] |
//! | [`verify`](mod@verify) | whether files are the published ones: [`verify()`] |
//! | [`acquire`] | downloads of whole datasets: [`fetch()`](acquire::fetch) |
//! | `fetch`, `hub` | downloads of single files: plain addresses and the Hugging Face Hub (feature `fetch`) |
//! | [`progress`] | how downloads go, told to whoever draws it |
//! | [`idx`], [`text`], [`mat`], [`cifar`], `hub_parquet` | the readers; each takes bytes and a [`Limit`] |
//! | [`unpack`] | gzip and `.Z`, up to a limit |
//! | [`waveform`] | Breiman's generator |
//! | [`content`] | a digest of rows that does not depend on their file format |
//!
//! ```
//! use mpu_data::source::{DatasetId, LoadOptions, Locations, Quiet, load};
//!
//! // Nothing is here and nothing may be downloaded: waveform1 is generated.
//! let locations = Locations::offline_in(std::path::Path::new("/nowhere"));
//! let data = load(DatasetId::Waveform1, &locations, &LoadOptions::default(), &Quiet)?;
//! assert_eq!((data.train.n_rows(), data.test.n_rows()), (4000, 1000));
//! # Ok::<(), mpu_data::Error>(())
//! ```

pub mod acquire;
#[cfg(feature = "fetch")]
mod archive;
mod cards;
pub mod catalog;
pub mod cifar;
pub mod content;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "fetch")]
mod http;
#[cfg(feature = "fetch")]
pub mod hub;
#[cfg(feature = "parquet")]
pub mod hub_parquet;
pub mod idx;
pub mod load;
#[cfg(feature = "fetch")]
mod lock;
pub mod mat;
#[cfg(test)]
pub(crate) mod mutations;
#[cfg(feature = "fetch")]
mod part;
pub mod progress;
pub mod resolve;
#[cfg(all(test, feature = "fetch"))]
mod server;
pub mod text;
pub mod unpack;
pub mod verify;
pub mod waveform;

pub use acquire::fetch;
pub use catalog::{Card, DatasetId, FileCard, Part, PartCard};
pub use load::{LoadOptions, load};
pub use progress::{Progress, Quiet};
pub use resolve::{HubSettings, Located, Locations, Network, Status, locate, status};
pub use unpack::Limit;
pub use verify::{FileCheck, FileReport, PartReport, Verification, verify};
