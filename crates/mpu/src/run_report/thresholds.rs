//! What happens if rows whose answer is unsure are left unanswered.

use mpu_eval::abstain;
use mpu_eval::pu_metrics::Evidence;
use mpu_report::figures::Thresholds;

use crate::classifier::Classifier;
use crate::error::Result;
use crate::judge::{Known, ScoredRows};

/// Steps of the threshold from 0 to 1.
const STEPS: usize = 40;

/// The curve over thresholds; none for a model without probabilities.
pub(crate) fn curve(model: &Classifier, scored: &ScoredRows) -> Result<Option<Thresholds>> {
    let card = model.card();
    if card.calibration.is_none() {
        return Ok(None);
    }
    let classes = card.priors.classes();
    let rule = model.rule();
    let decided = model.decide(&rule, &scored.scores)?;
    let (p, given) = (decided.probabilities, decided.answers);
    let (points, estimated) = match &scored.known {
        Known::Truths(truths) => (abstain::by_truth(classes, truths, &given, &p, STEPS)?, ""),
        Known::Pu(labels) => {
            let evidence = Evidence {
                priors: &model.uncertain_priors()?,
                target: &model.target(&rule),
                labels,
                probabilities: Some(&model.probabilities(&scored.scores)?),
            };
            let points = abstain::by_pu(&evidence, &given, &p, STEPS)?;
            (points, ", estimated")
        }
    };
    Ok(Some(Thresholds {
        rows: format!("{}{estimated}", scored.rows),
        points,
    }))
}
