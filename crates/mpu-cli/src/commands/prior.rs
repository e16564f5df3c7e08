//! `mpu-cli prior`: class priors with bounds, intervals and warnings, by one estimator or by all.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use mpu_data::{ClassCount, Seed};
use mpu_prior::{
    BootstrapOptions, ClassReport, EstimateOptions, EstimatorKind, Group, Margins, PriorReport,
    Rows,
};
use mpu_report::figures::PriorEstimates;
use mpu_report::{Align, Format, Table};
use mpu_train::Sample;
use serde::Serialize;

use crate::args::priors::{By, Prior};
use crate::commands::{Answer, benchmark};
use crate::console::Detectors;
use mpu::RunConfig;
use mpu::files;
use mpu::{Subgrouped, TableRows, prior_chart, prior_interval, prior_warnings};

/// What the command found, as it is written in JSON.
#[derive(Serialize)]
struct Found {
    classes: Vec<String>,
    /// The pool's own priors, where they are known.
    truth: Option<Vec<f64>>,
    estimates: Vec<PriorReport>,
    /// What a reader must know.
    warnings: Vec<String>,
    /// Whether labelled rows are a random draw of their class, if estimates are by clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    selection: Vec<String>,
}

pub(crate) fn run(args: &Prior) -> anyhow::Result<Answer> {
    let options = EstimateOptions {
        bootstrap: BootstrapOptions {
            replicates: args.replicates,
            delta: args.delta,
            ..BootstrapOptions::default()
        },
        ..EstimateOptions::default()
    };
    let seed = Seed(args.source.seed);
    let found = match (&args.scores, args.by) {
        (Some(path), _) => {
            let (margins, classes) = read_scores(path)?;
            if let Some(path) = &args.write_scores {
                write_scores(path, &margins, &classes)?;
            }
            // Margins of unknown make are no log odds: they are taken as they are.
            let estimate = |kind: EstimatorKind| {
                mpu_prior::estimate(&margins, kind.build().as_ref(), &options, seed)
                    .with_context(|| format!("the estimator {kind}"))
            };
            let kinds = args.estimator.kinds(EstimatorKind::default());
            by_classes(&kinds, classes, None, estimate)?
        }
        (None, By::Classes) => {
            let rows = rows(args)?;
            let mut detectors = Detectors::new()?;
            let (margins, auto) = rows.margins(&mut detectors)?;
            if let Some(path) = &args.write_scores {
                write_scores(path, &margins, &rows.classes)?;
            }
            let names = rows.classes.clone();
            let estimate = |kind| {
                let found = mpu::priors_from_margins(&margins, kind, &options, rows.seed);
                Ok(found.map_err(|error| error.naming(&names))?)
            };
            let kinds = args.estimator.kinds(auto);
            by_classes(&kinds, rows.classes, rows.truth, estimate)?
        }
        (None, By::Clusters) => by_clusters(args, rows(args)?, &options)?,
    };
    if let Some(path) = &args.plot {
        let svg = found.chart(args.delta).figure("Class priors").to_svg();
        files::write_atomic(path, svg.as_bytes())?;
    }
    let text = match args.report.format {
        Format::Json => serde_json::to_string_pretty(&found)? + "\n",
        format => found.describe(format)?,
    };
    Ok(Answer::good(text))
}

fn by_classes(
    kinds: &[EstimatorKind],
    classes: Vec<String>,
    truth: Option<Vec<f64>>,
    estimate: impl Fn(EstimatorKind) -> anyhow::Result<PriorReport>,
) -> anyhow::Result<Found> {
    let estimates = kinds.iter().map(|&kind| {
        tracing::info!("estimating by {kind}");
        estimate(kind)
    });
    let estimates = estimates.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Found {
        warnings: prior_warnings(&estimates, &classes),
        classes,
        truth,
        estimates,
        selection: Vec::new(),
    })
}

/// Estimates by sub-groups; what these say about the choice of labelled rows goes by the first estimator.
fn by_clusters(args: &Prior, rows: Source, options: &EstimateOptions) -> anyhow::Result<Found> {
    let mut detectors = Detectors::new()?;
    let split = rows.subgrouped(&mut detectors)?;
    let (mut estimates, mut selection) = (Vec::new(), Vec::new());
    // Sub-groups are labelled at rates of their own, so no estimator may take rates to be alike.
    for kind in args.estimator.kinds(EstimatorKind::default()) {
        tracing::info!("estimating by {kind}");
        let report = split.estimate(kind, options, rows.seed)?;
        if selection.is_empty() {
            selection = split.sentences(&report, &rows.classes, &rows.features);
        }
        estimates.push(report.priors);
    }
    Ok(Found {
        warnings: prior_warnings(&estimates, &rows.classes),
        classes: rows.classes,
        truth: rows.truth,
        estimates,
        selection,
    })
}

/// Where rows come from.
enum Origin {
    Table(Box<TableRows<'static>>),
    Benchmark(Sample, ClassCount),
}

/// Rows whose priors are asked for.
struct Source {
    origin: Origin,
    /// Names of the observed classes and of the features.
    classes: Vec<String>,
    features: Vec<String>,
    /// The pool's true priors, where they are known.
    truth: Option<Vec<f64>>,
    seed: Seed,
}

impl Source {
    /// Margins of the rows, and the estimator that suits them.
    fn margins(&self, detectors: &mut Detectors) -> mpu::Result<(Margins, EstimatorKind)> {
        match &self.origin {
            Origin::Table(rows) => rows.margins(detectors),
            Origin::Benchmark(sample, count) => {
                let margins = mpu::detector_margins(sample, *count, self.seed, detectors)?;
                Ok((margins, EstimatorKind::default()))
            }
        }
    }

    /// The rows in sub-groups.
    fn subgrouped(&self, detectors: &mut Detectors) -> mpu::Result<Subgrouped> {
        match &self.origin {
            Origin::Table(rows) => rows.subgrouped(detectors),
            Origin::Benchmark(sample, count) => {
                Subgrouped::of(sample, *count, self.seed, detectors)
            }
        }
    }
}

fn rows(args: &Prior) -> anyhow::Result<Source> {
    let (overrides, seed) = (args.source.overrides(), Seed(args.source.seed));
    if args.source.data.is_some() {
        let rows = TableRows::read(None, &overrides)?;
        return Ok(Source {
            classes: rows.table.class_names.clone(),
            features: rows.table.schema.feature_names(),
            truth: None,
            seed,
            origin: Origin::Table(Box::new(rows)),
        });
    }
    let config = RunConfig::resolve(None, &overrides)?;
    let prepared = benchmark(&config, &args.source.place, &mut Detectors::new()?)?;
    let sample = prepared.problem.train().clone();
    let mut classes = prepared.facts.class_names;
    classes.pop();
    let features = 0..sample.features.shape().len();
    let truth = prepared.true_priors;
    Ok(Source {
        origin: Origin::Benchmark(sample, prepared.problem.classes()),
        classes,
        features: features.map(|at| format!("feature {at}")).collect(),
        truth: truth.map(|priors| priors.observed().to_vec()),
        seed,
    })
}

impl Found {
    fn describe(&self, format: Format) -> anyhow::Result<String> {
        let table = match self.estimates.as_slice() {
            [report] => self.one(report, format),
            _ => self.side_by_side(),
        };
        let mut text = mpu_report::render(format, &table, self)?;
        if format == Format::Table {
            for report in &self.estimates {
                let observed: f64 = report.classes.iter().map(|class| class.estimate).sum();
                let _ = writeln!(
                    text,
                    "{}: what is left for the negative class is {:.3}",
                    report.estimator,
                    1.0 - observed
                );
            }
            for line in &self.selection {
                let _ = writeln!(text, "{line}");
            }
            for warning in &self.warnings {
                let _ = writeln!(text, "warning: {warning}");
            }
        }
        Ok(text)
    }

    fn one(&self, report: &PriorReport, format: Format) -> Table {
        let plain = format != Format::Table;
        let mut columns = "class | lower if few others are accepted: | upper: | estimate: | \
                           interval: | detectable"
            .to_owned();
        if self.truth.is_some() {
            columns += " | true:";
        }
        let most = report.classes.iter().map(|c| c.interval.high);
        let most = most.chain(self.truth.iter().flatten().copied());
        let most = most.fold(0.05, f64::max);
        if !plain {
            let _ = write!(columns, " | 0 to {most:.2}");
        }
        let mut table = Table::with(&columns);
        for (class, name) in report.classes.iter().zip(&self.classes) {
            let truth = self.truth.as_ref().map(|truth| truth[class.class]);
            let mut row = vec![
                name.clone(),
                format!("{:.3}", class.lower_if_acceptance_below_alpha),
                format!("{:.3}", class.upper),
                format!("{:.3}", class.estimate),
                prior_interval(class),
                if class.detectable { "yes" } else { "no" }.to_owned(),
            ];
            row.extend(truth.map(|truth| format!("{truth:.3}")));
            row.extend((!plain).then(|| drawn(class, truth, most)));
            table.push(row);
        }
        table
    }

    fn side_by_side(&self) -> Table {
        let truth = self.truth.iter().map(|_| "true".to_owned());
        let names = self.estimates.iter().map(|r| r.estimator.to_string());
        let right = truth.chain(names).map(|name| (name, Align::Right));
        let left = [("class".to_owned(), Align::Left)];
        let mut table = Table::new(left.into_iter().chain(right));
        for (index, name) in self.classes.iter().enumerate() {
            let mut row = vec![name.clone()];
            row.extend(self.truth.as_ref().map(|t| format!("{:.3}", t[index])));
            for report in &self.estimates {
                let class = &report.classes[index];
                row.push(format!("{:.3} {}", class.estimate, prior_interval(class)));
            }
            table.push(row);
        }
        table
    }

    fn chart(&self, delta: f64) -> PriorEstimates {
        let Some(first) = self.estimates.first() else {
            return PriorEstimates::default();
        };
        prior_chart(
            &self.estimates.iter().collect::<Vec<_>>(),
            &self.classes,
            first,
            self.truth.as_deref(),
            None,
            1.0 - delta,
        )
    }
}

/// The interval as a line of text: `[--o--]`, with `x` for the truth.
fn drawn(class: &ClassReport, truth: Option<f64>, most: f64) -> String {
    const WIDTH: usize = 40;
    let place = |value: f64| ((value / most * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1);
    let mut line = vec![' '; WIDTH];
    let (low, high) = (place(class.interval.low), place(class.interval.high));
    line[low..=high].fill('-');
    line[low] = '[';
    line[high] = ']';
    line[place(class.estimate)] = 'o';
    if let Some(truth) = truth {
        line[place(truth)] = 'x';
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// Margins of the user's own detector.
fn read_scores(path: &Path) -> anyhow::Result<(Margins, Vec<String>)> {
    let name = path.display();
    let bytes = files::read(path)?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader.headers().with_context(|| format!("{name}"))?.clone();
    let label = header.iter().position(|column| column == "label");
    let label = label.with_context(|| {
        format!("{name} has no column `label`: it names the class of a labelled row and is blank for the pool")
    })?;
    let fold = header.iter().position(|column| column == "fold");
    let columns: Vec<usize> = (0..header.len())
        .filter(|column| *column != label && Some(*column) != fold)
        .collect();
    let classes: Vec<String> = columns.iter().map(|&at| header[at].to_owned()).collect();
    anyhow::ensure!(
        !classes.is_empty(),
        "{name} has no column of margins: it needs one for each class, named after the class"
    );
    let mut groups = vec![Rows::default(); classes.len() + 1];
    for row in reader.records() {
        let row = row.with_context(|| format!("{name}"))?;
        let line = row.position().map_or(0, csv::Position::line);
        let group = match &row[label] {
            "" => classes.len(),
            found => classes.iter().position(|class| class == found).with_context(|| {
                format!(
                    "{name}, line {line}: the label `{found}` is not a column of margins; these are {}",
                    classes.join(", ")
                )
            })?,
        };
        let fold = match fold.map(|at| &row[at]) {
            None => 0,
            Some(text) => text.trim().parse().map_err(|_| {
                anyhow::anyhow!("{name}, line {line}: the fold `{text}` is not a whole number")
            })?,
        };
        groups[group].folds.push(fold);
        for &at in &columns {
            let value: Option<f64> = row[at].trim().parse().ok();
            let value = value.filter(|value| value.is_finite()).with_context(|| {
                format!(
                    "{name}, line {line}, column {}: `{}` is not a finite number",
                    &header[at], &row[at]
                )
            })?;
            groups[group].values.push(value);
        }
    }
    let pool = groups.pop().unwrap_or_default();
    let margins = Margins::new(groups, pool).with_context(|| format!("{name}"))?;
    Ok((margins, classes))
}

fn write_scores(path: &Path, margins: &Margins, classes: &[String]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["label".to_owned(), "fold".to_owned()];
    header.extend_from_slice(classes);
    writer.write_record(&header)?;
    for group in margins.all_groups() {
        let label = match group {
            Group::Class(class) => classes[class].as_str(),
            Group::Pool => "",
        };
        let rows = margins.rows(group);
        for (fold, values) in rows.folds.iter().zip(rows.values.chunks(classes.len())) {
            let mut record = vec![label.to_owned(), fold.to_string()];
            record.extend(values.iter().map(|value| format!("{value:.6}")));
            writer.write_record(&record)?;
        }
    }
    let bytes = writer.into_inner().context("writing margins")?;
    Ok(files::write_atomic(path, &bytes)?)
}
