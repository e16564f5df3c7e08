//! CIFAR-10: binary batches in one archive.

use super::file;
use crate::dataset::Holdout;
use crate::features::Shape;
use crate::prep::Scaling;
use crate::source::catalog::{Card, DatasetId, FileCard, Format, Packing, Part, PartCard};

pub(super) static CIFAR10: Card = Card {
    id: DatasetId::Cifar10,
    title: "CIFAR-10",
    citation: "Krizhevsky, Learning multiple layers of features from tiny images, technical report, University of Toronto, 2009",
    licence: "no licence text upstream; the authors ask to be cited",
    shape: Shape::image(3, 32, 32),
    class_names: &[
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ],
    folder: "cifar10",
    parts: &PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "https://www.cs.toronto.edu/~kriz/",
    hub_repo: Some("uoft-cs/cifar10"),
};

#[rustfmt::skip] // one file on a line
static ARCHIVE: FileCard = file("cifar-10-binary.tar.gz", 170_052_171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd");

/// Ten thousand records of a label and 3×32×32 pixels.
const fn batch(name: &'static str, sha256: &'static str) -> FileCard {
    FileCard {
        packing: Packing::Archived(&ARCHIVE),
        ..file(name, 30_730_000, sha256)
    }
}

#[rustfmt::skip] // one file on a line
static PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::CifarBatches,
        files: &[
            batch("cifar-10-batches-bin/data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
            batch("cifar-10-batches-bin/data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            batch("cifar-10-batches-bin/data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            batch("cifar-10-batches-bin/data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            batch("cifar-10-batches-bin/data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        ],
        class_counts: &[5000; 10],
        content: None,
        hub_file: Some("plain_text/train-00000-of-00001.parquet"),
    },
    PartCard {
        part: Part::Test,
        format: Format::CifarBatches,
        files: &[batch("cifar-10-batches-bin/test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b")],
        class_counts: &[1000; 10],
        content: None,
        hub_file: Some("plain_text/test-00000-of-00001.parquet"),
    },
];
