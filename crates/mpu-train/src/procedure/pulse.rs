//! Open-set label shift: best-bin priors, rejection of the pool's known rows, one discriminator.

use mpu_data::{MpuLabel, Priors, bad_setting};
use mpu_prior::binary::BestBin;
use mpu_prior::{Margins, PriorEstimator as _};
use mpu_risk::{Estimator, Objective};
use serde::{Deserialize, Serialize};

use super::{Procedure, pool_places};
use crate::checkpoint::State;
use crate::engine::{Engine, Rows};
use crate::error::Result;
use crate::event::Event;
use crate::problem::Problem;
use crate::trainer::Run;

mpu_data::defaults! {
    /// The constants of `pulse`, after Garg, Balakrishnan and Lipton, "Domain Adaptation under Open Set Label Shift"
    /// (NeurIPS 2022): the observed classes are a source with labels, the pool is a target where their shares differ and where
    /// one class is new.
    ///
    /// 1. For [`warm_up_epochs`](Self::warm_up_epochs) the network learns to tell the labelled rows of each observed class from the pool.
    /// 2. Then, after every epoch, best-bin estimation finds the share of each observed class in the pool, from held-out rows. As many
    ///    rows of the pool as these shares say, those least like negatives, are set aside (CVIR), and the next epoch
    ///    learns observed classes from labelled rows and the negative one from the rest of the pool.
    ///
    /// The authors train `k-1` discriminators, a discriminator of new rows and a classifier of the source. Here they are one network:
    /// its probability of the negative class is the last discriminator, and its probabilities of observed classes given that it is none are
    /// the classifier, whose rows are weighted by the estimated shares (`known_log_odds`). It does not read the priors that a
    /// run is given.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct Pulse {
        /// Epochs with the whole pool against labelled rows: enough to rank rows, too few to memorise the pool.
        pub warm_up_epochs: usize = 5,
    }
}

impl Pulse {
    /// The share of the rows that is held out for the estimates, where nothing else is said.
    pub const HELD_OUT: f64 = 0.2;

    /// Checks every range.
    pub(crate) fn check(self, epochs: usize) -> Result<()> {
        if (1..epochs).contains(&self.warm_up_epochs) {
            return Ok(());
        }
        Err(bad_setting(
            "train.pulse.warm-up-epochs",
            self.warm_up_epochs,
            "at least 1 and below train.epochs",
        ))
    }
}

/// The warm-up, and what follows from its estimates.
pub(super) struct Stages<'a> {
    run: &'a Run,
    problem: &'a Problem,
    constants: Pulse,
    /// What the next epoch minimises: its priors are the weights of the labelled groups.
    estimator: Estimator,
    held_out: Estimator,
    /// The place of each training row in the pool; none for labelled rows.
    places: Vec<Option<usize>>,
    /// Whether each row of the pool is taken as negative.
    negative: Vec<bool>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(run: &'a Run, problem: &'a Problem) -> Result<Self> {
        let constants = run.settings.pulse.unwrap_or_default();
        constants.check(run.settings.epochs)?;
        let places = pool_places(problem);
        let stages = Self {
            run,
            problem,
            constants,
            // Labelled rows alone say what an observed class is: rows of the pool are negative or nothing.
            estimator: run
                .estimator()?
                .with_labeled_share(1.0)?
                .with_priors(Priors::uniform(problem.classes())),
            held_out: Estimator::new(Objective::MpuMl, run.loss, run.priors.clone()),
            negative: vec![true; places.iter().flatten().count()],
            places,
        };
        stages.check_held_out()?;
        Ok(stages)
    }

    /// Every group must have held-out rows: without them no share can be estimated.
    fn check_held_out(&self) -> Result<()> {
        let labels = self.problem.validation().map(|held| held.labels.as_slice());
        let groups = self
            .problem
            .classes()
            .rows_by_group(labels.unwrap_or_default())?;
        match groups.iter().position(Vec::is_empty) {
            None => Ok(()),
            Some(group) => {
                let negative = self.problem.classes().n_observed();
                let who = if group == negative {
                    "the pool".to_owned()
                } else {
                    format!("class {group}")
                };
                Err(bad_setting(
                    "the number of held-out rows",
                    format!("0 for {who}"),
                    "at least 1 for the pool and for every observed class: method pulse estimates class priors from them\nhint: hold out more, --set data.validation-share=0.2",
                ))
            }
        }
    }

    /// Estimates the pool's priors by the current model, and sets its known rows aside.
    fn reject(&mut self, engine: &mut dyn Engine) -> Result<()> {
        let k = self.problem.classes().get();
        let Some(held) = self.problem.validation() else {
            return Ok(());
        };
        let priors = estimated_priors(&engine.predict(Rows::Validation)?, &held.labels, k)?;
        tracing::debug!(priors = ?priors.as_slice(), "best-bin estimates of the pool");
        let is_pool = |&row: &usize| self.places[row].is_some();
        let rows: Vec<usize> = (0..self.places.len()).filter(is_pool).collect();
        let scores = engine.predict(Rows::Train(&rows))?;
        self.negative = taken_as_negative(&scores, k, 1.0 - priors.negative());
        self.estimator = self.estimator.clone().with_priors(priors);
        Ok(())
    }

    fn has_begun(&self, epoch: usize) -> bool {
        (self.constants.warm_up_epochs..self.run.settings.epochs).contains(&epoch)
    }
}

impl Procedure for Stages<'_> {
    fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    fn held_out(&self) -> &Estimator {
        &self.held_out
    }

    /// The negative class for rows that are taken as negative. The others have an observed class for their target, which has the
    /// weight 0 in the pool: they count for nothing.
    fn targets(&self, _: &State, rows: &[usize]) -> Option<Vec<f64>> {
        let k = self.problem.classes().get();
        let places = rows.iter().filter_map(|&row| self.places[row]);
        let target = |place: usize| {
            let mut target = vec![0.0; k];
            target[if self.negative[place] { k - 1 } else { 0 }] = 1.0;
            target
        };
        Some(places.flat_map(target).collect())
    }

    /// All that is known follows from the model after the last epoch.
    fn resume(&mut self, engine: &mut dyn Engine, state: &State) -> Result<()> {
        if self.has_begun(state.epochs_done()) {
            self.reject(engine)?;
        }
        Ok(())
    }

    fn after_epoch(
        &mut self,
        engine: &mut dyn Engine,
        state: &mut State,
    ) -> Result<Option<Event<'static>>> {
        if self.has_begun(state.epochs_done()) {
            self.reject(engine)?;
        }
        Ok(None)
    }
}

/// Observed classes make up this much of the pool at the most: something must be left to learn negatives from.
const MOST_KNOWN: f64 = 0.95;

/// The class priors of the pool by best-bin estimation, class by class, from `k` scores of each held-out row.
///
/// ```text
/// π'_i = π̂_i min(1, 0.95 / Σ_j π̂_j),   π̂_i the best-bin estimate with the margin log q_i/(1-q_i),   q = softmax(f)
/// ```
///
/// Each `π̂_i` is an upper limit made for its class alone; together they may leave nothing for negatives.
#[doc(alias = "eq:pulse-priors")]
fn estimated_priors(scores: &[f32], labels: &[MpuLabel], k: usize) -> Result<Priors> {
    let mut groups = vec![mpu_prior::Rows::default(); k];
    for (row, label) in scores.chunks_exact(k).zip(labels) {
        let group = match *label {
            MpuLabel::Labeled(class) => &mut groups[class],
            MpuLabel::Unlabeled => &mut groups[k - 1],
        };
        let log_odds = |class| f64::from(row[class]) - log_sum(row, |j| j != class);
        group.values.extend((0..k - 1).map(log_odds));
        group.folds.push(0);
    }
    let pool = groups.pop().unwrap_or_default();
    let found = BestBin::default().estimate(&Margins::new(groups, pool)?)?;
    let factor = (MOST_KNOWN / found.iter().sum::<f64>()).min(1.0);
    let found: Vec<f64> = found.iter().map(|share| share * factor).collect();
    Ok(Priors::from_observed(&found)?)
}

/// Which rows of the pool are taken as negative, from `k` scores of each: all but the share `known` of them that is
/// least like negatives. Conditional value ignoring risk (CVIR; Garg, Wu, Smola, Balakrishnan and Lipton 2021).
///
/// ```text
/// the ⌊α n_u⌋ rows with the largest d(x) are left out,   α = Σ_{i<k} π̂_i
/// ```
///
/// Of rows with equal odds the first are left out.
#[doc(alias = "eq:cvir")]
fn taken_as_negative(scores: &[f32], k: usize, known: f64) -> Vec<bool> {
    let odds: Vec<f64> = scores.chunks_exact(k).map(known_log_odds).collect();
    let mut order: Vec<usize> = (0..odds.len()).collect();
    order.sort_by(|&a, &b| odds[b].total_cmp(&odds[a]));
    let n_known = (known * odds.len() as f64) as usize;
    let mut negative = vec![true; odds.len()];
    for &row in order.iter().take(n_known) {
        negative[row] = false;
    }
    negative
}

/// How much more likely a row is of some observed class than negative, as a logarithm.
///
/// ```text
/// d(x) = log Σ_{i<k} e^{f_i(x)} - f_k(x)
/// P(k|x) = σ(-d(x)),   P(i|x) = σ(d(x)) softmax(f_1 … f_{k-1})_i
/// ```
///
/// One softmax over `k` scores is a discriminator of new rows and a classifier of known ones, and its cross-entropy is the sum of
/// theirs.
#[doc(alias = "eq:open-set-odds")]
fn known_log_odds(scores: &[f32]) -> f64 {
    let negative = scores.len() - 1;
    log_sum(scores, |j| j != negative) - f64::from(scores[negative])
}

/// `log Σ e^{f_j}` over some of the scores.
fn log_sum(scores: &[f32], counts: impl Fn(usize) -> bool) -> f64 {
    let chosen = || {
        let scores = scores.iter().enumerate();
        scores
            .filter(|(j, _)| counts(*j))
            .map(|(_, &f)| f64::from(f))
    };
    let top = chosen().fold(f64::NEG_INFINITY, f64::max);
    top + chosen().map(|f| (f - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use proptest::prelude::*;

    use super::*;
    use crate::error::tests::check_message;

    /// Best-bin estimation written a second time: every held-out margin as a threshold, shares by counting.
    fn best_bin(class: &[f64], pool: &[f64]) -> f64 {
        let share = |rows: &[f64], t: f64| {
            rows.iter().filter(|z| **z >= t).count() as f64 / rows.len() as f64
        };
        let deviation = |n: usize| ((4.0f64 / 0.1).ln() / (2.0 * n as f64)).sqrt();
        let slack = 1.01 * (deviation(pool.len()) + deviation(class.len()));
        let limit = |t: &f64| (share(pool, *t) + slack) / share(class, *t);
        let best = class
            .iter()
            .min_by(|a, b| limit(a).total_cmp(&limit(b)).then(b.total_cmp(a)));
        let t = *best.unwrap();
        (share(pool, t) / share(class, t)).min(1.0)
    }

    fn odds(row: &[f32], class: usize) -> f64 {
        let parts: Vec<f64> = row.iter().map(|&f| f64::from(f).exp()).collect();
        let rest: f64 = parts.iter().sum::<f64>() - parts[class];
        (parts[class] / rest).ln()
    }

    /// Held-out rows of two observed classes and a pool: scores near 3 for the own class, else near 0.
    fn held_out(n: usize, shares: [f64; 2], spread: f32) -> (Vec<f32>, Vec<MpuLabel>) {
        let (mut scores, mut labels) = (Vec::new(), Vec::new());
        let mut state = 0u64;
        // SplitMix64, in [-0.5, 0.5).
        let mut noise = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let mut add = |class: usize, label: MpuLabel| {
            for j in 0..3 {
                let height = if j == class { 3.0 } else { 0.0 };
                scores.push(height + spread * noise());
            }
            labels.push(label);
        };
        for i in 0..n {
            add(0, Labeled(0));
            add(1, Labeled(1));
            let place = i as f64 / n as f64;
            let class = if place < shares[0] {
                0
            } else if place < shares[0] + shares[1] {
                1
            } else {
                2
            };
            add(class, Unlabeled);
        }
        (scores, labels)
    }

    #[test]
    fn estimates_are_those_of_the_formula_and_near_the_truth() {
        for (shares, spread) in [([0.3, 0.2], 1.0f32), ([0.1, 0.5], 4.0), ([0.0, 0.4], 2.0)] {
            let (scores, labels) = held_out(2000, shares, spread);
            let found = estimated_priors(&scores, &labels, 3).unwrap();
            let margins = |group: MpuLabel, class: usize| -> Vec<f64> {
                let rows = scores.chunks(3).zip(&labels).filter(|(_, l)| **l == group);
                rows.map(|(row, _)| odds(row, class)).collect()
            };
            for (class, share) in shares.into_iter().enumerate() {
                let formula = best_bin(&margins(Labeled(class), class), &margins(Unlabeled, class));
                let found = found.observed()[class];
                assert!((found - formula).abs() < 1e-9, "{found} {formula}");
                assert!((found - share).abs() < 0.05, "{found}, not {share}");
            }
        }
    }

    #[test]
    fn something_is_left_for_negatives() {
        // The pool holds the two classes and nothing else.
        let (scores, labels) = held_out(300, [0.5, 0.5], 1.0);
        let found = estimated_priors(&scores, &labels, 3).unwrap();
        assert!((found.negative() - 0.05).abs() < 1e-9, "{found:?}");
    }

    proptest! {
        #[test]
        fn the_rows_least_like_negatives_are_left_out(
            (k, scores) in (2usize..6).prop_flat_map(|k| (Just(k), prop::collection::vec(-4.0f32..4.0, 30 * k))),
            known in 0.0f64..0.95,
        ) {
            let negative = taken_as_negative(&scores, k, known);
            // The probability of being known, sorted anew.
            let share = |row: &[f32]| 1.0 - 1.0 / (1.0 + odds(row, k - 1).exp().recip());
            let mut sorted: Vec<f64> = scores.chunks(k).map(share).collect();
            sorted.sort_by(f64::total_cmp);
            let n_left = 30 - (known * 30.0).floor() as usize;
            let kept: Vec<f64> = scores.chunks(k).zip(&negative).filter(|(_, n)| **n).map(|(row, _)| share(row)).collect();
            prop_assert_eq!(kept.len(), n_left);
            prop_assert!(kept.iter().all(|p| *p <= sorted[n_left - 1] + 1e-12));
        }

        #[test]
        fn one_softmax_is_a_discriminator_and_a_classifier(scores in prop::collection::vec(-9.0f32..9.0, 2..6)) {
            let negative = scores.len() - 1;
            let d = known_log_odds(&scores);
            let parts: Vec<f64> = scores.iter().map(|&f| f64::from(f).exp()).collect();
            let (all, known) = (parts.iter().sum::<f64>(), parts[..negative].iter().sum::<f64>());
            prop_assert!((1.0 / (1.0 + d.exp()) - parts[negative] / all).abs() < 1e-9);
            for part in &parts[..negative] {
                let product = 1.0 / (1.0 + (-d).exp()) * (part / known);
                prop_assert!((product - part / all).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn equal_odds_leave_out_the_first() {
        assert_eq!(
            taken_as_negative(&[0.0; 8], 2, 0.5),
            [false, false, true, true]
        );
        assert_eq!(taken_as_negative(&[], 2, 0.5), [true; 0]);
    }

    #[test]
    fn constants_out_of_range_are_refused_by_name() {
        assert!(Pulse::default().check(40).is_ok());
        for warm_up_epochs in [0, 40] {
            check_message(Pulse { warm_up_epochs }.check(40), "pulse.warm-up-epochs");
        }
    }
}
