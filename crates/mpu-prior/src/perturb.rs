//! Wrong priors on purpose: shifts `Δ = π̂ - π` with `Σ Δ_i = 0` and a given `‖Δ‖₁` (figure 3).
//!
//! The paper names two schemes and defines neither; these are our readings of the names.

use mpu_data::Priors;

use crate::error::{Error, Result};

/// The scheme `scalar-last`: the negative class is assumed too large by `size / 2`, and the observed classes
/// too small in proportion.
///
/// ```text
/// Δ_k = s/2      Δ_i = -(s/2) π_i / (1 - π_k)
/// ```
#[doc(alias = "eq:shift-scalar-last")]
pub fn scalar_last(priors: &Priors, size: f64) -> Result<Vec<f64>> {
    let room = 1.0 - priors.negative();
    check(size, 2.0 * room)?;
    let share = if room > 0.0 { 0.5 * size / room } else { 0.0 };
    let observed = priors.observed().iter().map(|pi| -share * pi);
    Ok(observed.chain([0.5 * size]).collect())
}

/// The scheme `adversarial`: of all shifts of this size, the one whose empirical bound `Σ λ_i |b_i| |Δ_i|` (equal
/// `λ`) is largest; the negative class, which has no labelled rows, counts as `b_k = 0`.
///
/// One class is assumed too large by `size / 2`, and the others give that mass in the order of their `|b_i|`,
/// as far as each has it. For a given receiver that is best, because the bound is linear in what is taken; every
/// class is tried as the receiver.
#[doc(alias = "eq:shift-adversarial")]
pub fn adversarial(priors: &Priors, size: f64, gaps: &[f64]) -> Result<Vec<f64>> {
    let all = priors.as_slice();
    let finite = gaps.iter().filter(|gap| gap.is_finite()).count();
    if gaps.len() + 1 != all.len() || finite != gaps.len() {
        return Err(Error::Point {
            found: finite,
            needed: all.len() - 1,
        });
    }
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    check(size, 2.0 * (1.0 - least))?;
    let weight: Vec<f64> = gaps.iter().map(|gap| gap.abs()).chain([0.0]).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| weight[b].total_cmp(&weight[a]));
    let bound =
        |shift: &[f64]| -> f64 { shift.iter().zip(&weight).map(|(d, w)| w * d.abs()).sum() };
    let mut worst: Option<Vec<f64>> = None;
    for &receiver in &order {
        let mut shift = vec![0.0; all.len()];
        shift[receiver] = 0.5 * size;
        let mut left = 0.5 * size;
        for &donor in order.iter().filter(|&&donor| donor != receiver) {
            let taken = left.min(all[donor]);
            shift[donor] = -taken;
            left -= taken;
        }
        let better = |worst: &Vec<f64>| bound(&shift) > bound(worst);
        if left <= 1e-12 && worst.as_ref().is_none_or(better) {
            worst = Some(shift);
        }
    }
    worst.ok_or_else(|| too_large(size, 2.0 * (1.0 - least)))
}

fn check(size: f64, largest: f64) -> Result<()> {
    // A little more than there is room for is rounding.
    if (0.0..=largest + 1e-12).contains(&size) {
        return Ok(());
    }
    Err(too_large(size, largest))
}

fn too_large(size: f64, largest: f64) -> Error {
    Error::Refused(format!(
        "a shift of size {size}: it must be a number from 0 to at most {largest}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priors() -> Priors {
        Priors::new(vec![0.3, 0.15, 0.05, 0.5]).unwrap()
    }

    fn assert_shift(priors: &Priors, shift: &[f64], size: f64) {
        assert!(shift.iter().sum::<f64>().abs() < 1e-12, "{shift:?}");
        let norm: f64 = shift.iter().map(|d| d.abs()).sum();
        assert!((norm - size).abs() < 1e-12, "{shift:?}");
        let mut pairs = priors.as_slice().iter().zip(shift);
        assert!(pairs.all(|(pi, d)| pi + d >= -1e-12), "{shift:?}");
    }

    #[test]
    fn scalar_last_by_hand() {
        let shift = scalar_last(&priors(), 0.2).unwrap();
        let want = [-0.06, -0.03, -0.01, 0.1];
        let mut pairs = shift.iter().zip(want);
        assert!(pairs.all(|(got, want)| (got - want).abs() < 1e-12));
        for size in [0.0, 0.5, 1.0] {
            assert_shift(&priors(), &scalar_last(&priors(), size).unwrap(), size);
        }
    }

    #[test]
    fn no_shift_of_the_same_size_has_a_larger_bound() {
        let gaps = [-0.5, -0.9, -0.7];
        let bound =
            |shift: &[f64]| -> f64 { gaps.iter().zip(shift).map(|(b, d)| (b * d).abs()).sum() };
        for size in [0.05, 0.1, 0.4, 0.8] {
            let worst = adversarial(&priors(), size, &gaps).unwrap();
            assert_shift(&priors(), &worst, size);
            // Every way of taking from one class and giving to another, in steps, and mixtures of two.
            let pi = [0.3, 0.15, 0.05, 0.5];
            for (from, other) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                for to in (0..4).filter(|&to| to != from && to != other) {
                    for part in 0..=20 {
                        let (first, rest) = (size * f64::from(part) / 40.0, size / 2.0);
                        let mut shift = [0.0; 4];
                        shift[to] += rest;
                        shift[from] -= first;
                        shift[other] -= rest - first;
                        if shift.iter().zip(pi).all(|(d, pi)| pi + d >= 0.0) {
                            assert!(
                                bound(&shift) <= bound(&worst) + 1e-12,
                                "{shift:?} {worst:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let text = scalar_last(&priors(), 1.2).unwrap_err().to_string();
        assert!(text.contains("at most 1"));
        assert!(scalar_last(&priors(), -0.1).is_err());
        let adversarial = |size| adversarial(&priors(), size, &[0.1, 0.2, 0.3]);
        assert!(adversarial(f64::NAN).is_err());
        assert!(super::adversarial(&priors(), 0.1, &[0.1]).is_err());
        assert!(adversarial(1.8).is_ok(), "the rare class takes it");
        assert!(adversarial(1.95).is_err());
    }
}
