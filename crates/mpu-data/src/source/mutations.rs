//! Random mutations of valid files.
