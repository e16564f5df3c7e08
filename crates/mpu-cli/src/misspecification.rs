//! Figure 3: what wrong priors do. Runs with the true priors tell which shift is worst; runs with shifted
//! priors tell what it costs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use mpu_data::{ClassCount, DatasetId, Priors};
use mpu_loss::Loss;
use mpu_prior::perturb;
use mpu_report::figures::{
    Bandwidth, BoundCurves, Misspecification, PerturbedScores, Scheme, ShiftedScore,
};
use mpu_report::{Record, stats};
use mpu_risk::bounds::{Constants, misspecified_excess_bound, prior_bias};
use mpu_risk::{Correction, Objective};

use crate::args::runs::{Artefact, Reproduce};
use crate::plan::{self, Planned};
use crate::reproduction::{Cell, Recipe, Setting, artefacts, asked, epochs, seeds};

/// Where the paper looks.
pub(crate) const DATASET: DatasetId = DatasetId::FashionMnist;
pub(crate) const CLASSES: [usize; 3] = [4, 6, 8];
pub(crate) const PRIOR: f64 = 0.5;

/// `‖Δ‖₁` of the shifts.
const SIZES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
/// Allowed drops of macro-F1 in points.
const DROPS: [f64; 3] = [1.0, 2.0, 5.0];
/// The paper averages three runs.
const SEEDS: u64 = 3;

/// A run with wrong priors and what made them wrong.
struct Shifted {
    classes: usize,
    scheme: Scheme,
    size: f64,
    shift: Vec<f64>,
    run: Planned,
}

/// The study, as far as the records go.
pub(crate) struct Study {
    shifted: Vec<Shifted>,
    /// The runs with the true priors, by their number of classes.
    base: BTreeMap<usize, Vec<Planned>>,
    /// `b_i`, mean over the runs with the true priors.
    gaps: BTreeMap<usize, Vec<f64>>,
}

impl Study {
    /// What the user asked for, as far as it follows from the records of the runs with the true priors.
    pub(crate) fn asked(
        args: &Reproduce,
        records: &BTreeMap<String, Record>,
    ) -> anyhow::Result<Self> {
        let wanted = artefacts(args).contains(&Artefact::Figure3);
        let is_asked = |cell: &Cell| wanted && asked(args, cell);
        Self::sized(
            args,
            records,
            epochs(args),
            seeds(args).min(SEEDS),
            is_asked,
        )
    }

    /// What is stored: of all numbers of seeds and epochs the one with most runs, and that of the user's if none has more.
    pub(crate) fn stored(
        args: &Reproduce,
        records: &BTreeMap<String, Record>,
    ) -> anyhow::Result<Self> {
        let sized = |epochs, seeds| Self::sized(args, records, epochs, seeds, |_| true);
        let mut best = sized(epochs(args), seeds(args).min(SEEDS))?;
        let keys = records.values().map(|record| &record.key);
        let here = keys.filter(|key| key.dataset == DATASET.slug());
        let stored: BTreeSet<usize> = here.map(|key| key.epochs).collect();
        for &epochs in stored.iter().rev() {
            for seeds in (1..=SEEDS).rev() {
                let study = sized(epochs, seeds)?;
                if study.n_found(records) > best.n_found(records) {
                    best = study;
                }
            }
        }
        Ok(best)
    }

    /// How many of the runs with wrong priors are stored.
    fn n_found(&self, records: &BTreeMap<String, Record>) -> usize {
        let found = |shifted: &&Shifted| records.contains_key(&shifted.run.id);
        self.shifted.iter().filter(found).count()
    }

    fn sized(
        args: &Reproduce,
        records: &BTreeMap<String, Record>,
        epochs: usize,
        seeds: u64,
        is_wanted: impl Fn(&Cell) -> bool,
    ) -> anyhow::Result<Self> {
        let mut study = Self {
            shifted: Vec::new(),
            base: BTreeMap::new(),
            gaps: BTreeMap::new(),
        };
        let setting = Setting::of(args);
        for classes in CLASSES {
            let cell = Cell {
                dataset: DATASET,
                classes: ClassCount::new(classes)?,
                prior: PRIOR,
                method: Objective::Csmpu(Correction::Abs).into(),
                loss: Loss::default(),
                recipe: Recipe::Own,
            };
            if !is_wanted(&cell) {
                continue;
            }
            let base = (1..=seeds).map(|seed| setting.config(&cell, epochs, seed));
            let base = plan::distinct(base.collect::<anyhow::Result<Vec<_>>>()?)?;
            let found: Vec<&Record> = base.iter().filter_map(|r| records.get(&r.id)).collect();
            let all = found.len() == base.len();
            if let Some(gaps) = mean_gaps(&found).filter(|_| all) {
                // Every seed draws as many rows of each class, so that the pools have the same priors.
                let priors = Priors::new(found[0].priors.clone())?;
                for (scheme, size) in schemes_and_sizes() {
                    let shift = match scheme {
                        Scheme::ScalarLast => perturb::scalar_last(&priors, size)?,
                        Scheme::Adversarial => perturb::adversarial(&priors, size, &gaps)?,
                    };
                    for run in &base {
                        let mut config = run.config.clone();
                        config.data.prior_shift = Some(shift.clone());
                        study.shifted.push(Shifted {
                            classes,
                            scheme,
                            size,
                            shift: shift.clone(),
                            run: Planned::new(config.completed()?)?,
                        });
                    }
                }
                study.gaps.insert(classes, gaps);
            }
            study.base.insert(classes, base);
        }
        Ok(study)
    }

    /// The runs with wrong priors.
    pub(crate) fn runs(&self) -> Vec<Planned> {
        let runs = self.shifted.iter().map(|shifted| shifted.run.clone());
        runs.collect()
    }

    /// The figure, from the runs whose records are there.
    pub(crate) fn figure(
        &self,
        records: &BTreeMap<String, Record>,
    ) -> anyhow::Result<Misspecification> {
        let f1 = |run: &Planned| Some(records.get(&run.id)?.scores.as_ref()?.f1);
        let mut measured = Vec::new();
        for (&classes, base) in &self.base {
            let true_f1: Option<Vec<f64>> = base.iter().map(f1).collect();
            let (Some(true_f1), Some(gaps)) = (true_f1, self.gaps.get(&classes)) else {
                continue;
            };
            let mut shifted = Vec::new();
            for (scheme, size) in schemes_and_sizes() {
                let here = |s: &&Shifted| (s.classes, s.scheme, s.size) == (classes, scheme, size);
                let runs = || self.shifted.iter().filter(here);
                let scores: Option<Vec<f64>> = runs().map(|s| f1(&s.run)).collect();
                let shift = runs().next().context("a shift is missing")?.shift.clone();
                shifted.push((scheme, size, shift, scores.unwrap_or_default()));
            }
            measured.push(Measured {
                classes,
                true_f1,
                shifted,
                gaps: gaps.clone(),
            });
        }
        let mut figure = study(&measured)?;
        let first = self.base.values().flatten().next();
        figure.epochs = first.map_or(0, |run| run.config.train.epochs);
        Ok(figure)
    }
}

/// Every scheme with every size.
fn schemes_and_sizes() -> impl Iterator<Item = (Scheme, f64)> {
    Scheme::ALL
        .into_iter()
        .flat_map(|scheme| SIZES.map(|size| (scheme, size)))
}

/// What was measured with one number of classes.
pub(crate) struct Measured {
    pub(crate) classes: usize,
    /// Macro-F1 with the true priors, one a seed.
    pub(crate) true_f1: Vec<f64>,
    /// A scheme, its size, the shift, and macro-F1 with it, one a seed; empty where runs are missing.
    pub(crate) shifted: Vec<(Scheme, f64, Vec<f64>, Vec<f64>)>,
    /// `b_i`, mean over the runs with the true priors.
    pub(crate) gaps: Vec<f64>,
}

/// The study of what was measured: scores, bandwidths and bounds.
pub(crate) fn study(measured: &[Measured]) -> anyhow::Result<Misspecification> {
    let mut figure = Misspecification::default();
    for part in measured {
        figure.n_seeds = part.true_f1.len();
        for scheme in Scheme::ALL {
            let mut points = vec![(0.0, part.true_f1.clone())];
            let here = part.shifted.iter().filter(|s| s.0 == scheme);
            let here = here.filter(|s| !s.3.is_empty());
            points.extend(here.map(|s| (s.1, s.3.clone())));
            for drop in DROPS {
                let width = bandwidth(part.classes, scheme, drop, &points);
                figure.bandwidths.push(width);
            }
            let point = |(delta, scores): &(f64, Vec<f64>)| ShiftedScore {
                delta: *delta,
                f1: stats::mean(scores).unwrap_or(f64::NAN),
                std: stats::std_dev(scores),
            };
            figure.scores.push(PerturbedScores {
                classes: part.classes,
                scheme,
                points: points.iter().map(point).collect(),
            });
        }
        figure.bounds.push(bounds(part)?);
    }
    Ok(figure)
}

/// The bounds along the adversarial shifts, with equal weights `λ_i = 1/k`.
fn bounds(part: &Measured) -> anyhow::Result<BoundCurves> {
    let weight = 1.0 / part.classes as f64;
    let (mut empirical, mut theoretical) = (vec![(0.0, 0.0)], vec![(0.0, 0.0)]);
    let adversarial = part.shifted.iter().filter(|s| s.0 == Scheme::Adversarial);
    for (_, size, shift, _) in adversarial {
        let bias = part.gaps.iter().zip(shift);
        let bias = bias.map(|(b, d)| weight * prior_bias(*d, 0.0, *b));
        empirical.push((*size, bias.sum()));
        let weights = vec![weight; part.classes];
        let (loss, constants) = (Loss::default(), Constants::Corrected);
        let bound = misspecified_excess_bound(0.0, &weights, shift, &loss, constants)?;
        theoretical.push((*size, bound));
    }
    Ok(BoundCurves {
        classes: part.classes,
        empirical,
        theoretical,
    })
}

/// The mean of `b_i` over runs; none if a run has none.
fn mean_gaps(records: &[&Record]) -> Option<Vec<f64>> {
    let n = records.first()?.prior_gaps.len();
    if n == 0 || records.iter().any(|record| record.prior_gaps.len() != n) {
        return None;
    }
    let mean = |class: usize| {
        let sum: f64 = records.iter().map(|record| record.prior_gaps[class]).sum();
        sum / records.len() as f64
    };
    Some((0..n).map(mean).collect())
}

/// The largest size up to which macro-F1 has dropped by no more than allowed, for each seed; mean and spread.
fn bandwidth(classes: usize, scheme: Scheme, drop: f64, points: &[(f64, Vec<f64>)]) -> Bandwidth {
    let seeds = points.iter().map(|(_, scores)| scores.len()).min();
    let width = |seed: usize| {
        let allowed = points[0].1[seed] - drop / 100.0;
        let kept = points.iter();
        let kept = kept.take_while(|(_, scores)| scores[seed] >= allowed);
        kept.map(|(size, _)| *size).fold(0.0, f64::max)
    };
    let widths: Vec<f64> = (0..seeds.unwrap_or(0)).map(width).collect();
    Bandwidth {
        classes,
        scheme,
        drop,
        delta: stats::mean(&widths).unwrap_or(0.0),
        std: stats::std_dev(&widths),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_ends_at_the_first_drop_too_deep() {
        let points = vec![
            (0.0, vec![0.90, 0.90]),
            (0.1, vec![0.895, 0.885]),
            (0.2, vec![0.88, 0.895]),
            (0.3, vec![0.90, 0.90]),
        ];
        let width = bandwidth(4, Scheme::ScalarLast, 1.0, &points);
        assert!(
            (width.delta - 0.05).abs() < 1e-12,
            "0.1 for one seed, 0 for the other"
        );
        let wide = bandwidth(4, Scheme::ScalarLast, 5.0, &points);
        assert!((wide.delta - 0.3).abs() < 1e-12);
    }
}
