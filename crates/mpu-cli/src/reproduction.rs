//! What the paper's tables and figures need: the runs, and which stored records are theirs.

use mpu_data::{ClassCount, DatasetId, Scaling};
use mpu_loss::{Form, Loss, Surrogate};
use mpu_report::artefact::{rates, rivals};
use mpu_report::{Record, paper};
use mpu_risk::{Correction, Objective};
use mpu_train::{Batching, Method, Pulse, Schedule, Selection, SelfTraining};

use crate::args::runs::{Artefact, Rate, Reproduce, What};
use crate::misspecification;
use crate::plan::Planned;
use mpu::{BenchmarkData, DROPOUT, MIN_STEPS, RunConfig, SweepConfig, warm_up_epochs};

/// The paper's number of seeds and epochs.
const SEEDS: u64 = 5;
const EPOCHS: usize = 100;

/// The learning rates of the paper's sweep.
const RATES: [f64; 4] = [1e-3, 5e-4, 1e-5, 1e-6];

/// Epochs of `csmpu-st`, which needs no more; fewer where an epoch has many steps.
fn st_epochs(dataset: DatasetId) -> usize {
    match dataset {
        DatasetId::Usps | DatasetId::Semeion | DatasetId::Pendigits | DatasetId::Waveform1 => 80,
        DatasetId::Mnist
        | DatasetId::FashionMnist
        | DatasetId::Kmnist
        | DatasetId::Svhn
        | DatasetId::Cifar10 => 40,
    }
}

/// What is tried in place of all rows when it must be quick.
const QUICK_ROWS: usize = 1000;
/// The same for the residual network, which takes many times as long over a row.
const QUICK_COLOUR_ROWS: usize = 600;
const QUICK_EPOCHS: usize = 2;
/// Rows of a batch where there are few of them, and where the residual network has fewer epochs than in the paper: batches of 512
/// would make too few steps.
const SMALL_BATCH: usize = 64;

/// Whose scaling, rates, batches and epochs a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// The method's own: that of the paper, or of `csmpu-st`.
    Own,
    /// That of `csmpu-st`, for the limit that it is measured against.
    SelfTraining,
}

/// One place in the paper's experiments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) dataset: DatasetId,
    pub(crate) classes: ClassCount,
    pub(crate) prior: f64,
    pub(crate) method: Method,
    pub(crate) loss: Loss,
    pub(crate) recipe: Recipe,
}

/// How the runs of a reproduction are made, apart from their cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) rate: Rate,
    pub(crate) quick: bool,
}

impl Setting {
    /// What the flags say.
    pub(crate) fn of(args: &Reproduce) -> Self {
        Self {
            rate: args.lr,
            quick: args.quick,
        }
    }

    /// The run of a cell: the paper's settings, learning rates as in the authors' script.
    pub(crate) fn config(self, cell: &Cell, epochs: usize, seed: u64) -> anyhow::Result<RunConfig> {
        let mut config = RunConfig {
            method: cell.method,
            seed,
            loss: cell.loss,
            data: BenchmarkData {
                dataset: cell.dataset,
                classes: cell.classes,
                prior: cell.prior,
                split_seed: seed,
                max_rows: self.quick.then_some(match cell.dataset {
                    DatasetId::Svhn => QUICK_COLOUR_ROWS,
                    _ => QUICK_ROWS,
                }),
                ..BenchmarkData::default()
            },
            ..RunConfig::default()
        };
        config.train.epochs = epochs;
        let is_residual = matches!(cell.dataset, DatasetId::Svhn | DatasetId::Cifar10);
        config.train.lr = match cell.dataset {
            DatasetId::Usps | DatasetId::Kmnist => 1e-4,
            _ => 1e-3,
        };
        // One setting for every dataset, chosen on others: see docs/SELF_TRAINING.md.
        let has_one_setting = matches!(cell.method, Method::CsmpuSt | Method::Pulse)
            || cell.recipe == Recipe::SelfTraining;
        if has_one_setting {
            config.train.epochs = epochs.min(st_epochs(cell.dataset));
            config.train.lr = 1e-3;
            config.train.schedule = Schedule::Cosine;
            config.train.batching = Batching::Stratified;
            config.train.min_steps = MIN_STEPS;
            if !is_residual {
                config.train.dropout = DROPOUT;
            }
            let warm_up_epochs = warm_up_epochs(config.train.epochs);
            if cell.method == Method::CsmpuSt {
                config.train.self_training = Some(SelfTraining {
                    warm_up_epochs,
                    ..SelfTraining::default()
                });
            }
            if cell.method == Method::Pulse {
                config.train.pulse = Some(Pulse { warm_up_epochs });
            }
            // Inputs of one size: pixels are bytes in four sets, and something else in usps.
            config.data.scaling = Some(match cell.dataset {
                DatasetId::Mnist
                | DatasetId::FashionMnist
                | DatasetId::Kmnist
                | DatasetId::Svhn => Scaling::Div255,
                _ => Scaling::MinMax,
            });
        }
        if self.quick || is_residual && config.train.epochs < EPOCHS {
            config.train.batch_size = SMALL_BATCH;
        }
        if self.rate == Rate::Sweep && !has_one_setting {
            config.data.validation_share = 0.1;
            config.sweep = Some(SweepConfig {
                lrs: RATES.to_vec(),
                select: Selection::default(),
            });
        }
        Ok(config.completed()?)
    }

    /// Whether a stored record is a run of this reproduction, whatever its epochs and seed.
    pub(crate) fn owns(self, record: &Record) -> bool {
        let key = &record.key;
        let cell = |recipe| -> Option<Cell> {
            Some(Cell {
                dataset: key.dataset.parse().ok()?,
                classes: ClassCount::new(key.classes).ok()?,
                prior: key.prior,
                method: key.method.parse().ok()?,
                loss: loss(&key.surrogate, key.gamma, &key.form).ok()?,
                recipe,
            })
        };
        let is_run_of = |recipe| {
            cell(recipe)
                .and_then(|cell| self.config(&cell, key.epochs, key.seed).ok())
                .and_then(|config| Planned::new(config).ok())
                .is_some_and(|run| run.id == record.id)
        };
        let is_limit = key.method == Objective::Supervised.slug();
        is_run_of(Recipe::Own) || is_limit && is_run_of(Recipe::SelfTraining)
    }

    /// The same with rates that are chosen on held-out rows.
    pub(crate) fn swept(self) -> Self {
        Self {
            rate: Rate::Sweep,
            ..self
        }
    }
}

/// Whether the user asked for a cell.
pub(crate) fn asked(args: &Reproduce, cell: &Cell) -> bool {
    (args.datasets.is_empty() || args.datasets.contains(&cell.dataset))
        && (args.methods.is_empty() || args.methods.contains(&cell.method))
}

/// How many seeds, 1 being the first.
pub(crate) fn seeds(args: &Reproduce) -> u64 {
    args.seeds.unwrap_or(if args.quick { 1 } else { SEEDS })
}

/// How many epochs.
pub(crate) fn epochs(args: &Reproduce) -> usize {
    args.epochs
        .unwrap_or(if args.quick { QUICK_EPOCHS } else { EPOCHS })
}

/// Every run that the artefacts asked for need.
pub(crate) fn runs(args: &Reproduce) -> anyhow::Result<Vec<Planned>> {
    let (setting, seeds, epochs) = (Setting::of(args), seeds(args), epochs(args));
    let mut configs = Vec::new();
    let wanted = |cell: &&Cell| asked(args, cell);
    for artefact in artefacts(args) {
        let setting = match artefact {
            Artefact::Rates => setting.swept(),
            _ => setting,
        };
        for cell in cells(artefact, args.quick)?.iter().filter(wanted) {
            for seed in 1..=seeds {
                configs.push(setting.config(cell, epochs, seed)?);
            }
        }
    }
    // Runs on the same rows stand together, so that the rows are read once.
    let mut runs = crate::plan::distinct(configs)?;
    runs.sort_by_key(|run| (run.config.data.dataset, run.config.data.split_seed));
    Ok(runs)
}

/// The artefacts that are asked for.
pub(crate) fn artefacts(args: &Reproduce) -> Vec<Artefact> {
    use Artefact as A;
    let tables = [
        A::Table1,
        A::Table2,
        A::Table3,
        A::Losses,
        A::MacroF1,
        A::Rivals,
        A::Rates,
    ];
    let figures = [A::Figure1, A::Figure2, A::Figure3, A::Figure4];
    let all: Vec<Artefact> = match args.what {
        What::Tables => tables.to_vec(),
        What::Figures => figures.to_vec(),
        What::All => tables.into_iter().chain(figures).collect(),
    };
    let chosen = |artefact: &Artefact| args.only.is_empty() || args.only.contains(artefact);
    all.into_iter().filter(chosen).collect()
}

/// The cells of an artefact.
fn cells(artefact: Artefact, quick: bool) -> anyhow::Result<Vec<Cell>> {
    let cell = |dataset, k: usize, prior, method| -> anyhow::Result<Cell> {
        Ok(Cell {
            dataset,
            classes: ClassCount::new(k)?,
            prior,
            method,
            loss: Loss::default(),
            recipe: Recipe::Own,
        })
    };
    let ours = Method::Single(Objective::Csmpu(Correction::Abs));
    match artefact {
        Artefact::Table1 => table(1, quick),
        Artefact::Table2 => table(2, quick),
        Artefact::Table3 => table(3, quick),
        Artefact::Losses => paper::loss_variants()?
            .iter()
            .map(|row| {
                let mut cell = cell(DatasetId::FashionMnist, 4, 0.5, ours)?;
                cell.loss = loss(&row.loss, row.gamma, &row.form)?;
                Ok(cell)
            })
            .collect(),
        Artefact::MacroF1 => [Objective::Area.into(), Objective::UreOvr.into(), ours]
            .map(|method| cell(DatasetId::FashionMnist, 4, 0.8, method))
            .into_iter()
            .collect(),
        // What is new there is not what --quick is for.
        Artefact::Rivals | Artefact::Rates if quick => Ok(Vec::new()),
        Artefact::Rivals => {
            let mut cells = Vec::new();
            for (dataset, k, prior) in paper_rows()? {
                if rivals::has(&dataset, k) {
                    for method in rivals::METHODS {
                        cells.push(cell(dataset.parse()?, k, prior, method.parse()?)?);
                    }
                }
            }
            Ok(cells)
        }
        Artefact::Rates => paper::accuracy_cells()?
            .iter()
            .filter(|c| rates::has(&c.dataset, c.k, c.pi_k, &c.method))
            .map(|c| cell(c.dataset.parse()?, c.k, c.pi_k, c.method.parse()?))
            .collect(),
        Artefact::Figure1 => [DatasetId::Mnist, DatasetId::FashionMnist, DatasetId::Kmnist]
            .map(|dataset| cell(dataset, 4, 0.2, ours))
            .into_iter()
            .collect(),
        Artefact::Figure2 => {
            let mut cells = Vec::new();
            for k in [4, 6, 8] {
                for prior in paper::PRIORS {
                    cells.push(cell(DatasetId::Mnist, k, prior, ours)?);
                }
            }
            Ok(cells)
        }
        // The runs with the true priors; those with wrong ones follow from them.
        Artefact::Figure3 => misspecification::CLASSES
            .map(|k| cell(misspecification::DATASET, k, misspecification::PRIOR, ours))
            .into_iter()
            .collect(),
        Artefact::Figure4 => Ok(vec![cell(DatasetId::Mnist, 4, 0.2, ours)?]),
    }
}

/// The cells of one of the tables I to III: the paper's methods and ours.
fn table(number: u8, quick: bool) -> anyhow::Result<Vec<Cell>> {
    let published = paper::accuracy_cells()?;
    let mut rows: Vec<(String, usize, f64)> = Vec::new();
    let mut methods: Vec<Method> = Vec::new();
    for cell in published.iter().filter(|cell| cell.table == number) {
        let row = (cell.dataset.clone(), cell.k, cell.pi_k);
        if !rows.contains(&row) {
            rows.push(row);
        }
        let method: Method = cell.method.parse()?;
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    let ours = Method::ALL.into_iter().filter(|method| {
        let Method::Single(objective) = method else {
            return *method == Method::CsmpuSt;
        };
        *objective == Objective::Supervised
            || !quick && matches!(objective, Objective::CsmpuExact(_) | Objective::CsmpuRef(_))
    });
    methods.extend(ours);
    let mut cells = Vec::new();
    for (dataset, k, prior) in &rows {
        for &method in &methods {
            let is_limit = method == Objective::Supervised.into();
            let cell = Cell {
                dataset: dataset.parse()?,
                classes: ClassCount::new(*k)?,
                prior: *prior,
                method,
                loss: Loss::default(),
                recipe: Recipe::Own,
            };
            cells.push(cell.clone());
            if is_limit && !quick {
                let recipe = Recipe::SelfTraining;
                cells.push(Cell { recipe, ..cell });
            }
        }
    }
    Ok(cells)
}

/// Dataset, number of classes and prior of every row of the tables I to III.
fn paper_rows() -> anyhow::Result<Vec<(String, usize, f64)>> {
    let mut rows = Vec::new();
    for cell in paper::accuracy_cells()? {
        let row = (cell.dataset, cell.k, cell.pi_k);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn loss(surrogate: &str, gamma: f64, form: &str) -> anyhow::Result<Loss> {
    let (surrogate, form): (Surrogate, Form) = (surrogate.parse()?, form.parse()?);
    Ok(Loss::new(surrogate, gamma, form)?)
}
