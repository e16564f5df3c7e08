//! Fused steps on the CPU.

use mpu_data::Features;
use mpu_models::fused::Workspace;
use mpu_models::{OptimState, Optimizer, Params};

use super::{Engine, Epoch, Made, Rows, Step};
use crate::batch::Batches;
use crate::checkpoint::State;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::trainer::Run;

/// Hand-written passes in reused buffers.
pub(super) struct Fused<'a> {
    problem: &'a Problem,
    workspace: Workspace,
    params: Params,
    optimizer: Optimizer,
    /// Both after the last whole epoch.
    marked: (Params, OptimState),
}

impl<'a> Fused<'a> {
    pub(super) fn new(run: &'a Run, problem: &'a Problem, state: &State) -> Result<Self> {
        let (settings, labels) = (&run.settings, &problem.train().labels);
        let batch_size = settings.batch_of(labels.len());
        let max_rows = Batches::max_rows(labels, settings.batching, batch_size);
        let optimizer = Optimizer::resume(settings.optimizer, state.optimizer.clone())?;
        Ok(Self {
            problem,
            workspace: Workspace::new(&run.model, max_rows, run.threads)?,
            params: state.params.clone(),
            optimizer: optimizer.on(run.threads),
            marked: (state.params.clone(), state.optimizer.clone()),
        })
    }

    fn scores(&mut self, features: &Features) -> Result<Vec<f32>> {
        all_scores(&mut self.workspace, &self.params, features.values())
    }
}

impl Engine for Fused<'_> {
    fn begin(&mut self, _: &Epoch<'_>) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, epoch: &Epoch<'_>, batch: usize) -> Result<Made> {
        let members = epoch.batches.rows(batch);
        let groups = (epoch.groups)(members)?;
        let features = &self.problem.train().features;
        self.workspace
            .gather(members.len(), |row| features.row(members[row]))?;
        let logits = self
            .workspace
            .forward(&mut self.params, epoch.mode(batch))?;
        let scores: Vec<f64> = logits.iter().map(|&score| f64::from(score)).collect();
        if scores.iter().any(|score| !score.is_finite()) {
            return Ok(Made::Diverged);
        }
        let risk = epoch.estimator.plain(&scores, &groups)?;
        let dlogits: Vec<f32> = risk.gradient.iter().map(|&g| g as f32).collect();
        let gradient = self.workspace.backward(&self.params, &dlogits)?;
        // Without a way out of the inner loop, which would cost several times as much.
        let finite = |part: &[f32]| part.iter().fold(true, |all, g| all & g.is_finite());
        if !gradient.chunks(4096).all(finite) {
            return Ok(Made::Diverged);
        }
        let values = self.params.trainable_mut();
        let moved = self.optimizer.step(values, gradient, epoch.lr);
        moved.map_err(Error::from)?;
        let terms = risk.terms;
        Ok(Made::Step(Step { scores, terms }))
    }

    fn told(&mut self) -> Result<Option<Vec<f32>>> {
        Ok(Some(Vec::new()))
    }

    fn mark(&mut self) -> Result<()> {
        self.marked = (self.params.clone(), self.optimizer.state().clone());
        Ok(())
    }

    fn store(&self, state: &mut State) -> Result<()> {
        (state.params, state.optimizer) = self.marked.clone();
        Ok(())
    }

    fn predict(&mut self, rows: Rows<'_>) -> Result<Vec<f32>> {
        let problem = self.problem;
        match rows {
            Rows::Train(rows) => {
                let mut scores = Vec::new();
                for part in rows.chunks(4096) {
                    let features = problem.train().features.select(part);
                    scores.extend(self.scores(&features)?);
                }
                Ok(scores)
            }
            Rows::Validation => {
                let held = problem.validation().map(|held| &held.features);
                held.map_or(Ok(Vec::new()), |rows| self.scores(rows))
            }
            Rows::Test => {
                let test = problem.test().map(|test| &test.features);
                test.map_or(Ok(Vec::new()), |rows| self.scores(rows))
            }
        }
    }

    fn predict_by(&mut self, params: &Params, rows: Rows<'_>) -> Result<Vec<f32>> {
        let own = std::mem::replace(&mut self.params, params.clone());
        let scores = self.predict(rows);
        self.params = own;
        scores
    }
}

/// Scores of rows without an engine.
pub(super) fn predict(run: &Run, params: &Params, rows: &[f32]) -> Result<Vec<f32>> {
    let n_rows = (rows.len() / run.model.inputs()).clamp(1, 1024);
    let mut workspace = Workspace::new(&run.model, n_rows, run.threads)?;
    all_scores(&mut workspace, params, rows)
}

fn all_scores(workspace: &mut Workspace, params: &Params, rows: &[f32]) -> Result<Vec<f32>> {
    let (inputs, outputs) = (params.spec().inputs(), params.spec().outputs());
    let mut logits = vec![0.0; rows.len() / inputs * outputs];
    workspace.predict(params, rows, &mut logits)?;
    Ok(logits)
}
