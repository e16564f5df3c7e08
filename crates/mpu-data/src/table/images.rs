//! Images: folders of PNG and JPEG files, decoded within limits to rows of 0 to 255.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageDecoder, ImageReader};
use rayon::prelude::*;

use super::encode::{EncodedChunk, Truths};
use super::error::{Result, TableError};
use super::input::TableInput;
use super::labels::canonical;
use super::limits::Limits;
use super::options::ImageSize;
use super::schema::FeatureSchema;
use crate::{Features, Shape};

/// How many numbers a chunk has, about.
const CHUNK_ITEMS: usize = 1 << 20;

/// The longest image file.
const FILE_BYTES: u64 = 256 << 20;

/// An image of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageFile {
    pub(super) path: PathBuf,
    /// The path below the folder, with `/`.
    pub(super) id: String,
    /// The name of the folder it is in; none for the uppermost.
    pub(super) folder: Option<String>,
}

/// The images of a folder and of the folders in it, sorted by path, and how many other files
/// there are. Hidden files do not count.
pub(super) fn list(root: &Path) -> Result<(Vec<ImageFile>, u64)> {
    let mut images = Vec::new();
    let mut skipped = 0;
    let (files, folders) = entries(root)?;
    let mut add = |path: PathBuf, folder: Option<&str>, name: &str| {
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_ascii_lowercase());
        if matches!(extension.as_deref(), Some("png" | "jpg" | "jpeg")) {
            images.push(ImageFile {
                path,
                id: folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}")),
                folder: folder.map(str::to_owned),
            });
        } else {
            skipped += 1;
        }
    };
    for (name, path) in files {
        add(path, None, &name);
    }
    for (folder, path) in folders {
        let (files, _) = entries(&path)?;
        for (name, path) in files {
            add(path, Some(&folder), &name);
        }
    }
    Ok((images, skipped))
}

type Entries = Vec<(String, PathBuf)>;

/// The files and the folders of a folder.
fn entries(folder: &Path) -> Result<(Entries, Entries)> {
    let io = |source| TableError::Io {
        file: folder.to_path_buf(),
        doing: "list",
        source,
    };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|name| !name.starts_with('.')) else {
            continue;
        };
        if path.is_dir() {
            folders.push((name, path));
        } else {
            files.push((name, path));
        }
    }
    files.sort();
    folders.sort();
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
    let decoder = reader(path, bytes, limits)?
        .into_decoder()
        .map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > limits.image_pixels || pixels == 0 {
        return Err(TableError::TooBig {
            file: path.to_path_buf(),
            what: format!("an image of {width}x{height} pixels"),
            bytes: pixels.saturating_mul(3),
            limit: limits.image_pixels.saturating_mul(3),
            name: "image-pixels",
        });
    }
    Ok(ImageInfo {
        size: ImageSize { width, height },
        grey: !decoder.color_type().has_color(),
    })
}

/// Decodes an image into `row`, channel by channel, scaled if a size is given.
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
        return Err(TableError::ImageSize {
            file: path.to_path_buf(),
            found: info.size,
            expected,
        });
    }
    let mut image = reader(path, bytes, limits)?
        .decode()
        .map_err(|error| image_error(path, &error))?;
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
        .map_err(|source| TableError::Io {
            file: path.to_path_buf(),
            doing: "read",
            source,
        })?;
    let mut allowed = image::Limits::default();
    allowed.max_alloc = Some(limits.image_pixels.saturating_mul(16));
    reader.limits(allowed);
    Ok(reader)
}

fn image_error(path: &Path, error: &image::ImageError) -> TableError {
    TableError::Damaged {
        file: path.to_path_buf(),
        format: "PNG or JPEG",
        what: error.to_string().trim_end_matches('.').to_owned(),
    }
}

/// The bytes of an image file.
pub(super) fn load(path: &Path) -> Result<Vec<u8>> {
    let io = |source| TableError::Io {
        file: path.to_path_buf(),
        doing: "read",
        source,
    };
    let len = std::fs::metadata(path).map_err(io)?.len();
    if len > FILE_BYTES {
        return Err(TableError::TooBig {
            file: path.to_path_buf(),
            what: "an image file".to_owned(),
            bytes: len,
            limit: FILE_BYTES,
            name: "image-pixels",
        });
    }
    std::fs::read(path).map_err(io)
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
        .map(|(image, row)| decode(&image.path, &load(&image.path)?, limits, shape, scaled, row))
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
        let (images, _) = list(input.path())?;
        if truths == Truths::Keep
            && let Some(image) = images.iter().find(|image| image.folder.is_none())
        {
            return Err(TableError::Options {
                file: image.path.clone(),
                what: "a held-out image must be in a folder named after its class".to_owned(),
            });
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
            features: Features::new(values, self.shape).map_err(|error| TableError::Schema {
                what: error.to_string(),
            })?,
            ids: Some(images.iter().map(|image| image.id.clone()).collect()),
            truths,
        };
        self.next = end;
        Ok(Some(chunk))
    }
}
