//! One objective from the first epoch to the last.

use mpu_risk::Estimator;

use super::Procedure;
use crate::checkpoint::State;
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Event;
use crate::settings::Keep;
use crate::trainer::Run;

pub(super) struct Single {
    estimator: Estimator,
    keep: Keep,
}

impl Single {
    pub(super) fn new(run: &Run) -> Result<Self> {
        Ok(Self {
            estimator: run.estimator()?,
            keep: run.settings.keep,
        })
    }
}

impl Procedure for Single {
    fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Keeps the best model so far, if that is asked for.
    fn after_epoch(
        &mut self,
        engine: &mut dyn Engine,
        state: &mut State,
    ) -> Result<Option<Event<'static>>> {
        if self.keep == Keep::BestRisk {
            let risk = |epoch| state.figures(epoch)?.validation_risk;
            let best = state.kept.as_ref().and_then(|kept| risk(kept.epoch));
            let now = risk(state.epochs_done());
            if best.is_none_or(|best| now.is_some_and(|now| now < best)) {
                engine.store(state)?;
                state.keep_current();
                state.use_kept();
            }
        }
        Ok(None)
    }
}
