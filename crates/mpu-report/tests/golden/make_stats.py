"""Makes `stats.json`, the golden values of `src/stats/golden.rs`, with SciPy.

    python make_stats.py

SciPy gives means, deviations, medians, t quantiles and intervals, ranks, the exact signed-rank test
without ties and the normal one above 25 pairs. Where SciPy would not be exact (up to 25 pairs with
ties) the script enumerates every sign pattern of the middle ranks. Holm's adjustment and Cliff's delta are
not in SciPy; they are written here from their definitions.

Made with SciPy 1.17.1 and NumPy 2; samples are drawn with fixed seeds and stored beside their values.
"""

import itertools
import json
import pathlib

import numpy as np
from scipy import stats

HERE = pathlib.Path(__file__).parent


def sample(seed, n, digits):
    """Values rounded to `digits`, so that few digits make ties."""
    return np.random.default_rng(seed).normal(0.3, 1.0, n).round(digits).tolist()


def summary(values):
    n = len(values)
    low, high = stats.t.interval(0.95, n - 1, np.mean(values), stats.sem(values))
    return {
        "values": values,
        "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)),
        "median": float(np.median(values)),
        "mad": float(stats.median_abs_deviation(values)),
        "low": float(low),
        "high": float(high),
        "ranks": stats.rankdata(values).tolist(),
    }


def enumerated(differences):
    kept = np.array([d for d in differences if d != 0])
    ranks = stats.rankdata(np.abs(kept))
    total = ranks.sum()
    observed = min(ranks[kept > 0].sum(), ranks[kept < 0].sum())
    extreme = count = 0
    for signs in itertools.product((0, 1), repeat=len(kept)):
        plus = float(np.dot(signs, ranks))
        extreme += min(plus, total - plus) <= observed + 1e-9
        count += 1
    return float(observed), extreme / count


def signed_rank(differences):
    kept = [d for d in differences if d != 0]
    tied = len({abs(d) for d in kept}) < len(kept)
    if len(kept) > 25:
        made_by, found = "scipy, normal", stats.wilcoxon(differences, method="asymptotic")
        statistic, p = float(found.statistic), float(found.pvalue)
    elif tied:
        made_by, (statistic, p) = "enumeration", enumerated(differences)
    else:
        made_by, found = "scipy, exact", stats.wilcoxon(kept, method="exact")
        statistic, p = float(found.statistic), float(found.pvalue)
    return {"made_by": made_by, "differences": differences, "n": len(kept), "statistic": statistic, "p": p}


def holm(p_values):
    n, floor, adjusted = len(p_values), 0.0, [0.0] * len(p_values)
    for position, index in enumerate(np.argsort(p_values, kind="stable")):
        floor = max(floor, min(1.0, p_values[index] * (n - position)))
        adjusted[index] = floor
    return {"p": p_values, "adjusted": adjusted}


def cliff(first, second):
    balance = sum(int(a > b) - int(a < b) for a in first for b in second)
    return {"first": first, "second": second, "delta": balance / (len(first) * len(second))}


golden = {
    "t_quantiles": [
        {"p": p, "dof": dof, "t": float(stats.t.ppf(p, dof))}
        for dof in (1, 2, 3, 4, 5, 9, 29, 100, 1000, 2.5)
        for p in (0.005, 0.025, 0.3, 0.5, 0.501, 0.9, 0.975, 0.995, 0.9999)
    ],
    "summaries": [summary(sample(1, n, digits)) for n in (2, 3, 5, 10, 31) for digits in (1, 6)],
    "wilcoxon": [
        signed_rank(sample(seed, n, digits))
        for seed, n, digits in (
            (2, 5, 6), (3, 8, 6), (4, 15, 6), (5, 25, 6), (6, 5, 0), (7, 9, 0), (8, 12, 1), (9, 16, 0),
            (10, 26, 6), (11, 40, 1), (12, 60, 0), (13, 200, 6),
        )
    ]
    + [signed_rank([0.1, 0.2, 0.3, 0.4, 0.5])],
    "holm": [holm([0.01, 0.04, 0.03]), holm([0.0625, 0.0625]), holm([0.2, 0.001, 0.9, 0.04, 0.04])],
    "cliff": [cliff(sample(20, 5, 6), sample(21, 5, 6)), cliff(sample(22, 7, 0), sample(23, 4, 0))],
}
(HERE / "stats.json").write_text(json.dumps(golden, indent=1) + "\n")
