//! How a run goes through its epochs: one objective from first to last, or several in turn.
//!
//! This file holds the list of methods; every procedure has a file of its own, with its settings.

mod pulse;
mod self_training;
mod single;
mod taught;

use mpu_data::{MpuLabel, bad_setting};
use mpu_risk::{Estimator, Objective, Placement};

use crate::checkpoint::State;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::problem::Problem;
use crate::settings::{Keep, TrainSettings};
use crate::trainer::Run;

pub use pulse::Pulse;
pub(crate) use self_training::probabilities;
pub use self_training::{Collapse, SelfTraining};

/// A way of training: an objective as it is, or a procedure that goes through several.
///
/// ```
/// use mpu_risk::{Correction, Objective};
/// use mpu_train::Method;
///
/// assert_eq!(Method::CsmpuSt.slug(), "csmpu-st");
/// assert_eq!(Method::from(Objective::CsmpuExact(Correction::Nn)), "csmpu-exact-nn".parse()?);
/// # Ok::<(), mpu_train::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// One objective from the first epoch to the last. One that needs targets for the pool cannot be trained
    /// like this: there would be nobody to bring them.
    Single(Objective),
    /// [Self-training](SelfTraining) on targets of the pool that agree with its class priors. Not in the paper.
    CsmpuSt,
    /// [Open-set label shift](Pulse): estimated priors, rejection, one discriminator. Not in the paper; a rival.
    Pulse,
}

/// Where a user's costs of mistakes come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostsEnter {
    /// Into the risk that is minimised.
    Risk,
    /// Into the decision alone: scores are log-probabilities, from which the answer of least expected cost
    /// follows, whatever the costs. Training does not read them.
    Decision,
    /// Nowhere: the method has costs of its own, and its scores are no probabilities.
    Nowhere,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; Objective::ALL.len() + 1] = {
        let mut all = [Self::Pulse; Objective::ALL.len() + 1];
        let mut i = 0;
        while i < Objective::ALL.len() {
            all[i] = Self::ending_in(Objective::ALL[i]);
            i += 1;
        }
        all
    };

    /// The plainest method whose last epoch minimises an objective.
    const fn ending_in(objective: Objective) -> Self {
        match objective {
            Objective::SoftTargets => Self::CsmpuSt,
            other => Self::Single(other),
        }
    }

    /// What the last epoch minimises: it decides what the scores mean.
    pub fn objective(self) -> Objective {
        match self {
            Self::Single(objective) => objective,
            Self::CsmpuSt | Self::Pulse => Objective::SoftTargets,
        }
    }

    /// The one name used in files, flags, run keys and tables.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Single(objective) => objective.slug(),
            Self::CsmpuSt => "csmpu-st",
            Self::Pulse => "pulse",
        }
    }

    /// Where the correction stands unless told otherwise.
    pub fn default_placement(self) -> Placement {
        self.objective().default_placement()
    }

    /// Whether scores are logarithms of class probabilities up to a constant of the row, so that their
    /// softmax means something.
    pub fn scores_are_log_probabilities(self) -> bool {
        self.objective().scores_are_log_probabilities()
    }

    /// Whether the method sees labels that a user of MPU learning does not have.
    pub fn uses_hidden_labels(self) -> bool {
        self.objective().uses_hidden_labels()
    }

    /// Where a user's costs come in.
    pub fn costs_enter(self) -> CostsEnter {
        match self.objective() {
            objective if objective.takes_costs() => CostsEnter::Risk,
            objective if objective.scores_are_log_probabilities() => CostsEnter::Decision,
            _ => CostsEnter::Nowhere,
        }
    }

    /// Fills in the settings of the method's procedure where they are not given, and refuses those of
    /// another.
    pub fn complete(self, settings: &mut TrainSettings) -> Result<()> {
        match self {
            Self::CsmpuSt => drop(settings.self_training.get_or_insert_default()),
            Self::Pulse => drop(settings.pulse.get_or_insert_default()),
            Self::Single(_) => {}
        }
        let of_self_training = settings.self_training.is_some();
        for (name, given, needed) in [
            ("train.self-training", of_self_training, Self::CsmpuSt),
            ("train.pulse", settings.pulse.is_some(), Self::Pulse),
        ] {
            if given && needed != self {
                let found = self;
                return Err(Error::SettingOfOther {
                    name,
                    needed,
                    found,
                });
            }
        }
        Ok(())
    }
}

/// What happens from epoch to epoch.
pub(crate) trait Procedure {
    /// What the next epoch minimises.
    fn estimator(&self) -> &Estimator;

    /// What estimates the risk of held-out rows, which have no targets.
    fn held_out(&self) -> &Estimator {
        self.estimator()
    }

    /// Soft targets of those of the rows that are in the pool, `k` to a row, if the next epoch needs them.
    fn targets(&self, _state: &State, _rows: &[usize]) -> Option<Vec<f64>> {
        None
    }

    /// Takes up the thread where a checkpoint left it.
    fn resume(&mut self, _engine: &mut dyn Engine, _state: &State) -> Result<()> {
        Ok(())
    }

    /// Whether nothing is left to do, though epochs are.
    fn is_over(&self, _state: &State) -> bool {
        false
    }

    /// What follows an epoch, the last of the state's history.
    fn after_epoch(&mut self, _: &mut dyn Engine, _: &mut State) -> Result<Option<Event<'static>>> {
        Ok(None)
    }
}

/// The procedure of a run's method, its settings checked.
pub(crate) fn of<'a>(run: &'a Run, problem: &'a Problem) -> Result<Box<dyn Procedure + 'a>> {
    let has_best = matches!(run.method, Method::Single(_)) && problem.validation().is_some();
    if run.settings.keep == Keep::BestRisk && !has_best {
        return Err(bad_setting(
            "train.keep",
            Keep::BestRisk,
            "last where there are no validation rows, and for csmpu-st and pulse",
        ));
    }
    Ok(match run.method {
        Method::Single(_) => Box::new(single::Single::new(run)?),
        Method::CsmpuSt => {
            let constants = run.settings.self_training.unwrap_or_default();
            if problem.targets().is_some() || constants.is_cross_fitted() {
                Box::new(taught::Taught::new(run, problem)?)
            } else {
                Box::new(self_training::Stages::new(run, problem)?)
            }
        }
        Method::Pulse => Box::new(pulse::Stages::new(run, problem)?),
    })
}

/// The place of each training row in the pool; none for labelled rows.
fn pool_places(problem: &Problem) -> Vec<Option<usize>> {
    let mut n_pool = 0;
    let place = |label: &MpuLabel| {
        (*label == MpuLabel::Unlabeled).then(|| {
            n_pool += 1;
            n_pool - 1
        })
    };
    problem.train().labels.iter().map(place).collect()
}

impl From<Objective> for Method {
    fn from(objective: Objective) -> Self {
        Self::ending_in(objective)
    }
}

mpu_data::named!(Method, "method");

#[cfg(test)]
mod tests {
    use mpu_risk::Correction;

    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn methods_are_the_objectives_each_in_its_place_with_its_name() {
        let (of_objectives, others) = Method::ALL.split_at(Objective::ALL.len());
        for (method, objective) in of_objectives.iter().zip(Objective::ALL) {
            assert_eq!(method.slug(), objective.slug());
            assert_eq!(method.objective(), objective);
            assert_eq!(Method::from(objective), *method);
        }
        assert_eq!(others, [Method::Pulse]);
        assert_eq!(Method::Pulse.objective(), Objective::SoftTargets);
        for method in Method::ALL {
            assert_eq!(method.slug().parse::<Method>().unwrap(), method);
            let json = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
        }
        let told = "unknown method `csmpu`: allowed are csmpu-abs";
        check_message("csmpu".parse::<Method>(), told);
    }

    #[test]
    fn costs_enter_the_exact_risk_or_the_decision() {
        let of = |enter| {
            let methods = Method::ALL
                .into_iter()
                .filter(move |m| m.costs_enter() == enter);
            methods.map(Method::slug).collect::<Vec<_>>()
        };
        let exact = ["csmpu-exact-abs", "csmpu-exact-nn", "csmpu-exact-ure"];
        assert_eq!(of(CostsEnter::Risk), exact);
        assert_eq!(
            of(CostsEnter::Decision),
            ["mpu-ml", "csmpu-st", "supervised", "pulse"]
        );
        assert_eq!(of(CostsEnter::Nowhere).len(), 12);
    }

    #[test]
    fn settings_of_another_procedure_are_refused() {
        let mut settings = TrainSettings::default();
        Method::CsmpuSt.complete(&mut settings).unwrap();
        assert_eq!(settings.self_training, Some(SelfTraining::default()));
        let abs = Method::Single(Objective::Csmpu(Correction::Abs));
        let told = "train.self-training goes with method csmpu-st, but the method is csmpu-abs";
        assert_eq!(abs.complete(&mut settings).unwrap_err().to_string(), told);
        abs.complete(&mut TrainSettings::default()).unwrap();
        let mut settings = TrainSettings::default();
        Method::Pulse.complete(&mut settings).unwrap();
        assert_eq!(settings.pulse, Some(Pulse::default()));
        let told = "train.pulse goes with method pulse, but the method is csmpu-st";
        let error = Method::CsmpuSt.complete(&mut settings).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}
