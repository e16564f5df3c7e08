//! Which columns matter to a model.

use mpu_data::Seed;
use mpu_eval::importance::{Importance, most_different, orders};
use mpu_eval::{Anchor, Calibration};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns;
use crate::error::Result;
use crate::prepared::Prepared;
use crate::scorer::Scorer;

/// How often a column is mixed up.
const REPEATS: usize = 3;
/// The most columns that are tried.
const MOST_COLUMNS: usize = 200;
/// Rows that are scored for it in all, about.
const SCORINGS: usize = 120_000;
/// The most rows, and the fewest, however many columns there are.
const MOST_ROWS: usize = 2000;
const LEAST_ROWS: usize = 150;

/// How much a column matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnImportance {
    /// The column.
    pub column: String,
    /// How much the loss of held-out rows rises if its values are mixed up.
    #[serde(flatten)]
    pub importance: Importance,
}

/// How much each column matters to a model: how much worse it tells labelled rows of each class from the pool, on
/// rows that it has not seen, if the column's values are mixed up among them.
///
/// A forest learns from all rows, so its place is taken by one that was grown without these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importances {
    /// How many held-out rows it was measured on.
    pub rows: usize,
    /// How often each column was mixed up.
    pub repeats: usize,
    /// Columns that were not tried, because there are very many: those in which labelled rows and pool are most alike.
    #[serde(default)]
    pub not_tried: usize,
    /// The columns, the one that matters most first.
    pub columns: Vec<ColumnImportance>,
}

impl Importances {
    /// The names of the columns that matter most, those within two standard errors of nothing left out.
    pub fn leading(&self, most: usize) -> String {
        let columns = self.columns.iter();
        let sure = columns.filter(|c| c.importance.rise > 2.0 * c.importance.error);
        let names: Vec<&str> = sure.take(most).map(|c| c.column.as_str()).collect();
        if names.is_empty() {
            return "none that can be told".to_owned();
        }
        names.join(", ")
    }
}

/// How many rows importances of so many columns are computed from: the time depends on both.
pub(super) fn n_rows_for(columns: usize) -> usize {
    let scored_for_a_row = columns.clamp(1, MOST_COLUMNS) * REPEATS;
    (SCORINGS / scored_for_a_row).clamp(LEAST_ROWS, MOST_ROWS)
}

/// The importances of a model's columns; none if no rows were kept for them.
pub(crate) fn importances(
    prepared: &Prepared,
    scorer: &Scorer,
    seed: Seed,
) -> Result<Option<Importances>> {
    let (Some(kept), Some(schema)) = (&prepared.kept, &prepared.facts.schema) else {
        return Ok(None);
    };
    let _span = tracing::info_span!("importances").entered();
    let forest = prepared.grown.as_ref().map(|grown| &grown.student.apart);
    let forest = scorer.forest().and(forest).cloned();
    let unseen = Scorer::new(scorer.predictor().cloned(), forest)?;

    let (labels, shape) = (&kept.held.labels, kept.held.features.shape());
    let (values, width) = (kept.held.features.values(), shape.len());
    let all = columns(schema);
    let scores = |rows: &[f32]| {
        let rows = mpu_data::Features::new(rows.to_vec(), shape)?;
        unseen.scores(Some(schema), &prepared.scaler, &rows)
    };
    let own = scores(values)?;
    let priors = &prepared.priors;
    let calibration = Calibration::fit(priors, labels, &own, Anchor::default())?;
    let losses =
        |rows: &[f32]| -> Result<_> { Ok(calibration.losses(priors, labels, &scores(rows)?)?) };
    let base = calibration.losses(priors, labels, &own)?;
    let orders = orders(labels.len(), REPEATS, seed);
    let tried = most_different(values, width, &all, labels, MOST_COLUMNS);
    let found = tried.par_iter().map(|&column| -> Result<_> {
        let features = all[column].clone();
        let importance = Importance::of_column(values, width, features, &base, &orders, losses)?;
        Ok(ColumnImportance {
            column: schema.columns()[column].name.clone(),
            importance,
        })
    });
    let mut found = found.collect::<Result<Vec<_>>>()?;
    found.sort_by(|a, b| b.importance.rise.total_cmp(&a.importance.rise));
    Ok(Some(Importances {
        rows: labels.len(),
        repeats: REPEATS,
        not_tried: all.len() - found.len(),
        columns: found,
    }))
}
