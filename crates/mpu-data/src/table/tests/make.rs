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
    use std::sync::Arc;

    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::writer::SerializedFileWriter;

    let schema = "message items {
        required int64 id;
        optional double weight;
        optional binary colour (UTF8);
        required boolean used;
        optional binary label (UTF8);
        required int64 made (TIMESTAMP_MILLIS);
    }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
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
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    for group in 0..2i64 {
        let mut rows = writer.next_row_group().unwrap();
        let ids: Vec<i64> = (0..4).map(|i| (1 << 60) + 4 * group + i).collect();
        let colours = ["red", "blue", "red", "red"].map(text);
        write_column::<Int64Type>(&mut rows, &ids, None);
        write_column::<DoubleType>(&mut rows, &[1.0, 2.0, 6.0], Some(&[1, 1, 0, 1]));
        write_column::<ByteArrayType>(&mut rows, &colours, Some(&[1; 4]));
        write_column::<BoolType>(&mut rows, &[true, false, true, true], None);
        write_column::<ByteArrayType>(&mut rows, &["x", "y"].map(text), Some(&[1, 1, 0, 0]));
        write_column::<Int64Type>(&mut rows, &ids, None);
        rows.close().unwrap();
    }
    writer.into_inner().unwrap()
}

/// The next column of a row group; `levels` are 0 where a value is null.
#[cfg(feature = "parquet")]
pub(crate) fn write_column<T: parquet::data_type::DataType>(
    group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<T>();
    writer.write_batch(values, levels, None).unwrap();
    column.close().unwrap();
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
