//! The sections of a report, one for each subject; several runs stand side by side in each.

use super::summary::{self, Comparison};
use super::{Basis, Part, RunReport, cite, tables};
use crate::chart::Figure;
use crate::figures::{
    Answers, PriorEstimates, PriorSensitivity, Reliability, RunCurves, Thresholds,
};
use crate::page::{Code, Folded, Section};
use crate::table::Table;

/// The runs and what they are called in the report.
struct Runs<'a> {
    runs: &'a [RunReport],
    labels: Vec<String>,
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

    fn several(&self) -> bool {
        self.runs.len() > 1
    }

    /// The runs that have a part, with their names.
    fn with<T>(&self, pick: impl Fn(&'a RunReport) -> &'a Part<T>) -> Vec<(&str, &'a T)> {
        let named = self.labels.iter().zip(self.runs);
        named
            .filter_map(|(label, run)| Some((label.as_str(), pick(run).given()?)))
            .collect()
    }

    /// A figure for each run that has a part, under the run's name if there are several.
    fn figures<T>(
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

    /// A text with the run's name before it if there are several.
    fn named(&self, label: &str, text: &str) -> String {
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

/// The sections of a report about one run, or about several side by side.
pub fn sections(runs: &[RunReport]) -> Vec<Section> {
    let runs = Runs::new(runs);
    let all = [
        Some(summary(&runs)),
        curves(&runs),
        answers(&runs),
        class_scores(&runs),
        calibration(&runs),
        thresholds(&runs),
        priors(&runs),
        sensitivity(&runs),
        data_check(&runs),
        model(&runs),
        config(&runs),
        missing(&runs),
        Some(cite::section()),
    ];
    all.into_iter().flatten().collect()
}

fn summary(runs: &Runs<'_>) -> Section {
    let mut section = Section::new("summary", "Summary");
    for (label, run) in runs.labels.iter().zip(runs.runs) {
        for warning in &run.warnings {
            // What holds for all runs is said once.
            let general = runs.runs.iter().all(|run| run.warnings.contains(warning));
            let text = if general {
                warning.clone()
            } else {
                runs.named(label, warning)
            };
            if !section.warnings.contains(&text) {
                section.warnings.push(text);
            }
        }
    }
    let blind = |run: &&RunReport| run.scores.iter().all(|s| s.basis != Basis::TrueLabels);
    let n_blind = runs.runs.iter().filter(blind).count();
    if n_blind > 0 {
        let which = match (n_blind, runs.runs.len()) {
            (1, 1) => "This run was",
            (n, all) if n == all => "These runs were",
            _ => "Some of these runs were",
        };
        section.paragraphs.push(format!(
            "{which} not measured on rows with true labels. What is said of accuracy and risk is estimated from \
             positive and unlabelled rows, and is as right as the class priors are."
        ));
    }
    section.table = Some(summary::table(runs.runs, &runs.labels));
    let measured = runs.runs.iter().map(|run| run.measured_on.as_str());
    match (runs.runs, Comparison::of(runs.runs)) {
        ([run], _) if !run.measured_on.is_empty() => {
            section
                .notes
                .push(format!("Measured on {}.", run.measured_on));
        }
        ([first, _, ..], Comparison::Same) => section.notes.push(format!(
            "Measured on {}. Where there are several, the best share is bold.",
            first.measured_on
        )),
        ([_, _, ..], Comparison::Different) => {
            let named = runs.labels.iter().zip(measured);
            let told = named.map(|(label, on)| match on {
                "" => format!("{label}: rows not named."),
                on => format!("{label}: measured on {on}."),
            });
            section.notes.extend(told);
            section.notes.push(
                "The runs were not measured on the same rows: their scores cannot be compared."
                    .to_owned(),
            );
        }
        _ => {}
    }
    section
}

/// A section of figures, one for each run that has the part, and the numbers behind them.
struct Figures<'a> {
    section: Section,
    /// The figures' title where there is one run.
    title: &'a str,
    /// What the numbers are.
    numbers: &'a str,
}

impl Figures<'_> {
    /// The section; none if no run has the part.
    fn of<'a, T: 'a>(
        self,
        runs: &'a Runs<'a>,
        pick: impl Fn(&'a RunReport) -> &'a Part<T>,
        draw: impl Fn(&T, &str) -> Figure,
        table: impl Fn(bool, &[(&'a str, &'a T)]) -> Table,
    ) -> Option<Section> {
        let parts = runs.with(pick);
        (!parts.is_empty()).then(|| Section {
            figures: runs.figures(self.title, &parts, draw),
            folded: folded(self.numbers, table(runs.several(), &parts)),
            ..self.section
        })
    }
}

fn curves(runs: &Runs<'_>) -> Option<Section> {
    let drawn = Figures {
        section: Section::new("curves", "Learning curves"),
        title: "Every epoch",
        numbers: "First, last and extreme values",
    };
    let mut section = drawn.of(runs, |run| &run.curves, RunCurves::figure, tables::curves)?;
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
        ..Section::new("answers", "Answers by class")
    })
}

fn class_scores(runs: &Runs<'_>) -> Option<Section> {
    let parts = runs.with(|run| &run.class_scores);
    (!parts.is_empty()).then(|| Section {
        table: Some(tables::class_scores(runs.several(), &parts)),
        ..Section::new("classes", "Scores by class")
    })
}

fn calibration(runs: &Runs<'_>) -> Option<Section> {
    let drawn = Figures {
        section: Section::new("calibration", "Calibration"),
        title: "Predicted and observed",
        numbers: "Calibration errors by class",
    };
    drawn.of(
        runs,
        |run| &run.reliability,
        Reliability::figure,
        tables::reliability,
    )
}

fn thresholds(runs: &Runs<'_>) -> Option<Section> {
    let drawn = Figures {
        section: Section::new("thresholds", "Thresholds"),
        title: "Precision and recall",
        numbers: "Numbers by threshold",
    };
    drawn.of(
        runs,
        |run| &run.thresholds,
        Thresholds::figure,
        tables::thresholds,
    )
}

fn priors(runs: &Runs<'_>) -> Option<Section> {
    let drawn = Figures {
        section: Section::new("priors", "Class priors"),
        title: "Priors of the pool",
        numbers: "Priors in numbers",
    };
    drawn.of(
        runs,
        |run| &run.priors,
        PriorEstimates::figure,
        tables::priors,
    )
}

fn sensitivity(runs: &Runs<'_>) -> Option<Section> {
    let drawn = Figures {
        section: Section::new("sensitivity", "Sensitivity to priors"),
        title: "What other priors would have given",
        numbers: "Numbers by change",
    };
    drawn.of(
        runs,
        |run| &run.sensitivity,
        PriorSensitivity::figure,
        tables::sensitivity,
    )
}

fn data_check(runs: &Runs<'_>) -> Option<Section> {
    let parts = runs.with(|run| &run.data_check);
    let (first, rest) = parts.split_first()?;
    let mut section = Section::new("data", "Data check");
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
        section
            .notes
            .extend(check.findings.iter().map(|f| named(f)));
        if check.findings.is_empty() && check.text.is_empty() {
            section.notes.push(named("nothing to mind"));
        }
        if !check.text.is_empty() {
            section.code.push(Code {
                caption: if all_same {
                    String::new()
                } else {
                    (*label).to_owned()
                },
                language: "text".to_owned(),
                text: check.text.clone(),
            });
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
        ..Section::new("model", "Model")
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
        ..Section::new("config", "Configuration")
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
        ("learning curves", run.curves.why_missing()),
        ("answers by class", run.answers.why_missing()),
        ("scores by class", run.class_scores.why_missing()),
        ("calibration", run.reliability.why_missing()),
        ("thresholds", run.thresholds.why_missing()),
        ("class priors", run.priors.why_missing()),
        ("sensitivity to priors", run.sensitivity.why_missing()),
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
