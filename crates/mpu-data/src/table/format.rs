//! File formats: chosen by extension, or said outright.

use std::path::Path;

use super::error::TableError;
use crate::named;

/// A format of the user's own data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputFormat {
    /// Comma-separated values with a header line; `.csv`, also `.csv.gz` and `.csv.bz2`.
    Csv,
    /// Tab-separated values with a header line; `.tsv` or `.tab`, also compressed.
    Tsv,
    /// Apache Parquet without nested columns; `.parquet` or `.pq`.
    Parquet,
    /// One NumPy array of features; `.npy`. Labels come from a second array.
    Npy,
    /// NumPy archive with `X` and `y`; `.npz`.
    Npz,
    /// `label index:value …` lines; `.libsvm`, `.svmlight` or `.svm`, also compressed.
    Libsvm,
    /// A folder of folders of PNG or JPEG files, one folder a class.
    Images,
    /// No file: a [`Frame`](super::Frame).
    Memory,
}

named!(InputFormat, "format", {
    Csv => "csv",
    Tsv => "tsv",
    Parquet => "parquet",
    Npy => "npy",
    Npz => "npz",
    Libsvm => "libsvm",
    Images => "images",
    Memory => "memory",
});

impl InputFormat {
    /// Those that a file or folder can have.
    pub const FILES: [Self; 7] = [
        Self::Csv,
        Self::Tsv,
        Self::Parquet,
        Self::Npy,
        Self::Npz,
        Self::Libsvm,
        Self::Images,
    ];

    /// The format that the name of a file says, or that a folder is.
    pub fn of(path: &Path) -> Result<Self, TableError> {
        if path.is_dir() {
            return Ok(Self::Images);
        }
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        let stem = name
            .strip_suffix(".gz")
            .or_else(|| name.strip_suffix(".bz2"))
            .unwrap_or(&name);
        let compressed = stem.len() < name.len();
        let extension = stem.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "csv" => Ok(Self::Csv),
            "tsv" | "tab" => Ok(Self::Tsv),
            "libsvm" | "svmlight" | "svm" => Ok(Self::Libsvm),
            "parquet" | "pq" if !compressed => Ok(Self::Parquet),
            "npy" if !compressed => Ok(Self::Npy),
            "npz" if !compressed => Ok(Self::Npz),
            _ => Err(TableError::file(
                path,
                format!(
                    "the name does not say the format\nhint: {}",
                    how_to_say(path)
                ),
            )),
        }
    }
}

/// What to do with a file whose name says no format.
fn how_to_say(file: &Path) -> &'static str {
    let ending = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match ending.as_ref().and_then(|e| e.to_str()) {
        Some("xlsx" | "xls" | "xlsm" | "ods" | "numbers") => "save the sheet as CSV",
        Some("zip" | "7z" | "rar" | "tar" | "xz" | "zst") => {
            "unpack it first; of compressed files, .gz and .bz2 are read"
        }
        Some("json" | "jsonl" | "ndjson" | "feather" | "arrow" | "h5" | "hdf5" | "pkl" | "mat") => {
            "write it as CSV or Parquet"
        }
        _ => "name one of csv, tsv, parquet, npy, npz, libsvm, images (--input-format)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_format() {
        for (name, format) in [
            ("a.csv", InputFormat::Csv),
            ("a.b.CSV.gz", InputFormat::Csv),
            ("a.tab", InputFormat::Tsv),
            ("a.libsvm.bz2", InputFormat::Libsvm),
            ("a.parquet", InputFormat::Parquet),
            ("X.npy", InputFormat::Npy),
            ("d.npz", InputFormat::Npz),
        ] {
            assert_eq!(InputFormat::of(Path::new(name)).unwrap(), format, "{name}");
        }
        for name in ["a", "a.txt", "a.gz", "a.parquet.gz", ""] {
            let error = InputFormat::of(Path::new(name)).unwrap_err();
            assert!(error.to_string().contains("csv, tsv, parquet"), "{error}");
        }
    }
}
