//! Losses and risks as functions of arrays, with gradients.

use mpu::data::{ClassCount, Priors};
use mpu::loss::{Loss, Surrogate};
use mpu::risk::{Estimator, Groups, Objective};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods as _,
};
use pyo3::prelude::*;

use crate::fault::raised;
use crate::judge::known;
use crate::settings::data;

fn loss(surrogate: &str, gamma: f64, form: &str) -> PyResult<Loss> {
    let surrogate: Surrogate = surrogate.parse().map_err(|e| raised(data(e)))?;
    let form = form.parse().map_err(|e| raised(data(e)))?;
    Loss::new(surrogate, gamma, form).map_err(raised)
}

/// An array and its slope.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The loss of margins, and its slope.
#[pyfunction]
pub(crate) fn surrogate<'py>(
    py: Python<'py>,
    name: &str,
    margins: PyReadonlyArray1<'py, f64>,
    gamma: f64,
    form: &str,
) -> PyResult<Pair<'py>> {
    let loss = loss(name, gamma, form)?;
    let of = |f: &dyn Fn(f64) -> f64| {
        let values: Vec<f64> = margins.as_array().iter().map(|&z| f(z)).collect();
        PyArray1::from_vec(py, values)
    };
    Ok((of(&|z| loss.value(z)), of(&|z| loss.derivative(z))))
}

/// The risk of scores by an objective, before and after its correction, and the gradient of the latter.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "each is an argument in Python, given by name"
)]
pub(crate) fn risk<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, i64>,
    priors: Vec<f64>,
    objective: &str,
    surrogate: &str,
    gamma: f64,
    form: &str,
    targets: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<(f64, f64, Bound<'py, PyArray2<f64>>)> {
    let objective: Objective = objective.parse().map_err(|e| raised(data(e)))?;
    let priors = Priors::new(priors).map_err(raised)?;
    let classes = ClassCount::new(priors.classes().get()).map_err(raised)?;
    let mut groups = if objective.uses_hidden_labels() {
        let truths: Vec<usize> = labels
            .as_array()
            .iter()
            .map(|&c| usize::try_from(c).unwrap_or(usize::MAX))
            .collect();
        Groups::oracle(classes, &truths)
    } else {
        Groups::new(classes, &known(&labels))
    }
    .map_err(raised)?;
    if let Some(targets) = targets {
        let targets = targets.as_array().iter().copied().collect();
        groups = groups.with_targets(targets).map_err(raised)?;
    }
    let estimator = Estimator::new(objective, loss(surrogate, gamma, form)?, priors);
    let shape = [scores.shape()[0], scores.shape()[1]];
    let scores: Vec<f64> = scores.as_array().iter().copied().collect();
    let found = estimator.plain(&scores, &groups).map_err(raised)?;
    let gradient = PyArray1::from_vec(py, found.gradient).reshape(shape)?;
    Ok((found.terms.corrected, found.terms.raw, gradient))
}
