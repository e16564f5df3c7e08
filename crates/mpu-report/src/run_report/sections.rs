//! The sections of a report, one for each subject; several runs stand side by side in each.

use super::{Basis, Part, RunReport, ScoreKind, cite, findings, summary, tables};
use crate::chart::Figure;
use crate::figures::{
    Answers, PriorEstimates, PriorSensitivity, Reliability, RunCurves, Thresholds,
};
use crate::page::{Code, Folded, Section};
use crate::table::{Align, Table};

/// The runs and what they are called in the report.
pub(super) struct Runs<'a> {
    pub(super) runs: &'a [RunReport],
    pub(super) labels: Vec<String>,
}

impl<'a> Runs<'a> {
    fn new(runs: &'a [RunReport]) -> Self {
        let mut labels: Vec<String> = Vec::with_capacity(runs.len());
        for (index, run) in runs.iter().enumerate() {
            let name = match run.name.as_str() {
                "" => format!("run {}", index + 1),
                name => name.to_owned(),
            };
            // Two runs of one name are told apart by a number.
            let mut label = name.clone();
            for number in 2.. {
                if !labels.contains(&label) {
                    break;
                }
                label = format!("{name} ({number})");
            }
            labels.push(label);
        }
        Self { runs, labels }
    }

    pub(super) fn several(&self) -> bool {
        self.runs.len() > 1
    }

    /// The runs that have a part, with their names.
    pub(super) fn with<T>(
        &self,
        pick: impl Fn(&'a RunReport) -> &'a Part<T>,
    ) -> Vec<(&str, &'a T)> {
        let named = self.labels.iter().zip(self.runs);
        named
            .filter_map(|(label, run)| Some((label.as_str(), pick(run).given()?)))
            .collect()
    }

    /// A figure for each run that has a part, under the run's name if there are several.
    pub(super) fn figures<T>(
        &self,
        title: &str,
        parts: &[(&str, &T)],
        draw: impl Fn(&T, &str) -> Figure,
    ) -> Vec<String> {
        let caption = |name: &str| {
            if self.several() {
                name.to_owned()
            } else {
                title.to_owned()
            }
        };
        let figures = parts.iter().map(|(name, part)| draw(part, &caption(name)));
        let drawn = figures.filter(|figure| !figure.panels().is_empty());
        drawn.map(|figure| figure.to_html()).collect()
    }

    /// A section of figures under a title, one for each run that has the part, and the numbers behind them under
    /// another; none if no run has it.
    pub(super) fn drawn<T: 'a>(
        &'a self,
        section: Section,
        (title, numbers): (&str, &str),
        pick: impl Fn(&'a RunReport) -> &'a Part<T>,
        draw: impl Fn(&T, &str) -> Figure,
        table: impl Fn(bool, &[(&'a str, &'a T)]) -> Table,
    ) -> Option<Section> {
        let parts = self.with(pick);
        (!parts.is_empty()).then(|| Section {
            figures: self.figures(title, &parts, draw),
            folded: folded(numbers, table(self.several(), &parts)),
            ..section
        })
    }

    /// What is told of runs; what holds for all of them is said once.
    pub(super) fn told(&self, pick: impl Fn(&RunReport) -> &Vec<String>) -> Vec<String> {
        let mut told = Vec::new();
        for (label, run) in self.labels.iter().zip(self.runs) {
            for text in pick(run) {
                let general = self.runs.iter().all(|run| pick(run).contains(text));
                let text = if general {
                    text.clone()
                } else {
                    self.named(label, text)
                };
                if !told.contains(&text) {
                    told.push(text);
                }
            }
        }
        told
    }

    /// A text with the run's name before it if there are several.
    pub(super) fn named(&self, label: &str, text: &str) -> String {
        if self.several() {
            format!("{label}: {text}")
        } else {
            text.to_owned()
        }
    }
}

fn folded(caption: &str, table: Table) -> Vec<Folded> {
    if table.rows().is_empty() {
        return Vec::new();
    }
    let caption = caption.to_owned();
    vec![Folded { caption, table }]
}

/// The sections of a report about one run, or about several side by side: what was found first, how it was made last.
pub fn sections(runs: &[RunReport]) -> Vec<Section> {
    let runs = Runs::new(runs);
    let all = [
        findings::verdict(&runs),
        findings::expected(&runs),
        findings::scores(&runs, Basis::TrueLabels),
        findings::scores(&runs, Basis::PuRows),
        findings::histograms(&runs),
        findings::precision_recall(&runs),
        findings::importances(&runs),
        answers(&runs),
        calibration(&runs),
        thresholds(&runs),
        data_check(&runs),
        Some(details(&runs)),
        priors(&runs),
        sensitivity(&runs),
        curves(&runs),
        model(&runs),
        config(&runs),
        missing(&runs),
        Some(cite::section()),
    ];
    all.into_iter().flatten().collect()
}

/// How it was made, for readers who know the method.
fn details(runs: &Runs<'_>) -> Section {
    let mut section = Section {
        paragraphs: vec!["What follows is for those who know the method.".to_owned()],
        table: summary::facts(runs.runs, &runs.labels, |run| &run.facts),
        notes: runs.told(|run| &run.doubts),
        ..Section::new("details", "Details: how it was made")
    };
    for (caption, basis, kind) in [
        (
            "By hidden labels, which no method may see",
            Basis::HiddenLabels,
            ScoreKind::Share,
        ),
        (
            "Numbers measured with true labels",
            Basis::TrueLabels,
            ScoreKind::Number,
        ),
        (
            "Numbers estimated without true labels",
            Basis::PuRows,
            ScoreKind::Number,
        ),
    ] {
        let caption = caption.to_owned();
        let table = summary::table(runs.runs, &runs.labels, basis, kind);
        let table = table.map(|table| Folded { caption, table });
        section.captioned.extend(table);
    }
    section
}

fn curves(runs: &Runs<'_>) -> Option<Section> {
    let mut section = runs.drawn(
        Section::new("curves", "Details: every epoch of the network"),
        ("Every epoch", "First, last and extreme values"),
        |run| &run.curves,
        RunCurves::figure,
        tables::curves,
    )?;
    if runs.several() {
        let figure = RunCurves::compared("Every epoch of the runs", &runs.with(|run| &run.curves));
        section.figures = vec![figure.to_html()];
    }
    Some(section)
}

fn answers(runs: &Runs<'_>) -> Option<Section> {
    let parts = runs.with(|run| &run.answers);
    let tables = parts.iter().flat_map(|(name, answers)| {
        let caption = if runs.several() {
            format!("{name}: numbers of rows by true class and answer")
        } else {
            "Numbers of rows by true class and answer".to_owned()
        };
        folded(&caption, tables::answers(answers))
    });
    (!parts.is_empty()).then(|| Section {
        figures: runs.figures("True classes and answers", &parts, Answers::figure),
        folded: tables.collect(),
        ..Section::new("answers", "True classes and answers")
    })
}

fn calibration(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section::new("calibration", "Are the probabilities right?"),
        ("Predicted and observed", "Calibration errors by class"),
        |run| &run.reliability,
        Reliability::figure,
        tables::reliability,
    )
}

fn thresholds(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section::new("thresholds", "Leaving unsure rows unanswered"),
        ("Precision and recall", "Numbers by threshold"),
        |run| &run.thresholds,
        Thresholds::figure,
        tables::thresholds,
    )
}

fn priors(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section::new("priors", "Details: class shares (priors)"),
        (
            "Class shares of the unlabelled rows",
            "Class shares in numbers",
        ),
        |run| &run.priors,
        PriorEstimates::figure,
        tables::priors,
    )
}

fn sensitivity(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section::new("sensitivity", "Details: if the class shares were others"),
        ("What other class shares would give", "Numbers by change"),
        |run| &run.sensitivity,
        PriorSensitivity::figure,
        tables::sensitivity,
    )
}

fn data_check(runs: &Runs<'_>) -> Option<Section> {
    let parts = runs.with(|run| &run.data_check);
    let (first, rest) = parts.split_first()?;
    let mut section = Section::new("data", "The data");
    // Runs on the same data are told once.
    let all_same = parts.len() == runs.runs.len() && rest.iter().all(|part| part.1 == first.1);
    let told = if all_same { &parts[..1] } else { &parts[..] };
    for (label, check) in told {
        let named = |text: &str| {
            if all_same {
                text.to_owned()
            } else {
                runs.named(label, text)
            }
        };
        let findings = check.findings.iter().map(|finding| named(finding));
        section.notes.extend(findings);
        let mut facts = Table::new([("", Align::Left), ("value", Align::Left)]);
        for fact in &check.facts {
            facts.push([fact.name.clone(), fact.value.clone()]);
        }
        let columns = tables::columns(&check.columns);
        for (what, table) in [("What was read", facts), ("Columns", columns)] {
            if !table.rows().is_empty() {
                let caption = named(what);
                section.captioned.push(Folded { caption, table });
            }
        }
    }
    if all_same && runs.several() {
        section.paragraphs.push("The same for all runs.".to_owned());
    }
    Some(section)
}

fn model(runs: &Runs<'_>) -> Option<Section> {
    let table = summary::facts(runs.runs, &runs.labels, |run| &run.model)?;
    Some(Section {
        table: Some(table),
        ..Section::new("model", "Details: model")
    })
}

fn config(runs: &Runs<'_>) -> Option<Section> {
    let named = runs.labels.iter().zip(runs.runs);
    let kept = named.filter(|(_, run)| !run.config_toml.is_empty());
    let code: Vec<Code> = kept
        .map(|(label, run)| Code {
            caption: if runs.several() {
                label.clone()
            } else {
                String::new()
            },
            language: "toml".to_owned(),
            text: run.config_toml.clone(),
        })
        .collect();
    (!code.is_empty()).then(|| Section {
        code,
        ..Section::new("config", "Details: configuration")
    })
}

/// What is left out and why, parts of the same reason together.
fn missing(runs: &Runs<'_>) -> Option<Section> {
    let mut notes = Vec::new();
    for (label, run) in runs.labels.iter().zip(runs.runs) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (part, why) in lacking(run) {
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, parts)) => parts.push(part),
                None => reasons.push((why, vec![part])),
            }
        }
        for (why, parts) in reasons {
            notes.push(runs.named(label, &format!("no {}: {why}.", listed(&parts))));
        }
    }
    (!notes.is_empty()).then(|| Section {
        notes,
        ..Section::new("missing", "Not in this report")
    })
}

/// What a run has not, and why.
fn lacking(run: &RunReport) -> impl Iterator<Item = (&'static str, &str)> {
    let config = run.config_toml.is_empty().then_some("not kept");
    let model = run.model.is_empty().then_some("not kept");
    [
        ("expected counts", run.expected.why_missing()),
        ("scores by class", run.class_scores.why_missing()),
        ("estimates by class", run.class_estimates.why_missing()),
        ("histograms", run.histograms.why_missing()),
        (
            "precision–recall curves",
            run.precision_recall.why_missing(),
        ),
        ("importances of columns", run.importances.why_missing()),
        (
            "table of true classes and answers",
            run.answers.why_missing(),
        ),
        ("calibration", run.reliability.why_missing()),
        ("thresholds", run.thresholds.why_missing()),
        ("class shares", run.priors.why_missing()),
        ("other class shares", run.sensitivity.why_missing()),
        ("learning curves", run.curves.why_missing()),
        ("data check", run.data_check.why_missing()),
        ("model facts", model),
        ("configuration", config),
    ]
    .into_iter()
    .filter_map(|(part, why)| Some((part, why?)))
}

/// Words with commas and a last `or`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
