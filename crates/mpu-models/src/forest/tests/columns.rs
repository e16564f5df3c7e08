//! Missing values, categories and constant columns.

use super::*;

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
