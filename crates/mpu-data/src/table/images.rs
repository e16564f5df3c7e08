//! Images: folders of PNG and JPEG files, decoded within limits to rows of 0 to 255.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader};
use rayon::prelude::*;

use super::encode::{EncodedChunk, Truths};
use super::error::{Result, TableError};
use super::input::{TableInput, open_plain};
use super::labels::canonical;
use super::limits::Limits;
use super::options::ImageSize;
use super::schema::FeatureSchema;
use crate::{Features, Shape};

/// How many numbers a chunk has, about.
const CHUNK_ITEMS: usize = 1 << 20;

/// What an image file may always have.
const FILE_BYTES: u64 = 256 << 20;

/// An image of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageFile {
    pub(super) path: PathBuf,
    /// The path below the folder, with `/`.
    pub(super) id: String,
    /// The name of the uppermost folder it is in; none for an image beside the folders.
    pub(super) folder: Option<String>,
}

impl ImageFile {
    /// The folder it lies in, if that is within another one.
    pub(super) fn nested(&self) -> Option<&str> {
        let (folder, _) = self.id.rsplit_once('/')?;
        folder.contains('/').then_some(folder)
    }
}

/// The files of a folder of images and of all folders in it. Hidden files do not count.
pub(super) struct Listing {
    /// The images, sorted by path.
    pub(super) images: Vec<ImageFile>,
    /// How many other files there are.
    pub(super) skipped: u64,
    /// The uppermost folders without an image.
    pub(super) empty: Vec<String>,
}

/// Lists a folder.
pub(super) fn list(root: &Path) -> Result<Listing> {
    let mut images = Vec::new();
    let mut skipped = 0;
    let mut uppermost = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(String::new(), root.to_path_buf())];
    while let Some((prefix, path)) = open.pop() {
        let refused = |what: &str| TableError::options(&path, what);
        let true_path = path
            .canonicalize()
            .map_err(|source| TableError::io(&path, "list", source))?;
        if !seen.insert(true_path) {
            return Err(refused(
                "this folder is read a second time, through a link\n\
                 hint: remove the link",
            ));
        }
        if prefix.matches('/').count() > MAX_DEPTH {
            return Err(refused("folders within folders within folders: too deep"));
        }
        let (files, folders) = entries(&path)?;
        for (name, path) in files {
            let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
            if matches!(extension.as_deref(), Some("png" | "jpg" | "jpeg")) {
                let folder = prefix.split_once('/').map(|(first, _)| first.to_owned());
                images.push(ImageFile {
                    path,
                    id: format!("{prefix}{name}"),
                    folder,
                });
            } else {
                skipped += 1;
            }
        }
        if prefix.is_empty() {
            uppermost.extend(folders.iter().map(|(name, _)| name.clone()));
        }
        open.extend(
            folders
                .into_iter()
                .map(|(name, path)| (format!("{prefix}{name}/"), path)),
        );
    }
    // Images beside the folders first, then folder by folder.
    images.sort_by(|a, b| (&a.folder, &a.id).cmp(&(&b.folder, &b.id)));
    for folder in images.iter().filter_map(|image| image.folder.as_ref()) {
        uppermost.remove(folder);
    }
    Ok(Listing {
        images,
        skipped,
        empty: uppermost.into_iter().collect(),
    })
}

/// How deep folders may lie in one another.
const MAX_DEPTH: usize = 32;

type Entries = Vec<(String, PathBuf)>;

/// The files and the folders of a folder.
fn entries(folder: &Path) -> Result<(Entries, Entries)> {
    let io = |source| TableError::io(folder, "list", source);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        // Names become ids and classes: two that differ must stay different.
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(TableError::options(
                &path,
                "the name of this file is not UTF-8 text\nhint: rename it",
            ));
        };
        if name.starts_with('.') {
            continue;
        }
        let name = name.to_owned();
        if path.is_dir() {
            folders.push((name, path));
        } else {
            files.push((name, path));
        }
    }
    Ok((files, folders))
}

/// What an image file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ImageInfo {
    pub(super) size: ImageSize,
    pub(super) grey: bool,
}

/// Reads the size and colours of an image without decoding it.
pub(super) fn probe(path: &Path, bytes: &[u8], limits: &Limits) -> Result<ImageInfo> {
    let damaged = |error: image::ImageError| image_error(path, &error);
    let mut decoder = reader(path, bytes, limits)?
        .into_decoder()
        .map_err(damaged)?;
    let (mut width, mut height) = decoder.dimensions();
    if is_turned(orientation(&mut decoder)) {
        (width, height) = (height, width);
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > limits.image_pixels || pixels == 0 {
        return Err(TableError::too_big(
            path,
            format_args!("an image of {width}x{height} pixels"),
            pixels.saturating_mul(3),
            limits.image_pixels.saturating_mul(3),
            "image-pixels",
        ));
    }
    Ok(ImageInfo {
        size: ImageSize { width, height },
        grey: !decoder.color_type().has_color(),
    })
}

/// How a camera was held, as its image says; upright if it does not say.
fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    decoder.orientation().unwrap_or(Orientation::NoTransforms)
}

/// Whether width and height change places.
fn is_turned(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(
        orientation,
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH
    )
}

/// Decodes an image into `row`, upright, channel by channel, scaled if a size is given.
pub(super) fn decode(
    path: &Path,
    bytes: &[u8],
    limits: &Limits,
    shape: Shape,
    scaled: Option<ImageSize>,
    row: &mut [f32],
) -> Result<()> {
    let Shape::Image {
        channels,
        height,
        width,
    } = shape
    else {
        return Ok(());
    };
    let info = probe(path, bytes, limits)?;
    let expected = ImageSize {
        width: width as u32,
        height: height as u32,
    };
    if scaled.is_none() && info.size != expected {
        return Err(TableError::image_size(path, info.size, expected));
    }
    let damaged = |error: image::ImageError| image_error(path, &error);
    let mut decoder = reader(path, bytes, limits)?
        .into_decoder()
        .map_err(damaged)?;
    let orientation = orientation(&mut decoder);
    let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    image.apply_orientation(orientation);
    if info.size != expected {
        let filter = image::imageops::FilterType::Triangle;
        image = image.resize_exact(expected.width, expected.height, filter);
    }
    write_row(&image, channels, row);
    Ok(())
}

fn write_row(image: &DynamicImage, channels: usize, row: &mut [f32]) {
    if channels == 1 {
        for (value, pixel) in row.iter_mut().zip(image.to_luma8().into_raw()) {
            *value = f32::from(pixel);
        }
        return;
    }
    let pixels = image.to_rgb8().into_raw();
    let n_pixels = row.len() / 3;
    for (i, pixel) in pixels.chunks_exact(3).enumerate().take(n_pixels) {
        for (channel, value) in pixel.iter().enumerate() {
            row[channel * n_pixels + i] = f32::from(*value);
        }
    }
}

fn reader<'b>(
    path: &Path,
    bytes: &'b [u8],
    limits: &Limits,
) -> Result<ImageReader<Cursor<&'b [u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|source| TableError::io(path, "read", source))?;
    let mut allowed = image::Limits::default();
    allowed.max_alloc = Some(limits.image_pixels.saturating_mul(16));
    reader.limits(allowed);
    Ok(reader)
}

fn image_error(path: &Path, error: &image::ImageError) -> TableError {
    let what = error.to_string();
    TableError::damaged(path, "PNG or JPEG", what.trim_end_matches('.'))
}

/// The bytes of an image file.
pub(super) fn load(path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    // No large image needs more than four bytes for a pixel.
    let limit = limits.image_pixels.saturating_mul(4).max(FILE_BYTES);
    let io = |source| TableError::io(path, "read", source);
    let too_big = |bytes| TableError::too_big(path, "an image file", bytes, limit, "image-pixels");
    let mut bytes = Vec::new();
    let file = open_plain(path)?;
    let len = file.metadata().map_err(io)?.len();
    if len > limit {
        return Err(too_big(len));
    }
    // Some files say that they are empty and are not.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(too_big(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Decodes images in parallel into rows of one matrix.
pub(super) fn fill(
    images: &[ImageFile],
    shape: Shape,
    scaled: Option<ImageSize>,
    limits: &Limits,
    matrix: &mut [f32],
) -> Result<()> {
    let results: Vec<Result<()>> = images
        .par_iter()
        .zip(matrix.par_chunks_exact_mut(shape.len()))
        .map(|(image, row)| {
            decode(
                &image.path,
                &load(&image.path, limits)?,
                limits,
                shape,
                scaled,
                row,
            )
        })
        .collect();
    results.into_iter().collect()
}

/// The images of a later folder, chunk by chunk.
pub(super) struct ImageRows {
    images: Vec<ImageFile>,
    next: usize,
    shape: Shape,
    scaled: Option<ImageSize>,
    limits: Limits,
    truths: Truths,
}

impl ImageRows {
    pub(super) fn open(
        schema: &FeatureSchema,
        input: &TableInput,
        limits: Limits,
        truths: Truths,
    ) -> Result<Self> {
        let images = list(input.path())?.images;
        if truths == Truths::Keep
            && let Some(image) = images.iter().find(|image| image.folder.is_none())
        {
            return Err(TableError::options(
                &image.path,
                "a held-out image must be in a folder named after its class",
            ));
        }
        Ok(Self {
            images,
            next: 0,
            shape: schema.shape(),
            scaled: schema.image_size,
            limits,
            truths,
        })
    }

    pub(super) fn next_chunk(&mut self, first_row: u64) -> Result<Option<EncodedChunk>> {
        let n_rows = (CHUNK_ITEMS / self.shape.len().max(1)).clamp(1, 1024);
        let end = (self.next + n_rows).min(self.images.len());
        let images = &self.images[self.next..end];
        if images.is_empty() {
            return Ok(None);
        }
        let mut values = vec![0.0; images.len() * self.shape.len()];
        fill(images, self.shape, self.scaled, &self.limits, &mut values)?;
        let truths = match self.truths {
            Truths::Keep => images
                .iter()
                .filter_map(|i| i.folder.as_deref().map(canonical))
                .collect(),
            Truths::Pass => Vec::new(),
        };
        let chunk = EncodedChunk {
            first_row,
            features: Features::new(values, self.shape)
                .map_err(|error| TableError::Schema(error.to_string()))?,
            ids: Some(images.iter().map(|image| image.id.clone()).collect()),
            truths,
        };
        self.next = end;
        Ok(Some(chunk))
    }
}
