//! Self-training on targets of the pool that agree with its class priors.

mod targets;

use std::fmt::Display;

use mpu_data::{Priors, bad_setting};
use mpu_models::Params;
use mpu_risk::{Estimator, Groups, Objective, PoolSurprise};
use serde::{Deserialize, Serialize};

use self::targets::{average, match_priors, raise_priors};
use super::{Procedure, pool_places};
use crate::checkpoint::State;
use crate::engine::{Engine, Rows};
use crate::error::{Result, checkpoint};
use crate::event::Event;
use crate::problem::Problem;
use crate::trainer::Run;

pub use self::targets::Collapse;
pub(crate) use self::targets::probabilities;

mpu_data::defaults! {
    /// The constants of `csmpu-st`, each with its reason.
    ///
    /// 1. For [`warm_up_epochs`](Self::warm_up_epochs) the [`warm_up`](Self::warm_up) objective is minimised.
    /// 2. Then, after every epoch, the pool is scored, Sinkhorn scaling turns the model's probabilities into
    ///    targets whose mean is the priors, and an exponential average of them is kept for each row. The next
    ///    epoch minimises cross-entropy on labelled rows and on these targets.
    ///
    /// With [`folds`](Self::folds) there are no such stages: networks that minimise the warm-up's objective answer for rows that
    /// they have not seen, and these answers are the targets of one more network, the student.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct SelfTraining {
        /// Folds of a teacher, at least 2: networks that minimise the warm-up's objective, each on all folds but one, give
        /// the rows of this one their targets, and one network learns these from its first epoch on. None, or 0: there is no
        /// teacher, and the network's targets are its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub folds: Option<usize> = None,
        /// What is minimised first: an objective that needs no targets. The likelihood, because its
        /// probabilities are calibrated as they are.
        pub warm_up: Objective = Objective::MpuMl,
        /// Epochs of it: enough to rank rows, too few to memorise the pool.
        pub warm_up_epochs: usize = 5,
        /// The share of the old target that stays, in `[0, 1)`. At 0.9 a row changes its target over about
        /// ten epochs, so that one bad epoch moves nothing for good.
        pub momentum: f64 = 0.9,
        /// Self-training has failed when the mean probabilities of the pool, before they are matched to the
        /// priors, have gone this share of the way from the priors to one answer for all rows, in `(0, 1]`. In
        /// development the largest share seen was 0.15 at the most, priors wrong by 30 % included. The warm-up
        /// model is used then.
        pub collapse_distance: f64 = 0.4,
        /// And when the model keeps less than this share of what the warm-up model took away of the pool's surprise
        /// under the priors alone ([`PoolSurprise::gain`], in `[0, 1)`), if that took away anything: priors that are
        /// too high contradict the pool and end there. In development 0.41 or more was kept with true priors, and
        /// 0.26 where observed classes were given 96 % of a pool of which they made up 80 %.
        pub least_kept: f64 = 0.33,
        /// How much of an observed class is learned from its labelled rows, from 0 to 1, the rest from the pool's
        /// targets: most of it, because these labels are certain, and priors that are too high then do less harm.
        pub labeled_share: f64 = Estimator::LABELED_SHARE,
        /// How probable an observed class must be for the warm-up model to be sure of a row, at least 0.5. If it is
        /// sure of more rows of the pool than the priors give to observed classes, these are too low, and targets
        /// are matched to what it found; 1 switches that off. Rows that are memorised as rows of the pool make
        /// it find too few, not too many: with true priors it was sure of 43 to 98 % of what they say in development.
        pub sure: f64 = 0.9,
    }
}

impl SelfTraining {
    /// Folds of a teacher, where there is one: five, which leaves each of its networks four fifths of the rows.
    pub const FOLDS: usize = 5;

    /// Below so many labelled rows per observed class, targets of a teacher are better than a network's own.
    pub const FEW_LABELED: usize = 60;

    /// Whether a teacher finds the targets.
    pub(crate) fn is_cross_fitted(&self) -> bool {
        self.n_folds() > 0
    }

    /// Folds of the teacher; 0 without one.
    pub(crate) fn n_folds(&self) -> usize {
        self.folds.unwrap_or(0)
    }

    /// Checks every range.
    pub(crate) fn check(&self, epochs: usize) -> Result<()> {
        let refused = |name: &str, value: &dyn Display, allowed: &str| {
            Err(bad_setting(
                format!("train.self-training.{name}"),
                value,
                allowed,
            ))
        };
        if self.n_folds() == 1 {
            return refused("folds", &self.n_folds(), "0 or at least 2");
        }
        if self.warm_up.needs_targets() || self.warm_up.uses_hidden_labels() {
            let allowed = "a method that needs neither targets nor hidden labels";
            return refused("warm-up", &self.warm_up, allowed);
        }
        if !(1..epochs).contains(&self.warm_up_epochs) {
            let allowed = "at least 1 and below train.epochs (--epochs)";
            return refused("warm-up-epochs", &self.warm_up_epochs, allowed);
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return refused("momentum", &self.momentum, "at least 0 and below 1");
        }
        let distance = self.collapse_distance;
        if !(distance > 0.0 && distance <= 1.0) {
            return refused("collapse-distance", &distance, "above 0 and at most 1");
        }
        if !(0.0..1.0).contains(&self.least_kept) {
            return refused("least-kept", &self.least_kept, "at least 0 and below 1");
        }
        if !(0.0..=1.0).contains(&self.labeled_share) {
            return refused("labeled-share", &self.labeled_share, "from 0 to 1");
        }
        if !(0.5..=1.0).contains(&self.sure) {
            return refused("sure", &self.sure, "from 0.5 to 1");
        }
        Ok(())
    }
}

/// The two stages of self-training: the warm-up, and what follows from its model.
pub(super) struct Stages<'a> {
    run: &'a Run,
    problem: &'a Problem,
    constants: SelfTraining,
    warm_up: Estimator,
    /// The second stage, once it has begun.
    second: Option<Second>,
    /// The place of each training row in the pool; none for labelled rows.
    places: Vec<Option<usize>>,
}

/// What the second stage takes from the warm-up model.
struct Second {
    /// What is minimised from then on.
    estimator: Estimator,
    /// What the warm-up model knew of the pool.
    gain: f64,
}

impl<'a> Stages<'a> {
    pub(super) fn new(run: &'a Run, problem: &'a Problem) -> Result<Self> {
        let constants = run.settings.self_training.unwrap_or_default();
        constants.check(run.settings.epochs)?;
        Ok(Self {
            run,
            problem,
            constants,
            warm_up: Estimator::new(constants.warm_up, run.loss, run.priors.clone()),
            second: None,
            places: pool_places(problem),
        })
    }

    /// The second stage that follows from the warm-up model's scores of the pool.
    fn second(&self, scores: &[f32]) -> Result<Second> {
        let mut estimator = self.run.estimator()?;
        if self.constants.warm_up.scores_are_log_probabilities()
            && let Some(raised) = raise_priors(scores, &self.run.priors, self.constants.sure)
        {
            estimator = estimator.with_priors(raised);
        }
        let gain = self.gain(scores, estimator.priors())?;
        let estimator = estimator.with_labeled_share(self.constants.labeled_share)?;
        Ok(Second { estimator, gain })
    }

    /// Scores of the pool's rows, `k` to a row, by the model in training or by another.
    fn scores(&self, engine: &mut dyn Engine, other: Option<&Params>) -> Result<Vec<f32>> {
        let is_pool = |&row: &usize| self.places[row].is_some();
        let rows: Vec<usize> = (0..self.places.len()).filter(is_pool).collect();
        let _span = tracing::debug_span!("scoring the pool", rows = rows.len()).entered();
        match other {
            None => engine.predict(Rows::Train(&rows)),
            Some(params) => engine.predict_by(params, Rows::Train(&rows)),
        }
    }

    /// What a model with such scores of the pool knows of it.
    fn gain(&self, scores: &[f32], priors: &Priors) -> Result<f64> {
        let groups = Groups::new(self.problem.classes(), &self.problem.train().labels)?;
        let scores: Vec<f64> = scores.iter().copied().map(f64::from).collect();
        Ok(PoolSurprise::new(priors, &groups, &scores).gain())
    }
}

impl Procedure for Stages<'_> {
    fn estimator(&self) -> &Estimator {
        let second = self.second.as_ref().map(|second| &second.estimator);
        second.unwrap_or(&self.warm_up)
    }

    /// The warm-up's: the likelihood, unless told otherwise.
    fn held_out(&self) -> &Estimator {
        &self.warm_up
    }

    fn targets(&self, state: &State, rows: &[usize]) -> Option<Vec<f64>> {
        self.second.as_ref()?;
        let k = self.problem.classes().get();
        let places = rows.iter().filter_map(|&row| self.places[row]);
        let targets = places.flat_map(|place| &state.targets[place * k..(place + 1) * k]);
        Some(targets.map(|&target| f64::from(target)).collect())
    }

    fn resume(&mut self, engine: &mut dyn Engine, state: &State) -> Result<()> {
        let Some(kept) = &state.kept else {
            if state.targets.is_empty() {
                return Ok(());
            }
            return Err(checkpoint(
                "its targets are those of a teacher: train.self-training.folds was not 0",
            ));
        };
        state.check_targets(self.places.iter().flatten().count() * self.problem.classes().get())?;
        let scores = self.scores(engine, Some(&kept.params))?;
        self.second = Some(self.second(&scores)?);
        Ok(())
    }

    fn is_over(&self, state: &State) -> bool {
        state.fell_back()
    }

    /// Moves the pool's targets on, and begins the second stage when the warm-up is over.
    fn after_epoch(
        &mut self,
        engine: &mut dyn Engine,
        state: &mut State,
    ) -> Result<Option<Event<'static>>> {
        let (constants, epoch) = (self.constants, state.epochs_done());
        if epoch < constants.warm_up_epochs || epoch == self.run.settings.epochs {
            return Ok(None);
        }
        let scores = self.scores(engine, None)?;
        let begins = epoch == constants.warm_up_epochs;
        if begins {
            engine.store(state)?;
            state.keep_current();
            self.second = Some(self.second(&scores)?);
        }
        let Some(second) = &self.second else {
            return Ok(None);
        };
        let (given, priors) = (&self.run.priors, second.estimator.priors());
        let matched = match_priors(&scores, priors);
        average(&mut state.targets, &matched.targets, constants.momentum);
        let sign = if begins {
            (given.negative() == 0.0).then_some(Collapse::NoNegatives)
        } else {
            let gain = self.gain(&scores, priors)?;
            matched.collapse(&constants, priors, gain, second.gain)
        };
        if let Some(sign) = sign {
            state.use_kept();
            return Ok(Some(Event::FellBack { epoch, sign }));
        }
        let raised = begins && priors != given;
        Ok(raised.then(|| Event::PriorsRaised {
            given: 1.0 - given.negative(),
            found: 1.0 - priors.negative(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn constants_out_of_range_are_refused_by_name() {
        let good = SelfTraining::default();
        assert!(good.check(40).is_ok());
        let refused = |told: &str, spoil: fn(&mut SelfTraining)| {
            let mut bad = good;
            spoil(&mut bad);
            check_message(bad.check(40), told);
        };
        refused("warm-up is csmpu-st", |it| {
            it.warm_up = Objective::SoftTargets;
        });
        refused("warm-up is supervised", |it| {
            it.warm_up = Objective::Supervised;
        });
        refused("warm-up-epochs is 0", |it| it.warm_up_epochs = 0);
        refused("warm-up-epochs is 40", |it| it.warm_up_epochs = 40);
        refused("momentum is 1", |it| it.momentum = 1.0);
        refused("collapse-distance is 0", |it| it.collapse_distance = 0.0);
        refused("least-kept is 1", |it| it.least_kept = 1.0);
        refused("labeled-share is 1.5", |it| it.labeled_share = 1.5);
        refused("sure is 0.4", |it| it.sure = 0.4);
        refused("folds is 1", |it| it.folds = Some(1));
    }
}
