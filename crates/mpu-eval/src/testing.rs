//! Made-up rows whose true probabilities are known, for tests.

use mpu_data::{MpuLabel, Priors};

/// A small generator (splitmix64): tests need no more.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn class(&mut self, priors: &Priors) -> usize {
        let mut rest = self.uniform();
        for (class, pi) in priors.as_slice().iter().enumerate() {
            rest -= pi;
            if rest < 0.0 {
                return class;
            }
        }
        priors.classes().negative()
    }
}

/// Normal classes in the plane, round and of variance 1, around points of a circle.
pub(crate) struct Plane {
    pub(crate) priors: Priors,
    pub(crate) radius: f64,
}

impl Plane {
    pub(crate) fn new(priors: &[f64], radius: f64) -> Self {
        let priors = Priors::new(priors.to_vec()).unwrap();
        Self { priors, radius }
    }

    fn centre(&self, class: usize) -> [f64; 2] {
        let angle = std::f64::consts::TAU * class as f64 / self.priors.classes().get() as f64;
        [self.radius * angle.cos(), self.radius * angle.sin()]
    }

    pub(crate) fn point(&self, class: usize, draws: &mut Draws) -> [f64; 2] {
        let centre = self.centre(class);
        [centre[0] + draws.normal(), centre[1] + draws.normal()]
    }

    /// The logarithms of `π_y p(x | y)` but for a constant.
    pub(crate) fn log_joint(&self, x: [f64; 2]) -> Vec<f64> {
        let log = |(class, pi): (usize, &f64)| {
            let c = self.centre(class);
            pi.ln() - 0.5 * ((x[0] - c[0]).powi(2) + (x[1] - c[1]).powi(2))
        };
        self.priors.as_slice().iter().enumerate().map(log).collect()
    }

    /// The true probabilities at `x`.
    pub(crate) fn posterior(&self, x: [f64; 2]) -> Vec<f64> {
        let z = self.log_joint(x);
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let e: Vec<f64> = z.iter().map(|z| (z - top).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.iter().map(|e| e / sum).collect()
    }

    /// Labelled rows of each observed class and a pool: labels, points, true classes.
    pub(crate) fn sample(
        &self,
        n_labeled: usize,
        n_pool: usize,
        draws: &mut Draws,
    ) -> (Vec<MpuLabel>, Vec<[f64; 2]>, Vec<usize>) {
        let (mut labels, mut points, mut truths) = (Vec::new(), Vec::new(), Vec::new());
        for class in 0..self.priors.observed().len() {
            for _ in 0..n_labeled {
                labels.push(MpuLabel::Labeled(class));
                points.push(self.point(class, draws));
                truths.push(class);
            }
        }
        for _ in 0..n_pool {
            let class = draws.class(&self.priors);
            labels.push(MpuLabel::Unlabeled);
            points.push(self.point(class, draws));
            truths.push(class);
        }
        (labels, points, truths)
    }
}
