//! One file a command; each returns what it has to say as text.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod data;
mod decision;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod losses;
pub(crate) mod predict;
pub(crate) mod prior;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod runs;
pub(crate) mod sensitivity;
pub(crate) mod show;
pub(crate) mod split;
pub(crate) mod submit;
pub(crate) mod train;

use mpu::{Prepared, RunConfig};

use crate::args::Place;
use crate::console::{Detectors, Downloads};

/// What a command has to say, and whether what it checked was in order.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) good: bool,
}

impl Answer {
    pub(crate) fn good(text: String) -> Self {
        Self { text, good: true }
    }
}

/// A benchmark, made into labelled rows and a pool.
fn benchmark(
    config: &RunConfig,
    place: &Place,
    detectors: &mut Detectors,
) -> anyhow::Result<Prepared> {
    let data = mpu::dataset(config, &place.locations(), &Downloads::default())?;
    Ok(Prepared::of(config, &data, detectors)?)
}
