//! The store of runs: a folder with one record for each run, written once and never changed.
//!
//! ```text
//! records/ID.json       a finished run
//! failures/ID.N.json    the N-th failed attempt at a run
//! claims/ID.lock        held by whoever trains the run now; the system frees it when its holder dies
//! claims/pack.lock      held by whoever packs the store now
//! work/ID/              the checkpoint of a run that was stopped
//! *.jsonl               bundles: records of many runs, one on each line
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use crate::record::Record;

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// The version of this form.
    pub version: u32,
    /// The content hash of the resolved configuration.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What went wrong.
    pub error: String,
}

/// The right to train a run. It ends when this is dropped, or when the process does.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

/// A folder of records.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens a store, and makes it if it is not there.
    pub fn open(root: &Path) -> Result<Self> {
        for folder in ["records", "failures", "claims", "work"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(|error| Error::file("making", &path, error))?;
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// A store that is only read: nothing is made.
    pub fn read_only(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every finished run by its id. A record and its copy in a bundle count once.
    pub fn records(&self) -> Result<BTreeMap<String, Record>> {
        let mut records = BTreeMap::new();
        for path in files(&self.root, ".jsonl")? {
            let text = read(&path)?;
            for (index, line) in text.lines().enumerate() {
                if !line.trim().is_empty() {
                    let record = parse_record(&path, index + 1, line)?;
                    records.insert(record.id.clone(), record);
                }
            }
        }
        for path in files(&self.root.join("records"), ".json")? {
            let record = record_from_json(&path, &read(&path)?)?;
            records.insert(record.id.clone(), record);
        }
        Ok(records)
    }

    /// Whether the run is done: it has a record of its own, or one in a bundle.
    pub fn has(&self, id: &str) -> Result<bool> {
        // In this order, because packing writes the bundle before it removes the record.
        if self.record_path(id).exists() {
            return Ok(true);
        }
        let named = format!("\"id\":\"{id}\"");
        for path in files(&self.root, ".jsonl")? {
            if read(&path)?.contains(&named) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The right to train a run, unless somebody else has it or the run is done.
    pub fn claim(&self, id: &str) -> Result<Option<Claim>> {
        let path = self.claim_path(id);
        let file = File::create(&path).map_err(|error| Error::file("making", &path, error))?;
        match file.try_lock() {
            // Asked again under the lock: another process may just have finished it.
            Ok(()) if self.has(id)? => Ok(None),
            Ok(()) => {
                sweep(&self.root.join("records"), &format!(".{id}.json."))?;
                Ok(Some(Claim { _lock: file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::file("locking", &path, error)),
        }
    }

    /// Keeps the record of a finished run. A record that is there stays.
    pub fn put(&self, record: &Record) -> Result<()> {
        if self.has(&record.id)? {
            return Ok(());
        }
        write(&self.record_path(&record.id), record)?;
        let work = self.work(&record.id);
        if work.exists() {
            // The checkpoint has served; if it stays, it only takes room.
            let _ = fs::remove_dir_all(work);
        }
        Ok(())
    }

    /// Moves all records into bundles, one for each dataset, and gives how many each file holds. `slim` takes out what
    /// need not be kept. Others may train into the store meanwhile, and pack it: packing waits for packing.
    pub fn pack(&self, slim: impl Fn(Record) -> Record) -> Result<Vec<(PathBuf, usize)>> {
        let path = self.root.join("claims").join("pack.lock");
        let lock = File::create(&path).map_err(|error| Error::file("making", &path, error))?;
        lock.lock()
            .map_err(|error| Error::file("locking", &path, error))?;
        sweep(&self.root, ".")?;
        // Read under the lock: what another process has packed by now must go into the bundles again.
        let mut by_dataset: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for record in self.records()?.into_values() {
            let dataset = record.key.dataset.clone();
            by_dataset.entry(dataset).or_default().push(slim(record));
        }
        let mut bundles = Vec::with_capacity(by_dataset.len());
        for (dataset, records) in &by_dataset {
            let path = self.root.join(format!("{dataset}.jsonl"));
            write_atomic(&path, bundle(records)?.as_bytes())
                .map_err(|error| Error::file("writing", &path, error))?;
            bundles.push((path, records.len()));
        }
        // Only when every bundle is safe.
        for record in by_dataset.values().flatten() {
            remove(&self.record_path(&record.id))?;
            remove(&self.claim_path(&record.id))?;
        }
        Ok(bundles)
    }

    /// Keeps a failed attempt.
    pub fn put_failure(&self, failure: &Failure) -> Result<()> {
        let n = self.failures_of(&failure.id)?.len() + 1;
        let name = format!("failures/{}.{n}.json", failure.id);
        write(&self.root.join(name), failure)
    }

    /// The failed attempts at a run.
    pub fn failures_of(&self, id: &str) -> Result<Vec<Failure>> {
        Ok(self.failures()?.remove(id).unwrap_or_default())
    }

    /// Every failed attempt, by the run's id.
    pub fn failures(&self) -> Result<BTreeMap<String, Vec<Failure>>> {
        let mut failures: BTreeMap<String, Vec<Failure>> = BTreeMap::new();
        for path in files(&self.root.join("failures"), ".json")? {
            let failure = parse::<Failure>(&path, 1, &read(&path)?)?;
            let attempts = failures.entry(failure.id.clone()).or_default();
            attempts.push(failure);
        }
        Ok(failures)
    }

    /// The folder for a run's checkpoint.
    pub fn work(&self, id: &str) -> PathBuf {
        self.root.join("work").join(id)
    }

    fn claim_path(&self, id: &str) -> PathBuf {
        self.root.join("claims").join(format!("{id}.lock"))
    }

    fn record_path(&self, id: &str) -> PathBuf {
        self.root.join("records").join(format!("{id}.json"))
    }
}

/// A record from the text of its file; `path` is for errors.
pub fn record_from_json(path: &Path, text: &str) -> Result<Record> {
    parse_record(path, 1, text)
}

/// The text of a record's file; `path` is for errors.
pub fn record_to_json(path: &Path, record: &Record) -> Result<String> {
    text_of(path, record)
}

/// Records as a bundle: one on each line, in the order of their ids.
pub fn bundle<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<String> {
    let mut lines = BTreeMap::new();
    for record in records {
        let line = serde_json::to_string(record)
            .map_err(|source| Error::json(Path::new("bundle"), 1, source))?;
        lines.insert(&record.id, line);
    }
    Ok(lines.into_values().map(|line| line + "\n").collect())
}

/// The files of a folder with this ending, by name; none if the folder is not there. What a killed
/// process left half-written has another ending.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |error| Error::file("looking into", folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() && path.to_string_lossy().ends_with(ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Removes what killed processes left half-written.
fn sweep(folder: &Path, beginning: &str) -> Result<()> {
    for path in files(folder, ".part")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(beginning) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file if it is there.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("removing", path, error))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::file("reading", path, error))
}

fn parse_record(path: &Path, line: usize, text: &str) -> Result<Record> {
    let record: Record = parse(path, line, text)?;
    if record.version > Record::VERSION {
        return Err(Error::Newer {
            id: record.id,
            found: record.version,
            known: Record::VERSION,
        });
    }
    Ok(record)
}

fn text_of(path: &Path, value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|source| Error::json(path, 1, source))?;
    Ok(text + "\n")
}

fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomic(path, text_of(path, value)?.as_bytes())
        .map_err(|error| Error::file("writing", path, error))
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, line: usize, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|source| Error::json(path, line, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::fashion as record;

    #[test]
    fn records_are_kept_once_and_never_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let first = record("a", "area", 1, 0.5);
        store.put(&first).unwrap();
        store.put(&record("a", "area", 1, 0.9)).unwrap();
        assert_eq!(store.records().unwrap()["a"], first);
    }

    #[test]
    fn a_claim_keeps_others_away_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let claim = store.claim("a").unwrap().unwrap();
        assert!(store.claim("a").unwrap().is_none());
        assert!(store.claim("b").unwrap().is_some());
        drop(claim);
        assert!(store.claim("a").unwrap().is_some());
        store.put(&record("a", "area", 1, 0.5)).unwrap();
        assert!(store.claim("a").unwrap().is_none(), "it is done");
    }

    #[test]
    fn bundles_and_records_are_read_together_and_faults_are_placed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (a, b) = (record("a", "area", 1, 0.5), record("b", "area", 2, 0.6));
        let text = bundle([&b, &a]).unwrap();
        assert!(text.starts_with("{\"version\":1,\"id\":\"a\""), "{text}");
        fs::write(folder.path().join("usps.jsonl"), &text).unwrap();
        store.put(&record("c", "area", 3, 0.7)).unwrap();
        fs::write(folder.path().join("records/.d.json.7.part"), "{").unwrap();
        assert_eq!(store.records().unwrap().len(), 3);

        fs::write(folder.path().join("z.jsonl"), "\n{\"version\":1}\n").unwrap();
        let error = store.records().unwrap_err().to_string();
        assert!(
            error.contains("z.jsonl") && error.contains("line 2"),
            "{error}"
        );
        let newer = text.replace("\"version\":1", "\"version\":9");
        fs::write(folder.path().join("z.jsonl"), newer).unwrap();
        let error = store.records().unwrap_err().to_string();
        assert!(error.contains('9'), "{error}");
    }

    #[test]
    fn a_run_that_was_packed_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put(&record("a", "area", 1, 0.5)).unwrap();
        let bundles = store.pack(|record| record).unwrap();
        assert_eq!(bundles, [(folder.path().join("fashion-mnist.jsonl"), 1)]);
        assert!(!folder.path().join("records/a.json").exists());
        // A runner that planned before the packing asks for it now.
        assert!(store.claim("a").unwrap().is_none(), "it is done");
        assert!(store.claim("b").unwrap().is_some());
        store.put(&record("a", "area", 1, 0.9)).unwrap();
        assert_eq!(store.records().unwrap()["a"], record("a", "area", 1, 0.5));
    }

    #[test]
    fn whoever_claims_a_run_clears_what_was_left_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let parts = ["records/.a.json.7.part", "records/.b.json.7.part"];
        let parts = parts.map(|part| folder.path().join(part));
        for part in &parts {
            fs::write(part, "{").unwrap();
        }
        let _claim = store.claim("a").unwrap().unwrap();
        assert!(!parts[0].exists() && parts[1].exists());
    }

    #[test]
    fn whoever_packs_clears_what_was_left_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let part = folder.path().join(".mnist.jsonl.7.part");
        fs::write(&part, "{").unwrap();
        store.pack(|record| record).unwrap();
        assert!(!part.exists());
    }

    #[test]
    fn packing_beside_packing_and_training_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let store = &store;
                scope.spawn(move || {
                    for seed in 0..20 {
                        let id = format!("{writer}-{seed}");
                        store.put(&record(&id, "area", seed, 0.5)).unwrap();
                    }
                });
                scope.spawn(move || {
                    for _ in 0..10 {
                        store.pack(|record| record).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.records().unwrap().len(), 60);
        store.pack(|record| record).unwrap();
        assert_eq!(store.records().unwrap().len(), 60);
    }

    #[test]
    fn failures_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let failure = |error: &str| Failure {
            version: 1,
            id: "a".to_owned(),
            name: "a run".to_owned(),
            error: error.to_owned(),
        };
        store.put_failure(&failure("first")).unwrap();
        store.put_failure(&failure("second")).unwrap();
        let errors: Vec<String> = store
            .failures_of("a")
            .unwrap()
            .into_iter()
            .map(|f| f.error)
            .collect();
        assert_eq!(errors, ["first", "second"]);
        assert!(store.failures_of("b").unwrap().is_empty());
    }
}
