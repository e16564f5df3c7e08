//! The statistics against SciPy; `tests/golden/make_stats.py` made the values and says how.

use crate::stats;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    t_quantiles: Vec<Quantile>,
    summaries: Vec<Sample>,
    wilcoxon: Vec<SignedRank>,
    holm: Vec<Holm>,
    cliff: Vec<Cliff>,
}

#[derive(Deserialize)]
struct Quantile {
    p: f64,
    dof: f64,
    t: f64,
}

#[derive(Deserialize)]
struct Sample {
    values: Vec<f64>,
    mean: f64,
    std: f64,
    median: f64,
    mad: f64,
    low: f64,
    high: f64,
    ranks: Vec<f64>,
}

#[derive(Deserialize)]
struct SignedRank {
    made_by: String,
    differences: Vec<f64>,
    n: usize,
    statistic: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Holm {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Cliff {
    first: Vec<f64>,
    second: Vec<f64>,
    delta: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../tests/golden/stats.json")).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    let allowed = 1e-9 * expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= allowed,
        "{what}: {found} for {expected}"
    );
}

#[test]
fn t_quantiles() {
    for Quantile { p, dof, t } in golden().t_quantiles {
        let found = stats::t_quantile(p, dof).unwrap();
        close(found, t, &format!("p = {p}, {dof} dof"));
    }
}

#[test]
fn summaries_intervals_and_ranks() {
    for case in golden().summaries {
        let values = &case.values;
        close(stats::mean(values).unwrap(), case.mean, "mean");
        close(stats::std_dev(values).unwrap(), case.std, "deviation");
        close(stats::median(values).unwrap(), case.median, "median");
        let mad = stats::mad(values).unwrap();
        close(mad, case.mad, "median absolute deviation");
        let interval = stats::t_interval(values, 0.95).unwrap();
        close(interval.low, case.low, "lower end");
        close(interval.high, case.high, "upper end");
        assert_eq!(stats::ranks(values), case.ranks);
    }
}

#[test]
fn signed_ranks() {
    let cases = golden().wilcoxon;
    for maker in ["scipy, exact", "scipy, normal", "enumeration"] {
        assert!(cases.iter().any(|case| case.made_by == maker), "{maker}");
    }
    for case in cases {
        let found = stats::wilcoxon(&case.differences).unwrap();
        assert_eq!((found.n, found.statistic), (case.n, case.statistic));
        assert_eq!(found.exact, case.made_by != "scipy, normal");
        // p-values are small: compare their digits, not their distance.
        let ratio = found.p / case.p;
        assert!(
            (ratio - 1.0).abs() < 1e-9,
            "{}: {} for {}",
            case.made_by,
            found.p,
            case.p
        );
    }
}

#[test]
fn adjustment_and_effect_size() {
    for case in golden().holm {
        for (found, expected) in stats::holm(&case.p).into_iter().zip(case.adjusted) {
            close(found, expected, "Holm");
        }
    }
    for case in golden().cliff {
        let found = stats::cliffs_delta(&case.first, &case.second).unwrap();
        close(found, case.delta, "delta");
    }
}
