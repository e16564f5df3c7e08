//! An estimator of the risk: an objective, a loss and priors, evaluated on scores.

use candle_core::{DType, Tensor};
use mpu_data::{Priors, bad_setting};
use mpu_loss::{CostMatrix, Logits, Loss, SampleLoss};

use crate::correction::{Correction, Placement};
use crate::cross_entropy as entropy;
use crate::error::{Error, Result, check_len, check_priors};
use crate::estimators;
use crate::group_tensors::GroupTensors;
use crate::groups::{Groups, mean};
use crate::likelihood::CaseControl;
use crate::objective::Objective;
use crate::squared;
use crate::terms::{Combination, RiskTerms, Weights};

/// An estimated risk on tensors: something to call `backward` on, and its parts.
#[derive(Debug, Clone)]
pub struct Risk {
    /// The corrected risk as a scalar tensor whose gradient flows to the scores.
    pub objective: Tensor,
    /// Every part of it, in `f64`.
    pub terms: RiskTerms,
}

/// An estimated risk in plain `f64`.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainRisk {
    /// Every part of the risk.
    pub terms: RiskTerms,
    /// `∂R/∂f`, row-major like the scores.
    pub gradient: Vec<f64>,
}

/// A risk estimator.
///
/// Weights are those of the population (the priors) in every batch, and means are over the batch's
/// members of each group; `csmpu-ref-*` alone weights by shares of the batch.
///
/// ```
/// use candle_core::{Device, Var};
/// use mpu_data::{ClassCount, MpuLabel::{Labeled, Unlabeled}, Priors};
/// use mpu_loss::Loss;
/// use mpu_risk::{Estimator, Groups};
///
/// let priors = Priors::from_observed(&[0.3, 0.2])?;
/// let estimator = Estimator::new("csmpu-exact-nn".parse()?, Loss::default(), priors);
/// let groups = Groups::new(ClassCount::new(3)?, &[Labeled(0), Labeled(1), Unlabeled])?;
/// let scores = Var::new(&[[1f32, 0., 0.], [0., 1., 0.], [0., 0., 1.]], &Device::Cpu)?;
///
/// let risk = estimator.risk(&scores, &groups)?;
/// let gradients = risk.objective.backward()?;
/// assert!(gradients.get(&scores).is_some());
/// assert!(risk.terms.corrected >= 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimator {
    objective: Objective,
    loss: Loss,
    priors: Priors,
    placement: Placement,
    costs: Option<CostMatrix>,
    labeled_share: f64,
}

impl Estimator {
    /// How much of an observed class self-training learns from its labelled rows, the rest from the pool, unless
    /// [told otherwise](Self::with_labeled_share): most of it, because these labels are certain.
    pub const LABELED_SHARE: f64 = 0.9;

    /// An estimator with the objective's own placement of its correction.
    pub fn new(objective: Objective, loss: Loss, priors: Priors) -> Self {
        Self {
            objective,
            loss,
            priors,
            placement: objective.default_placement(),
            costs: None,
            labeled_share: Self::LABELED_SHARE,
        }
    }

    /// Places the correction elsewhere. Objectives without a correction are not changed by it.
    #[must_use]
    pub fn with_placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// The same with other priors, of as many classes.
    #[must_use]
    pub fn with_priors(self, priors: Priors) -> Self {
        Self { priors, ..self }
    }

    /// Weights mistakes by the user's costs, through the general cost-sensitive one-versus-rest
    /// loss. Only the exact risk allows it: the paper's own derivation needs its degenerate costs.
    pub fn with_costs(self, costs: CostMatrix) -> Result<Self> {
        if !self.objective.takes_costs() {
            return Err(Error::CostsFixed {
                objective: self.objective,
            });
        }
        check_priors(&self.priors, costs.n_classes())?;
        Ok(Self {
            costs: Some(costs),
            ..self
        })
    }

    /// Another [share](Self::LABELED_SHARE) of labelled rows in self-training, from 0 to 1. Other objectives are not
    /// changed by it.
    pub fn with_labeled_share(self, labeled_share: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&labeled_share) {
            return Err(bad_setting(
                "the share learned from labelled rows",
                labeled_share,
                "from 0 to 1",
            ));
        }
        Ok(Self {
            labeled_share,
            ..self
        })
    }

    /// The objective.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// The binary loss.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// The class priors.
    pub fn priors(&self) -> &Priors {
        &self.priors
    }

    /// Where the correction is placed.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The risk of an `(n, k)` tensor of scores, on its device, with gradient.
    ///
    /// Memory is `O(n·k)`. The scores are read back once, to check them and for the parts of the risk in `f64`;
    /// [`device_risk`](Self::device_risk) reads nothing.
    pub fn risk(&self, scores: &Tensor, groups: &Groups) -> Result<Risk> {
        Logits::new(scores)?;
        let on_device = GroupTensors::new(groups, scores.dtype(), scores.device())?;
        let objective = self.device_risk(scores, &on_device)?;
        let scores = scores.detach().to_dtype(DType::F64);
        let scores = scores.and_then(|scores| scores.flatten_all()?.to_vec1::<f64>());
        let scores = scores.map_err(during("reading the scores"))?;
        let terms = self.plain(&scores, groups)?.terms;
        Ok(Risk { objective, terms })
    }

    /// The risk of an `(n, k)` tensor of scores as a scalar tensor with gradient, in the precision of the scores.
    /// Nothing is read back from the device: neither losses nor what a correction does.
    ///
    /// A group's mean is the sum over its rows by a product with their one-hot code, weighted on the host.
    pub fn device_risk(&self, scores: &Tensor, groups: &GroupTensors) -> Result<Tensor> {
        let logits = Logits::unread(scores)?;
        let sample = groups.sample();
        self.check(sample)?;
        sample.check_scores(logits.n_rows(), logits.n_classes())?;
        let combination = self.combination(sample);
        let weights = combination.weights(sample);
        let (own, negative) = self.row_losses(&logits, groups, &weights)?;
        let combined = || {
            let hot = groups.one_hot(scores.dtype())?;
            let sums = |losses: &Tensor| losses.unsqueeze(0)?.matmul(&hot)?.squeeze(0);
            let weighted = |sums: Tensor, weights: &[f64]| {
                let weights = Tensor::new(weights, scores.device())?;
                (sums * weights.to_dtype(scores.dtype())?)?.sum_all()
            };
            let mut inner = match &own {
                Some(own) => {
                    let corrected = combination.labeled_correction.tensor(&sums(own)?)?;
                    weighted(corrected, &weights.labeled)?
                }
                None => Tensor::zeros((), scores.dtype(), scores.device())?,
            };
            if let Some(negative) = &negative {
                let part = (weighted(sums(negative)?, &weights.negative)? - weights.offset)?;
                inner = (inner + combination.negative_correction.tensor(&part)?)?;
            }
            combination.outer_correction.tensor(&inner)
        };
        combined().map_err(during("the risk"))
    }

    /// The loss of every row as one of its own class, and as a negative one (or what stands for it), where it counts.
    fn row_losses(
        &self,
        logits: &Logits,
        groups: &GroupTensors,
        weights: &Weights,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (scores, columns) = (logits.tensor(), groups.columns());
        let (labeled_loss, negative_loss) = (self.labeled_loss(), self.negative_loss());
        let counts = |weights: &[f64]| weights.iter().any(|weight| *weight != 0.0);
        let sampled = || CaseControl::new(&self.priors, groups.sample());
        // A row of the pool has the negative column for its own: one loss may serve both.
        let one_for_both = labeled_loss == negative_loss
            && !self.uses_labeled_as_negative()
            && !self.objective.scores_are_log_probabilities();
        let own = if counts(&weights.labeled) || one_for_both {
            let failed = during("the losses of labelled rows");
            Some(match self.objective {
                Objective::MpuMl => sampled().labeled_tensor(scores, columns).map_err(failed)?,
                Objective::Supervised | Objective::SoftTargets => {
                    entropy::cross_entropy_tensor(scores, columns).map_err(failed)?
                }
                Objective::Eulac(_) => {
                    squared::one_versus_rest_tensor(scores, columns).map_err(failed)?
                }
                _ => labeled_loss.tensor_at(&self.loss, logits, columns)?,
            })
        } else {
            None
        };
        if !counts(&weights.negative) {
            return Ok((own, None));
        }
        let failed = during("the losses of the pool");
        let negative = match self.objective {
            Objective::MpuMl => sampled().unlabeled_tensor(scores).map_err(failed)?,
            Objective::SoftTargets => groups
                .weighted_targets(self.labeled_share)
                .and_then(|targets| entropy::soft_cross_entropy_tensor(scores, &targets))
                .map_err(failed)?,
            _ => match &own {
                Some(own) if one_for_both => own.clone(),
                _ => {
                    let k = logits.n_classes() as f64;
                    let columns = columns.zeros_like().and_then(|c| c.affine(1.0, k - 1.0));
                    let columns = columns.map_err(&failed)?;
                    match self.objective {
                        Objective::Eulac(_) => {
                            squared::one_versus_rest_tensor(scores, &columns).map_err(failed)?
                        }
                        _ => negative_loss.tensor_at(&self.loss, logits, &columns)?,
                    }
                }
            },
        };
        Ok((own, Some(negative)))
    }

    /// The risk of row-major scores (`n·k` numbers) in plain `f64`, with its gradient.
    pub fn plain(&self, scores: &[f64], groups: &Groups) -> Result<PlainRisk> {
        self.check(groups)?;
        let k = groups.classes().get();
        if !scores.len().is_multiple_of(k) {
            // Whatever is needed, it is not this.
            check_len("the scores", scores.len(), groups.n_rows() * k)?;
        }
        groups.check_scores(scores.len() / k, k)?;
        if let Some(at) = scores.iter().position(|s| !s.is_finite()) {
            let (row, column, value) = (at / k, at % k, scores[at]);
            return Err(mpu_loss::Error::NonFiniteScore { row, column, value }.into());
        }
        let row = |r: usize| &scores[r * k..(r + 1) * k];
        let labeled = || groups.labeled_rows().iter().zip(groups.labeled_classes());
        let sampled = CaseControl::new(&self.priors, groups);
        let (labeled_loss, negative_loss) = (self.labeled_loss(), self.negative_loss());

        let own: Vec<f64> = labeled()
            .map(|(&r, &class)| match self.objective {
                Objective::MpuMl => Ok(sampled.labeled(row(r), class)),
                Objective::Supervised | Objective::SoftTargets => {
                    Ok(entropy::cross_entropy(row(r), class))
                }
                Objective::Eulac(_) => Ok(squared::one_versus_rest(row(r), class)),
                _ => Ok(labeled_loss.value(&self.loss, row(r), class)?),
            })
            .collect::<Result<_>>()?;
        let negative = |rows: &[usize]| -> Result<Vec<f64>> {
            let of_row = |&r: &usize| match self.objective {
                Objective::Eulac(_) => Ok(squared::one_versus_rest(row(r), k - 1)),
                _ => Ok(negative_loss.value(&self.loss, row(r), k - 1)?),
            };
            rows.iter().map(of_row).collect()
        };
        let as_negative = if self.uses_labeled_as_negative() {
            negative(groups.labeled_rows())?
        } else {
            Vec::new()
        };
        let pool = || groups.pool_rows().iter().map(|&r| row(r));
        let weighted = estimators::weighted_targets(groups.targets(), k, self.labeled_share);
        let unlabeled = match self.objective {
            Objective::MpuMl => pool().map(|f| sampled.unlabeled(f)).collect(),
            Objective::SoftTargets => pool()
                .zip(weighted.chunks(k))
                .map(|(f, t)| entropy::soft_cross_entropy(f, t))
                .collect(),
            _ => negative(groups.pool_rows())?,
        };
        let labeled_as_negative = match &as_negative[..] {
            [] => Vec::new(),
            values => groups.labeled_means(values),
        };
        let (terms, slopes) = self.combination(groups).evaluate(
            groups.labeled_means(&own),
            labeled_as_negative,
            mean(&unlabeled),
        );
        // `∂R/∂(loss of a row)`: the slope of the row's group, shared by its members.
        let share = |slopes: &[f64], class: usize| slopes[class] / groups.n_labeled()[class] as f64;
        let pool_share = slopes.pool / groups.n_unlabeled().max(1) as f64;

        let add_negative = |f: &[f64], weight: f64, into: &mut [f64]| -> Result<()> {
            match self.objective {
                Objective::Eulac(_) => squared::add_gradient(f, k - 1, weight, into),
                _ => negative_loss.add_gradient(&self.loss, f, k - 1, weight, into)?,
            }
            Ok(())
        };
        let mut gradient = vec![0.0; scores.len()];
        for (&r, &class) in labeled() {
            let (f, weight) = (row(r), share(&slopes.labeled, class));
            let into = &mut gradient[r * k..(r + 1) * k];
            match self.objective {
                Objective::Supervised | Objective::SoftTargets => {
                    entropy::add_gradient(f, class, weight, into);
                }
                Objective::MpuMl => sampled.add_labeled_gradient(f, class, weight, into),
                Objective::Eulac(_) => squared::add_gradient(f, class, weight, into),
                _ => labeled_loss.add_gradient(&self.loss, f, class, weight, into)?,
            }
            if self.uses_labeled_as_negative() {
                add_negative(f, share(&slopes.labeled_as_negative, class), into)?;
            }
        }
        for (n, &r) in groups.pool_rows().iter().enumerate() {
            let (f, weight) = (row(r), pool_share);
            let into = &mut gradient[r * k..(r + 1) * k];
            match self.objective {
                Objective::MpuMl => sampled.add_unlabeled_gradient(f, weight, into),
                Objective::SoftTargets => {
                    let target = &weighted[n * k..(n + 1) * k];
                    entropy::add_soft_gradient(f, target, weight, into);
                }
                _ => add_negative(f, weight, into)?,
            }
        }
        Ok(PlainRisk { terms, gradient })
    }

    fn check(&self, groups: &Groups) -> Result<()> {
        check_priors(&self.priors, groups.classes().get())?;
        if self.objective.uses_hidden_labels() != groups.is_oracle() {
            return Err(Error::Labels {
                objective: self.objective,
                oracle: groups.is_oracle(),
            });
        }
        let lacks_targets = groups.targets().is_empty() && groups.n_unlabeled() > 0;
        if self.objective.needs_targets() && lacks_targets {
            return Err(Error::NoTargets {
                objective: self.objective,
            });
        }
        Ok(())
    }

    /// `L(f, i)` of labelled rows.
    fn labeled_loss(&self) -> SampleLoss {
        match (&self.costs, self.objective) {
            (Some(costs), _) => SampleLoss::CostSensitive(costs.clone()),
            (None, Objective::UreOvr | Objective::BiasedSuper) => SampleLoss::OneVersusRest,
            (None, _) => SampleLoss::Csmpu,
        }
    }

    /// `L(f, k)` of pool rows, and of labelled rows taken as negative.
    fn negative_loss(&self) -> SampleLoss {
        match (&self.costs, self.objective) {
            (Some(costs), _) => SampleLoss::CostSensitive(costs.clone()),
            (None, Objective::UreOvr | Objective::BiasedSuper | Objective::Area) => {
                SampleLoss::OneVersusRest
            }
            (None, _) => SampleLoss::Csmpu,
        }
    }

    fn uses_labeled_as_negative(&self) -> bool {
        matches!(
            self.objective,
            Objective::CsmpuExact(_) | Objective::UreOvr | Objective::Eulac(_)
        )
    }

    fn combination(&self, groups: &Groups) -> Combination {
        let (priors, placement) = (&self.priors, self.placement);
        match self.objective {
            Objective::Csmpu(g) => estimators::csmpu(priors, g, placement),
            Objective::CsmpuExact(g) => estimators::csmpu_exact(priors, g, placement),
            Objective::CsmpuRef(g) => estimators::csmpu_ref(priors, groups, g, placement),
            Objective::UreOvr => estimators::ure_ovr(priors),
            Objective::Area => estimators::area(priors),
            Objective::BiasedSuper => estimators::biased_super(priors),
            Objective::Eulac(g) => estimators::eulac(priors, g, placement),
            Objective::MpuMl => estimators::mpu_ml(priors, groups),
            Objective::SoftTargets => estimators::csmpu_st(priors, self.labeled_share),
            // A plain mean over rows is the sum of group means weighted by shares of the batch.
            Objective::Supervised => {
                estimators::csmpu_ref(priors, groups, Correction::Ure, Placement::PerTerm)
            }
        }
    }

    /// The loss `L(f, y)` of one row of scores whose true class is known: what the risk is the
    /// expectation of (cross-entropy, where scores are log-probabilities), for judging on rows with
    /// true labels.
    pub fn loss_of(&self, scores: &[f64], class: usize) -> Result<f64> {
        if self.objective.scores_are_log_probabilities() {
            return Ok(entropy::cross_entropy(scores, class));
        }
        if matches!(self.objective, Objective::Eulac(_)) {
            return Ok(squared::one_versus_rest(scores, class));
        }
        Ok(self.labeled_loss().value(&self.loss, scores, class)?)
    }
}

/// Names what was being computed.
fn during(operation: &'static str) -> impl Fn(candle_core::Error) -> Error {
    move |source| Error::Tensor { operation, source }
}
