//! Errors of Rust as exceptions of Python.

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};

/// What can be said wrong in a call is a `ValueError`; a file that cannot be read is an `OSError`.
pub(crate) fn raised(error: impl Into<mpu::Error>) -> PyErr {
    let error = error.into();
    if error.is_stopped() {
        return PyKeyboardInterrupt::new_err(error.to_string());
    }
    let message = spoken(&error.to_string());
    if is_io(&error) {
        return PyOSError::new_err(message);
    }
    PyValueError::new_err(message)
}

/// A message of the command line in the words of Python: `--priors` is `priors=` here.
pub(crate) fn spoken(message: &str) -> String {
    let mut parts = message.split("--");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let (flag, rest) = part.split_at(end.unwrap_or(part.len()));
        if flag.is_empty() {
            told += "--";
        } else {
            told += &flag.replace('-', "_");
            told.push('=');
        }
        told += rest
            .strip_prefix(' ')
            .filter(|_| !flag.is_empty())
            .unwrap_or(rest);
    }
    told
}

fn is_io(error: &mpu::Error) -> bool {
    match error {
        mpu::Error::At { error, .. } => is_io(error),
        mpu::Error::Text(error) => error.is::<std::io::Error>(),
        _ => false,
    }
}
