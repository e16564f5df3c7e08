//! The paper's claims, and ours, on finite distributions where expectations are sums.

use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_loss::{CostMatrix, Form, Loss, SampleLoss, Surrogate};
use mpu_risk::bounds::Constants;
use mpu_risk::{
    Correction, Estimator, Groups, Objective, Placement, area_offset, class_risk, unbiasedness_gap,
};
use proptest::prelude::*;

use crate::reference::{ell, paper_loss, square, unit_cost_loss};

/// A finite distribution: score rows of some atoms, and how many of `N` equally likely pool members
/// are of class `j` and at atom `a`. Taking each member once as the pool, and the members of each
/// observed class once more as its labelled rows, makes every group mean an exact expectation.
#[derive(Debug, Clone)]
struct World {
    k: usize,
    atoms: Vec<Vec<f64>>,
    counts: Vec<Vec<usize>>,
}

impl World {
    fn total(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    fn priors(&self) -> Priors {
        let share = |counts: &Vec<usize>| counts.iter().sum::<usize>() as f64 / self.total() as f64;
        Priors::new(self.counts.iter().map(share).collect()).unwrap()
    }

    /// Every `(class, atom)` as often as it is counted.
    fn members(&self) -> Vec<(usize, usize)> {
        let mut members = Vec::new();
        for (class, counts) in self.counts.iter().enumerate() {
            for (atom, &count) in counts.iter().enumerate() {
                members.extend(std::iter::repeat_n((class, atom), count));
            }
        }
        members
    }

    /// The whole population as a sample: row-major scores and groups.
    fn sample(&self) -> (Vec<f64>, Groups) {
        let (mut scores, mut labels) = (Vec::new(), Vec::new());
        for (class, atom) in self.members() {
            scores.extend_from_slice(&self.atoms[atom]);
            labels.push(MpuLabel::Unlabeled);
            if class < self.k - 1 {
                scores.extend_from_slice(&self.atoms[atom]);
                labels.push(MpuLabel::Labeled(class));
            }
        }
        (
            scores,
            Groups::new(ClassCount::new(self.k).unwrap(), &labels).unwrap(),
        )
    }

    /// Makes every class possible at every atom, and the scores the logarithms of the true posterior.
    fn score_by_posterior(&mut self) {
        for count in self.counts.iter_mut().flatten() {
            *count += 1;
        }
        for atom in 0..self.atoms.len() {
            let total: usize = self.counts.iter().map(|counts| counts[atom]).sum();
            for class in 0..self.k {
                self.atoms[atom][class] = (self.counts[class][atom] as f64 / total as f64).ln();
            }
        }
    }

    /// `E[L(f(x), y)]` over the true classes.
    fn true_risk(&self, loss: impl Fn(&[f64], usize) -> f64) -> f64 {
        let members = self.members();
        let total: f64 = members
            .iter()
            .map(|&(class, atom)| loss(&self.atoms[atom], class))
            .sum();
        total / members.len() as f64
    }

    /// Checks that the gradient with respect to every atom's scores, summed over the rows at it, is zero.
    fn check_stationary(&self, scores: &[f64], gradient: &[f64]) -> Result<(), TestCaseError> {
        for (atom, at) in self.atoms.iter().enumerate() {
            for class in 0..self.k {
                let rows = scores.chunks(self.k).zip(gradient.chunks(self.k));
                let slope: f64 = rows.filter(|(f, _)| f == at).map(|(_, g)| g[class]).sum();
                prop_assert!(slope.abs() < 1e-10, "{} {} {}", atom, class, slope);
            }
        }
        Ok(())
    }

    fn estimate(&self, objective: Objective, loss: Loss) -> f64 {
        let (scores, groups) = self.sample();
        let estimator = Estimator::new(objective, loss, self.priors());
        estimator.plain(&scores, &groups).unwrap().terms.corrected
    }
}

fn worlds(k: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = World> {
    (k, 2usize..=4).prop_flat_map(|(k, n_atoms)| {
        let atoms = prop::collection::vec(prop::collection::vec(-3.0f64..3.0, k), n_atoms);
        let counts = prop::collection::vec(prop::collection::vec(0usize..3, n_atoms), k);
        (Just(k), atoms, counts).prop_map(|(k, atoms, mut counts)| {
            // No class is empty.
            for row in &mut counts {
                row[0] += 1;
            }
            World { k, atoms, counts }
        })
    })
}

fn all_losses() -> Vec<Loss> {
    let pairs = Surrogate::ALL
        .into_iter()
        .flat_map(|s| Form::ALL.map(|f| (s, f)));
    pairs.map(|(s, f)| Loss::new(s, 1.0, f).unwrap()).collect()
}

fn constant_sum_losses() -> Vec<Loss> {
    let losses: Vec<Loss> = all_losses()
        .into_iter()
        .filter(|loss| loss.facts().constant_sum)
        .collect();
    assert_eq!(losses.len(), 9);
    losses
}

fn plain_ell(loss: &Loss) -> impl Fn(f64) -> f64 + use<> {
    let (surrogate, form) = (loss.surrogate(), loss.form());
    move |z| ell(surrogate, form, z)
}

const EXACT: Objective = Objective::CsmpuExact(Correction::Ure);
const PAPER: Objective = Objective::Csmpu(Correction::Ure);
const AUGMENTED: Objective = Objective::Eulac(Correction::Ure);

proptest! {
    #[test]
    fn the_exact_risk_is_unbiased_for_every_surrogate_and_form(world in worlds(2..=8)) {
        for loss in all_losses() {
            let ell = plain_ell(&loss);
            let truth = world.true_risk(|f, y| paper_loss(&ell, f, y));
            let estimate = world.estimate(EXACT, loss);
            prop_assert!((estimate - truth).abs() < 1e-10, "{:?}: {} {}", loss, estimate, truth);
        }
    }

    /// And its corrected part, the augmented class's, is never negative in the population.
    #[test]
    fn the_augmented_class_risk_is_unbiased(world in worlds(2..=8)) {
        let truth = world.true_risk(|f, y| unit_cost_loss(&square, f, y));
        for correction in Correction::ALL {
            let estimate = world.estimate(Objective::Eulac(correction), Loss::default());
            prop_assert!((estimate - truth).abs() < 1e-9, "{}: {} {}", correction, estimate, truth);
        }
    }

    /// In the population the likelihood is stationary at the true posterior and higher nowhere near it.
    #[test]
    fn the_likelihood_is_highest_at_the_true_posterior(world in worlds(2..=6), step in prop::collection::vec(-0.5f64..0.5, 24)) {
        let mut world = world;
        world.score_by_posterior();
        let (scores, groups) = world.sample();
        let estimator = Estimator::new(Objective::MpuMl, Loss::default(), world.priors());
        let best = estimator.plain(&scores, &groups).unwrap();
        world.check_stationary(&scores, &best.gradient)?;
        for (atom, scores) in world.atoms.iter_mut().enumerate() {
            for (class, score) in scores.iter_mut().enumerate() {
                *score += step[(atom * 6 + class) % 24];
            }
        }
        prop_assert!(world.estimate(Objective::MpuMl, Loss::default()) >= best.terms.corrected - 1e-12);
    }

    /// With the true posterior as the targets, the objective of self-training is stationary at it.
    #[test]
    fn self_training_is_minimal_at_the_posterior(world in worlds(2..=6), share in 0.0f64..=1.0) {
        let mut world = world;
        world.score_by_posterior();
        let (scores, groups) = world.sample();
        let targets = world.members().iter().flat_map(|&(_, atom)| {
            world.atoms[atom].iter().map(|f| f.exp()).collect::<Vec<_>>()
        }).collect();
        let groups = groups.with_targets(targets).unwrap();
        let estimator = Estimator::new(Objective::SoftTargets, Loss::default(), world.priors());
        let estimator = estimator.with_labeled_share(share).unwrap();
        let best = estimator.plain(&scores, &groups).unwrap();
        world.check_stationary(&scores, &best.gradient)?;
    }

    #[test]
    fn the_exact_risk_is_unbiased_for_every_cost_matrix(world in worlds(2..=5), raw in prop::collection::vec(0.0f64..3.0, 25)) {
        let k = world.k;
        let rows: Vec<Vec<f64>> =
            (0..k).map(|y| (0..k).map(|j| if y == j { 0.0 } else { raw[y * k + j] }).collect()).collect();
        let costs = CostMatrix::new(&rows).unwrap();
        let (scores, groups) = world.sample();
        for loss in all_losses() {
            let kind = SampleLoss::CostSensitive(costs.clone());
            let truth = world.true_risk(|f, y| kind.value(&loss, f, y).unwrap());
            let estimator = Estimator::new(EXACT, loss, world.priors()).with_costs(costs.clone()).unwrap();
            let estimate = estimator.plain(&scores, &groups).unwrap().terms.corrected;
            prop_assert!((estimate - truth).abs() < 1e-9);
        }
    }

    #[test]
    fn the_paper_risk_exceeds_the_true_one_by_the_gap(world in worlds(2..=8)) {
        let (scores, groups) = world.sample();
        for loss in constant_sum_losses() {
            let ell = plain_ell(&loss);
            let truth = world.true_risk(|f, y| paper_loss(&ell, f, y));
            let gap = unbiasedness_gap(&loss, &world.priors(), &scores, &groups).unwrap();
            let estimate = world.estimate(PAPER, loss);
            prop_assert!((estimate - truth - gap).abs() < 1e-10, "{:?}", loss);
            prop_assert!(gap >= -1e-12);
        }
    }

    #[test]
    fn the_gap_vanishes_where_the_own_score_is_on_top(world in worlds(2..=8)) {
        // Give every class its own atoms and lift its own score above the other observed ones.
        let mut own = world.clone();
        own.atoms.clear();
        for class in 0..world.k {
            let mut atom = world.atoms[class % world.atoms.len()].clone();
            atom[class] += 10.0;
            own.atoms.push(atom);
        }
        own.counts = (0..world.k)
            .map(|class| (0..world.k).map(|atom| usize::from(atom == class) * (1 + class)).collect())
            .collect();
        let (scores, groups) = own.sample();
        for loss in constant_sum_losses() {
            let gap = unbiasedness_gap(&loss, &own.priors(), &scores, &groups).unwrap();
            prop_assert!(gap.abs() < 1e-12);
        }
    }

    #[test]
    fn the_class_risk_needs_the_corrected_constant(world in worlds(2..=8), class in 0usize..8) {
        // Equations 1 and 2, for each class against the rest.
        let class = class % world.k;
        let prior = world.priors().as_slice()[class];
        prop_assume!(prior < 0.95);
        let members = world.members();
        for loss in constant_sum_losses() {
            let ell = plain_ell(&loss);
            let mean = |keep: &dyn Fn(usize) -> bool, sign: f64| {
                let values: Vec<f64> = members
                    .iter()
                    .filter(|(y, _)| keep(*y))
                    .map(|&(_, atom)| ell(sign * world.atoms[atom][class]))
                    .collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            let truth = prior * mean(&|y| y == class, 1.0) + (1.0 - prior) * mean(&|y| y != class, -1.0);
            let (positive, unlabeled) = (mean(&|y| y == class, 1.0), mean(&|_| true, 1.0));
            let corrected = class_risk(prior, positive, unlabeled, Constants::Corrected).unwrap();
            let printed = class_risk(prior, positive, unlabeled, Constants::Printed).unwrap();
            prop_assert!((corrected - truth).abs() < 1e-12);
            // Printed, it is off by 3(1-π)C, a constant of the data but not a small one.
            prop_assert!((truth - printed - 3.0 * (1.0 - prior)).abs() < 1e-12);
            prop_assert!((printed - truth).abs() > 0.1);
        }
    }

    #[test]
    fn area_is_ure_ovr_plus_a_constant(world in worlds(2..=8)) {
        let (scores, groups) = world.sample();
        for loss in constant_sum_losses() {
            let risk = |objective| {
                Estimator::new(objective, loss, world.priors()).plain(&scores, &groups).unwrap()
            };
            let (area, ure) = (risk(Objective::Area), risk(Objective::UreOvr));
            let difference = area.terms.corrected - ure.terms.corrected;
            prop_assert!((difference - area_offset(&world.priors())).abs() < 1e-10, "{:?}", loss);
            for (a, u) in area.gradient.iter().zip(&ure.gradient) {
                // At the limit of a clip the two slopes may be taken from different sides.
                prop_assert!((a - u).abs() < 1e-12, "{:?}", loss);
            }
        }
    }

    #[test]
    fn the_uncorrected_negative_part_is_what_note_4_says(world in worlds(2..=8)) {
        // Paper: μ_u - 2(1-π_k) = π_k E_k[L_k] - Σ π_i E_i[L_i - (ℓ(f_i) - ℓ(f_{i*}))];
        // exact: π_k E_k[L_k], which cannot be negative for a non-negative surrogate.
        let (scores, groups) = world.sample();
        let (k, n) = (world.k, world.total() as f64);
        for loss in constant_sum_losses() {
            let ell = plain_ell(&loss);
            let (mut negative, mut observed) = (0.0, 0.0);
            for (class, atom) in world.members() {
                let f = &world.atoms[atom];
                if class == k - 1 {
                    negative += paper_loss(&ell, f, class) / n;
                } else {
                    let top = f[..k - 1].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    observed += (paper_loss(&ell, f, class) - (ell(f[class]) - ell(top))) / n;
                }
            }
            let part = |objective| {
                let estimator = Estimator::new(objective, loss, world.priors());
                estimator.plain(&scores, &groups).unwrap().terms.negative_part
            };
            prop_assert!((part(PAPER) - (negative - observed)).abs() < 1e-10);
            prop_assert!((part(EXACT) - negative).abs() < 1e-10);
        }
    }

    #[test]
    fn corrected_risks_are_not_negative(world in worlds(2..=8), drift in -0.2f64..0.2) {
        // Wrong priors make the raw risk negative now and then; the corrected one never is.
        let (scores, groups) = world.sample();
        let mut priors: Vec<f64> = world.priors().observed().to_vec();
        for p in &mut priors {
            *p = (*p + drift / world.k as f64).clamp(0.0, 1.0);
        }
        let sum: f64 = priors.iter().sum();
        if sum > 1.0 {
            for p in &mut priors {
                *p /= sum;
            }
        }
        let priors = Priors::from_observed(&priors).unwrap();
        for loss in all_losses().into_iter().filter(|loss| loss.facts().low >= 0.0) {
            for objective in Objective::ALL.into_iter().filter(|m| m.correction() != Correction::Ure) {
                for placement in Placement::ALL {
                    let estimator =
                        Estimator::new(objective, loss, priors.clone()).with_placement(placement);
                    let terms = estimator.plain(&scores, &groups).unwrap().terms;
                    prop_assert!(terms.corrected >= 0.0, "{} {} {:?}", objective, placement, loss);
                }
            }
            for objective in [Objective::Area, Objective::BiasedSuper] {
                let estimator = Estimator::new(objective, loss, priors.clone());
                prop_assert!(estimator.plain(&scores, &groups).unwrap().terms.corrected >= 0.0);
            }
        }
    }
}

/// Unbiasedness in the strict sense: the expectation of the *empirical* estimate over all samples
/// that could have been drawn, each with its probability, is the true risk.
#[test]
fn the_expectation_over_all_samples_is_the_true_risk() {
    let world = World {
        k: 3,
        atoms: vec![
            vec![0.4, -1.2, 0.3],
            vec![-0.5, 0.8, 0.1],
            vec![-1.0, -0.2, 1.7],
        ],
        counts: vec![vec![3, 1, 0], vec![1, 2, 1], vec![0, 1, 4]],
    };
    let priors = world.priors();
    let classes = ClassCount::new(3).unwrap();
    let n_atoms = world.atoms.len();
    let given = |class: usize, atom: usize| {
        world.counts[class][atom] as f64 / world.counts[class].iter().sum::<usize>() as f64
    };
    let pool = |atom: usize| {
        world.counts.iter().map(|c| c[atom]).sum::<usize>() as f64 / world.total() as f64
    };
    // Two labelled rows of class 0, one of class 1, two pool rows: 3^5 samples.
    let labels = [
        MpuLabel::Labeled(0),
        MpuLabel::Labeled(0),
        MpuLabel::Labeled(1),
        MpuLabel::Unlabeled,
        MpuLabel::Unlabeled,
    ];
    let groups = Groups::new(classes, &labels).unwrap();
    for loss in all_losses() {
        let mut expectations = [0.0; 4];
        let (mut total_probability, mut gap) = (0.0, 0.0);
        for code in 0..n_atoms.pow(5) {
            let atoms: Vec<usize> = (0..5u32).map(|i| code / n_atoms.pow(i) % n_atoms).collect();
            let probability: f64 = labels
                .iter()
                .zip(&atoms)
                .map(|(label, &atom)| match *label {
                    MpuLabel::Labeled(class) => given(class, atom),
                    MpuLabel::Unlabeled => pool(atom),
                })
                .product();
            let scores: Vec<f64> = atoms
                .iter()
                .flat_map(|&atom| world.atoms[atom].clone())
                .collect();
            total_probability += probability;
            for (sum, objective) in
                expectations
                    .iter_mut()
                    .zip([EXACT, PAPER, Objective::UreOvr, AUGMENTED])
            {
                let estimator = Estimator::new(objective, loss, priors.clone());
                *sum += probability * estimator.plain(&scores, &groups).unwrap().terms.corrected;
            }
            gap += probability * unbiasedness_gap(&loss, &priors, &scores, &groups).unwrap();
        }
        assert!((total_probability - 1.0).abs() < 1e-12);
        let [exact, paper, ure_ovr, augmented] = expectations;
        let ell = plain_ell(&loss);
        let truth = world.true_risk(|f, y| paper_loss(&ell, f, y));
        assert!((exact - truth).abs() < 1e-12, "{loss:?}");
        let ovr = world.true_risk(|f, y| crate::reference::ovr_loss(&ell, f, y));
        assert!((ure_ovr - ovr).abs() < 1e-12, "{loss:?}");
        let squared = world.true_risk(|f, y| unit_cost_loss(&square, f, y));
        assert!((augmented - squared).abs() < 1e-12);
        if loss.facts().constant_sum {
            assert!((paper - truth - gap).abs() < 1e-12, "{loss:?}");
            assert!(gap > 1e-3, "the example has a gap to speak of");
        }
    }
}

#[test]
fn the_negative_part_of_the_paper_can_be_negative_in_the_population() {
    // Note 4: a confident, perfect classifier sits at 0; a timid one falls below.
    let world = World {
        k: 2,
        atoms: vec![vec![0.2, -0.2], vec![-3.0, 3.0]],
        counts: vec![vec![1, 0], vec![0, 1]],
    };
    let (scores, groups) = world.sample();
    let part = |objective| {
        let estimator = Estimator::new(objective, Loss::default(), world.priors());
        estimator
            .plain(&scores, &groups)
            .unwrap()
            .terms
            .negative_part
    };
    assert!(part(PAPER) < -0.3, "{}", part(PAPER));
    assert!(part(EXACT) > 0.0);
}
