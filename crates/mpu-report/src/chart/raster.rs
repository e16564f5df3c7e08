//! A drawing in pixels.

use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// DejaVu Sans, cut down to what charts use; its licence lies beside it.
const FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf");

/// The longest side of a picture that is drawn.
const LARGEST: f32 = 20_000.0;

/// Why a drawing could not be turned into pixels.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The text is not an SVG document.
    #[error("not an SVG document: {0}")]
    Svg(String),

    /// The picture would have no pixels, or too many.
    #[error("a picture of {width} × {height} pixels: either side must lie between 1 and {LARGEST}")]
    Size {
        /// The width asked for.
        width: f32,
        /// The height asked for.
        height: f32,
    },

    /// The pixels could not be written as PNG.
    #[error("writing PNG: {0}")]
    Encode(String),
}

/// Draws SVG as PNG, `scale` pixels for each unit of its view box, with an embedded font: no font of the
/// machine is used, so that the picture is the same everywhere.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let family = "DejaVu Sans";
    fonts.set_sans_serif_family(family);
    let options = usvg::Options {
        font_family: family.to_owned(),
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    };
    // The dark colours are for screens, and the reader of styles would warn of them.
    let light = without_dark(svg);
    let tree = usvg::Tree::from_str(&light, &options).map_err(|e| PngError::Svg(e.to_string()))?;
    let (width, height) = (
        (tree.size().width() * scale).ceil(),
        (tree.size().height() * scale).ceil(),
    );
    let fits = |side: f32| (1.0..=LARGEST).contains(&side);
    let pixmap = (fits(width) && fits(height))
        .then(|| tiny_skia::Pixmap::new(width as u32, height as u32))
        .flatten();
    let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap
        .encode_png()
        .map_err(|e| PngError::Encode(e.to_string()))
}

/// A drawing without the rules that stand in `@media` blocks.
fn without_dark(svg: &str) -> String {
    let mut light = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, block)) = rest.split_once("@media") {
        light.push_str(before);
        let mut depth = 0;
        let end = block.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    return (depth == 0).then_some(at + 1);
                }
                _ => {}
            }
            None
        });
        rest = end.map_or("", |end| &block[end..]);
    }
    light + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_blocks_are_cut_out_whole() {
        let css = "a{x:1}@media (dark) { a{x:2} b{y:3} }b{y:4}@media m{}c";
        assert_eq!(without_dark(css), "a{x:1}b{y:4}c");
    }
}
