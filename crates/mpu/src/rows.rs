//! A table of the user's own, made into a problem to train on.

mod complete;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use mpu_data::source::content::sha256;
use mpu_data::split::Scenario;
use mpu_data::split::draw::hold_out;
use mpu_data::table::{DataCheck, MpuTable, TableInput, read_held_out};
use mpu_data::{ClassCount, Features, MpuLabel, Priors, Scaler, Seed, Stream};
use mpu_eval::TrainingRange;
use mpu_models::forest::ForestSpec;
use mpu_models::{ModelSpec, Module};
use mpu_prior::{EstimateOptions, EstimatorKind, Margins, PriorReport};
use mpu_report::Record;
use mpu_train::{Judged, Problem, Sample};

use crate::config::{ModelConfig, RunConfig, overridden, read_table as read_config};
use crate::ensemble::{Ground, Student, Teacher, spec_for};
use crate::error::{Context as _, Result, bail, ensure};
use crate::explain::KeptRows;
use crate::label_selection::Subgrouped;
use crate::prepared::{DataFacts, Grown, NEGATIVE, Prepared, Watcher};
use crate::prior_estimate::{detector_margins, estimate_priors, priors_from_margins};
use crate::table_data::{TableData, TablePriors};

pub(crate) use complete::Given;
pub use complete::{DROPOUT, MIN_STEPS, warm_up_epochs};

/// The configuration of a run on the user's own rows.
pub type TableConfig = RunConfig<TableData>;

/// The fewest labelled rows of a class: some train, some are held out, some are scored out of fold.
const FEWEST: usize = 6;

/// The most rows that a network is trained on where a forest sees all of them.
const NETWORK_ROWS: usize = 32_768;
/// As many labelled rows of a class are kept for it at the least.
const NETWORK_LABELED: usize = 1000;
/// The most rows that are held out beside a forest, which sees all of them in the end.
const HELD_ROWS: usize = 16_384;
/// As many labelled rows of a class are held out at the least, if the share of it gives them.
const HELD_LABELED: usize = 200;

/// The user's rows, and the configuration with every default that depends on them.
pub struct TableRows<'a> {
    /// The rows.
    pub table: Cow<'a, MpuTable>,
    /// How they are trained on.
    pub config: TableConfig,
    /// How to build the network, if it is one of the user's own.
    pub module: Option<Module>,
}

impl TableRows<'static> {
    /// Reads the table of a configuration and fills in what is not given.
    pub fn read(file: Option<&Path>, overrides: &[String]) -> Result<Self> {
        let mut config = TableConfig::read(file, overrides)?;
        ensure!(
            !config.data.file.as_os_str().is_empty(),
            "data.file is missing: name the table or the folder of images with --data"
        );
        config.data.absolute()?;
        let table = config.data.read()?;
        let given = Given::of(&overridden(read_config(file)?.0, overrides)?);
        TableRows::new(Cow::Owned(table), config, given)
    }
}

impl<'a> TableRows<'a> {
    /// Takes rows as they are and fills in what is not given.
    pub(crate) fn new(
        table: Cow<'a, MpuTable>,
        mut config: TableConfig,
        given: Given,
    ) -> Result<Self> {
        let place = if config.data.file.as_os_str().is_empty() {
            "the table".into()
        } else {
            config.data.file.display().to_string()
        };
        for class in &table.check.classes {
            let found = class.labeled;
            ensure!(
                found >= FEWEST as u64,
                "{place}: class `{}` has {found} labelled rows: at least {FEWEST} are needed\nhint: label more rows of it, or take it out of the file: its rows are then found as part of the pool",
                class.name
            );
        }
        ensure!(
            table.check.unlabeled >= 20,
            "{place}: {} unlabelled rows: at least 20 are needed\nhint: leave the label of more rows blank, or give the pool as a file of its own with --unlabeled",
            table.check.unlabeled
        );
        let columns = &table.check.columns;
        ensure!(
            columns.is_empty() || columns.iter().any(|column| !column.constant),
            "{place}: every column is constant: no row can be told from another\nhint: check the separator and which columns are left out"
        );
        config.complete(&table, given)?;
        Ok(Self {
            table,
            config,
            module: None,
        })
    }

    /// Names of the observed classes, then of the negative one.
    pub fn class_names(&self) -> Vec<String> {
        let mut names = self.table.class_names.clone();
        names.push(NEGATIVE.to_owned());
        names
    }

    /// The problem: rows held out, features scaled, priors estimated if they are not given.
    ///
    /// Of many rows the features are most of the memory. If they belong to nobody else, they are let go of as soon as
    /// bins are made of them.
    pub fn prepare(mut self, observer: &mut impl Watcher) -> Result<Prepared> {
        let _span = tracing::info_span!("prepare").entered();
        let classes = self.table.classes()?;
        let names = self.class_names();
        let costs = self.config.cost_matrix(&names)?;
        let (mut train, held) = self.draw()?;
        let seed = Seed(self.config.seed);
        if self.has_forest() {
            train = self.fewer(train)?;
        }
        let (train_sample, scaler, range) = self.scaled(&train)?;
        let mut held_sample = self.filled(&held);
        scaler.apply(&mut held_sample.features)?;
        let kept = KeptRows::of(&self.table, &train, &held, seed)?;
        let labels = &self.table.labels;
        let mut pool = train.clone();
        pool.retain(|&row| labels[row] == MpuLabel::Unlabeled);
        let (shape, spec) = (self.table.features.shape(), self.forest());
        let growing = Instant::now();
        let ground = self.has_forest().then(|| self.ground(labels, classes));
        let ground = ground.transpose()?;
        if let Cow::Owned(table) = &mut self.table {
            table.features = Features::new(Vec::new(), shape)?;
            (table.labels, table.ids) = (Vec::new(), None);
        }
        let (table, config) = (&self.table, &self.config);
        let teacher = ground.map(|ground| Teacher::fit(ground, spec, seed, observer));
        let teacher = teacher.transpose()?;
        let mut seconds = growing.elapsed().as_secs_f64();
        let (priors, estimated) = self.priors(teacher.as_ref(), &train_sample, observer)?;
        let mut problem = Problem::new(classes, train_sample)?.with_validation(held_sample)?;
        let mut grown = None;
        if let Some(teacher) = teacher {
            let growing = Instant::now();
            let mut possible = vec![priors.clone()];
            if estimated.is_some() {
                possible.push(mpu_prior::few_rows::lower(&priors)?);
            }
            let mut student = Student::fit(teacher, &held, &possible, spec, seed, observer)?;
            seconds += growing.elapsed().as_secs_f64();
            let (lessons, k) = (std::mem::take(&mut student.lessons), classes.get());
            let lessons = pool.iter().flat_map(|&row| &lessons[row * k..][..k]);
            problem = problem.with_targets(lessons.copied().collect())?;
            grown = Some(Grown {
                student,
                held: held.clone(),
                seconds,
            });
        }
        let test = self.test()?;
        if let Some(test) = &test {
            let mut scaled = test.clone();
            table.schema.fill(scaled.features.values_mut());
            scaler.apply(&mut scaled.features)?;
            problem = problem.with_test(scaled)?;
        }
        let check = self.checked();
        let scenario = check.sampling.scenario().unwrap_or_default();
        let labeled: Vec<u64> = check.classes.iter().map(|class| class.labeled).collect();
        let population = match scenario {
            Scenario::CaseControl => None,
            Scenario::SingleSample => Some(priors.of_population(&labeled, check.unlabeled)?),
        };
        let digest: Vec<String> = held.iter().map(usize::to_string).collect();
        Ok(Prepared {
            model: self.network(classes)?,
            module: self.module.clone(),
            grown,
            kept,
            costs,
            facts: DataFacts {
                dataset: config.data.name(),
                protocol: Record::TABLE,
                prior: priors.negative(),
                class_names: names,
                split_digest: sha256(digest.join(" ").as_bytes()),
                mark: None,
                schema: Some(table.schema.clone()),
                check: Some(check),
                range: Some(range),
                estimated,
                scenario,
                population,
            },
            problem,
            scaler,
            test,
            priors,
            true_priors: None,
        })
    }

    /// The priors that the user gives, or an estimate with its report.
    fn priors(
        &self,
        teacher: Option<&Teacher>,
        train: &Sample,
        observer: &mut impl Watcher,
    ) -> Result<(Priors, Option<PriorReport>)> {
        let seed = Seed(self.config.seed);
        if let TablePriors::Given(given) = &self.config.data.priors {
            return Ok((self.given_priors(given)?, None));
        }
        let report = match teacher {
            Some(teacher) => {
                let (margins, options) = (teacher.margins()?, EstimateOptions::default());
                priors_from_margins(&margins, self.estimator(), &options, seed)
            }
            None => estimate_priors(train, self.table.classes()?, seed, observer),
        };
        let report = report.map_err(|error| error.naming(&self.table.class_names))?;
        Ok((report.priors()?, Some(report)))
    }

    /// The network to be trained, if there is one.
    fn network(&self, classes: ClassCount) -> Result<Option<ModelSpec>> {
        let (shape, k) = (self.table.features.shape(), classes.get());
        Ok(match (&self.config.model, &self.module) {
            (Some(ModelConfig::Forest { .. }), _) => None,
            (_, Some(module)) => Some(module.spec(shape, k)?),
            (_, None) => Some(self.config.architecture(shape, k)?),
        })
    }

    /// All rows, scaled: for estimates that hold rows out by themselves.
    fn all(&self) -> Result<Sample> {
        let rows: Vec<usize> = (0..self.table.labels.len()).collect();
        Ok(self.scaled(&rows)?.0)
    }

    /// Rows without missing values, not scaled.
    fn filled(&self, rows: &[usize]) -> Sample {
        let mut features = self.table.features.select(rows);
        self.table.schema.fill(features.values_mut());
        let labels = rows.iter().map(|&row| self.table.labels[row]).collect();
        Sample { features, labels }
    }

    /// Rows without missing values, scaled by themselves; by what, and their range before.
    fn scaled(&self, rows: &[usize]) -> Result<(Sample, Scaler, TrainingRange)> {
        let mut sample = self.filled(rows);
        let range = TrainingRange::new(&sample.features)?;
        let scaling = self.config.data.scaling.unwrap_or_default();
        let all: Vec<usize> = (0..rows.len()).collect();
        let scaler = scaling.fit(&sample.features, &all)?;
        scaler.apply(&mut sample.features)?;
        Ok((sample, scaler, range))
    }

    /// The rows with true labels, as they are.
    fn test(&self) -> Result<Option<Judged>> {
        let Some(test) = &self.config.data.test else {
            return Ok(None);
        };
        let (schema, names) = (&self.table.schema, &self.table.class_names);
        let options = self.config.data.encoding();
        let judged = read_held_out(TableInput::file(test), schema, names, &options)?;
        Ok(Some(Judged {
            features: judged.features,
            classes: judged.classes,
        }))
    }

    /// Whether a forest is grown.
    fn has_forest(&self) -> bool {
        matches!(
            self.config.model,
            Some(ModelConfig::Auto { .. } | ModelConfig::Forest { .. })
        )
    }

    /// The table's rows as forests take them.
    fn ground(&self, labels: &[MpuLabel], classes: ClassCount) -> Result<Ground> {
        Ground::new(&self.table.schema, &self.table.features, labels, classes)
    }

    /// The forest that tells groups of the table's rows apart.
    fn teacher(
        &self,
        labels: &[MpuLabel],
        classes: ClassCount,
        observer: &mut impl Watcher,
    ) -> Result<Teacher> {
        let ground = self.ground(labels, classes)?;
        Teacher::fit(ground, self.forest(), Seed(self.config.seed), observer)
    }

    /// How forests are grown.
    fn forest(&self) -> ForestSpec {
        let spec = spec_for(self.table.labels.len());
        match &self.config.model {
            Some(ModelConfig::Forest { trees: Some(trees) }) => ForestSpec {
                trees: *trees,
                ..spec
            },
            _ => spec,
        }
    }

    /// The estimator of priors that suits how the rows were labelled.
    fn estimator(&self) -> EstimatorKind {
        match self.checked().sampling.scenario().unwrap_or_default() {
            Scenario::SingleSample => EstimatorKind::SharedRate,
            Scenario::CaseControl => EstimatorKind::LabelingRate,
        }
    }

    /// What was understood of the table, with the scenario that the user gave.
    fn checked(&self) -> DataCheck {
        let mut check = self.table.check.clone();
        self.config.data.scenario.apply(&mut check);
        check
    }

    /// What `train` estimates priors from, and by which estimator: margins of all rows by trees that have not seen
    /// them, or else of the rows that a network is trained on by networks that have not seen them.
    pub fn margins(&self, observer: &mut impl Watcher) -> Result<(Margins, EstimatorKind)> {
        let classes = self.table.classes()?;
        if self.has_forest() {
            let teacher = self.teacher(&self.table.labels, classes, observer)?;
            return Ok((teacher.margins()?, self.estimator()));
        }
        let (train, _) = self.draw()?;
        let (sample, ..) = self.scaled(&train)?;
        let margins = detector_margins(&sample, classes, Seed(self.config.seed), observer)?;
        Ok((margins, EstimatorKind::default()))
    }

    /// The table with its observed classes in sub-groups, with margins of the same make.
    pub fn subgrouped(&self, observer: &mut impl Watcher) -> Result<Subgrouped> {
        let (sample, seed) = (self.all()?, Seed(self.config.seed));
        let classes = self.table.classes()?;
        if self.has_forest() {
            let margins =
                |labels: &[MpuLabel], groups| self.teacher(labels, groups, observer)?.margins();
            return Subgrouped::by(&sample, classes, seed, margins);
        }
        Subgrouped::of(&sample, classes, seed, observer)
    }

    /// As many of the rows as a network beside a forest needs: all, or a share of every group.
    fn fewer(&self, rows: Vec<usize>) -> Result<Vec<usize>> {
        if rows.len() <= NETWORK_ROWS {
            return Ok(rows);
        }
        let labels: Vec<MpuLabel> = rows.iter().map(|&row| self.table.labels[row]).collect();
        let groups = self.table.classes()?.rows_by_group(&labels)?;
        let share = NETWORK_ROWS as f64 / rows.len() as f64;
        let kept = |n: usize| ((share * n as f64).round() as usize).max(n.min(NETWORK_LABELED));
        let mut rng = Seed(self.config.data.split_seed).stream_at(Stream::Split, 2);
        let (_, kept) = hold_out(groups, kept, &mut rng);
        let mut kept: Vec<usize> = kept.concat().iter().map(|&place| rows[place]).collect();
        kept.sort_unstable();
        Ok(kept)
    }

    /// Rows to train on and rows held out, both in order: a share of every group, at least two of a
    /// class.
    fn draw(&self) -> Result<(Vec<usize>, Vec<usize>)> {
        let groups = self.table.classes()?.rows_by_group(&self.table.labels)?;
        let share = self.config.data.validation_share;
        let most = if self.has_forest() {
            (HELD_ROWS as f64 / self.table.labels.len() as f64).min(share)
        } else {
            share
        };
        let part = |share: f64, n: usize| (share * n as f64).round() as usize;
        let n_held = |n: usize| {
            let enough = part(share, n).min(HELD_LABELED);
            part(most, n).max(enough).clamp(2, n - 1)
        };
        let mut rng = Seed(self.config.data.split_seed).stream(Stream::Split);
        let (train, held) = hold_out(groups, n_held, &mut rng);
        let (mut train, mut held) = (train.concat(), held.concat());
        train.sort_unstable();
        held.sort_unstable();
        Ok((train, held))
    }

    /// The user's priors, in the order of classes.
    fn given_priors(&self, given: &BTreeMap<String, f64>) -> Result<Priors> {
        let names = &self.table.class_names;
        if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
            bail!(
                "data.priors names `{unknown}`, which is not a class of the data; the classes are {}",
                names.join(", ")
            );
        }
        let of = |name: &String| {
            given.get(name).copied().with_context(|| {
                format!(
                    "data.priors has no share for class `{name}`\nhint: --priors {name}=0.1 for 10 % of the pool; 0 if it is not in the pool"
                )
            })
        };
        let observed = names.iter().map(of).collect::<Result<Vec<f64>>>()?;
        let priors = Priors::from_observed(&observed).context("data.priors");
        priors.map_err(|error| error.naming(names))
    }
}
