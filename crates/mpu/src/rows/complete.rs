//! Settings that follow the rows where the user says nothing.

use mpu_data::table::MpuTable;
use mpu_data::{Scaling, Shape};
use mpu_train::{Batching, Method, Schedule};

use super::{NETWORK_ROWS, TableConfig};
use crate::config::ModelConfig;
use crate::error::{Result, ensure};
use crate::table_data::TablePriors;

/// Steps of an epoch at the least.
pub const MIN_STEPS: usize = 5;
/// The share of its hidden values that a perceptron of [`Method::CsmpuSt`] leaves out in every step.
pub const DROPOUT: f64 = 0.25;
/// Rows of a batch of a residual network, which needs many steps before it tells anything apart.
const RESNET_BATCH: usize = 64;
/// Steps of all epochs together, about, if 40 to 100 of them can give it, or 20 to 100 beside a forest.
const ALL_STEPS: usize = 1500;

/// Epochs of warm-up where [`DROPOUT`] is left out, which allows more of them: 10, or half of all.
pub fn warm_up_epochs(epochs: usize) -> usize {
    (epochs / 2).clamp(1, 10)
}

/// Which settings the user gave; the others follow the rows.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub(crate) struct Given {
    pub(crate) method: bool,
    pub(crate) batch: bool,
    pub(crate) batching: bool,
    pub(crate) epochs: bool,
    pub(crate) schedule: bool,
    pub(crate) dropout: bool,
    /// `model.hidden`.
    pub(crate) hidden: bool,
    /// `train.self-training.warm-up-epochs`.
    pub(crate) warm_up_epochs: bool,
    /// `train.self-training.sure`.
    pub(crate) sure: bool,
}

impl Given {
    /// Everything is given.
    pub(crate) const ALL: Self = Self {
        method: true,
        batch: true,
        batching: true,
        epochs: true,
        schedule: true,
        dropout: true,
        hidden: true,
        warm_up_epochs: true,
        sure: true,
    };

    /// What a parsed configuration says.
    pub(super) fn of(table: &toml::Table) -> Self {
        let train = table.get("train").and_then(toml::Value::as_table);
        let in_train = |key: &str| train.is_some_and(|train| train.contains_key(key));
        let has = |part: Option<&toml::Value>, key: &str| {
            part.is_some_and(|part| part.as_table().is_some_and(|part| part.contains_key(key)))
        };
        let self_training = train.and_then(|train| train.get("self-training"));
        Self {
            method: table.contains_key("method"),
            batch: in_train("batch-size") || in_train("min-steps"),
            batching: in_train("batching"),
            epochs: in_train("epochs"),
            schedule: in_train("schedule"),
            dropout: in_train("dropout"),
            hidden: has(table.get("model"), "hidden"),
            warm_up_epochs: has(self_training, "warm-up-epochs"),
            sure: has(self_training, "sure"),
        }
    }
}

impl TableConfig {
    /// Fills in what depends on the rows, where the user's file and flags (`given`) say nothing.
    pub(super) fn complete(&mut self, table: &MpuTable, given: Given) -> Result<()> {
        let share = self.data.validation_share;
        ensure!(
            share > 0.0 && share <= 0.5,
            "data.validation-share is {share}: it must be above 0 and at most 0.5"
        );
        if !given.method {
            self.method = Method::CsmpuSt;
        }
        let shape = table.features.shape();
        self.data.scaling.get_or_insert(match shape {
            Shape::Image { .. } if table.schema.is_images() => Scaling::Div255,
            _ => Scaling::Standardize,
        });
        let n_rows = (table.labels.len() as f64 * (1.0 - share)) as usize;
        let hidden = || match n_rows {
            ..5000 => vec![128, 128],
            _ => vec![300; 4],
        };
        if let Some(ModelConfig::Mlp { hidden: own } | ModelConfig::Auto { hidden: own }) =
            &mut self.model
            && !given.hidden
        {
            *own = hidden();
        }
        self.model.get_or_insert_with(|| match shape {
            Shape::Image { channels, .. } if channels > 1 => ModelConfig::ResNet { depth: 20 },
            Shape::Vector(_) if !given.method => ModelConfig::Auto { hidden: hidden() },
            _ => ModelConfig::Mlp { hidden: hidden() },
        });
        let n_rows = match &self.model {
            Some(ModelConfig::Auto { .. }) => n_rows.min(NETWORK_ROWS),
            _ => n_rows,
        };
        if !given.batch {
            self.train.min_steps = MIN_STEPS;
            if matches!(self.model, Some(ModelConfig::ResNet { .. })) {
                self.train.batch_size = RESNET_BATCH;
            }
        }
        if !given.batching {
            self.train.batching = Batching::Stratified;
        }
        if !given.epochs {
            let steps = n_rows.div_ceil(self.train.batch_of(n_rows)).max(1);
            let fewest = match &self.model {
                Some(ModelConfig::Auto { .. }) => 20,
                _ => 40,
            };
            self.train.epochs = ALL_STEPS.div_ceil(steps).clamp(fewest, 100);
        }
        if !given.schedule {
            self.train.schedule = Schedule::Cosine;
        }
        let is_perceptron = matches!(
            &self.model,
            Some(ModelConfig::Mlp { .. } | ModelConfig::Auto { .. })
        );
        let leaves_out = is_perceptron && self.method == Method::CsmpuSt && !given.dropout;
        if leaves_out {
            self.train.dropout = DROPOUT;
        }
        if leaves_out && !given.warm_up_epochs {
            let constants = self.train.self_training.get_or_insert_default();
            constants.warm_up_epochs = warm_up_epochs(self.train.epochs);
        }
        self.check(share)?;
        // A sure model can show that priors which the user knows are too low. Estimated ones come with an interval,
        // and a model that is too sure must not overrule them.
        let estimated = matches!(self.data.priors, TablePriors::Estimated(_));
        if let Some(constants) = &mut self.train.self_training
            && estimated
            && !given.sure
        {
            constants.sure = 1.0;
        }
        Ok(())
    }

    /// A name for the run's folder.
    pub fn name(&self) -> String {
        format!("{}-{}-s{}", self.data.name(), self.method, self.seed)
    }
}
