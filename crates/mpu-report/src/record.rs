//! The record of one run: what its folder or a store keeps, and every table and figure is made from.

use serde::{Deserialize, Serialize};

/// What a run was: the fields by which tables find their cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunKey {
    /// The dataset's slug, or the name of the user's own file.
    pub dataset: String,
    /// The split protocol's slug, or [`Record::TABLE`] for a table of the user's own.
    pub protocol: String,
    /// The number of classes `k`.
    pub classes: usize,
    /// The asked-for prior `π_k` of the negative class; for a table of the user's own, the one training is told.
    pub prior: f64,
    /// The method's slug.
    pub method: String,
    /// The surrogate's slug.
    pub surrogate: String,
    /// Its scale.
    pub gamma: f64,
    /// Its form, `raw` or `sym`.
    pub form: String,
    /// The learning rate; of a sweep, the one that was chosen.
    pub lr: f64,
    /// Whether the rate was chosen on held-out positive and unlabelled rows.
    pub swept: bool,
    /// Epochs trained.
    pub epochs: usize,
    /// The seed of split, weights and shuffling.
    pub seed: u64,
}

/// Shares of test rows at the epoch whose model is the run's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scores {
    /// Accuracy.
    pub accuracy: f64,
    /// Accuracy, mean of the last ten epochs; that of the finished model where it is not the network of an epoch.
    pub accuracy_last_ten: f64,
    /// Macro precision.
    pub precision: f64,
    /// Macro recall.
    pub recall: f64,
    /// Macro F1.
    pub f1: f64,
    /// Accuracy after the class proportions of the test rows were estimated from their features, where scores
    /// are log-probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shifted_accuracy: Option<f64>,
    /// Macro F1 after the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shifted_f1: Option<f64>,
    /// Expected calibration error of the answers' probabilities, where scores are log-probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_error: Option<f64>,
}

/// Figures of every epoch, each list as long as the run, or empty if it was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Curves {
    /// What was minimised.
    pub train_loss: Vec<f64>,
    /// Mean loss of the test rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_loss: Vec<f64>,
    /// Share of all training rows answered rightly by their hidden labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracle_train_accuracy: Vec<f64>,
    /// Share of the test rows answered rightly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_accuracy: Vec<f64>,
}

/// Test rows by true class (outer list) and answer (inner list), by the run's model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Heat {
    /// How many rows.
    pub support: Vec<Vec<u64>>,
    /// Mean of the true class's score less its strongest rival's; none where there are no rows.
    pub margin: Vec<Vec<Option<f64>>>,
}

/// One learning rate of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RateResult {
    /// The rate.
    pub lr: f64,
    /// Estimated from held-out labelled rows and pool.
    pub validation_accuracy: Option<f64>,
    /// Estimated from the same.
    pub validation_risk: Option<f64>,
    /// By the true labels of test rows.
    pub test_accuracy: Option<f64>,
    /// Whether this one was taken.
    pub chosen: bool,
}

/// The record of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record {
    /// The version of this form.
    pub version: u32,
    /// The content hash of the resolved configuration.
    pub id: String,
    /// What the run was.
    pub key: RunKey,
    /// The resolved configuration.
    pub config: serde_json::Value,
    /// The version of the program.
    pub program: String,
    /// Processor and system.
    pub machine: String,
    /// Threads it used; the outcome does not depend on them.
    pub threads: usize,
    /// How long it took.
    pub seconds: f64,
    /// How the data differ from the published ones, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_mark: Option<String>,
    /// The digest of the split's rows.
    pub split_digest: String,
    /// The digest of the bytes of the model that is used: the network's weights, the forest, or the one after the other.
    pub model_sha256: String,
    /// How good it is; none without test rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
    /// The pool's class priors, the negative class last; empty where nobody knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<f64>,
    /// The priors that training was told, where they are not the pool's: estimated, given by the user, or wrong
    /// on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told_priors: Vec<f64>,
    /// The epoch whose model is the run's, where it is not the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_epoch: Option<usize>,
    /// Of a sweep, every learning rate with the figures it was chosen by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateResult>,
    /// `b_i` of the observed classes on their labelled training rows: by how much their risks move with
    /// their priors. Used by the study of wrong priors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior_gaps: Vec<f64>,
    /// Every epoch; left out of bundles where no figure needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves: Option<Curves>,
    /// The answers by class; left out of bundles where no figure needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
}

impl Record {
    /// The version that this program writes and the newest it reads.
    pub const VERSION: u32 = 1;

    /// The protocol of runs on a table of the user's own.
    pub const TABLE: &str = "table";
}
