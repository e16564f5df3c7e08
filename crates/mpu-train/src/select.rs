//! Choosing among finished runs by held-out data, without hidden labels.

use crate::outcome::EpochMetrics;

/// By what a learning rate is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// The highest estimated accuracy on held-out labelled rows and pool; ties by the risk.
    #[default]
    Accuracy,
    /// The lowest estimated risk on them; ties by the accuracy.
    Risk,
    /// The highest accuracy on the test rows: peeking, named so in every table.
    Oracle,
}

mpu_data::named!(Selection, "selection", { Accuracy => "accuracy", Risk => "risk", Oracle => "oracle" });

impl Selection {
    /// The index of the best run by its last epoch; the first on a tie, `None` if none has the
    /// figures needed.
    pub fn best(self, last_epochs: &[EpochMetrics]) -> Option<usize> {
        let key = |metrics: &EpochMetrics| -> Option<[f64; 2]> {
            let risk = metrics.validation_risk.map(|risk| -risk);
            match self {
                Self::Accuracy => Some([
                    metrics.validation_accuracy?,
                    risk.unwrap_or(f64::NEG_INFINITY),
                ]),
                Self::Risk => {
                    let accuracy = metrics.validation_accuracy.unwrap_or(f64::NEG_INFINITY);
                    Some([risk?, accuracy])
                }
                Self::Oracle => Some([metrics.test_accuracy?, 0.0]),
            }
        };
        let mut best: Option<(usize, [f64; 2])> = None;
        for (index, metrics) in last_epochs.iter().enumerate() {
            let Some(candidate) = key(metrics) else {
                continue;
            };
            if best.is_none_or(|(_, key)| candidate > key) {
                best = Some((index, candidate));
            }
        }
        best.map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(accuracy: Option<f64>, risk: Option<f64>, test: Option<f64>) -> EpochMetrics {
        EpochMetrics {
            validation_risk: risk,
            validation_accuracy: accuracy,
            test_accuracy: test,
            ..EpochMetrics::default()
        }
    }

    #[test]
    fn each_way_looks_at_its_own_figure() {
        let runs = [
            metrics(Some(0.8), Some(0.5), Some(0.9)),
            metrics(Some(0.9), Some(0.6), Some(0.7)),
            metrics(Some(0.9), Some(0.4), Some(0.8)),
        ];
        assert_eq!(
            Selection::Accuracy.best(&runs),
            Some(2),
            "a tie is broken by the risk"
        );
        assert_eq!(Selection::Risk.best(&runs), Some(2));
        assert_eq!(Selection::Oracle.best(&runs), Some(0));
        assert_eq!(
            Selection::Accuracy.best(&[metrics(None, None, Some(1.0))]),
            None
        );
    }
}
