use std::ops::ControlFlow;

use mpu_data::split::draw::below;
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::bins::MISSING;
use super::tree::{LEAF, Node};
use super::*;

/// A forest and what it was grown from.
struct Grown {
    forest: Forest,
    binned: BinnedRows,
}

fn grow(spec: ForestSpec, layout: &Layout, features: &[f32], targets: &Targets) -> Grown {
    let bins = Bins::learn(layout.clone(), features).unwrap();
    let binned = bins.encode(features).unwrap();
    let step = || ControlFlow::Continue(());
    let forest = Forest::fit(spec, bins, &binned, targets, Seed(5), &step).unwrap();
    Grown {
        forest: forest.unwrap(),
        binned,
    }
}

/// One tree that sees everything: nothing in it is random, unless categories tie.
fn exact(min_leaf: f32) -> ForestSpec {
    ForestSpec {
        trees: 1,
        min_leaf,
        splits: Splits::Best,
        columns: Columns::All,
        sample: Sample::Every,
        ..ForestSpec::default()
    }
}

fn small(trees: usize) -> ForestSpec {
    ForestSpec {
        trees,
        ..ForestSpec::default()
    }
}

fn uniform(rng: &mut ChaCha8Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1 << 24) as f32
}

/// Numbers of few values, a tenth of them missing.
fn table(n_rows: usize, n_columns: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let value = |_| match below(10, rng) {
        0 => f32::NAN,
        _ => below(7, rng) as f32,
    };
    (0..n_rows * n_columns).map(value).collect()
}

fn soft_targets(n_rows: usize, k: usize, rng: &mut ChaCha8Rng) -> Targets {
    let shares: Vec<f32> = (0..n_rows * k).map(|_| uniform(rng)).collect();
    let weights: Vec<f32> = (0..n_rows).map(|_| 3.0 * uniform(rng)).collect();
    Targets::soft(&shares, &weights, k).unwrap()
}

fn answer(shares: &[f32]) -> usize {
    let best = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    best.unwrap()
}

fn accuracy(shares: &[f32], classes: &[usize], k: usize) -> f64 {
    let rows = shares.chunks(k).zip(classes);
    let right = rows.filter(|&(row, &class)| answer(row) == class).count();
    right as f64 / classes.len() as f64
}

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
fn out_of_bag_answers_come_from_trees_that_have_not_seen_the_row() {
    // Random classes: whoever has seen a row knows its class, and nobody else can.
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let n_rows = 600;
    let features: Vec<f32> = (0..n_rows * 4).map(|_| uniform(&mut rng)).collect();
    let classes: Vec<usize> = (0..n_rows).map(|_| below(2, &mut rng) as usize).collect();
    let targets = Targets::hard(&classes, 2).unwrap();
    for (splits, rows_per_tree) in [(Splits::Best, 65_536), (Splits::Random, 300)] {
        let spec = ForestSpec {
            min_leaf: 1.0,
            splits,
            rows_per_tree,
            ..small(100)
        };
        let grown = grow(spec, &Layout::numeric(4).unwrap(), &features, &targets);
        let seen = grown.forest.probabilities(&features).unwrap();
        assert!(accuracy(&seen, &classes, 2) > 0.9);
        let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
        let right = accuracy(&unseen.probabilities, &classes, 2);
        assert!((right - 0.5).abs() < 0.09, "{right}");
        // A row is left out of (1 - 1/n)^m of the trees.
        let mean = unseen.trees.iter().map(|&n| f64::from(n)).sum::<f64>() / n_rows as f64;
        let drawn = rows_per_tree.min(n_rows) as f64 / n_rows as f64;
        assert!((mean - 100.0 * (-drawn).exp()).abs() < 2.0, "{mean}");
        for row in unseen.probabilities.chunks(2) {
            assert!((row[0] + row[1] - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn rows_without_weight_are_out_of_every_bag() {
    let features: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let shares: Vec<f32> = (0..40)
        .flat_map(|i| if i < 20 { [1.0, 0.0] } else { [0.0, 1.0] })
        .collect();
    let weights: Vec<f32> = (0..40).map(|i| f32::from(i % 4 != 0)).collect();
    let targets = Targets::soft(&shares, &weights, 2).unwrap();
    let layout = Layout::numeric(1).unwrap();
    let grown = grow(small(25), &layout, &features, &targets);
    let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
    for row in 0..40 {
        assert_eq!(unseen.trees[row] == 25, row % 4 == 0, "row {row}");
    }
    let every = grow(exact(1.0), &layout, &features, &targets);
    assert!(every.forest.out_of_bag(&every.binned, &targets).is_err());
}

#[test]
fn threads_do_not_change_a_bit() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut features = Vec::new();
    for _ in 0..700 {
        features.extend(table(1, 3, &mut rng));
        let category = below(6, &mut rng);
        features.extend((0..5).map(|c| f32::from(u8::from(c == category))));
    }
    let columns = [vec![Column::Numeric; 3], vec![Column::Categorical(5)]].concat();
    let layout = Layout::new(columns).unwrap();
    let targets = soft_targets(700, 5, &mut rng);
    for splits in Splits::ALL {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let spec = ForestSpec {
                    splits,
                    ..small(20)
                };
                let Grown { forest, binned } = grow(spec, &layout, &features, &targets);
                let unseen = forest.out_of_bag(&binned, &targets).unwrap();
                let shares = forest.par_probabilities(&features).unwrap();
                assert_eq!(forest.probabilities(&features).unwrap(), shares);
                (forest, unseen, shares)
            })
        };
        assert_eq!(with(1), with(4));
    }
}

#[test]
fn a_missing_value_can_be_the_whole_answer() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for splits in Splits::ALL {
        let mut features = Vec::new();
        let mut classes = Vec::new();
        for _ in 0..400 {
            let missing = below(2, &mut rng) == 1;
            let value = uniform(&mut rng);
            features.extend([if missing { f32::NAN } else { value }, uniform(&mut rng)]);
            classes.push(usize::from(missing));
        }
        let targets = Targets::hard(&classes, 2).unwrap();
        let spec = ForestSpec {
            splits,
            ..small(60)
        };
        let grown = grow(spec, &Layout::numeric(2).unwrap(), &features, &targets);
        let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
        let right = accuracy(&unseen.probabilities, &classes, 2);
        assert!(right > 0.99, "{splits}: {right}");
    }
}

/// One-hot rows of a column with so many categories, beside a number that says nothing.
fn categories(n: usize, n_rows: usize, rng: &mut ChaCha8Rng) -> (Layout, Vec<f32>, Vec<usize>) {
    let layout = Layout::new(vec![Column::Categorical(n), Column::Numeric]).unwrap();
    let mut features = Vec::new();
    let mut drawn = Vec::new();
    for _ in 0..n_rows {
        let category = below(n as u64, rng) as usize;
        features.extend((0..n).map(|c| f32::from(u8::from(c == category))));
        features.push(uniform(rng));
        drawn.push(category);
    }
    (layout, features, drawn)
}

#[test]
fn forty_categories_are_one_column() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (layout, features, drawn) = categories(40, 1600, &mut rng);
    // Neighbours differ, so that no order of the names helps.
    let classes: Vec<usize> = drawn.iter().map(|category| category * 7 % 3).collect();
    let targets = Targets::hard(&classes, 3).unwrap();
    for splits in Splits::ALL {
        let spec = ForestSpec {
            splits,
            ..small(100)
        };
        let grown = grow(spec, &layout, &features, &targets);
        assert_eq!(grown.binned.n_columns(), 2);
        let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
        let right = accuracy(&unseen.probabilities, &classes, 3);
        assert!(right > 0.98, "{splits}: {right}");
        // An unknown category is a missing one.
        let mut odd = vec![0.0; 2 * 41];
        odd[41] = f32::NAN;
        let shares = grown.forest.probabilities(&odd).unwrap();
        assert_eq!(shares[..3], shares[3..]);
    }
}

#[test]
fn the_order_of_categories_is_honest_out_of_bag() {
    // Two rows a category and random classes: an order made with the row itself would give it away.
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let (layout, features, _) = categories(200, 400, &mut rng);
    let classes: Vec<usize> = (0..400).map(|_| below(2, &mut rng) as usize).collect();
    let targets = Targets::hard(&classes, 2).unwrap();
    let grown = grow(small(200), &layout, &features, &targets);
    let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
    let right = accuracy(&unseen.probabilities, &classes, 2);
    assert!((right - 0.5).abs() < 0.1, "{right}");
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
fn constant_columns_are_passed_over() {
    // One column of forty says something; a node draws six.
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut features = vec![1.0; 200 * 40];
    let mut classes = Vec::new();
    for row in 0..200 {
        let value = uniform(&mut rng);
        features[row * 40 + 17] = value;
        classes.push(usize::from(value > 0.4));
    }
    let targets = Targets::hard(&classes, 2).unwrap();
    // Every threshold leaves enough on both sides.
    let spec = ForestSpec {
        min_leaf: 1.0,
        ..small(20)
    };
    let grown = grow(spec, &Layout::numeric(40).unwrap(), &features, &targets);
    for tree in &grown.forest.trees {
        assert!(tree.nodes.len() > 1);
        assert!(
            tree.nodes
                .iter()
                .all(|n| n.column == 17 || n.column == LEAF)
        );
    }
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

/// A small forest with every kind of column.
fn mixed() -> (Forest, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let (layout, mut features, drawn) = categories(6, 120, &mut rng);
    for row in features.chunks_mut(7) {
        if below(5, &mut rng) == 0 {
            row[below(2, &mut rng) as usize * 6] = f32::NAN;
        }
    }
    let classes: Vec<usize> = drawn.iter().map(|category| category % 3).collect();
    let targets = Targets::hard(&classes, 3).unwrap();
    let Grown { forest, .. } = grow(small(4), &layout, &features, &targets);
    (forest, features)
}

#[test]
fn a_stored_forest_is_read_back() {
    let (forest, features) = mixed();
    let bytes = forest.to_bytes().unwrap();
    let read = Forest::from_bytes(&bytes).unwrap();
    assert_eq!(read, forest);
    assert_eq!(
        read.probabilities(&features).unwrap(),
        forest.probabilities(&features).unwrap()
    );
    assert_eq!(read.to_bytes().unwrap(), bytes);
}

#[test]
fn damaged_bytes_give_an_error_or_a_forest_that_answers() {
    let (forest, features) = mixed();
    let bytes = forest.to_bytes().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let (mut refused, mut read) = (0, 0);
    for _ in 0..20_000 {
        let mut other = bytes.clone();
        for _ in 0..=below(3, &mut rng) {
            if other.is_empty() {
                break;
            }
            let i = below(other.len() as u64, &mut rng) as usize;
            match below(6, &mut rng) {
                0 => other[i] ^= 1 << below(8, &mut rng),
                1 => other[i] = [0, 0xff, 0x7f, 0x80][below(4, &mut rng) as usize],
                2 => other.insert(i, rng.next_u32() as u8),
                3 => drop(other.remove(i)),
                4 => other.truncate(i),
                _ => {
                    for (byte, new) in other[i..].iter_mut().zip(rng.next_u32().to_le_bytes()) {
                        *byte = new;
                    }
                }
            }
        }
        match Forest::from_bytes(&other) {
            Err(_) => refused += 1,
            Ok(forest) => {
                read += 1;
                if forest.bins().layout().width() == 7 {
                    let shares = forest.probabilities(&features).unwrap();
                    assert!(shares.iter().all(|share| share.is_finite()));
                }
            }
        }
    }
    assert!(refused > 1000 && read > 100, "{refused} {read}");
}
