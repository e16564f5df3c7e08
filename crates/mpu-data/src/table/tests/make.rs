//! Small valid files of each format.

use std::io::Write;

pub(crate) use crate::source::unpack::tests::gzip;

/// An array of format version 1.
pub(super) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_ordered(descr, "False", shape, data)
}

pub(super) fn npy_ordered(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub(super) fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Texts as UCS-4, so many units each.
pub(super) fn wide(texts: &[&str], n_units: usize) -> Vec<u8> {
    let units = |text: &&str| {
        let mut units: Vec<u32> = text.chars().map(u32::from).collect();
        units.resize(n_units, 0);
        units.into_iter().flat_map(u32::to_le_bytes)
    };
    texts.iter().flat_map(units).collect()
}

pub(super) fn npz(arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in arrays {
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A table of numbers, texts and labels, some of them null.
#[cfg(feature = "parquet")]
pub(super) fn parquet(compression: parquet::basic::Compression, version_2: bool) -> Vec<u8> {
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::{WriterProperties, WriterVersion};

    let schema = "message items {
        required int64 id;
        optional double weight;
        optional binary colour (UTF8);
        required boolean used;
        optional binary label (UTF8);
        required int64 made (TIMESTAMP_MILLIS);
    }";
    let version = if version_2 {
        WriterVersion::PARQUET_2_0
    } else {
        WriterVersion::PARQUET_1_0
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_column_encoding("id".into(), parquet::basic::Encoding::PLAIN)
        .build();
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    row_groups(schema, properties, 2, |group, rows| {
        let ids: Vec<i64> = (0..4).map(|i| (1 << 60) + 4 * group + i).collect();
        let colours = ["red", "blue", "red", "red"].map(text);
        write_column::<Int64Type>(rows, &ids, None);
        write_column::<DoubleType>(rows, &[1.0, 2.0, 6.0], Some(&[1, 1, 0, 1]));
        write_column::<ByteArrayType>(rows, &colours, Some(&[1; 4]));
        write_column::<BoolType>(rows, &[true, false, true, true], None);
        write_column::<ByteArrayType>(rows, &["x", "y"].map(text), Some(&[1, 1, 0, 0]));
        write_column::<Int64Type>(rows, &ids, None);
    })
}

/// A Parquet file of this schema, whose row groups `write` fills.
#[cfg(feature = "parquet")]
pub(super) fn row_groups(
    schema: &str,
    properties: parquet::file::properties::WriterProperties,
    n_groups: i64,
    write: impl Fn(i64, &mut RowGroup<'_>),
) -> Vec<u8> {
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let (schema, properties) = (schema.into(), properties.into());
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for group in 0..n_groups {
        let mut rows = writer.next_row_group().unwrap();
        write(group, &mut rows);
        rows.close().unwrap();
    }
    writer.into_inner().unwrap()
}

#[cfg(feature = "parquet")]
pub(super) type RowGroup<'a> = parquet::file::writer::SerializedRowGroupWriter<'a, Vec<u8>>;

/// A table of one column of this type beside `x`, a number, and `label`, 0 to 2 in turn.
#[cfg(feature = "parquet")]
pub(super) fn parquet_beside<T: parquet::data_type::DataType>(
    column: &str,
    values: &[T::T],
) -> Vec<u8> {
    use parquet::data_type::{DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;

    let schema = format!("message t {{ {column} required double x; required int64 label; }}");
    let numbers: Vec<f64> = (0..values.len()).map(|i| i as f64).collect();
    let labels: Vec<i64> = (0..3).cycle().take(values.len()).collect();
    row_groups(&schema, WriterProperties::default(), 1, |_, rows| {
        write_column::<T>(rows, values, None);
        write_column::<DoubleType>(rows, &numbers, None);
        write_column::<Int64Type>(rows, &labels, None);
    })
}

/// The next column of a row group; `levels` are 0 where a value is null.
#[cfg(feature = "parquet")]
pub(super) fn write_column<T: parquet::data_type::DataType>(
    group: &mut RowGroup<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<T>();
    writer.write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

/// Writes a file, and the folder that it is in.
#[cfg(feature = "images")]
pub(super) fn write(folder: &std::path::Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A small image of this many pixels a side.
#[cfg(feature = "images")]
pub(super) fn image(side: u32, grey: bool, format: image::ImageFormat) -> Vec<u8> {
    let pixels = image::RgbImage::from_fn(side, side, |x, y| {
        image::Rgb([(40 * x) as u8, (30 * y) as u8, if grey { 0 } else { 200 }])
    });
    let picture = if grey {
        image::DynamicImage::ImageLuma8(image::DynamicImage::ImageRgb8(pixels).to_luma8())
    } else {
        image::DynamicImage::ImageRgb8(pixels)
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}
