//! The configuration of a run: one typed file, overrides, and defaults filled in.

use std::path::Path;

use crate::costs::NamedCosts;
use crate::error::{Context as _, Result, bail, ensure};
use crate::files;
use crate::prepared::NEGATIVE;
use mpu_data::source::catalog::Part;
use mpu_data::split::{Plan, Protocol, Scenario};
use mpu_data::{ClassCount, CostMatrix, DatasetId, Holdout, Scaling, Seed, Shape, SplitSpec};
use mpu_loss::Loss;
use mpu_models::{MlpSpec, ModelSpec, OptimSpec, ResNetSpec};
use mpu_risk::Placement;
use mpu_train::{
    CostsEnter, DeviceChoice, EngineChoice, Keep, Method, Precision, Pulse, Selection,
    SelfTraining, TrainSettings,
};
use serde::{Deserialize, Serialize};

/// Everything that decides the outcome of a run on rows that `D` describes: a benchmark
/// ([`BenchmarkData`]), or a file of the user's own ([`TableData`](crate::TableData)). Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[serde(bound(deserialize = "D: Deserialize<'de> + Default"))]
pub struct RunConfig<D = BenchmarkData> {
    /// The method's slug.
    pub method: Method,
    /// Where the correction is placed; the method's own place if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The seed of initial weights and shuffling.
    pub seed: u64,
    /// `cpu`, `cuda`, `cuda:N`, `metal` or `auto`.
    pub device: DeviceChoice,
    /// `fused` or `candle`; if not given, the fused one on the CPU, else candle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineChoice>,
    /// `f32`, or `bf16` for forward and backward passes, by the candle engine on devices that have it.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// What it trains on.
    pub data: D,
    /// The binary loss, for methods that use one.
    pub loss: Loss,
    /// What mistakes cost, by name: the truth, then the answer. All cost the same if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<NamedCosts>,
    /// The architecture; chosen by the data if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelConfig>,
    /// The settings of the training loop.
    pub train: TrainSettings,
    /// Learning rates to choose from, in place of `train.lr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepConfig>,
}

mpu_data::defaults! {
    /// A benchmark, and how it is made into labelled rows and a pool.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct BenchmarkData {
        /// The dataset's slug.
        pub dataset: DatasetId = DatasetId::Waveform1,
        /// For waveform1: how many rows to generate; without it the published file is used where it is
        /// here, and else as many rows as it has are generated.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub generated_rows: Option<usize> = None,
        /// The number of classes, the negative one included.
        pub classes: ClassCount = ClassCount::THREE,
        /// The share of negatives in the pool.
        pub prior: f64 = 0.5,
        /// How rows are chosen to be labelled.
        pub protocol: Protocol = Protocol::default(),
        /// Whether labelled rows and pool are drawn together or apart.
        pub scenario: Scenario = Scenario::default(),
        /// The share of each observed class that goes unlabelled, where the protocol leaves it free.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub unlabeled_fraction: Option<f64> = None,
        /// The share held out of every group for validation.
        pub validation_share: f64 = 0.0,
        /// The seed of the split, apart from the run's: runs with other seeds share their data.
        pub split_seed: u64 = 42,
        /// What is added to the pool's priors before they are handed to the estimator, for all `k` classes: wrong
        /// priors on purpose. Sums to zero.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub prior_shift: Option<Vec<f64>> = None,
        /// `auto`: hand the estimator priors estimated from labelled rows and pool alone, in place of the
        /// pool's own, which a user would not know.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub priors: Option<Auto> = None,
        /// Keep at most so many training rows and as many test rows, the first of each class in
        /// proportion: for quick trials, and marked in every result.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_rows: Option<usize> = None,
        /// How features are scaled; the paper's way for the dataset if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scaling: Option<Scaling> = None,
    }
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auto {
    /// Find it out.
    Auto,
}

/// The architecture, without what the data decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelConfig {
    /// A multi-layer perceptron with these hidden widths.
    Mlp {
        /// The widths, from the input on.
        hidden: Vec<usize>,
    },
    /// A forest, a perceptron with these hidden widths, or both: whichever explains held-out rows best. For tables.
    Auto {
        /// The widths, from the input on.
        hidden: Vec<usize>,
    },
    /// A forest. For tables.
    Forest {
        /// Trees; as many as suit the rows if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        trees: Option<usize>,
    },
    /// A residual network of depth 6n+2.
    #[serde(rename = "resnet")]
    ResNet {
        /// Layers with weights.
        depth: usize,
    },
    /// A network of the user's own: only the program that brings it can build it
    /// ([`ClassifierParams::module`](crate::ClassifierParams::module)).
    Module,
}

/// A sweep over learning rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SweepConfig {
    /// The learning rates tried.
    pub lrs: Vec<f64>,
    /// By what the best is chosen.
    #[serde(default)]
    pub select: Selection,
}

impl<D: Default> Default for RunConfig<D> {
    /// What `mpu-cli train` does with no arguments.
    fn default() -> Self {
        Self {
            method: Method::ALL[0],
            placement: None,
            seed: 42,
            device: DeviceChoice::Cpu,
            engine: None,
            precision: Precision::F32,
            data: D::default(),
            loss: Loss::default(),
            costs: None,
            model: None,
            train: TrainSettings::default(),
            sweep: None,
        }
    }
}

impl<D: Default + Serialize + serde::de::DeserializeOwned> RunConfig<D> {
    /// The configuration of a file (or the default), with `overrides` (`a.b=value`) laid over it, not yet
    /// completed.
    pub fn read(file: Option<&Path>, overrides: &[String]) -> Result<Self> {
        let (table, name) = read_table(file)?;
        if let Some(path) = file {
            // Parsed as written first, so that a fault is shown with its line and column.
            let text = files::read_text(path)?;
            toml::from_str::<Self>(&text).with_context(|| name.clone())?;
        }
        let mut table = overridden(table, overrides)?;
        complete_kinds(&mut table)?;
        table
            .try_into::<Self>()
            .with_context(|| format!("{name} with overrides"))
    }

    /// Fills in what the method decides and checks every range that needs no data.
    pub(crate) fn check(&mut self, validation_share: f64) -> Result<()> {
        self.placement
            .get_or_insert(self.method.default_placement());
        self.method.complete(&mut self.train)?;
        if self.train.keep == Keep::BestRisk && validation_share == 0.0 {
            bail!(
                "train.keep = best-risk chooses by held-out rows: data.validation-share must be above 0\nhint: --set data.validation-share=0.1"
            );
        }
        if let Some(sweep) = &self.sweep {
            ensure!(
                !sweep.lrs.is_empty(),
                "sweep.lrs is empty: at least 1 rate is needed"
            );
            if sweep.select != Selection::Oracle {
                ensure!(
                    validation_share > 0.0,
                    "a sweep chooses by held-out rows: data.validation-share must be above 0\nhint: --set data.validation-share=0.1"
                );
            }
        }
        self.train.check()?;
        Ok(())
    }

    /// The architecture for rows of a shape and so many outputs.
    pub fn architecture(&self, shape: Shape, outputs: usize) -> Result<ModelSpec> {
        let spec = match (self.model.as_ref(), shape) {
            (
                Some(ModelConfig::ResNet { depth }),
                Shape::Image {
                    channels,
                    height,
                    width,
                },
            ) => ModelSpec::ResNet(ResNetSpec {
                channels,
                height,
                width,
                depth: *depth,
                outputs,
            }),
            (Some(ModelConfig::ResNet { .. }), Shape::Vector(_)) => bail!(
                "model.kind is resnet, but rows are vectors of {} numbers\nhint: use kind = \"mlp\"",
                shape.len()
            ),
            (Some(ModelConfig::Module), _) => bail!(
                "model.kind is module, a network that only the program which brings it can build\nhint: use kind = \"mlp\" or \"resnet\", or train it with `Classifier::params().module(…)`"
            ),
            (Some(ModelConfig::Forest { .. }), _) => bail!(
                "model.kind is forest, but a network is needed here\nhint: forests are for tables: `mpu-cli train --data FILE`"
            ),
            (Some(ModelConfig::Mlp { hidden } | ModelConfig::Auto { hidden }), _) => {
                let (inputs, hidden) = (shape.len(), hidden.clone());
                ModelSpec::Mlp(MlpSpec {
                    inputs,
                    hidden,
                    outputs,
                })
            }
            (None, _) => ModelSpec::mlp5(shape.len(), outputs),
        };
        spec.check()?;
        Ok(spec)
    }

    /// The costs of mistakes among classes of these names, if any are given.
    pub(crate) fn cost_matrix(&self, names: &[String]) -> Result<Option<CostMatrix>> {
        let Some(costs) = &self.costs else {
            return Ok(None);
        };
        if self.method.costs_enter() == CostsEnter::Nowhere {
            let objective = self.method.objective();
            return Err(mpu_risk::Error::CostsFixed { objective }.into());
        }
        costs.matrix(names).map(Some).context("costs")
    }

    /// The configuration as a file.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).context("writing the configuration")
    }
}

/// The table of a configuration file, empty without one, and what to call it.
pub(crate) fn read_table(file: Option<&Path>) -> Result<(toml::Table, String)> {
    let Some(path) = file else {
        return Ok((toml::Table::new(), "the default configuration".to_owned()));
    };
    let name = path.display().to_string();
    let text = files::read_text(path)?;
    let table = toml::from_str(&text).with_context(|| name.clone())?;
    Ok((table, name))
}

/// Whether a configuration file is about a table of the user's own, not a benchmark.
pub fn is_about_a_table(file: Option<&Path>) -> Result<bool> {
    let (table, _) = read_table(file)?;
    let data = table.get("data").and_then(toml::Value::as_table);
    Ok(data.is_some_and(|data| data.contains_key("file")))
}

/// A table with assignments (`a.b=value`) laid over it.
pub(crate) fn overridden(mut table: toml::Table, overrides: &[String]) -> Result<toml::Table> {
    for assignment in overrides {
        assign(&mut table, assignment)?;
    }
    Ok(table)
}

/// Where an assignment sets one key of the model or of the optimiser and nothing says of which kind that is, the one
/// is meant that has such a key, and its other keys have their defaults.
fn complete_kinds(table: &mut toml::Table) -> Result<()> {
    let data = table.get("data").and_then(toml::Value::as_table);
    let file = data.and_then(|data| data.get("file")?.as_str());
    let (is_table, is_folder) = (file.is_some(), file.is_some_and(|f| Path::new(f).is_dir()));
    let has_method = table.contains_key("method");
    if let Some(toml::Value::Table(model)) = table.get_mut("model") {
        let has = |key: &str| model.contains_key(key);
        let kind = match () {
            () if has("trees") => "forest",
            () if has("depth") => "resnet",
            () if is_table && !is_folder && !has_method => "auto",
            () => "mlp",
        };
        let kind = model.entry("kind").or_insert_with(|| kind.into());
        let takes_hidden = matches!(kind.as_str(), Some("mlp" | "auto"));
        if takes_hidden && !model.contains_key("hidden") {
            // Of a table, as many as suit its rows: see `TableConfig::complete`.
            let hidden = if is_table { vec![] } else { vec![300_i64; 4] };
            model.insert("hidden".to_owned(), hidden.into());
        }
    }
    let train = table.get_mut("train").and_then(toml::Value::as_table_mut);
    if let Some(toml::Value::Table(optimizer)) = train.and_then(|t| t.get_mut("optimizer")) {
        let momentum = optimizer.contains_key("momentum");
        let kind = if momentum { "sgd" } else { "adam" };
        let kind = optimizer.entry("kind").or_insert_with(|| kind.into());
        if kind.as_str() == Some("adam") {
            for (key, value) in toml::Table::try_from(OptimSpec::ADAM)? {
                optimizer.entry(key).or_insert(value);
            }
        }
    }
    Ok(())
}

impl RunConfig {
    /// The configuration of a file (or the default), with `overrides` laid over it, defaults filled in
    /// and every range checked.
    pub fn resolve(file: Option<&Path>, overrides: &[String]) -> Result<Self> {
        Self::read(file, overrides)?.completed()
    }

    /// The configuration of a parsed file, completed and checked.
    pub fn of_table(table: toml::Table) -> Result<Self> {
        table.try_into::<Self>()?.completed()
    }

    /// Fills in what is not given and checks every range.
    pub fn completed(mut self) -> Result<Self> {
        let card = self.data.dataset.card();
        self.data.scaling.get_or_insert(card.scaling);
        self.model.get_or_insert_with(|| match card.shape {
            Shape::Image { channels, .. } if channels > 1 => ModelConfig::ResNet { depth: 20 },
            _ => ModelConfig::Mlp {
                hidden: vec![300; 4],
            },
        });
        if self.method == Method::Pulse && self.data.validation_share == 0.0 {
            self.data.validation_share = Pulse::HELD_OUT;
        }
        self.check(self.data.validation_share)?;
        let labeled = self.labeled_per_class();
        let few = labeled.is_some_and(|n| n < SelfTraining::FEW_LABELED);
        if let (Some(constants), true) = (&mut self.train.self_training, few) {
            constants.folds.get_or_insert(SelfTraining::FOLDS);
        }
        if let Some(shift) = &self.data.prior_shift {
            let (found, needed) = (shift.len(), self.data.classes.get());
            ensure!(
                found == needed,
                "data.prior-shift has {found} entries: one for each of the {needed} classes is needed"
            );
            ensure!(
                self.data.priors.is_none(),
                "data.prior-shift moves the pool's own priors: it does not go with data.priors"
            );
        }
        self.model_spec()?;
        Ok(self)
    }

    /// The split asked for.
    pub fn split_spec(&self) -> SplitSpec {
        SplitSpec {
            protocol: self.data.protocol,
            scenario: self.data.scenario,
            classes: self.data.classes,
            prior: self.data.prior,
            unlabeled_fraction: self.data.unlabeled_fraction,
            validation_share: self.data.validation_share,
            seed: Seed(self.data.split_seed),
        }
    }

    /// How many rows of an observed class are labelled, on average over the classes and as the dataset was published;
    /// none if it cannot be split like this.
    fn labeled_per_class(&self) -> Option<usize> {
        let card = self.data.dataset.card();
        let train = card.parts.iter().find(|part| part.part != Part::Test)?;
        let share = match card.holdout {
            Holdout::Published => 1.0,
            Holdout::Drawn { share } => 1.0 - share,
        };
        let counts = train.class_counts.iter();
        let counts: Vec<usize> = counts.map(|&n| (n as f64 * share) as usize).collect();
        let plan = Plan::new(&self.split_spec(), &counts).ok()?;
        Some(plan.labeled.iter().sum::<usize>() / plan.labeled.len().max(1))
    }

    /// The architecture for the dataset's shape and classes.
    pub fn model_spec(&self) -> Result<ModelSpec> {
        self.architecture(self.data.dataset.card().shape, self.data.classes.get())
    }

    /// Names of the observed classes, then of the negative one.
    pub fn class_names(&self) -> Vec<String> {
        let all = self.data.dataset.card().class_names;
        let observed = all.iter().take(self.data.classes.n_observed());
        let names = observed.map(|&name| name.to_owned());
        names.chain([NEGATIVE.to_owned()]).collect()
    }

    /// A name for the run's folder.
    pub fn name(&self) -> String {
        format!(
            "{}-k{}-pi{}-{}-s{}",
            self.data.dataset.slug(),
            self.data.classes.get(),
            self.data.prior,
            self.method,
            self.seed
        )
    }
}

/// Lays `a.b=value` over a table. A value that is no TOML is taken as a word.
fn assign(table: &mut toml::Table, assignment: &str) -> Result<()> {
    let Some((path, text)) = assignment.split_once('=') else {
        bail!("`{assignment}` is not an assignment: write KEY=VALUE, such as train.epochs=20");
    };
    let parsed = toml::from_str::<toml::Table>(&format!("value = {text}"));
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    let value = value.unwrap_or_else(|| toml::Value::String(text.to_owned()));
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut place = table;
    for key in keys {
        let entry = place
            .entry(key)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = match entry {
            toml::Value::Table(inner) => inner,
            _ => bail!("`{path}`: {key} is not a table"),
        };
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(overrides: &[&str]) -> Result<RunConfig> {
        let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
        RunConfig::resolve(None, &overrides)
    }

    #[test]
    fn defaults_are_filled_in_and_read_back() {
        let config = resolve(&[]).unwrap();
        assert_eq!(config.data.scaling, Some(Scaling::MinMax));
        assert_eq!(
            config.model,
            Some(ModelConfig::Mlp {
                hidden: vec![300; 4]
            })
        );
        let text = config.to_toml().unwrap();
        let again: RunConfig = toml::from_str(&text).unwrap();
        assert_eq!(again.completed().unwrap(), config);
    }

    #[test]
    fn self_training_has_a_teacher_where_few_rows_are_labelled() {
        let folds = |overrides: &[&str]| {
            let config = resolve(&[&["method=csmpu-st"], overrides].concat()).unwrap();
            assert_eq!(config.clone().completed().unwrap(), config);
            config.train.self_training.unwrap().folds
        };
        let few = ["data.dataset=semeion", "data.classes=6", "data.prior=0.2"];
        assert_eq!(folds(&few), Some(SelfTraining::FOLDS));
        assert_eq!(
            folds(&[few[0], "data.classes=8", few[2]]),
            Some(SelfTraining::FOLDS)
        );
        let own = "train.self-training.folds=0";
        assert_eq!(folds(&[&few[..], &[own]].concat()), Some(0));
        for prior in ["data.prior=0.5", "data.prior=0.8"] {
            assert_eq!(folds(&[few[0], few[1], prior]), None);
        }
        for dataset in DatasetId::ALL.map(|id| format!("data.dataset={id}")) {
            let found = folds(&[&dataset, "data.prior=0.2"]);
            assert_eq!(found, None, "{dataset}");
        }
    }

    #[test]
    fn overrides_reach_every_table() {
        let config = resolve(&[
            "method=csmpu-nn",
            "train.epochs=20",
            "loss.surrogate=hinge",
            "loss.form=sym",
            "data.dataset=svhn",
            "data.classes=4",
            "sweep.lrs=[0.001, 0.0001]",
            "data.validation-share=0.1",
        ]);
        let config = config.unwrap();
        assert_eq!(config.method.slug(), "csmpu-nn");
        assert_eq!(config.train.epochs, 20);
        assert_eq!(config.model, Some(ModelConfig::ResNet { depth: 20 }));
        assert_eq!(config.sweep.unwrap().lrs, [0.001, 0.0001]);
    }

    #[test]
    fn one_key_of_a_kind_can_be_set_alone() {
        let mlp = |hidden: &[usize]| ModelConfig::Mlp {
            hidden: hidden.to_vec(),
        };
        for (key, expected) in [
            ("model.hidden=[64]", mlp(&[64])),
            ("model.hidden=[]", mlp(&[])),
            ("model.kind=mlp", mlp(&[300; 4])),
        ] {
            assert_eq!(resolve(&[key]).unwrap().model, Some(expected), "{key}");
        }
        let depth = resolve(&["data.dataset=svhn", "model.depth=32"]).unwrap();
        assert_eq!(depth.model, Some(ModelConfig::ResNet { depth: 32 }));
        let adam = resolve(&["train.optimizer.beta1=0.8"]).unwrap().train;
        let OptimSpec::Adam { beta1, beta2, .. } = adam.optimizer else {
            panic!("{adam:?}");
        };
        assert_eq!((beta1, beta2), (0.8, 0.999));
        let sgd = resolve(&["train.optimizer.momentum=0.8"]).unwrap().train;
        assert_eq!(sgd.optimizer, OptimSpec::Sgd { momentum: 0.8 });
        let error = resolve(&["train.optimizer.beta9=1"]).unwrap_err();
        assert!(format!("{error:#}").contains("beta9"), "{error:#}");
    }

    #[test]
    fn faults_name_the_key_and_what_is_allowed() {
        for (fault, told) in [
            ("train.epoch=3", "unknown field `epoch`"),
            ("method=csmpu", "csmpu-abs"),
            ("train.epochs=0", "train.epochs is 0"),
            ("loss.gamma=-1", "gamma is -1"),
            ("data.dataset=minst", "mnist"),
            ("data.classes=1", "at least 2"),
            ("model={kind=\"resnet\", depth=20}", "are vectors"),
            ("epochs", "KEY=VALUE"),
            ("sweep.lrs=[0.1]", "validation-share"),
        ] {
            let error = format!("{:#}", resolve(&[fault]).unwrap_err());
            assert!(error.contains(told), "{fault}: {error}");
        }
    }
}
