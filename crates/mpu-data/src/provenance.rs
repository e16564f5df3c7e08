//! Provenance: where rows came from and whether they are the published ones.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::named;
use crate::source::catalog::Part;

/// Where a dataset's rows came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user's data folder.
    DataDir,
    /// The local cache of earlier downloads, ours or the Hub's.
    Cache,
    /// Debian's package `dataset-fashion-mnist`.
    Debian,
    /// Downloaded just now.
    Download,
    /// Made by a generator.
    Generated,
    /// The user's own file, of no published dataset.
    OwnFile,
}

named!(Origin, "origin", {
    DataDir => "data-dir",
    Cache => "cache",
    Debian => "debian",
    Download => "download",
    Generated => "generated",
    OwnFile => "own-file",
});

/// How a dataset differs from the published one. What is trained on it is to be marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Deviation {
    /// A file is not byte for byte the published one, and its rows are not known to be the same.
    #[error("{file} has SHA-256 {found}, published is {published}")]
    Checksum {
        /// The file.
        file: String,
        /// The published SHA-256.
        published: String,
        /// The SHA-256 found.
        found: String,
    },
    /// A part that is packed otherwise does not hold the published rows.
    #[error("the rows of the {part} part have digest {found}, published is {published}")]
    Rows {
        /// Which part.
        part: Part,
        /// The published digest of the rows.
        published: String,
        /// The digest found.
        found: String,
    },
    /// A part has fewer rows than published: a subset.
    #[error("subset: the {part} part has {found} of {published} rows")]
    Subset {
        /// Which part.
        part: Part,
        /// The published number of rows.
        published: usize,
        /// The number found.
        found: usize,
    },
    /// A part has other class counts than published, and no fewer rows.
    #[error("the {part} part has class counts {found:?}, published are {published:?}")]
    ClassCounts {
        /// Which part.
        part: Part,
        /// The published counts, class 0 first.
        published: Vec<usize>,
        /// The counts found.
        found: Vec<usize>,
    },
}

/// Where a dataset came from and whether it is the published one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The dataset's slug, or the name of the user's file.
    pub name: String,
    /// Where the rows came from.
    pub origin: Origin,
    /// The folder of the files; not stored with results, which must not name a machine's folders.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// How it differs from what was published; empty if it does not.
    pub deviations: Vec<Deviation>,
}

impl Provenance {
    /// A short mark for everything that was trained on data that is not as published.
    pub fn mark(&self) -> Option<&'static str> {
        if self.is_subset() {
            Some("subset")
        } else if self.deviations.is_empty() {
            None
        } else {
            Some("differs from published")
        }
    }

    /// Whether a part has fewer rows than published.
    pub fn is_subset(&self) -> bool {
        self.deviations
            .iter()
            .any(|deviation| matches!(deviation, Deviation::Subset { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_is_marked() {
        let mut provenance = Provenance {
            name: "svhn".into(),
            origin: Origin::DataDir,
            folder: Some("/somewhere".into()),
            deviations: vec![],
        };
        assert_eq!(provenance.mark(), None);
        provenance.deviations.push(Deviation::Subset {
            part: Part::Train,
            published: 73_257,
            found: 14_000,
        });
        assert_eq!(provenance.mark(), Some("subset"));
        assert!(
            provenance.deviations[0]
                .to_string()
                .contains("14000 of 73257")
        );
        let stored = serde_json::to_string(&provenance).unwrap();
        assert!(!stored.contains("somewhere"), "{stored}");
    }
}
