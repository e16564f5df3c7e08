//! A page about a run: what was done, how good it is, what to mind.

pub(crate) mod facts;
mod fill;
mod parts;
mod thresholds;

pub use fill::of_folder;
