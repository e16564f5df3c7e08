//! Whether a dataset's files are the published ones.

use std::path::PathBuf;

use serde::Serialize;

use crate::dataset::Rows;
use crate::error::Result;
use crate::provenance::{Deviation, Origin};
use crate::seed::Seed;
use crate::source::catalog::{Card, DatasetId, Part, PartCard};
use crate::source::resolve::{Locations, locate};
use crate::source::unpack::Limit;
use crate::source::{acquire, content, load, waveform};

/// What was found when a dataset's files were checked: the lines of `data verify`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// Which dataset.
    pub id: DatasetId,
    /// Where it is.
    pub origin: Origin,
    /// Its folder.
    pub folder: Option<PathBuf>,
    /// Its files.
    pub files: Vec<FileReport>,
    /// Its parts.
    pub parts: Vec<PartReport>,
    /// How it differs from what was published.
    pub deviations: Vec<Deviation>,
}

impl Verification {
    /// Whether everything is as published.
    pub fn is_as_published(&self) -> bool {
        self.deviations.is_empty()
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// How it compares with the published file.
    pub check: FileCheck,
}

/// How a file compares with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileCheck {
    /// Byte for byte the same.
    SameBytes,
    /// Packed otherwise, with the same rows.
    SameRows,
    /// Packed otherwise, with the same number of rows of each class; the rows' digest is not known.
    SameCounts,
    /// Not the same.
    Differs,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// Which.
    pub part: Part,
    /// Rows of each class.
    pub class_counts: Vec<usize>,
    /// Rows of each class as published.
    pub published: Vec<usize>,
}

/// Reads and checks a dataset that is here. Nothing is downloaded; where waveform1 has no file, its
/// generator is checked.
pub fn verify(id: DatasetId, locations: &Locations, limit: Limit) -> Result<Verification> {
    if let Some(located) = locate(id, locations) {
        return Ok(load::read(&located, limit)?.verification);
    }
    if id != DatasetId::Waveform1 {
        return Err(acquire::missing(
            id,
            locations,
            "no complete set of files was found",
        ));
    }
    let rows = waveform::generate(waveform::PUBLISHED_ROWS, Seed(0))?;
    let counts = rows.class_counts(waveform::N_CLASSES);
    Ok(Verification {
        id,
        origin: Origin::Generated,
        folder: None,
        files: Vec::new(),
        parts: vec![PartReport {
            part: Part::Whole,
            published: counts.clone(),
            class_counts: counts,
        }],
        deviations: Vec::new(),
    })
}

/// Compares rows with the published ones, the most telling difference first; reports of files that
/// are packed otherwise are corrected. Upstream files have a published checksum, the Hub's do not.
pub(super) fn compare(
    card: &Card,
    part: &PartCard,
    rows: &Rows,
    reports: &mut [FileReport],
    published: &[Option<&str>],
) -> Vec<Deviation> {
    let mut deviations = Vec::new();
    let counts = rows.class_counts(card.n_classes());
    let n_found = rows.labels.len();
    let same_counts = counts == part.class_counts;
    if n_found < part.n_rows() {
        deviations.push(Deviation::Subset {
            part: part.part,
            published: part.n_rows(),
            found: n_found,
        });
    } else if !same_counts {
        deviations.push(Deviation::ClassCounts {
            part: part.part,
            published: part.class_counts.to_vec(),
            found: counts,
        });
    }
    let repacked = reports
        .iter()
        .any(|report| report.check == FileCheck::Differs);
    if !repacked {
        return deviations;
    }
    // Hashing all rows takes time: only where the counts leave it open.
    let digests = part
        .content
        .filter(|_| same_counts)
        .map(|published| (published, content::digest(rows)));
    let same_rows = digests
        .as_ref()
        .is_some_and(|(published, found)| published == found);
    for (report, published) in reports.iter_mut().zip(published) {
        report.check = match (report.check, published) {
            (FileCheck::SameBytes, _) => FileCheck::SameBytes,
            _ if same_rows => FileCheck::SameRows,
            (_, None) if same_counts && digests.is_none() => FileCheck::SameCounts,
            _ => FileCheck::Differs,
        };
        match (report.check, published, &digests) {
            (FileCheck::Differs, Some(published), _) => deviations.push(Deviation::Checksum {
                file: report.name.clone(),
                published: (*published).to_owned(),
                found: report.sha256.clone(),
            }),
            (FileCheck::Differs, None, Some((published, found))) => {
                deviations.push(Deviation::Rows {
                    part: part.part,
                    published: (*published).to_owned(),
                    found: found.clone(),
                });
            }
            _ => {}
        }
    }
    deviations
}
