//! Tensor form, plain form and the independent reference agree, gradients included.

use candle_core::{DType, Device, Tensor, Var};
use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_loss::{CostMatrix, Form, Loss, Surrogate};
use mpu_risk::{Correction, Estimator, Groups, Objective, Placement};
use proptest::prelude::*;

use crate::reference::{Lists, augmented_as_printed, ell, reference_value, target};

/// A batch in which every group has at least one row.
#[derive(Debug, Clone)]
struct Batch {
    k: usize,
    rows: Vec<Vec<f64>>,
    labels: Vec<MpuLabel>,
    priors: Vec<f64>,
}

impl Batch {
    fn groups(&self) -> Groups {
        let groups = Groups::new(ClassCount::new(self.k).unwrap(), &self.labels).unwrap();
        let pool = self.rows.iter().zip(&self.labels);
        let pool = pool.filter(|(_, label)| **label == Unlabeled);
        let targets = pool.flat_map(|(row, _)| target(row)).collect();
        groups.with_targets(targets).unwrap()
    }

    fn scores(&self) -> Vec<f64> {
        self.rows.concat()
    }

    fn estimator(&self, objective: Objective, loss: Loss) -> Estimator {
        Estimator::new(objective, loss, Priors::new(self.priors.clone()).unwrap())
    }
}

fn batches() -> impl Strategy<Value = Batch> {
    (2usize..=8, 0usize..6).prop_flat_map(|(k, extra)| {
        let n = k + extra;
        let rows = prop::collection::vec(prop::collection::vec(-3.0f64..3.0, k), n);
        let labels = prop::collection::vec(0..k, extra);
        let weights = prop::collection::vec(0.05f64..1.0, k);
        (Just(k), rows, labels, weights).prop_map(|(k, rows, extra, weights)| {
            let label = |class: usize| {
                if class == k - 1 {
                    Unlabeled
                } else {
                    Labeled(class)
                }
            };
            let labels = (0..k).chain(extra).map(label).collect();
            let total: f64 = weights.iter().sum();
            let priors = weights.iter().map(|w| w / total).collect();
            Batch {
                k,
                rows,
                labels,
                priors,
            }
        })
    })
}

fn mpu_objectives() -> impl Iterator<Item = Objective> {
    Objective::ALL
        .into_iter()
        .filter(|m| !m.uses_hidden_labels())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn plain_values_are_the_reference_objectives(batch in batches()) {
        let lists = Lists::new(batch.k, &batch.rows, &batch.labels);
        for surrogate in Surrogate::ALL {
            for form in Form::ALL {
                let loss = Loss::new(surrogate, 1.0, form).unwrap();
                for objective in mpu_objectives() {
                    for placement in Placement::ALL {
                        let want = reference_value(objective, placement, &|z| ell(surrogate, form, z), &batch.priors, &lists);
                        let estimator = batch.estimator(objective, loss).with_placement(placement);
                        let got = estimator.plain(&batch.scores(), &batch.groups()).unwrap().terms;
                        prop_assert!((got.corrected - want).abs() < 1e-10, "{} {} {:?}", objective, placement, loss);
                        let raw = reference_value(uncorrected(objective), placement, &|z| ell(surrogate, form, z), &batch.priors, &lists);
                        prop_assert!((got.raw - raw).abs() < 1e-10);
                        prop_assert!(got.active || (got.raw - got.corrected).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn tensors_agree_with_plain_values_and_gradients(batch in batches()) {
        let (n, k) = (batch.rows.len(), batch.k);
        for loss in [Loss::default(), Loss::new(Surrogate::Logistic, 2.0, Form::Raw).unwrap(), Loss::new(Surrogate::Hinge, 1.0, Form::Sym).unwrap()] {
            for objective in mpu_objectives() {
                let estimator = batch.estimator(objective, loss);
                let plain = estimator.plain(&batch.scores(), &batch.groups()).unwrap();
                for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-12)] {
                    // Near a kink the two precisions may stand on different sides.
                    if dtype == DType::F32 && near_a_kink(&plain.terms, objective) {
                        continue;
                    }
                    let tensor = Tensor::from_vec(batch.scores(), (n, k), &Device::Cpu).unwrap();
                    let var = Var::from_tensor(&tensor.to_dtype(dtype).unwrap()).unwrap();
                    let risk = estimator.risk(&var, &batch.groups()).unwrap();
                    let value = risk.objective.to_dtype(DType::F64).unwrap().to_scalar::<f64>().unwrap();
                    let scale = plain.terms.corrected.abs().max(1.0);
                    prop_assert!((value - plain.terms.corrected).abs() <= tolerance * scale);
                    prop_assert_eq!(risk.terms.active, plain.terms.active);
                    let gradients = risk.objective.backward().unwrap();
                    let gradient = gradients.get(&var).unwrap().to_dtype(DType::F64).unwrap();
                    let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
                    for (got, want) in gradient.iter().zip(&plain.gradient) {
                        prop_assert!((got - want).abs() <= tolerance, "{} {:?}: {} {}", objective, loss, got, want);
                    }
                }
            }
        }
    }

    #[test]
    fn gradients_are_central_differences(batch in batches()) {
        let (scores, groups) = (batch.scores(), batch.groups());
        // Smooth surrogates: the only kinks left are those of g and of i*.
        for loss in [Loss::default(), Loss::new(Surrogate::TanhSmooth, 0.5, Form::Raw).unwrap(), Loss::new(Surrogate::Logistic, 1.0, Form::Raw).unwrap()] {
            for objective in mpu_objectives() {
                let estimator = batch.estimator(objective, loss);
                let risk = estimator.plain(&scores, &groups).unwrap();
                if near_a_kink(&risk.terms, objective) || has_close_scores(&batch) {
                    continue;
                }
                let largest = risk.gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
                for at in 0..scores.len() {
                    let moved = |h: f64| {
                        let mut moved = scores.clone();
                        moved[at] += h;
                        estimator.plain(&moved, &groups).unwrap().terms.corrected
                    };
                    let h = 1e-5;
                    let want = (moved(h) - moved(-h)) / (2.0 * h);
                    prop_assert!((risk.gradient[at] - want).abs() <= 1e-6 * largest.max(1e-3), "{} {} {}", objective, risk.gradient[at], want);
                }
            }
        }
    }

    #[test]
    fn f32_gradients_are_central_differences(batch in batches()) {
        let (n, k) = (batch.rows.len(), batch.k);
        for objective in mpu_objectives() {
            let estimator = batch.estimator(objective, Loss::default());
            let risk = estimator.plain(&batch.scores(), &batch.groups()).unwrap();
            if near_a_kink(&risk.terms, objective) || has_close_scores(&batch) {
                continue;
            }
            let scores: Vec<f32> = batch.scores().iter().map(|&s| s as f32).collect();
            let var = Var::from_vec(scores, (n, k), &Device::Cpu).unwrap();
            let gradients = estimator.risk(&var, &batch.groups()).unwrap().objective.backward().unwrap();
            let gradient = gradients.get(&var).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let largest = risk.gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            for at in 0..n * k {
                let moved = |h: f64| {
                    let mut moved = batch.scores();
                    moved[at] += h;
                    estimator.plain(&moved, &batch.groups()).unwrap().terms.corrected
                };
                let want = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                prop_assert!((f64::from(gradient[at]) - want).abs() <= 1e-3 * largest.max(1e-3));
            }
        }
    }

    /// With a surrogate of ours in place of the square, the printed augmented-class risk is `csmpu-exact-ure` with all
    /// costs 1; it is `ure-ovr` for two classes and no other number of them. The square loss is none of these.
    #[test]
    fn the_augmented_class_risk_is_the_exact_one_with_unit_costs(batch in batches()) {
        let (k, lists) = (batch.k, Lists::new(batch.k, &batch.rows, &batch.labels));
        let ones = |y| (0..k).map(|j| f64::from(u8::from(y != j))).collect();
        let costs = CostMatrix::new(&(0..k).map(ones).collect::<Vec<Vec<f64>>>()).unwrap();
        let (scores, groups) = (batch.scores(), batch.groups());
        let of = |estimator: Estimator| estimator.plain(&scores, &groups).unwrap().terms.corrected;
        for surrogate in Surrogate::ALL {
            for form in Form::ALL {
                let loss = Loss::new(surrogate, 1.0, form).unwrap();
                let printed = augmented_as_printed(&|z| ell(surrogate, form, z), &batch.priors, &lists);
                let exact = batch.estimator(Objective::CsmpuExact(Correction::Ure), loss);
                let exact = of(exact.with_costs(costs.clone()).unwrap());
                prop_assert!((exact - printed).abs() < 1e-10, "{:?}", loss);
                let ovr = of(batch.estimator(Objective::UreOvr, loss));
                prop_assert!(k > 2 || (ovr - printed).abs() < 1e-10, "{:?}", loss);
            }
        }
        let square = of(batch.estimator(Objective::Eulac(Correction::Ure), Loss::default()));
        let ovr = of(batch.estimator(Objective::UreOvr, Loss::default()));
        prop_assert!((square - ovr).abs() > 1e-9);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(batch in batches(), keys in prop::collection::vec(any::<u32>(), 14)) {
        let n = batch.rows.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&i| keys[i]);
        let shuffled = Batch {
            rows: order.iter().map(|&i| batch.rows[i].clone()).collect(),
            labels: order.iter().map(|&i| batch.labels[i]).collect(),
            ..batch.clone()
        };
        for objective in mpu_objectives() {
            let risk = |b: &Batch| b.estimator(objective, Loss::default()).plain(&b.scores(), &b.groups()).unwrap();
            let (before, after) = (risk(&batch), risk(&shuffled));
            prop_assert!((before.terms.corrected - after.terms.corrected).abs() < 1e-12);
            for (place, &row) in order.iter().enumerate() {
                for j in 0..batch.k {
                    let (got, want) = (after.gradient[place * batch.k + j], before.gradient[row * batch.k + j]);
                    prop_assert!((got - want).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_supervised_limit_is_cross_entropy(rows in prop::collection::vec(prop::collection::vec(-50.0f64..50.0, 4), 1..6), seed in any::<u64>()) {
        let classes: Vec<usize> = (0..rows.len()).map(|i| (seed >> (8 * i) & 3) as usize).collect();
        let groups = Groups::oracle(ClassCount::new(4).unwrap(), &classes).unwrap();
        let estimator = Estimator::new(Objective::Supervised, Loss::default(), Priors::uniform(ClassCount::new(4).unwrap()));
        let want: f64 = rows.iter().zip(&classes).map(|(f, &y)| {
            let sum: f64 = f.iter().map(|s| s.exp()).sum();
            sum.ln() - f[y]
        }).sum::<f64>() / rows.len() as f64;
        let plain = estimator.plain(&rows.concat(), &groups).unwrap();
        prop_assert!((plain.terms.corrected - want).abs() < 1e-9 * want.abs().max(1.0));
        let var = Var::from_vec(rows.concat(), (rows.len(), 4), &Device::Cpu).unwrap();
        let risk = estimator.risk(&var, &groups).unwrap();
        prop_assert!((risk.objective.to_scalar::<f64>().unwrap() - want).abs() < 1e-9 * want.abs().max(1.0));
        let gradients = risk.objective.backward().unwrap();
        let gradient = gradients.get(&var).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
        for (n, f) in rows.iter().enumerate() {
            let sum: f64 = f.iter().map(|s| s.exp()).sum();
            for j in 0..4 {
                let softmax = f[j].exp() / sum;
                let want = (softmax - f64::from(u8::from(j == classes[n]))) / rows.len() as f64;
                prop_assert!((gradient[n * 4 + j] - want).abs() < 1e-12);
                prop_assert!((plain.gradient[n * 4 + j] - want).abs() < 1e-12);
            }
        }
    }
}

fn uncorrected(objective: Objective) -> Objective {
    match objective {
        Objective::Csmpu(_) => Objective::Csmpu(Correction::Ure),
        Objective::CsmpuExact(_) => Objective::CsmpuExact(Correction::Ure),
        Objective::CsmpuRef(_) => Objective::CsmpuRef(Correction::Ure),
        Objective::Eulac(_) => Objective::Eulac(Correction::Ure),
        other => other,
    }
}

fn near_a_kink(terms: &mpu_risk::RiskTerms, objective: Objective) -> bool {
    objective.correction() != Correction::Ure
        && (terms.negative_part.abs() < 1e-3 || terms.raw.abs() < 1e-3)
}

/// Whether two observed scores of a row are so close that a small step changes `i*`.
fn has_close_scores(batch: &Batch) -> bool {
    batch.rows.iter().any(|row| {
        let mut observed = row[..batch.k - 1].to_vec();
        observed.sort_by(f64::total_cmp);
        observed.windows(2).any(|pair| pair[1] - pair[0] < 1e-3)
    })
}

#[test]
fn a_missing_group_contributes_nothing() {
    let classes = ClassCount::new(3).unwrap();
    let priors = Priors::new(vec![0.3, 0.2, 0.5]).unwrap();
    let rows = [[0.5, -0.5, 0.1], [1.0, 0.2, -0.3]];
    // Class 1 is missing: the risk is that of the other groups.
    let groups = Groups::batch(classes, &[Labeled(0), Unlabeled]).unwrap();
    let loss = Loss::default();
    let sigma = |z: f64| loss.value(z);
    let mu_0 = sigma(0.5) + sigma(-0.1);
    let mu_u = sigma(-0.3) + sigma(-1.0);
    let nu_0 = sigma(0.1) + sigma(-0.5);
    let value = |objective: Objective, groups: &Groups, rows: &[f64]| {
        let estimator = Estimator::new(objective, loss, priors.clone());
        let var = Var::from_slice(rows, (groups.n_rows(), 3), &Device::Cpu).unwrap();
        let risk = estimator.risk(&var, groups).unwrap();
        risk.objective.backward().unwrap();
        assert_eq!(risk.terms, estimator.plain(rows, groups).unwrap().terms);
        risk.terms.corrected
    };
    let csmpu = value(Objective::Csmpu(Correction::Ure), &groups, &rows.concat());
    assert!((csmpu - (0.6 * mu_0 + mu_u - 1.0)).abs() < 1e-12);
    let exact = value(
        Objective::CsmpuExact(Correction::Ure),
        &groups,
        &rows.concat(),
    );
    assert!((exact - (0.3 * mu_0 + mu_u - 0.3 * nu_0)).abs() < 1e-12);
    // The pool is missing: its constant goes with it, and so does a corrected negative part.
    let groups = Groups::batch(classes, &[Labeled(0)]).unwrap();
    let csmpu = value(Objective::Csmpu(Correction::Abs), &groups, &rows[0]);
    assert!((csmpu - 0.6 * mu_0).abs() < 1e-12);
    let exact = value(Objective::CsmpuExact(Correction::Ure), &groups, &rows[0]);
    assert!((exact - 0.3 * (mu_0 - nu_0)).abs() < 1e-12);
    let exact = value(Objective::CsmpuExact(Correction::Abs), &groups, &rows[0]);
    assert!((exact - 0.3 * mu_0).abs() < 1e-12);
    // Only the pool is there.
    let groups = Groups::batch(classes, &[Unlabeled]).unwrap();
    let area = value(Objective::Area, &groups, &rows[1]);
    assert!((area - (sigma(-0.3) + 0.5 * (sigma(-1.0) + sigma(-0.2)))).abs() < 1e-12);
}

#[test]
fn the_terms_say_when_the_correction_was_active() {
    // A pool that looks entirely like class 0: μ_u - 2(1-π_k) is far below zero under wrong priors.
    let classes = ClassCount::new(2).unwrap();
    let groups = Groups::new(classes, &[Labeled(0), Unlabeled]).unwrap();
    let scores = [5.0, -5.0, -5.0, 5.0];
    let priors = Priors::new(vec![0.9, 0.1]).unwrap();
    let terms = |objective| {
        let estimator = Estimator::new(objective, Loss::default(), priors.clone());
        estimator.plain(&scores, &groups).unwrap().terms
    };
    let raw = terms(Objective::Csmpu(Correction::Ure));
    assert!(!raw.active && raw.raw < -1.0 && raw.corrected == raw.raw);
    let nn = terms(Objective::Csmpu(Correction::Nn));
    assert!(nn.active && nn.raw == raw.raw && nn.corrected >= 0.0);
    let abs = terms(Objective::Csmpu(Correction::Abs));
    assert!(
        abs.active
            && (abs.corrected - 1.8 * abs.labeled[0].unwrap() + raw.negative_part).abs() < 1e-12
    );
}

#[test]
fn a_thousand_classes_and_large_scores_stay_finite() {
    let k = 1000;
    let classes = ClassCount::new(k).unwrap();
    let labels: Vec<MpuLabel> = (0..64)
        .map(|i| {
            if i % 2 == 0 {
                Labeled(i * 15)
            } else {
                Unlabeled
            }
        })
        .collect();
    let groups = Groups::new(classes, &labels).unwrap();
    let groups = groups.with_targets(vec![1e-3; 32 * k]).unwrap();
    let scores: Vec<f32> = (0..64 * k)
        .map(|i| ((i * 37 % 201) as f32) - 100.0)
        .collect();
    for objective in mpu_objectives() {
        for surrogate in Surrogate::ALL {
            let loss = Loss::new(surrogate, 1.0, Form::Raw).unwrap();
            let estimator = Estimator::new(objective, loss, Priors::uniform(classes));
            let var = Var::from_slice(&scores, (64, k), &Device::Cpu).unwrap();
            let risk = estimator.risk(&var, &groups).unwrap();
            assert!(risk.terms.corrected.is_finite(), "{objective} {surrogate}");
            let gradients = risk.objective.backward().unwrap();
            let sum = gradients
                .get(&var)
                .unwrap()
                .sqr()
                .unwrap()
                .sum_all()
                .unwrap();
            assert!(
                sum.to_scalar::<f32>().unwrap().is_finite(),
                "{objective} {surrogate}"
            );
        }
    }
}
