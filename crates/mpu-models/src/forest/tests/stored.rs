//! Forests as bytes.

use super::*;

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
