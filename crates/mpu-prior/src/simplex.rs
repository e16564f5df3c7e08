//! The feasible set of observed class priors, and the projection onto it.

use mpu_data::bad_setting;

use crate::error::{Error, Result};

/// The set `{π : π_i ≥ π̲_i, Σ π_i ≤ 1}` of priors of the observed classes.
#[derive(Debug, Clone, PartialEq)]
pub struct FeasibleSet {
    lower: Vec<f64>,
}

impl FeasibleSet {
    /// Takes the lower bounds `π̲`, which must leave room for themselves.
    pub fn new(lower: Vec<f64>) -> Result<Self> {
        for (class, &value) in lower.iter().enumerate() {
            if !(0.0..=1.0).contains(&value) {
                let name = format!("lower bound of class {class}");
                return Err(bad_setting(name, value, "a number from 0 to 1"));
            }
        }
        let sum: f64 = lower.iter().sum();
        if sum > 1.0 {
            return Err(Error::Infeasible { sum });
        }
        Ok(Self { lower })
    }

    /// The lower bounds.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Whether a point lies in the set, up to a tolerance.
    pub fn contains(&self, point: &[f64], tolerance: f64) -> bool {
        let mut pairs = point.iter().zip(&self.lower);
        point.len() == self.lower.len()
            && pairs.all(|(p, l)| *p >= l - tolerance)
            && point.iter().sum::<f64>() <= 1.0 + tolerance
    }

    /// The nearest point of the set (Euclidean), exact.
    ///
    /// ```text
    /// argmin_{π ≥ π̲, Σπ ≤ 1} ‖π - x‖²  =  π̲ + max(0, x - π̲ - τ)
    /// ```
    ///
    /// with `τ = 0` if that sums to at most one, else the `τ` at which it sums to one, found by
    /// sorting. The paper prints "clip, then renormalise", which is no projection and can break the
    /// lower bounds: see [`printed_rule`](Self::printed_rule).
    #[doc(alias = "eq:prior-projection")]
    pub fn project(&self, point: &[f64]) -> Result<Vec<f64>> {
        self.check(point)?;
        let excess: Vec<f64> = point.iter().zip(&self.lower).map(|(x, l)| x - l).collect();
        let room = 1.0 - self.lower.iter().sum::<f64>();
        let clipped: f64 = excess.iter().map(|e| e.max(0.0)).sum();
        let tau = if clipped <= room {
            0.0
        } else {
            threshold(&excess, room)
        };
        let pairs = self.lower.iter().zip(&excess);
        Ok(pairs.map(|(l, e)| l + (e - tau).max(0.0)).collect())
    }

    /// The rule as printed: clip to the lower bounds, then divide by the sum if that exceeds one.
    ///
    /// Offered for comparison; the result may violate the lower bounds.
    pub fn printed_rule(&self, point: &[f64]) -> Result<Vec<f64>> {
        self.check(point)?;
        let pairs = point.iter().zip(&self.lower);
        let clipped: Vec<f64> = pairs.map(|(x, l)| x.max(*l)).collect();
        let sum: f64 = clipped.iter().sum();
        Ok(if sum > 1.0 {
            clipped.iter().map(|c| c / sum).collect()
        } else {
            clipped
        })
    }

    fn check(&self, point: &[f64]) -> Result<()> {
        let found = point.iter().filter(|x| x.is_finite()).count();
        if found != self.lower.len() || point.len() != self.lower.len() {
            return Err(Error::Point {
                found,
                needed: self.lower.len(),
            });
        }
        Ok(())
    }
}

/// The `τ > 0` with `Σ max(0, e_i - τ) = room`.
pub(crate) fn threshold(excess: &[f64], room: f64) -> f64 {
    let mut sorted = excess.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut tau) = (0.0, 0.0);
    for (i, e) in sorted.iter().enumerate() {
        sum += e;
        let candidate = (sum - room) / (i + 1) as f64;
        if candidate >= *e {
            break;
        }
        tau = candidate;
    }
    tau
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn projections_by_hand() {
        let set = FeasibleSet::new(vec![0.1, 0.2]).unwrap();
        let project = |point| set.project(point).unwrap();
        assert_eq!(project(&[0.3, 0.4]), [0.3, 0.4], "inside: nothing moves");
        assert_eq!(project(&[-1.0, 0.4]), [0.1, 0.4], "a bound binds");
        let on_edge = project(&[0.8, 0.6]);
        assert!((on_edge[0] - 0.6).abs() < 1e-12 && (on_edge[1] - 0.4).abs() < 1e-12);
        let corner = project(&[5.0, -5.0]);
        assert!((corner[0] - 0.8).abs() < 1e-12 && (corner[1] - 0.2).abs() < 1e-12);
    }

    #[test]
    fn the_printed_rule_breaks_a_lower_bound() {
        let set = FeasibleSet::new(vec![0.5, 0.0]).unwrap();
        let printed = set.printed_rule(&[0.5, 1.5]).unwrap();
        assert_eq!(printed, [0.25, 0.75]);
        assert!(!set.contains(&printed, 1e-9));
        assert!(set.contains(&set.project(&[0.5, 1.5]).unwrap(), 1e-12));
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(
            FeasibleSet::new(vec![0.6, 0.5]),
            Err(Error::Infeasible { sum: 1.1 })
        );
        assert!(matches!(
            FeasibleSet::new(vec![-0.1]),
            Err(Error::Data(mpu_data::Error::Setting { name, .. })) if name == "lower bound of class 0"
        ));
        assert!(FeasibleSet::new(vec![f64::NAN]).is_err());
        let set = FeasibleSet::new(vec![0.1, 0.2]).unwrap();
        assert_eq!(
            set.project(&[0.1]),
            Err(Error::Point {
                found: 1,
                needed: 2
            })
        );
        assert!(set.project(&[0.1, f64::NAN]).is_err());
    }

    /// A feasible set and a point.
    fn problems() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        (1usize..=8).prop_flat_map(|n| {
            let raw = prop::collection::vec(0.0f64..1.0, n);
            let point = prop::collection::vec(-2.0f64..2.0, n);
            (raw, 0.0f64..1.0, point).prop_map(|(raw, scale, point)| {
                let sum: f64 = raw.iter().sum::<f64>().max(1e-9);
                (raw.iter().map(|r| r / sum * scale).collect(), point)
            })
        })
    }

    proptest! {
        #[test]
        fn the_projection_satisfies_its_optimality_conditions((lower, point) in problems()) {
            let set = FeasibleSet::new(lower.clone()).unwrap();
            let projected = set.project(&point).unwrap();
            prop_assert!(set.contains(&projected, 1e-9));
            // KKT: x - π = τ - λ with τ ≥ 0 (the sum) and λ_i ≥ 0 (the bounds), complementary.
            let sum: f64 = projected.iter().sum();
            let free: Vec<f64> = (0..lower.len())
                .filter(|&i| projected[i] > lower[i] + 1e-9)
                .map(|i| point[i] - projected[i])
                .collect();
            let tau = free.first().copied().unwrap_or(0.0);
            prop_assert!(free.iter().all(|t| (t - tau).abs() < 1e-9) && tau > -1e-9);
            prop_assert!(tau < 1e-9 || (sum - 1.0).abs() < 1e-9);
            if !free.is_empty() {
                for i in (0..lower.len()).filter(|&i| projected[i] <= lower[i] + 1e-9) {
                    prop_assert!(point[i] - projected[i] <= tau + 1e-9);
                }
            }
        }

        #[test]
        fn projecting_twice_changes_nothing((lower, point) in problems()) {
            let set = FeasibleSet::new(lower).unwrap();
            let once = set.project(&point).unwrap();
            let twice = set.project(&once).unwrap();
            for (a, b) in once.iter().zip(&twice) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }
    }
}
