//! Parquet with embedded PNG images: the form in which the Hub keeps the image benchmarks.
//!
//! Two columns are read: `image.bytes` or `img.bytes`, a PNG in each row, and `label`.

use bytes::Bytes;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use png::{ColorType, Decoder, Limits, Transformations};

use crate::contain::contained;
use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::Limit;
use crate::table::parquet_pages::{check_footer, check_pages};
use crate::table::{Limits as TableLimits, TableInput};

/// The names that image columns have.
const IMAGE: [&str; 2] = ["image", "img"];
const LABEL: &str = "label";

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
    let result = contained(|| read_unguarded(name, bytes, shape, n_classes, limit));
    result.unwrap_or_else(|| {
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
    let (input, stored) = (TableInput::from_bytes(name, bytes), bytes.len() as u64);
    check_footer(&input, stored).map_err(|e| broken(&e))?;
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(|e| broken(&e))?;
    check_pages(&input, file.metadata(), stored, &TableLimits::default())
        .map_err(|e| broken(&e))?;
    let metadata = file.metadata().file_metadata();
    let n_rows = u64::try_from(metadata.num_rows()).map_err(|e| broken(&e))?;
    let claimed = n_rows.saturating_mul(shape.len() as u64);
    limit.check(name, "the decoded images", claimed)?;
    for chunk in file
        .metadata()
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
    {
        let start = chunk.dictionary_page_offset();
        if start.unwrap_or(chunk.data_page_offset()) < 0 || chunk.compressed_size() < 0 {
            return Err(broken(&"a column before the start of the file"));
        }
    }
    let fields = metadata.schema().get_fields().iter();
    let fields = fields.filter(|field| IMAGE.contains(&field.name()) || field.name() == LABEL);
    let wanted = Type::group_type_builder(metadata.schema().name())
        .with_fields(fields.cloned().collect())
        .build()
        .map_err(|e| broken(&e))?;
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in file.get_row_iter(Some(wanted)).map_err(|e| broken(&e))? {
        let (row, at) = (row.map_err(|e| broken(&e))?, labels.len());
        let (Some(Field::Bytes(image)), Some(&Field::Long(label))) =
            (image_of(&row), field(&row, LABEL))
        else {
            return Err(broken(&format!(
                "no image.bytes or no whole number as label in row {at}"
            )));
        };
        let label = usize::try_from(label).ok();
        let Some(label) = label.filter(|&label| label < n_classes) else {
            return Err(broken(&format!(
                "a label of row {at} outside 0 to {}",
                n_classes.saturating_sub(1)
            )));
        };
        let taken = (values.len() + shape.len()) as u64;
        limit.check(name, "the decoded images", taken)?;
        let pixels = decode(image.data(), shape)
            .map_err(|problem| broken(&format!("image of row {at}: {problem}")))?;
        values.extend(pixels);
        labels.push(label);
    }
    if labels.len() as u64 != n_rows {
        let problem = format!("it should have {n_rows} rows and has {}", labels.len());
        return Err(broken(&problem));
    }
    Rows::new(Features::new(values, shape)?, labels)
}

fn field<'r>(row: &'r Row, wanted: &str) -> Option<&'r Field> {
    let mut columns = row.get_column_iter();
    columns.find_map(|(name, field)| (name == wanted).then_some(field))
}

fn image_of(row: &Row) -> Option<&Field> {
    match IMAGE.iter().find_map(|name| field(row, name))? {
        Field::Group(image) => field(image, "bytes"),
        _ => None,
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
        return Err(format!("shape {shape} is not that of an image"));
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
    use super::made_up::{parquet, parquet_with, png};
    use super::*;
    use crate::error::tests::check_message;
    use crate::source::{DatasetId, LoadOptions, Locations, Quiet, load};

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
    fn cifar_is_loaded_as_the_hub_keeps_it() {
        let image = |colour: [u8; 3]| png(&colour.repeat(32 * 32), 32, 32, ColorType::Rgb);
        let images = [image([1, 2, 3]), image([4, 5, 6])];
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cifar10");
        std::fs::create_dir(&folder).unwrap();
        let write = |part: &str, labels: &[i64]| {
            let path = folder.join(format!("{part}-00000-of-00001.parquet"));
            std::fs::write(path, parquet_with("img", &images, labels)).unwrap();
        };
        write("train", &[9, 0]);
        write("test", &[1, 2]);
        let locations = Locations::offline_in(dir.path());
        let options = LoadOptions::default();
        let load = || load(DatasetId::Cifar10, &locations, &options, &Quiet);
        let data = load().unwrap();
        assert_eq!(data.train.labels(), [9, 0]);
        assert_eq!(data.test.labels(), [1, 2]);
        let planes = [1.0, 2.0, 3.0].map(|value| [value; 32 * 32]);
        assert_eq!(data.train.features().row(0), planes.as_flattened());
        assert_eq!(data.train.provenance().mark(), Some("subset"));

        write("test", &[1, 10]);
        check_message(load(), "a label of row 1 outside 0 to 9");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let file = sample();
        let read_of = |shape, n_classes| read("p", &file, shape, n_classes, Limit::DEFAULT);
        check_message(read_of(SMALL, 1), "a label of row 0");
        let wide = Shape::image(1, 3, 2);
        check_message(read_of(wide, 2), "3x2 Grayscale where 2x3");
        let large = Shape::image(1, 28, 28);
        assert!(matches!(
            read("p", &file, large, 2, Limit::bytes(2000)),
            Err(Error::TooLarge { .. })
        ));
        assert!(read("p", &file[..file.len() - 9], SMALL, 2, Limit::DEFAULT).is_err());
    }
}
