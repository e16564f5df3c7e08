//! Which columns moved the answers to single rows.

use mpu_data::Features;
use mpu_data::table::ColumnKind;
use mpu_eval::importance::replacement_effect;
use rayon::prelude::*;
use serde::Serialize;

use super::columns;
use crate::classifier::Classifier;
use crate::error::{Context as _, Result, ensure};
use crate::predictions::Rule;

/// What one column did to the answer to a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The column, counted from 0, among those of the model's table.
    pub column: usize,
    /// How much higher its value makes the log odds of the answer than the values of other rows do, on average.
    pub effect: f64,
}

/// What moved the answer to a row: every column, the largest effect first.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The class answered.
    pub answer: usize,
    /// The effects.
    pub effects: Vec<Effect>,
}

/// The value of a column as a reader knows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// A number.
    Number(f32),
    /// A number of a column whose values lie too close together for 32 bits.
    Exact(f64),
    /// A category.
    Category(String),
    /// It is missing.
    Missing,
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Exact(number) => write!(f, "{number}"),
            Self::Category(name) => f.write_str(name),
            Self::Missing => f.write_str("missing"),
        }
    }
}

impl Classifier {
    /// Which columns moved the answer to each row: its value in a column is replaced by those of some training rows,
    /// and what that does to the log odds of the answer is the column's effect.
    ///
    /// Each row is scored as often as there are columns times rows that are kept with the model (64, or fewer of very
    /// wide rows). Refused for images, and for models of before, which kept no rows.
    pub fn explain(&self, rows: &Features) -> Result<Vec<Explanation>> {
        let rule = self.rule();
        let answers = self.predict_by(&rule, rows)?.answers;
        self.explain_answers(&rule, rows.values(), &answers)
    }

    /// The same for answers that were given by a rule to encoded rows.
    pub fn explain_answers(
        &self,
        rule: &Rule,
        rows: &[f32],
        answers: &[usize],
    ) -> Result<Vec<Explanation>> {
        let schema = self.schema()?;
        ensure!(
            !schema.is_images(),
            "answers to images cannot be explained by columns: images have none"
        );
        let background = self.background().with_context(|| {
            format!(
                "{} kept no training rows to compare with, because an earlier version made it\nhint: train again",
                self.title()
            )
        })?;
        let (width, all) = (schema.width(), columns(schema));
        let others = background.rows();
        // Enough columns at a time to fill a batch.
        let together = self.part_rows().div_ceil(4 * others.n_rows()).max(1);
        let explained = rows.par_chunks(width).zip(answers).map(|(row, &answer)| {
            let own = self.decide(rule, &self.scores_here(row)?)?.probabilities;
            let mut effects = Vec::with_capacity(all.len());
            for part in all.chunks(together) {
                let mut replaced = row.repeat(part.len() * others.n_rows());
                let copies = replaced.chunks_exact_mut(others.n_rows() * width);
                for (copies, column) in copies.zip(part) {
                    let pairs = copies.chunks_exact_mut(width);
                    for (copy, other) in pairs.zip(others.values().chunks_exact(width)) {
                        copy[column.clone()].copy_from_slice(&other[column.clone()]);
                    }
                }
                let scores = self.scores_here(&replaced)?;
                let p = self.decide(rule, &scores)?.probabilities;
                for p in p.chunks_exact(others.n_rows() * own.len()) {
                    effects.push(Effect {
                        column: effects.len(),
                        effect: replacement_effect(answer, &own, p),
                    });
                }
            }
            effects.sort_by(|a, b| b.effect.abs().total_cmp(&a.effect.abs()));
            Ok(Explanation { answer, effects })
        });
        explained.collect()
    }

    /// The value of a column in an encoded row.
    pub fn shown(&self, row: &[f32], column: usize) -> Result<Shown> {
        let schema = self.schema()?;
        let of = schema
            .columns()
            .get(column)
            .zip(columns(schema).get(column).cloned());
        let (of, features) = of.with_context(|| format!("there is no column {column}"))?;
        let values = row.get(features).context("a row that is too short")?;
        Ok(match &of.kind {
            _ if values.iter().any(|x| x.is_nan()) => Shown::Missing,
            ColumnKind::Numeric { offset, .. } if *offset != 0.0 => {
                Shown::Exact(f64::from(values[0]) + offset)
            }
            ColumnKind::Numeric { .. } => Shown::Number(values[0]),
            ColumnKind::Categorical { categories, .. } => {
                let one = values.iter().position(|&x| x > 0.5);
                let name = one.and_then(|at| categories.get(at)).cloned();
                Shown::Category(name.unwrap_or_else(|| "another category".to_owned()))
            }
        })
    }
}
