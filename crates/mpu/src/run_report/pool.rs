//! What was found in the unlabelled rows.

use mpu_data::MpuLabel;
use mpu_eval::PuJudgement;
use mpu_eval::pu_metrics::Evidence;
use mpu_report::figures::{
    ClassHistogram, ClassPrecisionRecall, ColumnWeight, ColumnWeights, ExpectedCount,
    ExpectedCounts, PrecisionRecall, PrecisionRecallPoint, ScoreHistograms,
};

use crate::classifier::Classifier;
use crate::error::Result;
use crate::judge::{Known, ScoredRows};

/// Half the width of a 95 % interval in standard deviations.
const Z: f64 = 1.96;
/// Bins of a histogram.
const BINS: usize = 5;
/// Thresholds of a curve.
const STEPS: usize = 24;
/// Classes that are drawn: those with the most rows.
const MOST_CLASSES: usize = 12;

/// How many unlabelled rows are of each class; none for a benchmark.
pub(crate) fn expected(model: &Classifier) -> Result<Option<ExpectedCounts>> {
    let card = model.card();
    let Some(check) = &card.check else {
        return Ok(None);
    };
    let n = check.unlabeled as f64;
    let shares = card.priors.as_slice();
    let deviations = model.uncertain_priors()?.deviations().to_vec();
    let all = deviations.iter().map(|d| d * d).sum::<f64>().sqrt();
    let estimated = card.estimated_priors.as_ref();
    let classes = model.names().iter().enumerate().map(|(class, name)| {
        let reported = estimated.and_then(|report| report.classes.get(class));
        let interval = match (estimated, reported) {
            (None, _) => None,
            (Some(_), Some(class)) => Some((class.interval.low, class.interval.high)),
            (Some(_), None) => {
                let (share, half) = (shares[class], Z * all);
                Some(((share - half).max(0.0), (share + half).min(1.0)))
            }
        };
        ExpectedCount {
            class: name.clone(),
            labeled: check.classes.get(class).map(|class| class.labeled),
            rows: n * shares[class],
            interval: interval.map(|(low, high)| (n * low, n * high)),
        }
    });
    Ok(Some(ExpectedCounts {
        unlabeled: check.unlabeled,
        classes: classes.collect(),
    }))
}

/// The observed classes that are drawn, in order.
fn drawn(model: &Classifier) -> Vec<usize> {
    let shares = model.priors().observed();
    let mut classes: Vec<usize> = (0..shares.len()).collect();
    classes.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    classes.truncate(MOST_CLASSES);
    classes.sort_unstable();
    classes
}

/// How probable each class is to its labelled rows and to unlabelled ones; none for rows with true labels, and for a
/// model without probabilities.
pub(crate) fn histograms(
    model: &Classifier,
    scored: &ScoredRows,
) -> Result<Option<ScoreHistograms>> {
    let (Known::Pu(labels), Some(_)) = (&scored.known, &model.card().calibration) else {
        return Ok(None);
    };
    let k = model.names().len();
    let p = model.decide(&model.rule(), &scored.scores)?.probabilities;
    let histogram = |class: usize| {
        let counts = |label: MpuLabel| {
            let mut counts = vec![0; BINS];
            for (p, _) in p.chunks(k).zip(labels).filter(|(_, l)| **l == label) {
                counts[((p[class] * BINS as f64) as usize).min(BINS - 1)] += 1;
            }
            counts
        };
        ClassHistogram {
            class: model.names()[class].clone(),
            labeled: counts(MpuLabel::Labeled(class)),
            unlabeled: counts(MpuLabel::Unlabeled),
        }
    };
    Ok(Some(ScoreHistograms {
        classes: drawn(model).into_iter().map(histogram).collect(),
    }))
}

/// Precision against recall of each class over thresholds of its probability; none as above.
pub(crate) fn precision_recall(
    model: &Classifier,
    scored: &ScoredRows,
) -> Result<Option<PrecisionRecall>> {
    let (Known::Pu(labels), Some(_)) = (&scored.known, &model.card().calibration) else {
        return Ok(None);
    };
    let (k, rule) = (model.names().len(), model.rule());
    let decided = model.decide(&rule, &scored.scores)?.probabilities;
    let pool = model.probabilities(&scored.scores)?;
    let (priors, target) = (model.uncertain_priors()?, model.target(&rule));
    let evidence = Evidence {
        priors: &priors,
        target: &target,
        labels,
        probabilities: Some(&pool),
    };
    let mut classes = Vec::new();
    for class in drawn(model) {
        let mut points = Vec::new();
        for step in 1..STEPS {
            let threshold = step as f64 / STEPS as f64;
            let answers = decided
                .chunks(k)
                .map(|p| if p[class] >= threshold { class } else { k - 1 });
            let judged = PuJudgement::of(&evidence, &answers.collect::<Vec<_>>())?;
            let rates = judged.classes[class].as_ref();
            let known = rates.and_then(|r| Some((r.precision?.known()?, r.recall?.known()?)));
            points.extend(known.map(|(precision, recall)| PrecisionRecallPoint {
                threshold,
                precision,
                recall,
            }));
        }
        classes.push(ClassPrecisionRecall {
            class: model.names()[class].clone(),
            points,
        });
    }
    Ok(Some(PrecisionRecall { classes }))
}

/// Which columns matter, if that was measured.
pub(crate) fn importances(model: &Classifier) -> Option<ColumnWeights> {
    let found = model.card().importances.as_ref()?;
    let column = |column: &crate::ColumnImportance| ColumnWeight {
        column: column.column.clone(),
        rise: column.importance.rise,
        error: column.importance.error,
    };
    Some(ColumnWeights {
        rows: found.rows,
        not_tried: found.not_tried,
        columns: found.columns.iter().map(column).collect(),
    })
}
