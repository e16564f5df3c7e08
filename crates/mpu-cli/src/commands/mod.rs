//! One file a command; each returns what it has to say as text.

pub(crate) mod losses;
