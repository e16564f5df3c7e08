//! A small damped Newton method for smooth functions of few variables.

/// A function with two derivatives.
pub(crate) trait Smooth {
    /// Its value.
    fn value(&self, x: &[f64]) -> f64;

    /// Its gradient and its Hessian, row-major.
    fn derivatives(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>);
}

/// The largest slope that counts as none.
const TOLERANCE: f64 = 1e-10;
const STEPS: usize = 200;
/// A damping beyond which no step lowers the value: rounding is reached.
const STUCK: f64 = 1e12;

/// No variable moves further in one step: where a function is flat, Newton's steps are wild.
const LONGEST: f64 = 4.0;

/// Walks downhill from `x` to where the slope vanishes.
///
/// Each step solves `(H + λI) p = -g`. λ grows tenfold while the matrix is not positive definite or the
/// step does not lower the value enough, and shrinks after each success, so that the method ends as
/// plain Newton.
pub(crate) fn minimise(function: &impl Smooth, mut x: Vec<f64>) -> Vec<f64> {
    let n = x.len();
    let mut value = function.value(&x);
    let mut damping = 0.0_f64;
    for _ in 0..STEPS {
        let (gradient, hessian) = function.derivatives(&x);
        if gradient.iter().all(|g| g.abs() <= TOLERANCE) {
            break;
        }
        let scale = (0..n)
            .map(|i| hessian[i * n + i].abs())
            .fold(1e-6, f64::max);
        loop {
            if let Some(mut step) = solve(&hessian, damping, &gradient) {
                let longest = step.iter().fold(LONGEST, |l, p| l.max(p.abs()));
                for p in &mut step {
                    *p *= LONGEST / longest;
                }
                let next: Vec<f64> = x.iter().zip(&step).map(|(x, p)| x - p).collect();
                let slope: f64 = gradient.iter().zip(&step).map(|(g, p)| g * p).sum();
                let candidate = function.value(&next);
                if candidate <= value - 1e-4 * slope {
                    (x, value) = (next, candidate);
                    damping = if damping < 1e-9 * scale {
                        0.0
                    } else {
                        damping / 10.0
                    };
                    break;
                }
            }
            damping = (10.0 * damping).max(1e-6 * scale);
            if damping > STUCK * scale {
                return x;
            }
        }
    }
    x
}

/// Solves `(H + λI) p = g` by Cholesky's factors; `None` if the matrix is not positive definite.
fn solve(hessian: &[f64], damping: f64, gradient: &[f64]) -> Option<Vec<f64>> {
    let n = gradient.len();
    let mut l = hessian.to_vec();
    for i in 0..n {
        l[i * n + i] += damping;
        for j in 0..=i {
            let inner: f64 = (0..j).map(|t| l[i * n + t] * l[j * n + t]).sum();
            let rest = l[i * n + j] - inner;
            if i == j {
                // Below this the factor would be rounding alone.
                if rest.is_nan() || rest <= 1e-14 * l[i * n + i].abs() {
                    return None;
                }
                l[i * n + i] = rest.sqrt();
            } else {
                l[i * n + j] = rest / l[j * n + j];
            }
        }
    }
    let mut p = gradient.to_vec();
    for i in 0..n {
        let inner: f64 = (0..i).map(|t| l[i * n + t] * p[t]).sum();
        p[i] = (p[i] - inner) / l[i * n + i];
    }
    for i in (0..n).rev() {
        let inner: f64 = (i + 1..n).map(|t| l[t * n + i] * p[t]).sum();
        p[i] = (p[i] - inner) / l[i * n + i];
    }
    p.iter().all(|v| v.is_finite()).then_some(p)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asserts that gradient and Hessian are central differences at `x`.
    pub(crate) fn check_derivatives(function: &impl Smooth, x: &[f64]) {
        let n = x.len();
        let (gradient, hessian) = function.derivatives(x);
        let h = 1e-5;
        for i in 0..n {
            let (mut up, mut down) = (x.to_vec(), x.to_vec());
            up[i] += h;
            down[i] -= h;
            let slope = (function.value(&up) - function.value(&down)) / (2.0 * h);
            assert!(
                (slope - gradient[i]).abs() < 1e-7 * (1.0 + slope.abs()),
                "gradient {i}: {slope} and {}",
                gradient[i]
            );
            let (up, down) = (function.derivatives(&up).0, function.derivatives(&down).0);
            for j in 0..n {
                let bend = (up[j] - down[j]) / (2.0 * h);
                assert!(
                    (bend - hessian[i * n + j]).abs() < 1e-7 * (1.0 + bend.abs()),
                    "hessian {i},{j}: {bend} and {}",
                    hessian[i * n + j]
                );
            }
        }
    }

    struct Rosenbrock;

    impl Smooth for Rosenbrock {
        fn value(&self, x: &[f64]) -> f64 {
            (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)
        }

        fn derivatives(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
            let bend = x[1] - x[0] * x[0];
            let gradient = vec![-2.0 * (1.0 - x[0]) - 400.0 * x[0] * bend, 200.0 * bend];
            let cross = -400.0 * x[0];
            let first = 2.0 - 400.0 * bend + 800.0 * x[0] * x[0];
            (gradient, vec![first, cross, cross, 200.0])
        }
    }

    #[test]
    fn the_valley_is_walked_to_its_end() {
        check_derivatives(&Rosenbrock, &[-1.2, 1.0]);
        // At (0, 1) the Hessian is indefinite.
        for start in [[-1.2, 1.0], [0.0, 1.0], [3.0, -4.0]] {
            let x = minimise(&Rosenbrock, start.to_vec());
            assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{x:?}");
        }
    }
}
