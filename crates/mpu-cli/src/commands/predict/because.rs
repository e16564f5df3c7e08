//! What moved the answers to rows.

use mpu::{Classifier, Rule, Shown};
use serde::Serialize;

/// A column that moved an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Reason {
    pub(super) column: String,
    pub(super) value: Shown,
    /// In log odds of the answer.
    pub(super) effect: f32,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {} ({:+.1})", self.column, self.value, self.effect)
    }
}

/// The columns with the largest effect on the answer to each row, at most so many.
pub(super) fn reasons(
    model: &Classifier,
    rule: &Rule,
    rows: &[f32],
    answers: &[usize],
    most: usize,
) -> mpu::Result<Vec<Vec<Reason>>> {
    let schema = model.schema()?;
    let explained = model.explain_answers(rule, rows, answers)?;
    let rows = rows.chunks(schema.width()).zip(explained);
    rows.map(|(row, explained)| {
        let effects = explained.effects.iter().take(most);
        let reason = |effect: &mpu::Effect| {
            Ok(Reason {
                column: schema.columns()[effect.column].name.clone(),
                value: model.shown(row, effect.column)?,
                effect: effect.effect as f32,
            })
        };
        effects.map(reason).collect()
    })
    .collect()
}
