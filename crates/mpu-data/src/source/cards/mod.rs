//! The nine cards of the catalogue.
//!
//! How sure the addresses are, none of which could be tried when this was written:
//!
//! - Checksums and sizes of files are of real copies; MNIST, Fashion-MNIST, KMNIST and Semeion hold
//!   their published MD5 sums, and those of SVHN and CIFAR-10 are the ones that public dataset loaders pin;
//!   of CIFAR-10 no copy was at hand.
//! - Hub repositories: `ylecun/mnist`, `zalando-datasets/fashion_mnist`, `tanganke/kmnist`,
//!   `ufldl-stanford/svhn` and `uoft-cs/cifar10` with these file names are in wide public use. No checksum of the
//!   Parquet files is known here; what comes from there must decode to the published rows
//!   ([`PartCard::content`](super::catalog::PartCard::content)), or, for SVHN and CIFAR-10, have the published
//!   class counts.
//! - `flwrlabs/usps` on the Hub is made from the LIBSVM copy of USPS, another, smoothed version with
//!   other pixels, so USPS comes from the book's page instead.
//! - UCI's files are at the repository's old addresses, which mirror its archives' members.

use crate::features::Shape;
use crate::source::catalog::{Card, DatasetId, FileCard, Packing};

mod cifar;
mod digits;
mod mnist;
mod tables;

pub(super) fn card(id: DatasetId) -> &'static Card {
    match id {
        DatasetId::Mnist => &mnist::MNIST,
        DatasetId::FashionMnist => &mnist::FASHION_MNIST,
        DatasetId::Kmnist => &mnist::KMNIST,
        DatasetId::Usps => &digits::USPS,
        DatasetId::Semeion => &digits::SEMEION,
        DatasetId::Svhn => &digits::SVHN,
        DatasetId::Pendigits => &tables::PENDIGITS,
        DatasetId::Waveform1 => &tables::WAVEFORM1,
        DatasetId::Cifar10 => &cifar::CIFAR10,
    }
}

const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

const fn grey(side: usize) -> Shape {
    Shape::image(1, side, side)
}

const fn file(name: &'static str, size: u64, sha256: &'static str) -> FileCard {
    FileCard {
        name,
        size,
        sha256,
        packing: Packing::Plain,
    }
}

const fn compressed(name: &'static str, size: u64, sha256: &'static str) -> FileCard {
    FileCard {
        packing: Packing::Compress,
        ..file(name, size, sha256)
    }
}
