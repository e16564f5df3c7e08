//! Made-up files of the Hub, for tests.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use png::ColorType;

pub(crate) fn png(pixels: &[u8], width: u32, height: u32, color: ColorType) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fastest);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    out
}

/// A file as the Hub writes them: a group `image` of `bytes` and `path`, and `label`.
pub(crate) fn parquet(images: &[Vec<u8>], labels: &[i64]) -> Vec<u8> {
    parquet_with("image", images, labels)
}

/// The same, with another name of the group.
pub(crate) fn parquet_with(group: &str, images: &[Vec<u8>], labels: &[i64]) -> Vec<u8> {
    let schema = format!(
        "message schema {{
            optional group {group} {{ optional binary bytes; optional binary path (UTF8); }}
            optional int64 label;
        }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let blobs: Vec<ByteArray> = images.iter().map(|png| png.clone().into()).collect();
    let n = images.len();
    write_column::<ByteArrayType>(&mut group, &blobs, &vec![2; n]);
    write_column::<ByteArrayType>(&mut group, &[], &vec![1; n]);
    write_column::<Int64Type>(&mut group, labels, &vec![1; labels.len()]);
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: &[i16],
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<T>();
    writer.write_batch(values, Some(levels), None).unwrap();
    column.close().unwrap();
}
