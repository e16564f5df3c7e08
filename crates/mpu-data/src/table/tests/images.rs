//! Folders of images.

use image::ImageFormat::{Jpeg, Png};

use super::make::{image, write};
use super::*;
use crate::MpuLabel::{Labeled, Unlabeled};
use crate::Shape;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "dent/b.png", &image(4, true, Png));
    write(root, "dent/a.jpg", &image(4, true, Jpeg));
    write(root, "crack/a.PNG", &image(4, true, Png));
    write(root, "crack/notes.txt", b"none");
    write(root, "crack/.hidden", b"none");
    write(root, "Unlabeled/a.jpeg", &image(4, true, Jpeg));
    write(root, "Unlabeled/b.png", &image(4, true, Png));
    folder
}

#[test]
fn folders_are_classes() {
    let folder = folder();
    let table = read_file(folder.path()).unwrap();
    assert_eq!(table.class_names, ["crack", "dent"]);
    let ids = "Unlabeled/a.jpeg Unlabeled/b.png crack/a.PNG dent/a.jpg dent/b.png";
    assert_eq!(table.ids.as_ref().unwrap().join(" "), ids);
    assert_eq!(
        table.labels,
        [Unlabeled, Unlabeled, Labeled(0), Labeled(1), Labeled(1)]
    );
    let shape = Shape::image(1, 4, 4);
    assert_eq!(table.features.shape(), shape);
    let skipped = Warning::SkippedFiles { files: 1 };
    let found = table.check.warnings.iter().filter(|w| **w == skipped);
    assert_eq!(found.count(), 1);
    assert_eq!(table.check.labels.markers[0].rows, 2);
    assert_eq!(
        table.check.duplicates.labeled_in_pool, 3,
        "{:?}",
        table.check.duplicates
    );

    // The schema reads later folders, also without classes, and held-out ones.
    let schema = stored(&table.schema);
    let later = tempfile::tempdir().unwrap();
    write(later.path(), "z.png", &image(4, false, Png));
    let encoded = encode(&schema, later.path()).unwrap();
    assert_eq!(encoded.ids.unwrap(), ["z.png"]);
    let (classes, options) = (&table.class_names, EncodeOptions::default());
    let held_out = read_held_out(folder.path(), &schema, classes, &options).unwrap();
    assert_eq!(held_out.classes, [2, 2, 0, 1, 1]);
    assert!(held_out.negative_names.contains_key("Unlabeled"));
    check_message(encode(&schema, csv("a\n1\n")), "learned from images");
}

#[test]
fn sizes_must_agree_or_be_asked_for() {
    let folder = folder();
    write(folder.path(), "dent/c.png", &image(6, false, Png));
    let told = "c.png: 6x6 pixels … have 4x4 … hint:";
    check_message(read_file(folder.path()), told);
    let options = with(|o| {
        o.image_size = Some(ImageSize {
            width: 3,
            height: 2,
        });
    });
    let table = read_table(folder.path(), &options).unwrap();
    let shape = Shape::image(3, 2, 3);
    assert_eq!(
        (table.features.shape(), table.features.n_rows()),
        (shape, 6)
    );
    assert_eq!(table.features.row(5)[12..], [200.0; 6], "blue comes last");
    let encoded = encode(&table.schema, folder.path()).unwrap();
    assert_eq!(encoded.features, table.features);
}

#[test]
fn bad_folders_are_explained() {
    let empty = tempfile::tempdir().unwrap();
    check_message(read_file(empty.path()), "no images");

    let folder = folder();
    write(folder.path(), "dent/huge.png", &image(100, true, Png));
    let options = with(|o| {
        o.limits = Limits {
            image_pixels: 1 << 10,
            ..Limits::default()
        };
    });
    check_message(
        read_table(folder.path(), &options),
        "huge.png … 100x100 … `image-pixels`",
    );

    let mut claim = image(4, true, Png);
    claim[16..20].copy_from_slice(&0x7fff_ffffu32.to_be_bytes());
    write(folder.path(), "dent/huge.png", &claim);
    check_message(read_file(folder.path()), "huge.png");
    write(folder.path(), "dent/huge.png", b"not an image");
    let told = "huge.png: not a readable PNG or JPEG";
    check_message(read_file(folder.path()), told);
    std::fs::remove_file(folder.path().join("dent/huge.png")).unwrap();
    write(folder.path(), "stray.png", &image(4, true, Png));
    check_message(read_file(folder.path()), "stray.png … in a folder");
    let options = with(|o| o.label_column = Some("a".to_owned()));
    let read = read_table(folder.path(), &options);
    check_message(read, "images have no columns");
}
