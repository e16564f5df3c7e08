//! Rates without negatives, for answers of any classifier.

use mpu::data::{MpuLabel, Priors};
use mpu::eval::PuJudgement;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::fault::raised;

/// Labels by class number; -1 is unlabelled.
pub(crate) fn known(codes: &PyReadonlyArray1<'_, i64>) -> Vec<MpuLabel> {
    let label = |&code: &i64| usize::try_from(code).map_or(MpuLabel::Unlabeled, MpuLabel::Labeled);
    codes.as_array().iter().map(label).collect()
}

/// Accuracy and mean F1 in the pool, NaN where rows cannot tell.
#[pyfunction]
pub(crate) fn pu_judgement(
    priors: Vec<f64>,
    labels: PyReadonlyArray1<'_, i64>,
    answers: PyReadonlyArray1<'_, i64>,
) -> PyResult<(f64, f64)> {
    let priors = Priors::new(priors).map_err(raised)?;
    let answers = answers.as_array();
    let answers: Vec<usize> = answers
        .iter()
        .map(|&a| usize::try_from(a).unwrap_or(usize::MAX))
        .collect();
    let found = PuJudgement::new(&priors, &known(&labels), &answers).map_err(raised)?;
    let f1 = found.mean.map_or(f64::NAN, |mean| mean.f1.value);
    Ok((found.accuracy.map_or(f64::NAN, |a| a.value), f1))
}

/// The mean area under the ROC curve over the classes that have one.
#[pyfunction]
pub(crate) fn pu_auc(
    priors: Vec<f64>,
    labels: PyReadonlyArray1<'_, i64>,
    scores: PyReadonlyArray2<'_, f64>,
) -> PyResult<f64> {
    let priors = Priors::new(priors).map_err(raised)?;
    let scores: Vec<f64> = scores.as_array().iter().copied().collect();
    let areas = mpu::eval::pu_metrics::pu_auc(&priors, &known(&labels), &scores).map_err(raised)?;
    let areas: Vec<f64> = areas.iter().flatten().map(|area| area.value).collect();
    Ok(areas.iter().sum::<f64>() / areas.len() as f64)
}
