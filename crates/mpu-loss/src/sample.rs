//! Per-sample losses `L(f, y)` built from a binary loss.

use candle_core::{D, Tensor};

use mpu_data::CostMatrix;

use crate::costs::rows_tensor;
use crate::error::{During, Error, Result};
use crate::logits::Logits;
use crate::loss::Loss;

/// How a binary loss `ℓ` makes a loss `L(f, y)` of the scores of one sample.
///
/// Classes are counted from 0; class `k-1` is the negative one (the paper's class `k`).
#[derive(Debug, Clone, PartialEq)]
pub enum SampleLoss {
    /// The paper's choice: [`observed_loss`] for an observed class, [`negative_loss`] for the
    /// negative one.
    Csmpu,
    /// One-versus-rest with equal weights, [`one_versus_rest`]: the paper's baselines.
    OneVersusRest,
    /// One-versus-rest with the user's costs, [`cost_sensitive`].
    CostSensitive(CostMatrix),
}

impl SampleLoss {
    /// `L(f, y)` for one row of scores.
    pub fn value(&self, loss: &Loss, scores: &[f64], class: usize) -> Result<f64> {
        match self {
            Self::Csmpu => {
                check_row(scores, class)?;
                if class + 1 == scores.len() {
                    negative_loss(loss, scores)
                } else {
                    observed_loss(loss, scores, class)
                }
            }
            Self::OneVersusRest => one_versus_rest(loss, scores, class),
            Self::CostSensitive(costs) => cost_sensitive(loss, scores, class, costs),
        }
    }

    /// Adds `weight · ∂L(f, y)/∂f` to `gradient`, which is as long as the row of scores.
    ///
    /// The choice of `i*` in [`negative_loss`] is held fixed, as automatic differentiation does.
    pub fn add_gradient(
        &self,
        loss: &Loss,
        scores: &[f64],
        class: usize,
        weight: f64,
        gradient: &mut [f64],
    ) -> Result<()> {
        check_row(scores, class)?;
        let k = scores.len();
        if gradient.len() != k {
            let allowed = format!("a gradient of length {k}");
            return Err(Error::ScoreCount {
                found: gradient.len(),
                allowed,
            });
        }
        let mut push = |j: usize, cost: f64| {
            gradient[j] -= weight * cost * loss.derivative(-scores[j]);
        };
        match self {
            Self::Csmpu if class + 1 == k => push(top_observed(scores)?, 1.0),
            Self::Csmpu => push(k - 1, 1.0),
            Self::OneVersusRest => {
                let cost = 1.0 / (k as f64 - 1.0);
                (0..k).filter(|&j| j != class).for_each(|j| push(j, cost));
            }
            Self::CostSensitive(costs) => {
                costs.check_classes(k)?;
                let costs = costs.row(class)?;
                (0..k)
                    .filter(|&j| costs[j] != 0.0)
                    .for_each(|j| push(j, costs[j]));
            }
        }
        gradient[class] += weight * loss.derivative(scores[class]);
        Ok(())
    }

    /// `L(f, y)` of every row, with gradient: a tensor of length `n`. Memory is `O(n·k)`.
    pub fn tensor(&self, loss: &Loss, logits: &Logits, classes: &[usize]) -> Result<Tensor> {
        self.tensor_at(loss, logits, &class_indices(logits, classes)?)
    }

    /// [`tensor`](Self::tensor) of classes that are on the device already: `n` numbers of type `u32`, each below `k`.
    /// Nothing is read back.
    pub fn tensor_at(&self, loss: &Loss, logits: &Logits, indices: &Tensor) -> Result<Tensor> {
        let column = indices
            .unsqueeze(1)
            .during("the column of each row's class")?;
        let own = gather(logits, &column)?;
        let pull = loss.tensor(&own)?;
        let push = match self {
            Self::Csmpu => {
                let rivals = rival_columns(logits, &column)?;
                loss.tensor(&negated(&gather(logits, &rivals)?)?)?
            }
            Self::OneVersusRest => {
                let all = row_sum(&loss.tensor(&negated(logits.tensor())?)?)?;
                let itself = loss.tensor(&negated(&own)?)?;
                let weight = 1.0 / (logits.n_classes() as f64 - 1.0);
                (all - itself)
                    .and_then(|rest| rest * weight)
                    .during("the rest of the classes")?
            }
            Self::CostSensitive(costs) => {
                let rows = rows_tensor(costs, logits, indices)?;
                let all = loss.tensor(&negated(logits.tensor())?)?;
                row_sum(&(all * rows).during("the weighted rest of the classes")?)?
            }
        };
        (pull + push)
            .and_then(|sum| sum.squeeze(1))
            .during("the per-sample loss")
    }
}

/// The loss of an observed class `i` (section III of the paper).
///
/// ```text
/// L_i(f) = ℓ(f_i) + ℓ(-f_k)
/// ```
///
/// It is [`cost_sensitive`] under [`CostMatrix::degenerate`].
#[doc(alias = "eq:loss-observed")]
pub fn observed_loss(loss: &Loss, scores: &[f64], class: usize) -> Result<f64> {
    check_row(scores, class)?;
    Ok(loss.value(scores[class]) + loss.value(-scores[scores.len() - 1]))
}

/// The loss of the negative class `k` (section III of the paper).
///
/// ```text
/// L_k(f) = ℓ(f_k) + ℓ(-f_{i*}),   i* = argmax_{j<k} f_j
/// ```
#[doc(alias = "eq:loss-negative")]
pub fn negative_loss(loss: &Loss, scores: &[f64]) -> Result<f64> {
    let rival = top_observed(scores)?;
    Ok(loss.value(scores[scores.len() - 1]) + loss.value(-scores[rival]))
}

/// The observed class with the highest score, `i* = argmax_{j<k} f_j`; the lowest index on a tie.
pub fn top_observed(scores: &[f64]) -> Result<usize> {
    check_row(scores, 0)?;
    Ok(mpu_data::top_class(&scores[..scores.len() - 1]))
}

/// The one-versus-rest loss of the paper's baselines (section VI).
///
/// ```text
/// L(f, y) = ℓ(f_y) + 1/(k-1) Σ_{i≠y} ℓ(-f_i)
/// ```
#[doc(alias = "eq:one-versus-rest")]
pub fn one_versus_rest(loss: &Loss, scores: &[f64], class: usize) -> Result<f64> {
    check_row(scores, class)?;
    let rest: f64 = (0..scores.len())
        .filter(|&i| i != class)
        .map(|i| loss.value(-scores[i]))
        .sum();
    Ok(loss.value(scores[class]) + rest / (scores.len() as f64 - 1.0))
}

/// The general cost-sensitive one-versus-rest loss (section III of the paper).
///
/// ```text
/// L(f, y) = ℓ(f_y) + Σ_{i≠y} C_yi ℓ(-f_i)
/// ```
#[doc(alias = "eq:cost-sensitive-ovr")]
pub fn cost_sensitive(
    loss: &Loss,
    scores: &[f64],
    class: usize,
    costs: &CostMatrix,
) -> Result<f64> {
    check_row(scores, class)?;
    costs.check_classes(scores.len())?;
    let costs = costs.row(class)?;
    let rest: f64 = (0..scores.len())
        .filter(|&i| i != class)
        .map(|i| costs[i] * loss.value(-scores[i]))
        .sum();
    Ok(loss.value(scores[class]) + rest)
}

fn check_row(scores: &[f64], class: usize) -> Result<()> {
    let n_classes = scores.len();
    if n_classes < 2 {
        let allowed = "at least 2".to_owned();
        return Err(Error::ScoreCount {
            found: n_classes,
            allowed,
        });
    }
    if class >= n_classes {
        let found = class;
        return Err(mpu_data::Error::ClassBeyond { found, n_classes }.into());
    }
    match scores.iter().position(|s| !s.is_finite()) {
        Some(column) => Err(Error::NonFiniteScore {
            row: 0,
            column,
            value: scores[column],
        }),
        None => Ok(()),
    }
}

/// The classes as an index tensor of length `n` on the device of the scores.
pub(crate) fn class_indices(logits: &Logits, classes: &[usize]) -> Result<Tensor> {
    if classes.len() != logits.n_rows() {
        let (found, n_rows) = (classes.len(), logits.n_rows());
        return Err(Error::ClassListLength { found, n_rows });
    }
    mpu_data::ClassCount::new(logits.n_classes())?.check(classes)?;
    let indices: Vec<u32> = classes.iter().map(|&class| class as u32).collect();
    Tensor::from_vec(indices, logits.n_rows(), logits.tensor().device()).during("class indices")
}

/// The column pushed down in each row: `k` for observed classes, `i*` for the negative one.
fn rival_columns(logits: &Logits, own: &Tensor) -> Result<Tensor> {
    let negative = logits.n_classes() - 1;
    let columns = || {
        let negative_column = own.zeros_like()?.affine(1.0, negative as f64)?;
        let observed = logits.tensor().detach().narrow(1, 0, negative)?;
        let top = observed.contiguous()?.argmax_keepdim(D::Minus1)?;
        own.eq(&negative_column)?.where_cond(&top, &negative_column)
    };
    columns().during("the strongest observed class")
}

fn gather(logits: &Logits, columns: &Tensor) -> Result<Tensor> {
    logits
        .tensor()
        .contiguous()
        .and_then(|scores| scores.gather(columns, 1))
        .during("the scores of one column a row")
}

fn negated(x: &Tensor) -> Result<Tensor> {
    x.neg().during("the negated scores")
}

fn row_sum(x: &Tensor) -> Result<Tensor> {
    x.sum_keepdim(1).during("the sum over classes")
}
