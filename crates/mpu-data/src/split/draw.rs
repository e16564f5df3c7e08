//! Drawing rows: a shuffle and a choice whose bits are the same on every machine.
//!
//! Written out here rather than taken from a library, whose next version may draw differently.

use rand_chacha::rand_core::Rng;

/// A uniform number from 0 to `n - 1`, without the bias of a plain remainder. `n` is at least 1.
pub fn below(n: u64, rng: &mut impl Rng) -> u64 {
    // Numbers from `zone` on would make small remainders likelier: draw again.
    let zone = u64::MAX - (u64::MAX - n + 1) % n;
    loop {
        let draw = rng.next_u64();
        if draw <= zone {
            return draw % n;
        }
    }
}

/// Fisher and Yates' shuffle, from the last position down.
pub fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        let other = below(last as u64 + 1, rng) as usize;
        items.swap(last, other);
    }
}

/// Chooses `n` of the rows (all of them, if there are fewer) and gives the chosen and the others,
/// each in ascending order.
pub fn choose(mut rows: Vec<usize>, n: usize, rng: &mut impl Rng) -> (Vec<usize>, Vec<usize>) {
    shuffle(&mut rows, rng);
    let mut others = rows.split_off(n.min(rows.len()));
    rows.sort_unstable();
    others.sort_unstable();
    (rows, others)
}

/// Takes rows out of every group, group after group: `n_held` says how many of a group of so many
/// rows. Gives what is kept of each group and what is held out, both in ascending order.
pub fn hold_out(
    groups: Vec<Vec<usize>>,
    n_held: impl Fn(usize) -> usize,
    rng: &mut impl Rng,
) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let halve = |rows: Vec<usize>| {
        let n = n_held(rows.len());
        let (held, kept) = choose(rows, n, rng);
        (kept, held)
    };
    groups.into_iter().map(halve).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, Stream};

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Seed(5).stream(Stream::Split);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[below(7, &mut rng) as usize] += 1;
        }
        // Six degrees of freedom: 22.5 is exceeded once in a thousand.
        let chi2: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4)
            .sum();
        assert!(chi2 < 22.5, "{counts:?}");
        assert_eq!(below(1, &mut rng), 0);
        assert!(below(u64::MAX, &mut rng) < u64::MAX);
        let huge = (1 << 63) + 1;
        assert!((0..100).all(|_| below(huge, &mut rng) < huge));
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut rng = Seed(6).stream(Stream::Split);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut rng);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 23 degrees of freedom: 49.7 is exceeded once in a thousand.
        let chi2: f64 = counts
            .values()
            .map(|&c| (f64::from(c) - 1e3).powi(2) / 1e3)
            .sum();
        assert!(chi2 < 49.7, "{chi2}");
    }

    #[test]
    fn a_share_of_every_group_is_held_out() {
        let mut rng = Seed(7).stream(Stream::Split);
        let groups = vec![vec![0, 2, 4, 6], vec![], vec![1, 3]];
        let (kept, held) = hold_out(groups, |n| n / 2, &mut rng);
        let sizes = |groups: &[Vec<usize>]| groups.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!((sizes(&kept), sizes(&held)), (vec![2, 0, 1], vec![2, 0, 1]));
        let mut first = [kept[0].clone(), held[0].clone()].concat();
        assert!(kept[0].is_sorted() && held[0].is_sorted());
        first.sort_unstable();
        assert_eq!(first, [0, 2, 4, 6]);
    }

    #[test]
    fn the_draw_is_the_same_on_every_machine() {
        let mut rng = Seed(42).stream(Stream::Split);
        let (chosen, others) = choose((0..10).collect(), 4, &mut rng);
        // The same from an independent ChaCha8, SHA-256 and shuffle in Python.
        assert_eq!((chosen, others), (vec![0, 1, 6, 7], vec![2, 3, 4, 5, 8, 9]));
    }
}
