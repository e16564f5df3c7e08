//! Class priors from labelled rows and the pool alone: a cross-fitted detector, then `mpu-prior`.

use std::sync::atomic::Ordering;

use anyhow::Context as _;
use mpu_data::{ClassCount, MpuLabel, Scaling, Seed, Shape};
use mpu_models::{MlpSpec, ModelSpec, ResNetSpec};
use mpu_prior::{EstimateOptions, EstimatorKind, Margins, PriorReport, Rows};
use mpu_train::{Control, CrossFit, Problem, Sample};

use crate::console::{Interrupted, bar, interrupts};

/// The default estimate of a problem's priors: what `auto` means.
pub(crate) fn estimate(problem: &Problem, seed: Seed) -> anyhow::Result<PriorReport> {
    let margins = margins(problem.train(), problem.classes(), seed)?;
    let options = EstimateOptions::default();
    let estimator = EstimatorKind::default().build();
    mpu_prior::estimate(&margins, estimator.as_ref(), &options, seed)
        .context("estimating the class priors")
}

/// Out-of-fold margins of a sample, with a progress bar.
pub(crate) fn margins(sample: &Sample, classes: ClassCount, seed: Seed) -> anyhow::Result<Margins> {
    let n_rows = sample.labels.len();
    let fit = CrossFit::new(detector(sample.features.shape(), classes), n_rows, seed);
    let bar = bar(fit.n_steps(n_rows) as u64, "steps");
    bar.set_message("learning to tell labelled rows from the pool");
    let interrupted = interrupts()?;
    let step = || {
        bar.inc(1);
        if interrupted.load(Ordering::SeqCst) {
            Control::Stop
        } else {
            Control::Continue
        }
    };
    // Features of one size, whatever the run that follows does with them.
    let mut scaled = sample.clone();
    let rows: Vec<usize> = (0..n_rows).collect();
    let scaler = Scaling::MinMax.fit(&scaled.features, &rows)?;
    scaler.apply(&mut scaled.features)?;
    let scored = fit.scores(&scaled, classes, &step)?;
    bar.finish_and_clear();
    let scored = scored.ok_or(Interrupted("while class priors were estimated"))?;
    let width = classes.n_observed();
    let mut groups = vec![Rows::default(); classes.get()];
    for (row, label) in sample.labels.iter().enumerate() {
        let group = match *label {
            MpuLabel::Labeled(class) => &mut groups[class],
            MpuLabel::Unlabeled => &mut groups[classes.negative()],
        };
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
