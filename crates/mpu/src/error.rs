//! What can go wrong between a table and its answers.

use std::error::Error as StdError;
use std::fmt::Display;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Every message names the value at fault and says what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bad classes, priors, costs, features or benchmark files.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// A table that cannot be read or understood.
    #[error(transparent)]
    Table(#[from] mpu_data::table::TableError),

    /// Bad input to a judge or a decision.
    #[error(transparent)]
    Eval(#[from] mpu_eval::Error),

    /// A bad loss.
    #[error(transparent)]
    Loss(#[from] mpu_loss::Error),

    /// A bad risk.
    #[error(transparent)]
    Risk(#[from] mpu_risk::Error),

    /// A bad network.
    #[error(transparent)]
    Model(#[from] mpu_models::Error),

    /// Class priors that cannot be estimated.
    #[error(transparent)]
    Prior(#[from] mpu_prior::Error),

    /// Training that failed.
    #[error(transparent)]
    Train(#[from] mpu_train::Error),

    /// A table that cannot be shown.
    #[error(transparent)]
    Report(#[from] mpu_report::Error),

    /// A file or text that cannot be read or written.
    #[error(transparent)]
    Text(Box<dyn StdError + Send + Sync>),

    /// Something that cannot be done as asked; the message says why, and what can be done.
    #[error("{0}")]
    Refused(String),

    /// The same error with the place where it happened.
    #[error("{place}: {error}")]
    At {
        /// What was being done, or to which file.
        place: String,
        /// What went wrong there.
        error: Box<Error>,
    },

    /// The observer of a run failed.
    #[error(transparent)]
    Observer(Box<dyn StdError + Send + Sync>),

    /// The observer of a run, or the user, stopped it.
    #[error("interrupted {0}")]
    Stopped(String),
}

impl Error {
    /// Whether somebody stopped the work, which is no fault.
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::Stopped(_) => true,
            Self::At { error, .. } => error.is_stopped(),
            _ => false,
        }
    }

    /// The same with classes called by their names: crates that know only their numbers count them from 0.
    #[must_use]
    pub fn naming(self, names: &[String]) -> Self {
        let (found, message) = (self.to_string(), name_classes(&self.to_string(), names));
        if self.is_stopped() || found == message {
            return self;
        }
        Self::Refused(message)
    }
}

/// Puts the names of classes in the place of their numbers: "class 0" becomes "class `dent`".
fn name_classes(message: &str, names: &[String]) -> String {
    let mut parts = message.split("class ");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let class = part[..part.len() - rest.len()].parse::<usize>();
        named.push_str("class ");
        match class.ok().and_then(|class| names.get(class)) {
            Some(name) => named.extend(["`", name, "`", rest]),
            None => named.push_str(part),
        }
    }
    named
}

/// Errors that only say that a text or file is at fault.
macro_rules! text {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Text(Box::new(error))
            }
        })*
    };
}

text!(
    std::io::Error,
    csv::Error,
    serde_json::Error,
    toml::de::Error,
    toml::ser::Error,
    std::num::ParseFloatError,
    std::str::Utf8Error
);

/// Names the place of an error.
pub(crate) trait Context<T> {
    /// With a place that is known already.
    fn context(self, place: impl Display) -> Result<T>;

    /// With a place that is worked out only if it is needed.
    fn with_context<D: Display>(self, place: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, place: impl Display) -> Result<T> {
        self.with_context(|| place)
    }

    fn with_context<D: Display>(self, place: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| Error::At {
            place: place().to_string(),
            error: Box::new(error.into()),
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, place: impl Display) -> Result<T> {
        self.with_context(|| place)
    }

    fn with_context<D: Display>(self, place: impl FnOnce() -> D) -> Result<T> {
        self.ok_or_else(|| Error::Refused(place().to_string()))
    }
}

/// Ends a function with a refusal.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::error::Error::Refused(format!($($message)*)))
    };
}

/// Ends a function with a refusal unless something holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        // Not `!$holds`: what cannot be compared does not hold.
        if $holds {
        } else {
            $crate::error::bail!($($message)*);
        }
    };
}

pub(crate) use {bail, ensure};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_called_by_their_names() {
        let names = ["dent", "a 1"].map(str::to_owned);
        for (message, expected) in [
            (
                "no moment sees class 1: its column",
                "no moment sees class `a 1`: its column",
            ),
            ("prior of class 0 is -1", "prior of class `dent` is -1"),
            ("class 7 and class", "class 7 and class"),
            ("subclass 0", "subclass `dent`"),
        ] {
            assert_eq!(name_classes(message, &names), expected);
        }
        let stopped = Error::Stopped("class 0".to_owned()).naming(&names);
        assert!(stopped.is_stopped());
    }
}
