//! The nine benchmark datasets: their names, and what is known of each.

use crate::dataset::Holdout;
use crate::features::Shape;
use crate::named;
use crate::prep::Scaling;
use crate::source::cards;
use crate::source::text::Layout;

/// One of the paper's eight datasets, or CIFAR-10, which is in no table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatasetId {
    /// Handwritten digits, 28×28.
    Mnist,
    /// Articles of clothing, 28×28.
    FashionMnist,
    /// Cursive Japanese characters, 28×28.
    Kmnist,
    /// Digits of ZIP codes, 16×16.
    Usps,
    /// Handwritten digits, 16×16, black and white.
    Semeion,
    /// House numbers in street views, 32×32 in colour.
    Svhn,
    /// Pen-based digits, 16 coordinates.
    Pendigits,
    /// Breiman's waveforms, 21 attributes.
    Waveform1,
    /// Animals and vehicles, 32×32 in colour.
    Cifar10,
}

named!(DatasetId, "dataset", {
    Mnist => "mnist",
    FashionMnist => "fashion-mnist",
    Kmnist => "kmnist",
    Usps => "usps",
    Semeion => "semeion",
    Svhn => "svhn",
    Pendigits => "pendigits",
    Waveform1 => "waveform1",
    Cifar10 => "cifar10",
});

impl DatasetId {
    /// The paper's eight.
    pub const PAPER: [Self; 8] = [
        Self::Mnist,
        Self::FashionMnist,
        Self::Kmnist,
        Self::Usps,
        Self::Semeion,
        Self::Svhn,
        Self::Pendigits,
        Self::Waveform1,
    ];

    /// What is known of the dataset.
    pub fn card(self) -> &'static Card {
        cards::card(self)
    }
}

/// A part of a dataset as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The training part.
    Train,
    /// The test part.
    Test,
    /// All rows, where no test part was published.
    Whole,
}

named!(Part, "part", { Train => "train", Test => "test", Whole => "whole" });

/// What is known of one dataset.
#[derive(Debug)]
pub struct Card {
    /// The dataset.
    pub id: DatasetId,
    /// Its full name.
    pub title: &'static str,
    /// What to cite.
    pub citation: &'static str,
    /// The licence, as far as it is known.
    pub licence: &'static str,
    /// The shape of a row.
    pub shape: Shape,
    /// The class names, class 0 first.
    pub class_names: &'static [&'static str],
    /// The folder of its files in a data folder and in the cache.
    pub folder: &'static str,
    /// Its published parts.
    pub parts: &'static [PartCard],
    /// How test rows are set apart unless the user says otherwise.
    pub holdout: Holdout,
    /// The scaling the paper used: raw pixels, tables min–max scaled.
    pub scaling: Scaling,
    /// The address that its files' names are appended to.
    pub upstream: &'static str,
    /// The Hub's dataset repository, if it holds the same rows.
    pub hub_repo: Option<&'static str>,
}

impl Card {
    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.class_names.len()
    }

    /// The published number of rows, all parts together.
    pub fn n_rows(&self) -> usize {
        self.parts.iter().map(PartCard::n_rows).sum()
    }
}

impl Card {
    /// More bytes than a part can take as the Hub packs it: each row an image without compression, with the headers
    /// of its format and a name.
    pub fn hub_limit(&self, part: &PartCard) -> u64 {
        (part.n_rows() as u64 + 1000) * (self.shape.len() as u64 + 1000)
    }
}

/// What is known of one part.
#[derive(Debug)]
pub struct PartCard {
    /// Which part.
    pub part: Part,
    /// How its files are read.
    pub format: Format,
    /// Its files, images before labels.
    pub files: &'static [FileCard],
    /// The published number of rows of each class.
    pub class_counts: &'static [usize],
    /// The digest of the decoded rows (see [`content`](crate::source::content)), where the
    /// published rows were at hand: rows in another packing are known to be the same by it.
    pub content: Option<&'static str>,
    /// The Parquet file in the Hub's repository.
    pub hub_file: Option<&'static str>,
}

impl PartCard {
    /// The published number of rows.
    pub fn n_rows(&self) -> usize {
        self.class_counts.iter().sum()
    }
}

/// How a part's files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Two idx files, images and labels.
    IdxPair,
    /// One text file.
    Text(Layout),
    /// One MATLAB file.
    SvhnMat,
    /// Binary batches of CIFAR-10, one after the other.
    CifarBatches,
}

/// A published file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileCard {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: &'static str,
    /// How the file at that address is packed.
    pub packing: Packing,
}

impl FileCard {
    /// Its address, given the address of the dataset.
    pub fn url(&self, upstream: &str) -> String {
        match self.packing {
            Packing::Plain => format!("{upstream}{}", self.name),
            Packing::Compress => format!("{upstream}{}.Z", self.name),
            Packing::Archived(archive) => archive.url(upstream),
        }
    }
}

/// How a file is packed at its address, beyond its own format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// With the Unix program `compress`; size and checksum are of the unpacked file.
    Compress,
    /// As a member of this tar archive, packed with gzip; size and checksum are of the member.
    Archived(&'static FileCard),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested() {
        for (typed, meant) in [
            ("minst", Some("mnist")),
            ("Fashion_MNIST", Some("fashion-mnist")),
            ("waveform", Some("waveform1")),
            ("pendigit", Some("pendigits")),
            ("cifar", Some("cifar10")),
            ("imagenet", None),
        ] {
            let error = typed.parse::<DatasetId>().unwrap_err();
            assert_eq!(error.nearest.as_deref(), meant, "{typed}");
        }
    }

    #[test]
    fn cards_are_complete() {
        for id in DatasetId::ALL {
            let card = id.card();
            assert_eq!(card.id, id);
            assert!(!card.citation.is_empty() && !card.licence.is_empty());
            for part in card.parts {
                assert_eq!(part.class_counts.len(), card.n_classes(), "{id}");
                assert_eq!(part.hub_file.is_some(), card.hub_repo.is_some(), "{id}");
                let n_files = match (part.format, part.part) {
                    (Format::IdxPair, _) => 2,
                    (Format::CifarBatches, Part::Train) => 5,
                    _ => 1,
                };
                assert_eq!(part.files.len(), n_files, "{id}");
                let checksums = part.files.iter().map(|file| file.sha256);
                for checksum in checksums.chain(part.content) {
                    assert_eq!(checksum.len(), 64, "{id}");
                    assert!(
                        checksum
                            .bytes()
                            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
                    );
                }
            }
            let has_test = card.parts.iter().any(|part| part.part == Part::Test);
            assert!(has_test || card.holdout == Holdout::EIGHTY_TWENTY, "{id}");
        }
        let rows = DatasetId::ALL.map(|id| id.card().n_rows());
        assert_eq!(
            rows,
            [
                70_000, 70_000, 70_000, 9298, 1593, 99_289, 10_992, 5000, 60_000
            ]
        );
    }
}
