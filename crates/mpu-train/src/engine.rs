//! The two ways of making a step: fused on the CPU, or plain candle operations on any device.

use std::borrow::Cow;

use candle_core::{Device, Tensor};
use mpu_data::Features;
use mpu_models::fused::Workspace;
use mpu_models::{Mode, ModelSpec, Network, Params, Threads};
use mpu_risk::{Estimator, Groups, RiskTerms};

use crate::error::{Error, Result};

/// A network in training.
pub(crate) enum Engine {
    /// Hand-written passes in reused buffers.
    Fused(Box<Workspace>),
    /// candle's operations and gradients.
    Reference(Box<Network>, Device),
}

/// What a step gives.
pub(crate) struct Step<'a> {
    /// The batch's scores, row by row.
    pub(crate) scores: Vec<f64>,
    /// The parts of its risk.
    pub(crate) terms: RiskTerms,
    /// `∂R/∂parameters`.
    pub(crate) gradient: Cow<'a, [f32]>,
}

impl Engine {
    pub(crate) fn new(
        spec: &ModelSpec,
        params: &Params,
        max_rows: usize,
        device: Option<Device>,
        threads: Threads,
    ) -> Result<Self> {
        Ok(match device {
            None => Self::Fused(Box::new(Workspace::new(spec, max_rows, threads)?)),
            Some(device) => Self::Reference(Box::new(Network::new(params, &device)?), device),
        })
    }

    /// Scores, risk and gradient of a batch, the `members` of `features`, in training mode; running
    /// statistics in `params` move. `None` if a score or the gradient is not finite.
    pub(crate) fn step(
        &mut self,
        params: &mut Params,
        (features, members): (&Features, &[usize]),
        estimator: &Estimator,
        groups: &Groups,
    ) -> Result<Option<Step<'_>>> {
        let (n_rows, inputs) = (members.len(), params.spec().inputs());
        match self {
            Self::Fused(workspace) => {
                let batch = workspace.batch_mut(n_rows)?.chunks_exact_mut(inputs);
                for (place, &member) in batch.zip(members) {
                    place.copy_from_slice(features.row(member));
                }
                let logits = workspace.forward(params, Mode::Train)?;
                let scores: Vec<f64> = logits.iter().map(|&score| f64::from(score)).collect();
                if scores.iter().any(|score| !score.is_finite()) {
                    return Ok(None);
                }
                let risk = estimator.plain(&scores, groups)?;
                let dlogits: Vec<f32> = risk.gradient.iter().map(|&g| g as f32).collect();
                let gradient = workspace.backward(params, &dlogits)?;
                Ok(finite(Step {
                    scores,
                    terms: risk.terms,
                    gradient: gradient.into(),
                }))
            }
            Self::Reference(network, device) => {
                network.set_params(params)?;
                let batch = features.select(members);
                let batch = Tensor::from_slice(batch.values(), (n_rows, inputs), device)
                    .map_err(tensor("the batch"))?;
                let logits = network.forward(&batch, Mode::Train)?;
                let scores = read(&logits)?;
                if scores.iter().any(|score| !score.is_finite()) {
                    return Ok(None);
                }
                let risk = estimator.risk(&logits, groups)?;
                let gradients = risk.objective.backward().map_err(tensor("the gradient"))?;
                let gradient = network.gradient(&gradients)?;
                // The forward pass moved the running statistics on the device.
                *params = network.to_params()?;
                Ok(finite(Step {
                    scores,
                    terms: risk.terms,
                    gradient: gradient.into(),
                }))
            }
        }
    }

    /// Scores in evaluation mode, row by row.
    pub(crate) fn predict(&mut self, params: &Params, rows: &[f32]) -> Result<Vec<f32>> {
        let (inputs, outputs) = (params.spec().inputs(), params.spec().outputs());
        match self {
            Self::Fused(workspace) => {
                let mut logits = vec![0.0; rows.len() / inputs * outputs];
                workspace.predict(params, rows, &mut logits)?;
                Ok(logits)
            }
            Self::Reference(network, device) => {
                network.set_params(params)?;
                let mut logits = Vec::with_capacity(rows.len() / inputs * outputs);
                for part in rows.chunks(1024 * inputs) {
                    let batch = Tensor::from_slice(part, (part.len() / inputs, inputs), device)
                        .map_err(tensor("the batch"))?;
                    let scores = read(&network.forward(&batch, Mode::Eval)?)?;
                    logits.extend(scores.iter().map(|&score| score as f32));
                }
                Ok(logits)
            }
        }
    }
}

fn finite(step: Step<'_>) -> Option<Step<'_>> {
    // Without a way out of the inner loop, which would cost several times as much.
    let all = |part: &[f32]| part.iter().fold(true, |all, g| all & g.is_finite());
    step.gradient.chunks(4096).all(all).then_some(step)
}

fn read(logits: &Tensor) -> Result<Vec<f64>> {
    logits
        .detach()
        .to_dtype(candle_core::DType::F64)
        .and_then(|scores| scores.flatten_all()?.to_vec1())
        .map_err(tensor("the scores"))
}

fn tensor(operation: &'static str) -> impl Fn(candle_core::Error) -> Error {
    move |source| mpu_risk::Error::Tensor { operation, source }.into()
}
