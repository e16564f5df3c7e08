//! What can be wrong with data, with the value found and what is allowed.

use std::path::Path;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong with the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A class index that no observed class has.
    #[error(
        "label {found} is out of range: with {n_classes} classes the observed ones are 0 to {}, and class {} is negative and never labelled",
        n_classes - 2,
        n_classes - 1
    )]
    LabelOutOfRange {
        /// The label given.
        found: usize,
        /// The number of classes.
        n_classes: usize,
    },

    /// A cost matrix for another number of classes.
    #[error("{found} classes, but the cost matrix is made for {n_classes}")]
    CostCount {
        /// The number of classes found.
        found: usize,
        /// That of the matrix.
        n_classes: usize,
    },

    /// Files, fields, values or splits that cannot be had or used: in words.
    #[error("{0}")]
    Refused(String),

    /// Bytes that the format does not allow.
    #[error("{file}: at byte {offset}: {problem}")]
    BadBytes {
        /// The file.
        file: String,
        /// Where, counted from 0 in the (unpacked) file.
        offset: u64,
        /// What was found and what is allowed.
        problem: String,
    },

    /// A file that would take more memory than it may.
    #[error("{file}: {what} takes {claimed} bytes, and at most {limit} are allowed")]
    TooLarge {
        /// The file.
        file: String,
        /// What takes so much.
        what: &'static str,
        /// How many bytes are claimed; one more than the limit when the true number is unknown.
        claimed: u64,
        /// How many are allowed.
        limit: u64,
    },

    /// A name that is none of the known ones.
    #[error(transparent)]
    UnknownName(#[from] crate::UnknownName),

    /// A download that failed for good.
    #[error("cannot download {url}: {reason}{}", hint_line(hint.as_deref()))]
    Download {
        /// The address.
        url: String,
        /// The last failure.
        reason: String,
        /// What may help.
        hint: Option<String>,
    },

    /// A file whose checksum is not the published one.
    #[error("{file} from {from} has SHA-256 {found}, not the published {expected}")]
    Checksum {
        /// The file.
        file: String,
        /// Where it came from.
        from: String,
        /// The published checksum.
        expected: String,
        /// The checksum found.
        found: String,
    },

    /// A setting or another value outside its range.
    #[error("{name} is {value}: it must be {allowed}")]
    Setting {
        /// The setting.
        name: String,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: String,
    },

    /// Parts that do not fit together.
    #[error("{what}: {found}, but {needed}")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is needed.
        needed: String,
    },

    /// A class beyond the number of classes.
    #[error("class {found} is out of range: with {n_classes} classes it must be 0 to {}", n_classes - 1)]
    ClassBeyond {
        /// The class given.
        found: usize,
        /// The number of classes.
        n_classes: usize,
    },
}

impl Error {
    pub(crate) fn file(action: &str, path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::Refused(format!("cannot {action} {}: {error}", path.display()))
    }

    /// A download that failed; the address is named without what may be secret in it.
    #[cfg(feature = "fetch")]
    pub(crate) fn download(url: &str, reason: String, hint: Option<&str>) -> Self {
        Self::Download {
            url: crate::source::resolve::shown(url),
            reason,
            hint: hint.map(str::to_owned),
        }
    }

    pub(crate) fn bytes(file: &str, offset: u64, problem: impl Into<String>) -> Self {
        Self::BadBytes {
            file: file.to_owned(),
            offset,
            problem: problem.into(),
        }
    }
}

/// The error of a setting or another value outside its range, as any crate's own error type.
pub fn bad_setting<E: From<Error>>(
    name: impl Into<String>,
    value: impl std::fmt::Display,
    allowed: impl Into<String>,
) -> E {
    E::from(Error::Setting {
        name: name.into(),
        value: value.to_string(),
        allowed: allowed.into(),
    })
}

/// The error of parts that do not fit together, as any crate's own error type.
pub fn mismatch<E: From<Error>>(
    what: &'static str,
    found: impl std::fmt::Display,
    needed: impl Into<String>,
) -> E {
    E::from(Error::Mismatch {
        what,
        found: found.to_string(),
        needed: needed.into(),
    })
}

pub(crate) fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    /// A text that must contain what is written with dots between, as in `line 3 … hint:`.
    #[track_caller]
    pub(crate) fn check_text(text: &str, parts: &str) {
        for part in parts.split(" … ") {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    /// The message of what must be refused.
    #[track_caller]
    pub(crate) fn check_message<T>(result: Result<T, impl std::fmt::Display>, parts: &str) {
        let message = result.err().expect("it must be refused").to_string();
        check_text(&message, parts);
        assert!(!message.ends_with('.'), "{message}");
    }
}
