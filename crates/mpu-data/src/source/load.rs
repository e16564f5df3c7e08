//! From files to checked rows.

use std::path::{Path, PathBuf};

use crate::dataset::{Dataset, Holdout, Rows, TrainTest};
use crate::error::{Error, Result, bad_setting, hint_line};
use crate::provenance::{Deviation, Origin, Provenance};
use crate::seed::Seed;
use crate::source::acquire;
use crate::source::catalog::{Card, DatasetId, Format, Part};
use crate::source::progress::Progress;
use crate::source::resolve::{Located, LocatedFiles, LocatedPart, Locations, Network, locate};
use crate::source::unpack::{Limit, read_file};
use crate::source::verify::{FileCheck, FileReport, PartReport, Verification, compare};
use crate::source::{cifar, content, idx, mat, text, waveform};

crate::defaults! {
    /// How a dataset is loaded.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct LoadOptions {
        /// The seed of a drawn test part and of generated rows.
        pub seed: Seed = Seed(0),
        /// How test rows are set apart, if not in the dataset's own way.
        pub holdout: Option<Holdout> = None,
        /// For waveform1: generate so many rows, even where the file is here. Without it the published
        /// number is generated where the file is not.
        pub generated_rows: Option<usize> = None,
        /// How much memory one file may unpack to.
        pub limit: Limit = Limit::DEFAULT,
    }
}

/// Loads a dataset from where it is, or downloads it, or (waveform1) generates it.
pub fn load(
    id: DatasetId,
    locations: &Locations,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<TrainTest> {
    let located = if options.generated_rows.is_some() && id == DatasetId::Waveform1 {
        None
    } else {
        locate(id, locations)
    };
    let (parts, provenance) = match located {
        Some(located) => match read(&located, options.limit) {
            Ok(loaded) => loaded.into_parts(),
            // What was downloaded has changed since: get it again.
            Err(error)
                if located.origin == Origin::Cache && locations.network == Network::Online =>
            {
                progress.source_failed(&located.folder.display().to_string(), &error.to_string());
                let located = acquire::fetch(id, locations, progress)?;
                read(&located, options.limit)?.into_parts()
            }
            Err(error) => return Err(error),
        },
        None if id == DatasetId::Waveform1 => {
            let n_rows = options.generated_rows.unwrap_or(waveform::PUBLISHED_ROWS);
            generated(n_rows, options.seed)?
        }
        None => {
            let located = acquire::fetch(id, locations, progress)?;
            read(&located, options.limit)?.into_parts()
        }
    };
    let holdout = options.holdout.unwrap_or(id.card().holdout);
    assemble(id.card(), parts, &provenance, holdout, options.seed)
}

fn generated(n_rows: usize, seed: Seed) -> Result<(Vec<(Part, Rows)>, Provenance)> {
    let provenance = Provenance {
        name: DatasetId::Waveform1.slug().to_owned(),
        origin: Origin::Generated,
        folder: None,
        deviations: Vec::new(),
    };
    Ok((
        vec![(Part::Whole, waveform::generate(n_rows, seed)?)],
        provenance,
    ))
}

fn assemble(
    card: &Card,
    parts: Vec<(Part, Rows)>,
    provenance: &Provenance,
    holdout: Holdout,
    seed: Seed,
) -> Result<TrainTest> {
    let names = || {
        card.class_names
            .iter()
            .map(|&name| name.to_owned())
            .collect()
    };
    let dataset = |rows| Dataset::new(rows, names(), provenance.clone());
    let mut whole: Option<Rows> = None;
    let mut published = (None, None);
    for (part, rows) in parts {
        match (part, holdout) {
            (Part::Train, Holdout::Published) => published.0 = Some(rows),
            (Part::Test, Holdout::Published) => published.1 = Some(rows),
            _ => {
                whole = Some(match whole {
                    None => rows,
                    Some(before) => before.concat(&rows)?,
                });
            }
        }
    }
    match (holdout, whole, published) {
        (Holdout::Drawn { share }, Some(rows), _) => TrainTest::draw(&dataset(rows)?, share, seed),
        (Holdout::Published, None, (Some(train), Some(test))) => Ok(TrainTest {
            train: dataset(train)?,
            test: dataset(test)?,
            holdout,
            drawn_test_rows: Vec::new(),
        }),
        _ => Err(bad_setting(
            "test part",
            "published",
            format!("drawn: none was published with {}", card.id),
        )),
    }
}

/// A dataset as read, before test rows are set apart.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) parts: Vec<(Part, Rows)>,
    pub(crate) verification: Verification,
}

impl Loaded {
    fn into_parts(self) -> (Vec<(Part, Rows)>, Provenance) {
        let provenance = Provenance {
            name: self.verification.id.slug().to_owned(),
            origin: self.verification.origin,
            folder: self.verification.folder,
            deviations: self.verification.deviations,
        };
        (self.parts, provenance)
    }
}

/// Reads and checks all parts. What is in the cache came from a download and must be as published;
/// elsewhere a difference is noted and the rows stay usable.
pub(crate) fn read(located: &Located, limit: Limit) -> Result<Loaded> {
    let id = located.card.id;
    let mut loaded = Loaded {
        parts: Vec::new(),
        verification: Verification {
            id,
            origin: located.origin,
            folder: Some(located.folder.clone()),
            files: Vec::new(),
            parts: Vec::new(),
            deviations: Vec::new(),
        },
    };
    for part in &located.parts {
        let (rows, files, deviations) = read_part(located.card, part, limit)?;
        let must_match = matches!(located.origin, Origin::Cache | Origin::Download);
        if let (true, Some(deviation)) = (must_match, deviations.first()) {
            let hint = (located.origin == Origin::Cache)
                .then_some("remove its files there and fetch them again");
            return Err(Error::Refused(format!(
                "{} of {id} from {} is not the published one: {deviation}{}",
                part.card.part,
                located.folder.display(),
                hint_line(hint)
            )));
        }
        loaded.verification.parts.push(PartReport {
            part: part.card.part,
            class_counts: rows.class_counts(located.card.n_classes()),
            published: part.card.class_counts.to_vec(),
        });
        loaded.verification.files.extend(files);
        loaded.verification.deviations.extend(deviations);
        loaded.parts.push((part.card.part, rows));
    }
    Ok(loaded)
}

type PartContent = (Rows, Vec<FileReport>, Vec<Deviation>);

fn read_part(card: &Card, part: &LocatedPart, limit: Limit) -> Result<PartContent> {
    let (paths, published): (&[PathBuf], Vec<Option<&str>>) = match &part.files {
        LocatedFiles::Upstream(paths) => (
            paths,
            part.card
                .files
                .iter()
                .map(|file| Some(file.sha256))
                .collect(),
        ),
        LocatedFiles::Parquet(path) => (std::slice::from_ref(path), vec![None]),
    };
    let contents = paths
        .iter()
        .map(|path| read_file(path, limit))
        .collect::<Result<Vec<Vec<u8>>>>()?;
    let mut reports: Vec<FileReport> = paths
        .iter()
        .zip(&contents)
        .zip(&published)
        .map(|((path, bytes), published)| {
            let sha256 = content::sha256(bytes);
            let same = *published == Some(sha256.as_str());
            FileReport {
                name: file_name(path),
                size: bytes.len() as u64,
                sha256,
                check: if same {
                    FileCheck::SameBytes
                } else {
                    FileCheck::Differs
                },
            }
        })
        .collect();
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let rows = decode(card, part, &names, &contents, limit)?;
    drop(contents);

    let deviations = compare(card, part.card, &rows, &mut reports, &published);
    Ok((rows, reports, deviations))
}

fn decode(
    card: &Card,
    part: &LocatedPart,
    names: &[String],
    contents: &[Vec<u8>],
    limit: Limit,
) -> Result<Rows> {
    if matches!(part.files, LocatedFiles::Parquet(_)) {
        return decode_parquet(card, &names[0], &contents[0], limit);
    }
    let rows = match part.card.format {
        Format::IdxPair => idx::read_pair(
            (&names[0], &contents[0]),
            (&names[1], &contents[1]),
            card.n_classes(),
            limit,
        )?,
        Format::Text(layout) => text::read(&names[0], &contents[0], layout, limit)?,
        Format::SvhnMat => mat::svhn(&names[0], &contents[0], limit)?,
        Format::CifarBatches => cifar::read(names, contents, limit)?,
    };
    if rows.features.shape() != card.shape {
        return Err(Error::bytes(
            &names[0],
            0,
            format!(
                "rows of shape {}: {} has {}",
                rows.features.shape(),
                card.id,
                card.shape
            ),
        ));
    }
    Ok(rows)
}

#[cfg(feature = "parquet")]
fn decode_parquet(card: &Card, name: &str, bytes: &[u8], limit: Limit) -> Result<Rows> {
    crate::source::hub_parquet::read(name, bytes, card.shape, card.n_classes(), limit)
}

#[cfg(not(feature = "parquet"))]
fn decode_parquet(_: &Card, name: &str, _: &[u8], _: Limit) -> Result<Rows> {
    Err(Error::bytes(
        name,
        0,
        "this build does not read Parquet (feature `parquet`)",
    ))
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}
