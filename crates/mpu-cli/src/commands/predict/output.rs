//! What is written of a scored row, as CSV or JSON lines, and where it goes.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use mpu::{Classifier, Predictions};

use super::because::Reason;
use crate::args::predict::Predict;

/// What stands in the first column: what a row is known by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keys<'a> {
    /// Ids of the user's own.
    Ids(&'a [String]),
    /// The numbers of the rows, counted from 1.
    Numbers(&'a [u64]),
}

/// Predictions rows, ready to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) keys: Keys<'a>,
    /// The class and the rank of each row, in a queue to review.
    pub(super) queue: Option<&'a [(usize, usize)]>,
    /// What moved the answer to each row, if that is asked for.
    pub(super) because: Option<&'a [Vec<Reason>]>,
    pub(super) scored: &'a Predictions,
}

impl Lines<'_> {
    /// The scores of a row, its probabilities and its margin.
    pub(super) fn figures(&self, row: usize, k: usize) -> impl Iterator<Item = &f32> {
        let (scored, place) = (self.scored, row * k..(row + 1) * k);
        let scores = &scored.scores[place.clone()];
        let probabilities = &scored.probabilities[place];
        let margin = &scored.margins[row..=row];
        scores.iter().chain(probabilities).chain(margin)
    }
}

/// The columns of the output.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    key: String,
    #[cfg_attr(
        not(feature = "parquet"),
        allow(dead_code, reason = "only Parquet has types")
    )]
    pub(super) keys: KeyKind,
    /// Whether there are `queue` and `rank`.
    pub(super) queue: bool,
    /// Whether there is `because`.
    pub(super) because: bool,
    /// The classes, the unknown one last.
    pub(super) classes: Vec<String>,
    /// Names of features, for `outside`.
    pub(super) features: Vec<String>,
    /// Whether texts go into CSV as they are, also where a spreadsheet would run them.
    raw: bool,
}

/// Whether rows have ids of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Ids,
    Numbers,
}

impl Columns {
    pub(super) fn new(model: &Classifier, keys: KeyKind, args: &Predict) -> mpu::Result<Self> {
        let wanted = match (keys, model.schema()?.id_column()) {
            (KeyKind::Numbers, _) => "row",
            (KeyKind::Ids, Some(id)) => id,
            (KeyKind::Ids, None) => "file",
        };
        let mut columns = Self {
            key: String::new(),
            keys,
            queue: args.top.is_some(),
            because: args.explain.is_some(),
            classes: model.names().to_vec(),
            features: model.schema()?.feature_names(),
            raw: args.raw_csv,
        };
        columns.key = if columns.names().iter().any(|name| name == wanted) {
            format!("id:{wanted}")
        } else {
            wanted.to_owned()
        };
        Ok(columns)
    }

    /// The names of all columns in order.
    pub(super) fn names(&self) -> Vec<String> {
        let named = |kind: &str, class: &String| format!("{kind}:{class}");
        let mut names = vec![self.key.clone()];
        if self.queue {
            names.extend(["queue".to_owned(), "rank".to_owned()]);
        }
        names.push("answer".to_owned());
        names.extend(self.classes.iter().map(|class| named("score", class)));
        names.extend(self.classes.iter().map(|class| named("probability", class)));
        names.extend(["margin".to_owned(), "outside".to_owned()]);
        names.extend(self.because.then(|| "because".to_owned()));
        names
    }

    /// A text as it goes into CSV.
    fn field<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.raw {
            Cow::Borrowed(text)
        } else {
            mpu_report::csv_field(text)
        }
    }

    pub(super) fn csv_header(&self) -> anyhow::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = self.names();
        writer.write_record(names.iter().map(|name| self.field(name).into_owned()))?;
        Ok(writer.into_inner()?)
    }

    /// Rows as CSV without a header.
    pub(super) fn csv(&self, lines: &Lines<'_>) -> anyhow::Result<Vec<u8>> {
        let (scored, k) = (lines.scored, self.classes.len());
        let mut writer = csv::Writer::from_writer(Vec::with_capacity(scored.answers.len() * 64));
        let mut text = Vec::new();
        for row in 0..scored.answers.len() {
            match lines.keys {
                Keys::Ids(ids) => writer.write_field(self.field(&ids[row]).as_bytes())?,
                Keys::Numbers(numbers) => writer.write_field(written(&mut text, numbers[row])?)?,
            }
            if let Some(queue) = lines.queue {
                writer.write_field(self.field(&self.classes[queue[row].0]).as_bytes())?;
                writer.write_field(written(&mut text, queue[row].1)?)?;
            }
            writer.write_field(self.field(&self.classes[scored.answers[row]]).as_bytes())?;
            for number in lines.figures(row, k) {
                writer.write_field(written(&mut text, number)?)?;
            }
            let outside = scored.outside[row].map_or("", |feature| &self.features[feature]);
            writer.write_field(self.field(outside).as_bytes())?;
            if let Some(because) = lines.because {
                let reasons: Vec<String> = because[row].iter().map(Reason::to_string).collect();
                writer.write_field(self.field(&reasons.join(", ")).as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        Ok(writer.into_inner()?)
    }

    /// Rows as JSON objects, one a line.
    pub(super) fn jsonl(&self, lines: &Lines<'_>) -> anyhow::Result<Vec<u8>> {
        let (scored, k) = (lines.scored, self.classes.len());
        let names = self.names();
        let names = names.iter().map(serde_json::to_string);
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let mut out = Vec::with_capacity(scored.answers.len() * 128);
        for row in 0..scored.answers.len() {
            let mut names = names.iter();
            let mut start = b'{';
            let mut key = |out: &mut Vec<u8>| {
                out.push(start);
                start = b',';
                out.extend_from_slice(names.next().map_or(b"", |name| name.as_bytes()));
                out.push(b':');
            };
            key(&mut out);
            match lines.keys {
                Keys::Ids(ids) => serde_json::to_writer(&mut out, &ids[row])?,
                Keys::Numbers(numbers) => write!(out, "{}", numbers[row])?,
            }
            if let Some(queue) = lines.queue {
                key(&mut out);
                serde_json::to_writer(&mut out, &self.classes[queue[row].0])?;
                key(&mut out);
                write!(out, "{}", queue[row].1)?;
            }
            key(&mut out);
            serde_json::to_writer(&mut out, &self.classes[scored.answers[row]])?;
            for number in lines.figures(row, k) {
                key(&mut out);
                write!(out, "{number:?}")?;
            }
            key(&mut out);
            let outside = scored.outside[row].map(|feature| &self.features[feature]);
            serde_json::to_writer(&mut out, &outside)?;
            if let Some(because) = lines.because {
                key(&mut out);
                serde_json::to_writer(&mut out, &because[row])?;
            }
            out.extend_from_slice(b"}\n");
        }
        Ok(out)
    }
}

/// A number as text that reads back to the same number.
fn written(text: &mut Vec<u8>, number: impl std::fmt::Debug) -> io::Result<&[u8]> {
    text.clear();
    write!(text, "{number:?}")?;
    Ok(text)
}

/// Where the output goes: standard output, or a file that is whole or not there.
pub(super) enum Destination {
    Stdout(io::Stdout),
    File(PartFile),
}

/// A file that is written beside its place and moved there at the end; what is not finished is removed.
pub(super) struct PartFile {
    file: BufWriter<File>,
    beside: PathBuf,
    path: PathBuf,
    force: bool,
    is_kept: bool,
}

impl Destination {
    /// Refuses what is there already.
    pub(super) fn check(path: &Path, force: bool) -> anyhow::Result<()> {
        anyhow::ensure!(
            !path.is_dir(),
            "--out {} is a folder: name a file",
            path.display()
        );
        anyhow::ensure!(
            force || path == Path::new("-") || !path.exists(),
            "--out {} exists already\nhint: name another file, or replace it with --force",
            path.display()
        );
        Ok(())
    }

    /// Refuses to write over what is read: the data, or a file of the model.
    pub(super) fn check_inputs(out: &Path, data: &Path, model: &Path) -> anyhow::Result<()> {
        let Ok(place) = out.canonicalize() else {
            return Ok(()); // it is not there yet
        };
        let same = |path: &Path| path.canonicalize().is_ok_and(|path| path == place);
        let mut files = mpu::RunFolder::FILES.iter();
        let of_the_model = files.any(|name| same(&model.join(name)));
        anyhow::ensure!(
            !same(data) && !of_the_model,
            "--out {} would replace a file that is read\nhint: name another file",
            out.display()
        );
        Ok(())
    }

    pub(super) fn open(path: &Path, force: bool) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(io::stdout()));
        }
        Self::check(path, force)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        sweep(path, &format!(".{name}."));
        let mut new = File::options();
        new.write(true).create_new(true); // a link is not followed
        let file = new.open(&beside).with_context(|| {
            format!(
                "writing {}\nhint: the folder must exist and be writable",
                path.display()
            )
        })?;
        let _ = file.try_lock(); // says that somebody is writing it
        Ok(Self::File(PartFile {
            file: BufWriter::with_capacity(1 << 18, file),
            beside,
            path: path.to_owned(),
            force,
            is_kept: false,
        }))
    }

    /// Makes the output last.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Stdout(mut stdout) => Ok(stdout.flush()?),
            Self::File(mut part) => {
                let writing = || format!("writing {}", part.path.display());
                part.file.flush().with_context(writing)?;
                part.file.get_ref().sync_all().with_context(writing)?;
                // It may have come into being in the meantime.
                Self::check(&part.path, part.force)?;
                fs::rename(&part.beside, &part.path).with_context(writing)?;
                part.is_kept = true;
                // Makes the rename last through a power cut, where the system lets folders be synced.
                if let Some(folder) = part.path.parent()
                    && let Ok(folder) = File::open(folder)
                {
                    let _ = folder.sync_all();
                }
                Ok(())
            }
        }
    }
}

/// Removes what killed processes left of this output: nobody holds their lock any more.
fn sweep(path: &Path, start: &str) {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(start)
            && name.ends_with(".part")
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(part) => part.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(part) => part.file.flush(),
        }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Best effort: half of an output is of no use.
            let _ = fs::remove_file(&self.beside);
        }
    }
}
