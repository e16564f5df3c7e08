//! Parquet with embedded PNG images: the form in which the Hub keeps the image benchmarks.
//!
//! Two columns are read: `image.bytes`, one PNG a row, and `label`. Other columns are not touched.

use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use png::{ColorType, Decoder, Limits, Transformations};

use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::Limit;

/// Rows decoded at a time.
const BATCH: usize = 256;

/// Reads images of the given shape with labels below `n_classes`. Grey images have one channel,
/// colour images three; a palette is resolved, transparency is not allowed.
pub fn read(
    name: &str,
    bytes: &[u8],
    shape: Shape,
    n_classes: usize,
    limit: Limit,
) -> Result<Rows> {
    limit.check(name, "the file", bytes.len() as u64)?;
    // The library checks some of what a file claims by panicking.
    let result = std::panic::catch_unwind(|| read_unguarded(name, bytes, shape, n_classes, limit));
    result.unwrap_or_else(|_| {
        Err(Error::bytes(
            name,
            0,
            "broken Parquet: its parts contradict one another",
        ))
    })
}

fn read_unguarded(
    name: &str,
    bytes: &[u8],
    shape: Shape,
    n_classes: usize,
    limit: Limit,
) -> Result<Rows> {
    let broken =
        |error: &dyn std::fmt::Display| Error::bytes(name, 0, format!("broken Parquet: {error}"));
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(|e| broken(&e))?;
    let metadata = file.metadata().file_metadata();
    let n_rows = u64::try_from(metadata.num_rows()).map_err(|e| broken(&e))?;
    let claimed = n_rows.saturating_mul(shape.len() as u64);
    limit.check(name, "the decoded images", claimed)?;
    let column = |wanted: &str, kind: Type| {
        metadata
            .schema_descr()
            .columns()
            .iter()
            .position(|column| column.path().string() == wanted && column.physical_type() == kind)
            .ok_or_else(|| Error::bytes(name, 0, format!("no column {wanted} of type {kind}")))
    };
    let image_column = column("image.bytes", Type::BYTE_ARRAY)?;
    let label_column = column("label", Type::INT64)?;

    for group in file.metadata().row_groups() {
        for column in [image_column, label_column] {
            let chunk = group
                .columns()
                .get(column)
                .ok_or_else(|| broken(&"a column is missing"))?;
            let start = chunk
                .dictionary_page_offset()
                .unwrap_or(chunk.data_page_offset());
            if start < 0 || chunk.compressed_size() < 0 {
                return Err(broken(&"a column before the start of the file"));
            }
        }
    }
    let mut rows = Builder {
        name,
        shape,
        n_classes,
        limit,
        values: Vec::new(),
        labels: Vec::new(),
    };
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(|e| broken(&e))?;
        rows.push_group(&*group, image_column, label_column)?;
    }
    if rows.labels.len() as u64 != n_rows {
        let problem = format!(
            "{n_rows} rows are announced and {} are there",
            rows.labels.len()
        );
        return Err(Error::bytes(name, 0, problem));
    }
    Rows::new(Features::new(rows.values, shape)?, rows.labels)
}

struct Builder<'a> {
    name: &'a str,
    shape: Shape,
    n_classes: usize,
    limit: Limit,
    values: Vec<f32>,
    labels: Vec<usize>,
}

impl Builder<'_> {
    fn push_group(
        &mut self,
        group: &dyn RowGroupReader,
        image_column: usize,
        label_column: usize,
    ) -> Result<()> {
        let images = group
            .get_column_reader(image_column)
            .map_err(|e| self.broken(&e))?;
        let labels = group
            .get_column_reader(label_column)
            .map_err(|e| self.broken(&e))?;
        let (
            ColumnReader::ByteArrayColumnReader(mut images),
            ColumnReader::Int64ColumnReader(mut labels),
        ) = (images, labels)
        else {
            return Err(self.broken(&"columns of unexpected types"));
        };
        let mut image_batch: Vec<ByteArray> = Vec::new();
        let mut label_batch: Vec<i64> = Vec::new();
        loop {
            image_batch.clear();
            label_batch.clear();
            let n_images = self.batch(&mut images, &mut image_batch)?;
            let n_labels = self.batch(&mut labels, &mut label_batch)?;
            if n_images != n_labels {
                return Err(self.broken(&format!(
                    "{n_images} images and {n_labels} labels in a batch"
                )));
            }
            if n_images == 0 {
                return Ok(());
            }
            for (image, &label) in image_batch.iter().zip(&label_batch) {
                self.push(image.data(), label)?;
            }
        }
    }

    /// Reads up to a batch of values; a missing value is an error.
    fn batch<T: DataType>(
        &self,
        column: &mut ColumnReaderImpl<T>,
        out: &mut Vec<T::T>,
    ) -> Result<usize> {
        let mut definition_levels = Vec::new();
        let mut repetition_levels = Vec::new();
        let (n_records, n_values, _) = column
            .read_records(
                BATCH,
                Some(&mut definition_levels),
                Some(&mut repetition_levels),
                out,
            )
            .map_err(|e| self.broken(&e))?;
        if n_records != n_values || out.len() != n_values {
            return Err(self.broken(&format!("a missing value after row {}", self.labels.len())));
        }
        Ok(n_values)
    }

    fn push(&mut self, image: &[u8], label: i64) -> Result<()> {
        let row = self.labels.len();
        let label = usize::try_from(label)
            .ok()
            .filter(|&label| label < self.n_classes);
        let Some(label) = label else {
            return Err(self.broken(&format!(
                "a label of row {row} outside 0 to {}",
                self.n_classes.saturating_sub(1)
            )));
        };
        let taken = (self.values.len() + self.shape.len()) as u64;
        self.limit.check(self.name, "the decoded images", taken)?;
        let pixels = decode(image, self.shape)
            .map_err(|problem| self.broken(&format!("image of row {row}: {problem}")))?;
        self.values.extend(pixels);
        self.labels.push(label);
        Ok(())
    }

    fn broken(&self, problem: &dyn std::fmt::Display) -> Error {
        Error::bytes(self.name, 0, format!("broken Parquet: {problem}"))
    }
}

/// The pixels of a PNG of exactly this shape, channel by channel.
fn decode(image: &[u8], shape: Shape) -> std::result::Result<Vec<f32>, String> {
    let Shape::Image {
        channels,
        height,
        width,
    } = shape
    else {
        return Err(format!("shape {shape} is no image"));
    };
    let limits = Limits { bytes: 1 << 20 };
    let mut decoder = Decoder::new_with_limits(std::io::Cursor::new(image), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let found = (reader.info().width as usize, reader.info().height as usize);
    let (color, _) = reader.output_color_type();
    let expected = if channels == 1 {
        ColorType::Grayscale
    } else {
        ColorType::Rgb
    };
    if found != (width, height) || color != expected {
        return Err(format!(
            "{}x{} {color:?} where {width}x{height} {expected:?} is expected",
            found.0, found.1
        ));
    }
    let mut interleaved = vec![0_u8; shape.len()];
    if reader.output_buffer_size() != Some(interleaved.len()) {
        return Err("an unexpected number of bytes".to_owned());
    }
    reader
        .next_frame(&mut interleaved)
        .map_err(|error| error.to_string())?;
    let mut planar = Vec::with_capacity(interleaved.len());
    for channel in 0..channels {
        planar.extend(
            interleaved
                .iter()
                .skip(channel)
                .step_by(channels)
                .map(|&v| f32::from(v)),
        );
    }
    Ok(planar)
}

#[cfg(test)]
mod made_up;

#[cfg(test)]
pub(crate) mod tests {
    use super::made_up::{parquet, png};
    use super::*;

    pub(crate) const SMALL: Shape = Shape::image(1, 2, 3);

    pub(crate) fn sample() -> Vec<u8> {
        let grey = |start: u8| png(&[start, 1, 2, 3, 4, 255], 3, 2, ColorType::Grayscale);
        parquet(&[grey(10), grey(20), grey(30)], &[1, 0, 1])
    }

    #[test]
    fn images_and_labels_come_out() {
        let rows = read("p", &sample(), SMALL, 2, Limit::DEFAULT).unwrap();
        assert_eq!(rows.labels, [1, 0, 1]);
        assert_eq!(rows.features.row(1), [20.0, 1.0, 2.0, 3.0, 4.0, 255.0]);
    }

    #[test]
    fn colour_becomes_planes() {
        let shape = Shape::image(3, 1, 2);
        let file = parquet(&[png(&[1, 2, 3, 4, 5, 6], 2, 1, ColorType::Rgb)], &[0]);
        let rows = read("p", &file, shape, 1, Limit::DEFAULT).unwrap();
        assert_eq!(rows.features.row(0), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let file = sample();
        let error = read("p", &file, SMALL, 1, Limit::DEFAULT)
            .unwrap_err()
            .to_string();
        assert!(error.contains("a label of row 0"), "{error}");
        let wide = Shape::image(1, 3, 2);
        let error = read("p", &file, wide, 2, Limit::DEFAULT)
            .unwrap_err()
            .to_string();
        assert!(error.contains("3x2 Grayscale where 2x3"), "{error}");
        let large = Shape::image(1, 28, 28);
        assert!(matches!(
            read("p", &file, large, 2, Limit::bytes(2000)),
            Err(Error::TooLarge { .. })
        ));
        assert!(read("p", &file[..file.len() - 9], SMALL, 2, Limit::DEFAULT).is_err());
    }
}
