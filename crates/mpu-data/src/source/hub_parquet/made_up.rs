//! Made-up files of the Hub, for tests.

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use png::ColorType;

use crate::table::tests::make::{row_groups, write_column};

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
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let blobs: Vec<ByteArray> = images.iter().map(|png| png.clone().into()).collect();
    let n = images.len();
    row_groups(&schema, properties, 1, |_, rows| {
        write_column::<ByteArrayType>(rows, &blobs, Some(&vec![2; n]));
        write_column::<ByteArrayType>(rows, &[], Some(&vec![1; n]));
        write_column::<Int64Type>(rows, labels, Some(&vec![1; labels.len()]));
    })
}
