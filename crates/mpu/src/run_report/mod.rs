//! A page about a run: what was done, how good it is, what to mind.

pub(crate) mod facts;
mod fill;
mod parts;
mod pool;
mod stored;
mod thresholds;
mod verdict;

pub use fill::{of_classifier, of_folder};
pub use stored::of_record;
