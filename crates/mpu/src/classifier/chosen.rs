//! What scores rows: a network, a forest, or both.

use std::sync::Arc;

use mpu_models::{Module, Params};
use mpu_train::Predictor;
use rayon::prelude::*;

use crate::ensemble::{Choice, Kind, mean};
use crate::error::{Context as _, Result};
use crate::fit::Trained;
use crate::folder::HeldOutScores;
use crate::prepared::{Grown, Prepared};
use crate::scorer::Scorer;

/// What scores rows, how it was chosen, and its scores of rows that it has not seen.
pub(super) fn chosen(
    prepared: &Prepared,
    trained: &Trained,
) -> Result<(Scorer, Option<Choice>, Option<HeldOutScores>)> {
    let network = trained.outcome.as_ref().map(|outcome| -> Result<_> {
        let predictor = predictor(prepared.module.as_ref(), outcome.params().clone())?;
        let held = prepared.problem.validation().map(|held| -> Result<_> {
            Ok(HeldOutScores {
                labels: held.labels.clone(),
                scores: parallel(&predictor, held.features.values())?,
            })
        });
        let held = held.transpose()?;
        Ok((predictor, held))
    });
    let network = network.transpose()?;
    let Some(Grown { student, held, .. }) = &prepared.grown else {
        let (network, held) = network.context("neither a network nor a forest was trained")?;
        return Ok((Scorer::new(Some(network), None)?, None, held));
    };
    let forest = Some(student.forest.clone());
    let grown = HeldOutScores {
        labels: student.labels.clone(),
        scores: student.scores.clone(),
    };
    let Some((network, Some(scored))) = network else {
        return Ok((Scorer::new(None, forest)?, None, Some(grown)));
    };
    let k = prepared.priors.classes().get();
    let place = |row: &usize| student.scored.partition_point(|scored| scored < row);
    let held = held
        .iter()
        .map(|row| &student.scores[place(row) * k..][..k]);
    let by_forest = held.collect::<Vec<_>>().concat();
    let choice = Choice::new(&prepared.priors, &scored.labels, &by_forest, &scored.scores)?;
    let (scorer, held) = match choice.kind {
        Kind::Forest => (Scorer::new(None, forest)?, grown),
        Kind::Network => (Scorer::new(Some(network), None)?, scored),
        Kind::Both => {
            let scores = mean(&by_forest, &scored.scores, k);
            let both = HeldOutScores { scores, ..scored };
            (Scorer::new(Some(network), forest)?, both)
        }
    };
    Ok((scorer, Some(choice), Some(held)))
}

/// A network ready to score rows: ours, or the one that a module builds.
pub(crate) fn predictor(module: Option<&Module>, params: Params) -> Result<Arc<Predictor>> {
    Ok(Arc::new(match module {
        Some(module) => Predictor::of(module, params)?,
        None => Predictor::new(params)?,
    }))
}

/// Scores of scaled rows on all threads; the same bits whatever their number.
pub(super) fn parallel(predictor: &Predictor, rows: &[f32]) -> Result<Vec<f32>> {
    let width = predictor.params().spec().inputs();
    let parts: Vec<Vec<f32>> = rows
        .par_chunks(4 * predictor.batch_rows() * width)
        .map(|rows| Ok(predictor.scores(rows)?))
        .collect::<Result<_>>()?;
    Ok(parts.concat())
}
