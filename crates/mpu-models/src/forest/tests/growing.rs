//! How trees grow.

use super::*;

/// The worth of a split by its definition, in `f64`; `None` if a side is too small.
fn worth(rows: &BinnedRows, targets: &Targets, node: Node, min_leaf: f32) -> Option<f64> {
    let mut sides = vec![vec![0.0_f64; targets.n_classes()]; 2];
    for row in 0..rows.n_rows() {
        let code = rows.codes()[row * rows.n_columns() + node.column as usize];
        let left = match code {
            MISSING => node.missing_left == 1,
            code => code <= node.threshold,
        };
        let (classes, weights) = targets.row(row);
        for (&class, &weight) in classes.iter().zip(weights) {
            sides[usize::from(!left)][class as usize] += f64::from(weight);
        }
    }
    let mut sum = 0.0;
    for side in sides {
        let weight: f64 = side.iter().sum();
        if weight < f64::from(min_leaf) {
            return None;
        }
        sum += side.iter().map(|s| s * s).sum::<f64>() / weight;
    }
    Some(sum)
}

#[test]
fn the_best_split_is_the_best_of_all() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for n_rows in [4, 12, 40, 300] {
        let (n_columns, k, min_leaf) = (11, 4, 1.5);
        let layout = Layout::numeric(n_columns).unwrap();
        let features = table(n_rows, n_columns, &mut rng);
        let targets = soft_targets(n_rows, k, &mut rng);
        let grown = grow(exact(min_leaf), &layout, &features, &targets);
        let root = grown.forest.trees[0].nodes[0];
        let found = worth(&grown.binned, &targets, root, min_leaf);
        let mut best = None;
        for column in 0..n_columns as u32 {
            for threshold in 0..7 {
                for missing_left in [0, 1] {
                    let node = Node {
                        column,
                        threshold,
                        missing_left,
                        child: 0,
                    };
                    let value = worth(&grown.binned, &targets, node, min_leaf);
                    if value > best {
                        best = value;
                    }
                }
            }
        }
        let (found, best) = (found.unwrap(), best.unwrap());
        assert!((found - best).abs() < 1e-5 * best, "{found} {best}");
    }
}

#[test]
fn a_random_split_is_the_best_of_those_drawn() {
    // With two bins there is one threshold, so that what is drawn is known: the best column wins.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (n_rows, n_columns, k) = (60, 13, 3);
    let features: Vec<f32> = (0..n_rows * n_columns)
        .map(|_| below(2, &mut rng) as f32)
        .collect();
    let targets = soft_targets(n_rows, k, &mut rng);
    let spec = ForestSpec {
        splits: Splits::Random,
        ..exact(2.0)
    };
    let layout = Layout::numeric(n_columns).unwrap();
    let grown = grow(spec, &layout, &features, &targets);
    let value = |column: u32| {
        let node = Node {
            column,
            threshold: 0,
            missing_left: 0,
            child: 0,
        };
        worth(&grown.binned, &targets, node, 2.0).unwrap()
    };
    let best = (0..n_columns as u32).map(value).fold(0.0, f64::max);
    let found = value(grown.forest.trees[0].nodes[0].column);
    assert!((found - best).abs() < 1e-5 * best, "{found} {best}");
}

#[test]
fn leaves_hold_the_shares_of_their_rows_and_enough_of_them() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (n_rows, n_columns, k, min_leaf) = (200, 5, 3, 4.0);
    let layout = Layout::numeric(n_columns).unwrap();
    let features = table(n_rows, n_columns, &mut rng);
    let targets = soft_targets(n_rows, k, &mut rng);
    for splits in Splits::ALL {
        let spec = ForestSpec {
            splits,
            ..exact(min_leaf)
        };
        let Grown { forest, .. } = grow(spec, &layout, &features, &targets);
        let shares = forest.probabilities(&features).unwrap();
        let mut checked = 0;
        for row in 0..n_rows {
            // Rows of one leaf have the same answer.
            let own = &shares[row * k..][..k];
            let mut sums = vec![0.0_f64; k];
            for other in (0..n_rows).filter(|other| &shares[other * k..][..k] == own) {
                let (classes, weights) = targets.row(other);
                for (&class, &weight) in classes.iter().zip(weights) {
                    sums[class as usize] += f64::from(weight);
                }
            }
            let weight: f64 = sums.iter().sum();
            assert!(weight >= f64::from(min_leaf) - 1e-4);
            for (share, sum) in own.iter().zip(&sums) {
                assert!((f64::from(*share) - sum / weight).abs() < 1e-5);
            }
            checked += usize::from(weight < 50.0);
        }
        assert!(checked > 100, "{checked} rows in small leaves");
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (n_rows, n_columns, k) = (60, 4, 3);
    let layout = Layout::numeric(n_columns).unwrap();
    let features = table(n_rows, n_columns, &mut rng);
    let classes: Vec<usize> = (0..n_rows).map(|_| below(3, &mut rng) as usize).collect();
    let mut shares = vec![0.0; n_rows * k];
    for (row, &class) in classes.iter().enumerate() {
        shares[row * k + class] = 1.0;
    }
    let weights: Vec<f32> = (0..n_rows).map(|row| (row % 3) as f32).collect();
    let weighted = Targets::soft(&shares, &weights, k).unwrap();
    let (mut repeated, mut repeated_classes) = (Vec::new(), Vec::new());
    for row in 0..n_rows {
        for _ in 0..row % 3 {
            repeated.extend(&features[row * n_columns..][..n_columns]);
            repeated_classes.push(classes[row]);
        }
    }
    let one = grow(exact(3.0), &layout, &features, &weighted);
    let targets = Targets::hard(&repeated_classes, k).unwrap();
    let two = grow(exact(3.0), &layout, &repeated, &targets);
    assert!(one.forest.n_nodes() > 5);
    assert_eq!(
        one.forest.probabilities(&features).unwrap(),
        two.forest.probabilities(&features).unwrap()
    );
}

#[test]
fn a_soft_row_is_as_many_rows_as_it_has_classes() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (n_rows, n_columns, k) = (80, 3, 4);
    let layout = Layout::numeric(n_columns).unwrap();
    let features = table(n_rows, n_columns, &mut rng);
    // Quarters add up without rounding.
    let quarters: Vec<f32> = (0..n_rows * k)
        .map(|_| below(4, &mut rng) as f32 / 4.0)
        .collect();
    let soft = Targets::soft(&quarters, &vec![1.0; n_rows], k).unwrap();
    let (mut repeated, mut shares, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..n_rows {
        for class in 0..k {
            repeated.extend(&features[row * n_columns..][..n_columns]);
            shares.extend((0..k).map(|other| f32::from(u8::from(other == class))));
            weights.push(quarters[row * k + class]);
        }
    }
    let hard = Targets::soft(&shares, &weights, k).unwrap();
    for splits in [Splits::Best, Splits::Random] {
        let spec = ForestSpec {
            splits,
            ..exact(2.0)
        };
        let one = grow(spec, &layout, &features, &soft);
        let two = grow(spec, &layout, &repeated, &hard);
        assert!(one.forest.n_nodes() > 5);
        assert_eq!(one.forest.trees, two.forest.trees);
    }
}

#[test]
fn three_hundred_classes_are_told_apart() {
    let (n_rows, k) = (3000, 300);
    let features: Vec<f32> = (0..n_rows)
        .flat_map(|row| [(row % k / 20) as f32, (row % 20) as f32])
        .collect();
    let classes: Vec<usize> = (0..n_rows).map(|row| row % k).collect();
    let targets = Targets::hard(&classes, k).unwrap();
    for splits in Splits::ALL {
        let spec = ForestSpec {
            splits,
            min_leaf: 1.0,
            ..small(20)
        };
        let grown = grow(spec, &Layout::numeric(2).unwrap(), &features, &targets);
        let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
        assert!(accuracy(&unseen.probabilities, &classes, k) > 0.9);
        // Leaves keep the classes they have, not all of them.
        let kept: usize = grown.forest.trees.iter().map(|t| t.leaf_shares.len()).sum();
        assert!(kept < 20 * 1000, "{kept}");
    }
}

#[test]
fn small_and_dull_tables_work() {
    let classes = [1, 0, 1];
    let targets = Targets::hard(&classes, 2).unwrap();
    let dull = grow(
        small(9),
        &Layout::numeric(2).unwrap(),
        &[4.0, f32::NAN].repeat(3),
        &targets,
    );
    assert!(dull.forest.trees.iter().all(|tree| tree.nodes.len() == 1));
    assert!(dull.forest.probabilities(&[]).unwrap().is_empty());
    let one = grow(
        small(9),
        &Layout::numeric(1).unwrap(),
        &[4.0],
        &Targets::hard(&[1], 2).unwrap(),
    );
    assert_eq!(one.forest.probabilities(&[7.0]).unwrap(), [0.0, 1.0]);
    let unseen = one
        .forest
        .out_of_bag(&one.binned, &Targets::hard(&[1], 2).unwrap());
    assert_eq!(unseen.unwrap().probabilities, [0.5, 0.5]);
}

#[test]
fn bad_calls_are_refused_and_a_stop_is_heard() {
    let bins = Bins::learn(Layout::numeric(1).unwrap(), &[1.0, 2.0]).unwrap();
    let rows = bins.encode(&[1.0, 2.0]).unwrap();
    let targets = Targets::hard(&[0, 1], 2).unwrap();
    let go_on = || ControlFlow::Continue(());
    let fit = |spec, rows: &BinnedRows, targets: &Targets| {
        Forest::fit(spec, bins.clone(), rows, targets, Seed(1), &go_on)
    };
    assert!(fit(small(0), &rows, &targets).is_err());
    for min_leaf in [0.0, -1.0, f32::NAN] {
        let spec = ForestSpec {
            min_leaf,
            ..small(1)
        };
        assert!(fit(spec, &rows, &targets).is_err());
    }
    assert!(fit(small(1), &bins.encode(&[]).unwrap(), &targets).is_err());
    let nothing = Targets::soft(&[0.5; 4], &[0.0; 2], 2).unwrap();
    assert!(fit(small(1), &rows, &nothing).is_err());
    let empty = Targets::hard(&[], 2).unwrap();
    assert!(fit(small(1), &bins.encode(&[]).unwrap(), &empty).is_err());
    let stop = || ControlFlow::Break(());
    let stopped = Forest::fit(small(9), bins.clone(), &rows, &targets, Seed(1), &stop);
    assert!(stopped.unwrap().is_none());
}
