//! How a run trains: every number that the loop needs, with its default and its range.

use mpu_data::bad_setting;
use mpu_models::{Init, OptimSpec};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::procedure::{Pulse, SelfTraining};

/// How rows are put into batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Batching {
    /// All rows in random order, cut into batches: the paper's.
    #[default]
    Shuffled,
    /// Every batch holds every group in proportion.
    Stratified,
}

mpu_data::named!(Batching, "batching", { Shuffled => "shuffled", Stratified => "stratified" });

/// How the learning rate changes over a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// It does not.
    #[default]
    Constant,
    /// It falls to zero along half a cosine, epoch by epoch.
    Cosine,
}

mpu_data::named!(Schedule, "schedule", { Constant => "constant", Cosine => "cosine" });

impl Schedule {
    /// The learning rate of an epoch, counted from 0, out of `epochs`.
    ///
    /// ```text
    /// cosine: lr · (1 + cos(π · epoch / epochs)) / 2
    /// ```
    pub fn rate(self, lr: f64, epoch: usize, epochs: usize) -> f64 {
        match self {
            Self::Constant => lr,
            Self::Cosine => {
                let share = epoch as f64 / epochs.max(1) as f64;
                0.5 * lr * (1.0 + (std::f64::consts::PI * share).cos())
            }
        }
    }
}

/// Which epoch's model is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// The last one's: the paper's.
    #[default]
    Last,
    /// That of the epoch with the lowest estimated risk of the validation rows, by the method's own
    /// objective: early stopping without hidden labels. Needs validation rows.
    BestRisk,
}

mpu_data::named!(Keep, "keep", { Last => "last", BestRisk => "best-risk" });

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What `min-steps` leaves of a batch at the least: with fewer rows, estimates of a batch are mostly noise.
const SMALLEST_BATCH: usize = 32;

mpu_data::defaults! {
    /// The settings of the training loop.
    /// The defaults are the paper's: 100 epochs, batches of 512, Adam at 1e-3 without decay, Kaiming normal.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct TrainSettings {
        /// Passes over the training rows; at least 1.
        pub epochs: usize = 100,
        /// Rows of a batch, at the most; at least 1.
        pub batch_size: usize = 512,
        /// Steps that an epoch has at least. Where the rows are too few for that, batches are smaller: the largest
        /// power of two that gives so many, but no fewer than 32 rows. 0 leaves batches as they are.
        #[serde(skip_serializing_if = "is_default")]
        pub min_steps: usize = 0,
        /// Learning rate; finite and above 0.
        pub lr: f64 = 1e-3,
        /// How the learning rate changes.
        pub schedule: Schedule = Schedule::Constant,
        /// How rows are put into batches.
        pub batching: Batching = Batching::Shuffled,
        /// The share of the values of each hidden layer that a step leaves out, chosen anew for every step; at least 0 and at most 0.99. More
        /// than 0 for perceptrons only.
        #[serde(skip_serializing_if = "is_default")]
        pub dropout: f64 = 0.0,
        /// How weights begin.
        pub init: Init = Init::KaimingNormal,
        /// The optimiser.
        pub optimizer: OptimSpec = OptimSpec::ADAM,
        /// Epochs between checkpoints; 0 for none but the last.
        pub checkpoint_every: usize = 10,
        /// Which epoch's model is the result.
        #[serde(skip_serializing_if = "is_default")]
        pub keep: Keep = Keep::Last,
        /// The constants of self-training, for `csmpu-st` only.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub self_training: Option<SelfTraining> = None,
        /// The constants of `pulse`, for that method only.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pulse: Option<Pulse> = None,
    }
}

impl TrainSettings {
    /// Rows of a batch, out of so many rows.
    pub fn batch_of(&self, n_rows: usize) -> usize {
        if self.min_steps == 0 {
            return self.batch_size;
        }
        let most = (n_rows / self.min_steps).max(SMALLEST_BATCH);
        self.batch_size.min(1 << most.ilog2())
    }

    /// Checks every range.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("train.epochs", self.epochs),
            ("train.batch-size", self.batch_size),
        ] {
            if value == 0 {
                return Err(bad_setting(name, value, "at least 1"));
            }
        }
        if !(self.lr > 0.0 && self.lr.is_finite()) {
            let allowed = "a finite number above 0";
            return Err(bad_setting("train.lr", self.lr, allowed));
        }
        if !(0.0..=0.99).contains(&self.dropout) {
            let allowed = "at least 0 and at most 0.99";
            return Err(bad_setting("train.dropout", self.dropout, allowed));
        }
        mpu_models::Optimizer::new(self.optimizer, 1)?;
        if let Some(constants) = self.pulse {
            constants.check(self.epochs)?;
        }
        self.self_training
            .map_or(Ok(()), |constants| constants.check(self.epochs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn the_cosine_begins_at_the_rate_and_ends_near_zero() {
        let rate = |epoch| Schedule::Cosine.rate(0.1, epoch, 10);
        assert_eq!(rate(0), 0.1);
        assert!((rate(5) - 0.05).abs() < 1e-12);
        assert!(rate(9) < 0.003 && rate(9) > 0.0);
        assert_eq!(Schedule::Constant.rate(0.1, 9, 10), 0.1);
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let good = TrainSettings::default();
        assert!(good.check().is_ok());
        for (epochs, batch_size, lr, name) in [
            (0, 1, 0.1, "train.epochs"),
            (1, 0, 0.1, "train.batch-size"),
            (1, 1, 0.0, "train.lr"),
            (1, 1, f64::NAN, "train.lr"),
        ] {
            let bad = TrainSettings {
                epochs,
                batch_size,
                lr,
                ..good.clone()
            };
            check_message(bad.check(), name);
        }
        for dropout in [-0.1, 1.0, f64::NAN] {
            let bad = TrainSettings {
                dropout,
                ..good.clone()
            };
            check_message(bad.check(), "train.dropout");
        }
        let optimizer = OptimSpec::Sgd { momentum: 1.5 };
        assert!(TrainSettings { optimizer, ..good }.check().is_err());
    }

    #[test]
    fn batches_shrink_where_rows_are_few() {
        let batch_of = |batch_size, min_steps, n_rows| {
            let settings = TrainSettings {
                batch_size,
                min_steps,
                ..TrainSettings::default()
            };
            settings.batch_of(n_rows)
        };
        assert_eq!(batch_of(512, 0, 100), 512);
        assert_eq!(batch_of(512, 10, 60_000), 512);
        assert_eq!(batch_of(512, 10, 5_119), 256);
        assert_eq!(batch_of(512, 10, 640), 64);
        assert_eq!(batch_of(512, 10, 3), 32);
        assert_eq!(batch_of(16, 10, 3), 16);
    }
}
