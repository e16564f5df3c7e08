//! Per-sample losses and costs: by hand, by a second formula, by differences, on tensors.

use candle_core::{DType, Device, Tensor, Var};
use mpu_loss::{
    CostMatrix, Form, Logits, Loss, SampleLoss, Surrogate, cost_sensitive, expected_cost_tensor,
    negative_loss, observed_loss, one_versus_rest, squared_error, squared_error_tensor,
    top_observed,
};
use proptest::prelude::*;

use crate::refused;

fn hinge() -> Loss {
    Loss::new(Surrogate::Hinge, 1.0, Form::Raw).unwrap()
}

fn some_costs(k: usize) -> CostMatrix {
    let rows: Vec<Vec<f64>> = (0..k)
        .map(|y| {
            (0..k)
                .map(|j| {
                    if y == j {
                        0.0
                    } else {
                        (y + 2 * j) as f64 / 3.0
                    }
                })
                .collect()
        })
        .collect();
    CostMatrix::new(&rows).unwrap()
}

fn kinds(k: usize) -> [SampleLoss; 3] {
    [
        SampleLoss::Csmpu,
        SampleLoss::OneVersusRest,
        SampleLoss::CostSensitive(some_costs(k)),
    ]
}

#[test]
fn hand_computed_losses() {
    // k = 4; hinge: ℓ(z) = max(0, 1 - z).
    let (loss, f) = (hinge(), [0.5, -1.0, 2.0, 0.25]);
    // ℓ(0.5) + ℓ(-0.25) = 0.5 + 1.25
    assert_eq!(observed_loss(&loss, &f, 0).unwrap(), 1.75);
    // ℓ(0.25) + ℓ(-2) = 0.75 + 3
    assert_eq!(negative_loss(&loss, &f).unwrap(), 3.75);
    assert_eq!(top_observed(&f).unwrap(), 2);
    // ℓ(-1) + (ℓ(-0.5) + ℓ(-2) + ℓ(-0.25)) / 3 = 2 + (1.5 + 3 + 1.25) / 3
    assert!((one_versus_rest(&loss, &f, 1).unwrap() - (2.0 + 5.75 / 3.0)).abs() < 1e-15);
}

#[test]
fn the_negative_score_is_never_the_rival() {
    assert_eq!(top_observed(&[1.0, 3.0, 9.0]).unwrap(), 1);
    assert_eq!(
        top_observed(&[2.0, 2.0, 0.0]).unwrap(),
        0,
        "the lowest index on a tie"
    );
    assert_eq!(top_observed(&[-5.0, 0.0]).unwrap(), 0);
}

#[test]
fn tensor_ties_choose_the_lowest_index_too() {
    let scores = Var::new(&[[2.0f64, 2.0, 0.0]], &Device::Cpu).unwrap();
    let loss = Loss::default();
    let total = SampleLoss::Csmpu
        .tensor(&loss, &Logits::new(&scores).unwrap(), &[2])
        .unwrap();
    let gradients = total.sum_all().unwrap().backward().unwrap();
    let gradient = gradients.get(&scores).unwrap().to_vec2::<f64>().unwrap();
    assert!(
        gradient[0][0] > 0.0 && gradient[0][1] == 0.0,
        "{gradient:?}"
    );
}

#[test]
fn observed_losses_are_the_degenerate_case() {
    let f = [0.3, -0.7, 1.9, 0.1];
    let costs = CostMatrix::degenerate(4).unwrap();
    for class in 0..3 {
        assert_eq!(costs.row(class).unwrap(), [0.0, 0.0, 0.0, 1.0]);
        let special = observed_loss(&hinge(), &f, class).unwrap();
        assert_eq!(
            cost_sensitive(&hinge(), &f, class, &costs).unwrap(),
            special
        );
    }
    assert_eq!(costs.row(3).unwrap(), [0.0; 4]);
}

#[test]
fn one_versus_rest_is_the_uniform_case() {
    let f = [0.3, -0.7, 1.9, 0.1];
    let costs = CostMatrix::uniform(4).unwrap();
    for class in 0..4 {
        let general = cost_sensitive(&hinge(), &f, class, &costs).unwrap();
        let special = one_versus_rest(&hinge(), &f, class).unwrap();
        assert!((general - special).abs() < 1e-15);
    }
}

#[test]
fn squared_error_and_expected_cost_by_hand() {
    let costs = CostMatrix::new(&[
        vec![0.0, 2.0, 1.0],
        vec![3.0, 0.0, 0.5],
        vec![1.0, 4.0, 0.0],
    ]);
    let costs = costs.unwrap();
    // truth 1: 3·0.2² + 0·(1-0.5)² + 0.5·0.3²
    let squared = squared_error(&costs, &[0.2, 0.5, 0.3], 1).unwrap();
    assert!((squared - (0.12 + 0.045)).abs() < 1e-15);
    let expected = costs.expected_cost(&[0.2, 0.5, 0.3], 1).unwrap();
    assert!((expected - (0.6 + 0.15)).abs() < 1e-15);
}

#[test]
fn tensor_costs_agree_with_plain_ones() {
    let rows = [[0.2f64, 0.5, 0.3], [0.1, 0.1, 0.8]];
    let (costs, classes) = (some_costs(3), [1, 2]);
    let outputs = Var::new(&rows, &Device::Cpu).unwrap();
    let logits = Logits::new(&outputs).unwrap();
    let squared = squared_error_tensor(&costs, &logits, &classes).unwrap();
    let expected = expected_cost_tensor(&costs, &logits, &classes).unwrap();
    let (squared_values, expected_values) = (
        squared.to_vec1::<f64>().unwrap(),
        expected.to_vec1::<f64>().unwrap(),
    );
    let gradients = squared.sum_all().unwrap().backward().unwrap();
    let gradient = gradients.get(&outputs).unwrap().to_vec2::<f64>().unwrap();
    for (n, row) in rows.iter().enumerate() {
        let class = classes[n];
        let want = squared_error(&costs, row, class).unwrap();
        assert!((squared_values[n] - want).abs() < 1e-15);
        assert!((expected_values[n] - costs.expected_cost(row, class).unwrap()).abs() < 1e-15);
        for j in 0..3 {
            let difference = |h: f64| {
                let mut moved = *row;
                moved[j] += h;
                squared_error(&costs, &moved, class).unwrap()
            };
            let want = (difference(1e-5) - difference(-1e-5)) / 2e-5;
            assert!((gradient[n][j] - want).abs() < 1e-8);
        }
    }
}

#[test]
fn bad_rows_are_refused_with_the_value() {
    let loss = hinge();
    let beyond = "class 2 is out of range: with 2 classes";
    refused(observed_loss(&loss, &[1.0, 2.0], 2), beyond);
    refused(negative_loss(&loss, &[1.0]), "a row of 1 scores");
    let not_finite = one_versus_rest(&loss, &[1.0, f64::NAN], 0);
    refused(not_finite, "score NaN in row 0, column 1");
    let other_costs = cost_sensitive(&loss, &[1.0, 2.0], 0, &some_costs(3));
    refused(other_costs, "2 classes, but the cost matrix is made for 3");
    let costs = some_costs(2);
    refused(costs.decide(&[0.5, -0.1]), "posterior of class 1 is -0.1");
    refused(costs.decide(&[0.5]), "1 classes, but the cost matrix");
    let logits = Logits::new(&Tensor::new(&[[0f32, 1.0]], &Device::Cpu).unwrap()).unwrap();
    let tensor = |classes: &[usize]| SampleLoss::Csmpu.tensor(&loss, &logits, classes);
    refused(tensor(&[2]), beyond);
    refused(tensor(&[0, 1]), "2 classes for 1 rows: each row needs one");
}

/// Rows of scores with the class of each.
fn batches() -> impl Strategy<Value = (usize, Vec<f64>, Vec<usize>)> {
    (2usize..=8, 1usize..=6).prop_flat_map(|(k, n)| {
        let scores = prop::collection::vec(-3.0f64..3.0, n * k);
        let classes = prop::collection::vec(0..k, n);
        (Just(k), scores, classes)
    })
}

proptest! {
    #[test]
    fn tensors_agree_with_plain_values_and_gradients((k, scores, classes) in batches()) {
        for surrogate in Surrogate::ALL {
            let loss = Loss::new(surrogate, 1.0, Form::Raw).unwrap();
            for kind in kinds(k) {
                for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 1e-12)] {
                    let tensor = Tensor::from_slice(&scores, (classes.len(), k), &Device::Cpu).unwrap();
                    let var = Var::from_tensor(&tensor.to_dtype(dtype).unwrap()).unwrap();
                    let losses = kind.tensor(&loss, &Logits::new(&var).unwrap(), &classes).unwrap();
                    let gradients = losses.sum_all().unwrap().backward().unwrap();
                    let gradient = gradients.get(&var).unwrap().to_dtype(DType::F64).unwrap();
                    let gradient = gradient.to_vec2::<f64>().unwrap();
                    let values = losses.to_dtype(DType::F64).unwrap().to_vec1::<f64>().unwrap();
                    for (n, row) in scores.chunks(k).enumerate() {
                        let want = kind.value(&loss, row, classes[n]).unwrap();
                        prop_assert!((values[n] - want).abs() <= tolerance * want.abs().max(1.0));
                        let mut by_hand = vec![0.0; k];
                        kind.add_gradient(&loss, row, classes[n], 1.0, &mut by_hand).unwrap();
                        for j in 0..k {
                            prop_assert!((gradient[n][j] - by_hand[j]).abs() <= tolerance, "{:?} {}", kind, surrogate);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn plain_gradients_are_central_differences((k, scores, classes) in batches(), weight in 0.1f64..2.0) {
        // The smooth surrogate, so that only the switch of i* could break the quotient.
        let loss = Loss::default();
        for kind in kinds(k) {
            for (row, &class) in scores.chunks(k).zip(&classes) {
                let mut gradient = vec![0.0; k];
                kind.add_gradient(&loss, row, class, weight, &mut gradient).unwrap();
                for j in 0..k {
                    let moved = |h: f64| {
                        let mut moved = row.to_vec();
                        moved[j] += h;
                        weight * kind.value(&loss, &moved, class).unwrap()
                    };
                    let h = 1e-5;
                    let want = (moved(h) - moved(-h)) / (2.0 * h);
                    let tie = (0..k - 1).filter(|&i| i != j).any(|i| (row[i] - row[j]).abs() < 1e-4);
                    prop_assert!(tie || (gradient[j] - want).abs() <= 1e-6 * want.abs().max(1e-2));
                }
            }
        }
    }
}
