//! What a forest answers, and which trees do.

use super::*;

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
    // So all trees answer for them, and these answers can be had alone.
    let some: Vec<usize> = (0..40).filter(|row| row % 4 == 0).collect();
    let alone = grown.forest.probabilities_of(&grown.binned, &some).unwrap();
    for (row, alone) in some.iter().zip(alone.chunks(2)) {
        assert_eq!(unseen.probabilities[2 * row..][..2], *alone, "row {row}");
    }
    assert!(grown.forest.probabilities_of(&grown.binned, &[40]).is_err());
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
fn balanced_bags_have_as_many_rows_of_the_most_frequent_class_as_of_all_others() {
    // 20, 10 and 570 rows; the last is drawn 30 times a tree, the others as often as there are rows.
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let class_of = |row: usize| match row {
        0..20 => 0,
        20..30 => 1,
        _ => 2,
    };
    let classes: Vec<usize> = (0..600).map(class_of).collect();
    let features: Vec<f32> = (0..600).map(|_| uniform(&mut rng)).collect();
    let targets = Targets::hard(&classes, 3).unwrap();
    let layout = Layout::numeric(1).unwrap();
    for (rows_per_tree, share) in [(65_536, 1.0), (30, 0.5)] {
        let spec = ForestSpec {
            sample: Sample::Balanced,
            rows_per_tree,
            ..small(400)
        };
        let grown = grow(spec, &layout, &features, &targets);
        let unseen = grown.forest.out_of_bag(&grown.binned, &targets).unwrap();
        for (class, n, drawn) in [(0, 20.0, 20.0), (1, 10.0, 10.0), (2, 570.0, 30.0)] {
            let of = |&row: &usize| classes[row] == class;
            let left_out = (0..600)
                .filter(of)
                .map(|row| f64::from(unseen.trees[row]) / 400.0);
            let mean = left_out.sum::<f64>() / n;
            let wanted = (1.0 - 1.0 / n).powf(share * drawn);
            assert!(
                (mean - wanted).abs() < 0.02,
                "class {class}: {mean} {wanted}"
            );
        }
        // The column says nothing: half of the votes are for the frequent class, though it has 95 % of the rows.
        let votes = unseen.probabilities.chunks(3).map(|p| f64::from(p[2]));
        let mean = votes.sum::<f64>() / 600.0;
        assert!((mean - 0.5).abs() < 0.08, "{mean}");
    }
}

#[test]
fn a_single_class_can_be_balanced_with_nothing() {
    let targets = Targets::hard(&[1; 40], 2).unwrap();
    let features: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let spec = ForestSpec {
        sample: Sample::Balanced,
        ..small(5)
    };
    let grown = grow(spec, &Layout::numeric(1).unwrap(), &features, &targets);
    assert_eq!(grown.forest.probabilities(&[3.0]).unwrap(), [0.0, 1.0]);
}
