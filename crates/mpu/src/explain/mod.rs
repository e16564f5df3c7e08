//! What a model's answers rest on: which columns matter to it, and which moved the answer to one row.
//!
//! - [`Importances`] are computed once, when a model was trained, from rows that were held out, and kept with it.
//! - [`Background`] is a handful of training rows that are kept with a model: what the values of a row are compared
//!   with ([`Classifier::explain`](crate::Classifier::explain)).

mod background;
mod importances;
mod rows;

pub use background::Background;
pub(crate) use importances::importances;
pub use importances::{ColumnImportance, Importances};
pub use rows::{Effect, Explanation, Shown};

use std::ops::Range;

use mpu_data::split::draw::{choose, hold_out};
use mpu_data::table::{FeatureSchema, MpuTable};
use mpu_data::{Seed, Stream};
use mpu_train::Sample;

use crate::error::Result;

/// Of each group of rows so many are kept, if it has them.
const LEAST_OF_A_GROUP: usize = 20;

/// Rows of the user's table, encoded but not scaled, that a model is explained by.
#[derive(Debug, Clone)]
pub struct KeptRows {
    /// Rows that were held out.
    pub(crate) held: Sample,
    /// Some of the rows trained on.
    pub(crate) background: Background,
}

impl KeptRows {
    /// Some of the rows of a table: `train` are trained on, `held` are not. None for images.
    pub(crate) fn of(
        table: &MpuTable,
        train: &[usize],
        held: &[usize],
        seed: Seed,
    ) -> Result<Option<Self>> {
        if table.schema.is_images() {
            return Ok(None);
        }
        let labels: Vec<_> = held.iter().map(|&row| table.labels[row]).collect();
        let groups = table.classes()?.rows_by_group(&labels)?;
        let most = importances::n_rows_for(table.schema.columns().len());
        let share = most as f64 / held.len().max(1) as f64;
        let kept = |n: usize| {
            let part = (share * n as f64).round() as usize;
            part.max(LEAST_OF_A_GROUP).min(n)
        };
        let mut rng = seed.stream_at(Stream::Split, 4);
        let (_, kept) = hold_out(groups, kept, &mut rng);
        let mut kept: Vec<usize> = kept.concat().iter().map(|&place| held[place]).collect();
        kept.sort_unstable();
        let n_background = Background::n_rows_for(table.schema.width());
        let (background, _) = choose(train.to_vec(), n_background, &mut rng);
        Ok(Some(Self {
            held: Sample {
                features: table.features.select(&kept),
                labels: kept.iter().map(|&row| table.labels[row]).collect(),
            },
            background: Background::new(table.features.select(&background)),
        }))
    }
}

/// The features of each column.
fn columns(schema: &FeatureSchema) -> Vec<Range<usize>> {
    let mut at = 0;
    let features = schema.columns().iter().map(|column| {
        let start = at;
        at += column.width();
        start..at
    });
    features.collect()
}
