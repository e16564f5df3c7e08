//! A plan: the list of runs that a sweep or an artefact needs, each with an id of its content.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use mpu_models::ModelSpec;

use mpu::RunConfig;
use mpu::files;

/// A run to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    /// The content hash of the resolved configuration: equal runs have equal ids.
    pub(crate) id: String,
    pub(crate) config: RunConfig,
}

impl Planned {
    pub(crate) fn new(config: RunConfig) -> anyhow::Result<Self> {
        let id = config.id()?;
        Ok(Self { id, config })
    }

    /// About how much arithmetic the run is, in units that a core of a few years ago does in a second.
    pub(crate) fn cost(&self) -> f64 {
        let data = &self.config.data;
        let card = data.dataset.card();
        let n_classes = card.n_classes() as f64;
        let share = (data.classes.get() as f64 / n_classes).min(1.0);
        let mut rows = card.n_rows() as f64 * share;
        if let Some(max) = data.max_rows.or(data.generated_rows) {
            rows = rows.min(2.0 * max as f64);
        }
        let per_row = match self.config.model_spec() {
            Ok(ModelSpec::Mlp(mlp)) => {
                let widths = [vec![mlp.inputs], mlp.hidden, vec![mlp.outputs]].concat();
                widths.windows(2).map(|w| 6.0 * (w[0] * w[1]) as f64).sum()
            }
            Ok(ModelSpec::ResNet(net)) => 8e4 * (net.height * net.width * (net.depth - 2)) as f64,
            Ok(ModelSpec::Module(_)) | Err(_) => 0.0,
        };
        let rates = self.config.sweep.as_ref().map_or(1, |s| s.lrs.len());
        rows * per_row * (self.config.train.epochs * rates) as f64 / 5e10 + 0.1
    }

    /// A name for people.
    pub(crate) fn name(&self) -> String {
        self.config.name()
    }
}

/// Runs without repetition, in the order given.
pub(crate) fn distinct(
    configs: impl IntoIterator<Item = RunConfig>,
) -> anyhow::Result<Vec<Planned>> {
    let mut seen = BTreeSet::new();
    let mut runs = Vec::new();
    for config in configs {
        let run = Planned::new(config)?;
        if seen.insert(run.id.clone()) {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// The runs of a file: a sweep in TOML, where lists multiply, or a list of configurations in JSON lines.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Planned>> {
    let text = files::read_text(path)?;
    let configs = if path.extension().is_some_and(|ending| ending == "jsonl") {
        let parse = |(index, line): (usize, &str)| {
            serde_json::from_str::<RunConfig>(line)
                .map_err(mpu::Error::from)
                .and_then(RunConfig::completed)
                .with_context(|| format!("{}, line {}", path.display(), index + 1))
        };
        let lines = text.lines().enumerate();
        lines.map(parse).collect::<anyhow::Result<Vec<_>>>()?
    } else {
        let table = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        let parse = |table: toml::Table| {
            let told = table.to_string();
            RunConfig::of_table(table)
                .with_context(|| format!("{}, the run\n{told}", path.display()))
        };
        let runs = expand(table).into_iter().map(parse);
        runs.collect::<anyhow::Result<_>>()?
    };
    anyhow::ensure!(!configs.is_empty(), "{}: no runs", path.display());
    distinct(configs)
}

/// Writes runs as JSON lines.
pub(crate) fn write(path: &Path, runs: &[Planned]) -> anyhow::Result<()> {
    let mut text = String::new();
    for run in runs {
        text += &serde_json::to_string(&run.config).context("writing a plan")?;
        text.push('\n');
    }
    Ok(files::write_atomic(path, text.as_bytes())?)
}

/// Keys whose value is a list by nature; a list of lists multiplies there.
const LISTS: [&str; 3] = ["hidden", "lrs", "prior-shift"];

/// Every combination of the values in lists. Later keys vary fastest.
fn expand(table: toml::Table) -> Vec<toml::Table> {
    let mut combinations = vec![toml::Table::new()];
    for (key, value) in table {
        let choices: Vec<toml::Value> = match value {
            toml::Value::Table(inner) => {
                expand(inner).into_iter().map(toml::Value::Table).collect()
            }
            toml::Value::Array(values)
                if !LISTS.contains(&key.as_str())
                    || values.iter().all(|v| matches!(v, toml::Value::Array(_))) =>
            {
                values
            }
            value => vec![value],
        };
        let mut more = Vec::with_capacity(combinations.len() * choices.len());
        for combination in &combinations {
            for choice in &choices {
                let mut table = combination.clone();
                table.insert(key.clone(), choice.clone());
                more.push(table);
            }
        }
        combinations = more;
    }
    combinations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> anyhow::Result<Vec<Planned>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn lists_multiply_and_natural_lists_do_not() {
        let runs = plan(
            "method = [\"csmpu-abs\", \"area\"]\nseed = [1, 2, 3]\n[data]\nprior = [0.2, 0.5]\n\
             [model]\nkind = \"mlp\"\nhidden = [8, 8]\n",
        );
        let runs = runs.unwrap();
        assert_eq!(runs.len(), 12);
        let ids: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids.len(), 12);
        let wide = plan("[model]\nkind = \"mlp\"\nhidden = [[8, 8], [4]]\n").unwrap();
        assert_eq!(wide.len(), 2);
    }

    #[test]
    fn an_id_is_of_the_content_alone() {
        let default = Planned::new(RunConfig::default().completed().unwrap()).unwrap();
        let again = plan("seed = 42\n[train]\ncheckpoint-every = 3\n").unwrap();
        assert_eq!(again[0].id, default.id);
        let other = plan("seed = 43\n").unwrap();
        assert_ne!(other[0].id, default.id);
        assert_eq!(plan("seed = [42, 42]\n").unwrap().len(), 1);
    }

    #[test]
    fn a_plan_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.jsonl");
        let runs = plan("seed = [1, 2]\nmethod = [\"area\", \"ure-ovr\"]\n").unwrap();
        write(&path, &runs).unwrap();
        assert_eq!(read(&path).unwrap(), runs);
    }

    #[test]
    fn faults_name_the_file_and_the_key() {
        let error = format!("{:#}", plan("methods = [\"area\"]\n").unwrap_err());
        assert!(
            error.contains("sweep.toml") && error.contains("methods"),
            "{error}"
        );
        let error = format!("{:#}", plan("method = []\n").unwrap_err());
        assert!(error.contains("no runs"), "{error}");
    }

    #[test]
    fn cost_grows_with_rows_epochs_and_rates() {
        let cost = |text: &str| plan(text).unwrap()[0].cost();
        let one = cost("[train]\nepochs = 10\n[data]\ndataset = \"usps\"\nclasses = 4\n");
        let two = cost("[train]\nepochs = 20\n[data]\ndataset = \"usps\"\nclasses = 4\n");
        assert!(two > 1.9 * one - 0.2);
        let all = cost("[train]\nepochs = 10\n[data]\ndataset = \"usps\"\nclasses = 8\n");
        assert!(all > one);
    }
}
