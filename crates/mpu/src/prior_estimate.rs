//! Class priors from labelled rows and the pool alone: a cross-fitted detector, then `mpu-prior`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpu_data::{ClassCount, Scaling, Seed, Shape};
use mpu_models::{MlpSpec, ModelSpec, ResNetSpec};
use mpu_prior::{EstimateOptions, EstimatorKind, Margins, PriorReport, Rows};
use mpu_train::{Control, CrossFit, Event, Sample};

use crate::error::{Context as _, Error, Result};
use crate::prepared::Watcher;

/// The default estimate of a sample's priors: what `auto` means.
pub fn estimate_priors(
    sample: &Sample,
    classes: ClassCount,
    seed: Seed,
    observer: &mut impl Watcher,
) -> Result<PriorReport> {
    let _span = tracing::info_span!("prior").entered();
    let margins = detector_margins(sample, classes, seed, observer)?;
    let options = EstimateOptions::default();
    priors_from_margins(&margins, EstimatorKind::default(), &options, seed)
}

/// Priors from the margins of [`detector_margins`]; where these say almost nothing, a careful guess.
pub fn priors_from_margins(
    margins: &Margins,
    kind: EstimatorKind,
    options: &EstimateOptions,
    seed: Seed,
) -> Result<PriorReport> {
    let estimator = kind.build();
    let report = mpu_prior::estimate(margins, estimator.as_ref(), options, seed)
        .and_then(|report| mpu_prior::settle(report, margins));
    let report = match kind {
        // These read a rate off a few labelled rows.
        EstimatorKind::LabelingRate | EstimatorKind::SharedRate => {
            report.and_then(|report| mpu_prior::allow_for_few_rows(report, margins))
        }
        _ => report,
    };
    report.with_context(|| format!("estimating the class priors by {kind}"))
}

/// Margins of a sample's rows by detectors that did not see them: what every estimator of priors starts from.
pub fn detector_margins(
    sample: &Sample,
    classes: ClassCount,
    seed: Seed,
    observer: &mut impl Watcher,
) -> Result<Margins> {
    let n_rows = sample.labels.len();
    let fit = CrossFit::new(detector(sample.features.shape(), classes), n_rows, seed);
    let (steps, done) = (fit.n_steps(n_rows), AtomicUsize::new(0));
    // Folds are fitted on several threads: one of them at a time tells the observer.
    let watched = Mutex::new((observer, None));
    let step = || {
        let step = done.fetch_add(1, Ordering::Relaxed) + 1;
        let Ok(mut watched) = watched.lock() else {
            return Control::Stop;
        };
        let (observer, fault) = &mut *watched;
        observer
            .on(&Event::Detector { step, steps })
            .unwrap_or_else(|error| {
                fault.get_or_insert(error);
                Control::Stop
            })
    };
    // Features of one size, whatever the run that follows does with them.
    let mut scaled = sample.clone();
    let rows: Vec<usize> = (0..n_rows).collect();
    let scaler = Scaling::MinMax.fit(&scaled.features, &rows)?;
    scaler.apply(&mut scaled.features)?;
    let scored = fit.scores(&scaled, classes, &step)?;
    if let Ok((_, Some(fault))) = watched.into_inner() {
        return Err(Error::Observer(fault.into()));
    }
    let scored =
        scored.ok_or_else(|| Error::Stopped("while class priors were estimated".to_owned()))?;
    let width = classes.n_observed();
    let mut groups = vec![Rows::default(); classes.get()];
    for (row, &label) in sample.labels.iter().enumerate() {
        let group = &mut groups[classes.group(label)?];
        group.folds.push(scored.folds[row] as u32);
        let margins = &scored.margins[row * width..(row + 1) * width];
        group.values.extend_from_slice(margins);
    }
    let pool = groups.pop().unwrap_or_default();
    Ok(Margins::new(groups, pool)?)
}

/// A smaller network than the one that is trained: it only has to rank rows.
fn detector(shape: Shape, classes: ClassCount) -> ModelSpec {
    let outputs = classes.get();
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } if channels > 1 => ModelSpec::ResNet(ResNetSpec {
            channels,
            height,
            width,
            depth: 8,
            outputs,
        }),
        _ => ModelSpec::Mlp(MlpSpec {
            inputs: shape.len(),
            hidden: vec![300, 300],
            outputs,
        }),
    }
}
