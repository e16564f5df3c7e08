//! Every format gives the same table.

use super::make::{bzip2, floats, gzip, npy, npy_ordered, npz, wide};
use super::*;
use crate::MpuLabel::{Labeled, Unlabeled};
use crate::Shape;

const VALUES: [f32; 8] = [1.0, -2.0, 3.0, 0.5, 5.0, 0.0, 7.0, 8.0];
const LABELS: [crate::MpuLabel; 4] = [Labeled(0), Unlabeled, Labeled(1), Labeled(0)];

#[track_caller]
fn check_table(name: &str, bytes: Vec<u8>, options: &TableOptions) -> MpuTable {
    let table = read_table(file(name, bytes), options).unwrap();
    assert_eq!(table.features.values(), VALUES, "{name}");
    assert_eq!(table.labels, LABELS, "{name}");
    assert_eq!(table.class_names, ["1", "2"], "{name}");
    table
}

#[test]
fn text_tables() {
    let default = TableOptions::default();
    let text = b"u,v,y\n1,-2,1\n3,.5,-1\n5,0,2\n7,8,1\n";
    check_table("a.csv", text.to_vec(), &default);
    check_table("a.csv.gz", gzip(text), &default);
    check_table("a.csv.bz2", bzip2(text), &default);
    let tabs = String::from_utf8_lossy(text)
        .replace(',', "\t")
        .into_bytes();
    check_table("a.tsv", tabs.clone(), &default);
    check_table("a.tab.gz", gzip(&tabs), &default);
    let options = with(|o| o.format = Some(InputFormat::Tsv));
    check_table("a.dat", tabs, &options);
}

#[test]
fn libsvm_tables() {
    let default = TableOptions::default();
    let text = b"# a comment\n1 1:1 2:-2\n-1 qid:3 1:3 2:0.5 # here too\n\n2 1:5\n+1 1:7 2:8\n";
    let table = check_table("a.libsvm", text.to_vec(), &default);
    assert_eq!(table.schema.feature_names(), ["f1", "f2"]);
    check_table("a.svm.bz2", bzip2(text), &default);
    check_table("a.svmlight.gz", gzip(text), &default);
    let from_zero = b"1 0:1 1:-2\n-1 0:3 1:0.5\n2 0:5\n1 0:7 1:8\n";
    let table = check_table("a.libsvm", from_zero.to_vec(), &default);
    assert_eq!(table.schema.feature_names(), ["f0", "f1"]);

    let later = |text: &str| encode(&table.schema, file("b.libsvm", text.as_bytes()));
    let encoded = later("0 0:4\n0 1:2\n").unwrap();
    assert_eq!(encoded.features.values(), [4.0, 0.0, 0.0, 2.0]);
    let told = "b.libsvm, line 1: index 5 is out of range";
    check_message(later("0 5:4\n"), told);
    for (text, part) in [
        ("1 a:1\n", "line 1: `a:1` has no whole number"),
        ("1 1:1\n1 2:2 1:1\n", "line 2: `1:1` is out of order"),
        ("1 1:x\n", "`1:x` has no number after the colon"),
        ("1 1\n", "`1` is not `index:value`"),
        ("", "empty"),
        ("1\n2\n", "no feature column"),
    ] {
        check_message(read_file(file("a.libsvm", text.as_bytes())), part);
    }
}

#[test]
fn a_libsvm_pool_may_be_wider() {
    let options = with(|o| o.unlabeled = Some(file("p.libsvm", *b"0 3:1\n")));
    let input = file("a.libsvm", *b"1 1:1\n1 2:2\n");
    let table = read_table(input, &options).unwrap();
    assert_eq!(
        table.features.values(),
        [1., 0., 0., 0., 2., 0., 0., 0., 1.]
    );
    assert_eq!(table.labels, [Labeled(0), Labeled(0), Unlabeled]);
}

#[test]
fn numpy_tables() {
    let features = npy("<f4", "(4, 2)", &floats(&VALUES));
    let labels = [1i64, -1, 2, 1];
    let integers = npy("<i8", "(4,)", &labels.map(i64::to_le_bytes).concat());
    let small = npy("|i1", "(4, 1)", &labels.map(|v| v as i8 as u8));
    let doubles = labels.map(|v| (v as f64).to_be_bytes()).concat();
    let doubles = npy(">f8", "(4,)", &doubles);
    let words = npy("<U3", "(4,)", &wide(&["1", "-1", "2", "1"], 3));
    for labels in [integers.clone(), small, doubles, words] {
        let options = with(|o| o.labels = Some(file("y.npy", labels.clone())));
        check_table("X.npy", features.clone(), &options);
        for method in [
            zip::CompressionMethod::Stored,
            zip::CompressionMethod::Deflated,
        ] {
            let arrays = [("X.npy", features.clone()), ("y.npy", labels.clone())];
            check_table("d.npz", npz(&arrays, method), &TableOptions::default());
        }
    }
    let by_column = [1.0, 3.0, 5.0, 7.0, -2.0, 0.5, 0.0, 8.0];
    let turned = npy_ordered("<f4", "True", "(4, 2)", &floats(&by_column));
    let options = with(|o| o.labels = Some(file("y.npy", integers)));
    check_table("X.npy", turned, &options);
}

#[test]
fn numpy_images_keep_their_shape() {
    let features = npy("<f4", "(2, 2, 2)", &floats(&VALUES));
    let labels = npy("<f4", "(2,)", &floats(&[f32::NAN, 3.0]));
    let read = |features: Vec<u8>, labels: Vec<u8>| {
        let options = with(|o| o.labels = Some(file("y.npy", labels)));
        read_table(file("X.npy", features), &options)
    };
    check_message(
        read(features.clone(), labels.clone()),
        "X.npy, row 2 … only labelled row",
    );
    let four = npy("<f4", "(4,)", &floats(&[f32::NAN, 3.0, 3.0, 3.0]));
    let pixels = npy("|u1", "(4, 1, 2)", &[1, 2, 3, 4, 5, 6, 7, 255]);
    let table = read(pixels, four.clone()).unwrap();
    let shape = Shape::image(1, 1, 2);
    assert_eq!(
        (table.features.shape(), table.features.row(3)),
        (shape, &[7.0, 255.0][..])
    );
    assert_eq!(table.class_names, ["3"]);
    check_message(read(features, four), "4 labels for 2 rows");
    let last = npy("|u1", "(4, 2, 1, 3)", &[0; 24]);
    check_message(read(last, labels), "X.npy … shape [4, 2, 1, 3]");
}

#[test]
fn an_archive_is_checked() {
    let features = npy("<f4", "(4, 2)", &floats(&VALUES));
    let stored = zip::CompressionMethod::Stored;
    let other = npz(&[("Z.npy", features.clone())], stored);
    check_message(
        read_file(file("d.npz", other)),
        "d.npz … no array `X` … `Z.npy` … hint:",
    );
    let mut damaged = npz(&[("X.npy", features)], stored);
    let at = damaged
        .windows(4)
        .position(|w| w == 5f32.to_le_bytes())
        .unwrap();
    damaged[at] ^= 1;
    let options = with(|o| o.label_column = Some("x0".to_owned()));
    let read = read_table(file("d.npz", damaged), &options);
    check_message(read, "d.npz … checksum");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_tables() {
    use ::parquet::basic::{Compression, GzipLevel, ZstdLevel};

    let options = with(|o| {
        o.id_column = Some("id".to_owned());
        o.exclude = vec!["made".to_owned()];
        o.missing = Missing::Mean;
    });
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        for version_2 in [false, true] {
            let bytes = make::parquet(compression, version_2);
            let table = read_table(file("a.parquet", bytes.clone()), &options).unwrap();
            let names = "weight colour=blue colour=red used=false used=true";
            assert_eq!(table.schema.feature_names().join(" "), names);
            assert_eq!(table.features.row(1), [2.0, 1.0, 0.0, 1.0, 0.0]);
            assert_eq!(table.features.row(6), [3.0, 0.0, 1.0, 0.0, 1.0]);
            assert_eq!(table.class_names, ["x", "y"]);
            assert_eq!(
                table.labels[4..],
                [Labeled(0), Labeled(1), Unlabeled, Unlabeled]
            );
            let last = ((1i64 << 60) + 7).to_string();
            assert_eq!(table.ids.as_ref().unwrap()[7], last);
            assert_eq!(table.check.columns[0].missing, 2);

            // On disk it is the same, and a schema learned here reads CSV too.
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.parquet");
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read_table(path, &options).unwrap().features, table.features);
            let later = csv("id,weight,colour,used\n1,4,red,false\n");
            let later = encode(&table.schema, later).unwrap();
            assert_eq!(later.features.values(), [4.0, 0.0, 1.0, 1.0, 0.0]);
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_type_that_is_not_read() {
    let bytes = make::parquet(::parquet::basic::Compression::SNAPPY, false);
    check_message(
        read_file(file("a.parquet", bytes)),
        "a.parquet: column `made` has type timestamp … hint: exclude it",
    );
}
