"""The page of the tables, from the lines of finished runs. It needs nothing but Python."""

import json
from statistics import mean

OURS = "mpu"
METHODS = {
    OURS: "mpu-cli, default",
    "rf-en": "RF, Elkan–Noto, multi-class",
    "rf-en-ovr": "RF, Elkan–Noto, one-vs-rest",
    "bagging-ovr": "bagged trees, one-vs-rest",
    "histgb": "HistGB, pool = unknown",
    "share-of-all": "reference: unknown rows labelled as well",
    "supervised": "limit: HistGB, all true labels",
}
N_REFERENCES = 2  # the last ones, which know labels that nobody else has
PEERS = list(METHODS)[1:-N_REFERENCES]
FIGURES = {  # heading, factor, decimals
    "accuracy": ("accuracy, %", 100, 1),
    "macro_f1": ("macro-F1, %", 100, 1),
    "log_loss": ("log-loss", 1, 3),
    "calibration": ("calibration error, points", 100, 1),
    "prior_error": ("error of the priors", 1, 3),
    "seconds": ("seconds", 1, 1),
}
CLOSE = 0.3  # points of accuracy that count as no difference

PROTOCOL = """
## Protocol

A seeded permutation sets 30 % of the rows aside for the test. Of the training rows of each observed class a share is labelled at
random, at least six rows; everything else is the pool, so labelled rows and pool come from one population. All other classes together
are `unknown`. Categories are text and missing cells are empty; in a few tables 5 % of the cells are removed at random (`segment`, `crx`,
`vehicle`). No program is told the priors, and nothing is tuned for a table.

- **mpu-cli, default**: `train --data` without any option but the seed, then `predict`.
- **RF, Elkan–Noto, multi-class**: one random forest (300 trees, leaves of at least 3) tells labelled classes and pool apart; its
  probabilities are divided by their out-of-bag mean on the labelled rows of the class, and clipped.
- **RF, Elkan–Noto, one-vs-rest** and **bagged trees, one-vs-rest**: pulearn's `ElkanotoPuClassifier` with such a forest, and its
  `BaggingPuClassifier` with 300 trees in balanced bags, for each observed class. The likeliest class is the answer if it has at least
  one half.
- **HistGB, pool = unknown**: scikit-learn's gradient boosting, told that every unlabelled row is `unknown`.
- **reference**: ordinary supervised learning with the same share of *every* class labelled, `unknown` included (scikit-learn's extra-trees,
  300 of them). It has negatives, which nobody else has, but no pool; it shows what so few labels are worth.
- **limit**: gradient boosting with all true labels. Nobody has these; it shows what the columns allow.

Forests get one-hot categories and filled-in cells; boosting takes both as they are. Calibration error: 15 bins of the probability of
the answer. Log-loss: probabilities below 1e-6 count as 1e-6. Error of the priors: mean absolute error of the estimated shares of the
observed classes in the pool, where a method estimates any. Seconds: fitting and predicting; ours has the whole processes with reading
and writing, the peers start from arrays. **Bold**: the best of a line, reference and limit aside.
"""

TRUST = """
## Can our figures be trusted?

`evaluate` without true labels estimates the accuracy from held-out rows; here it is beside the accuracy on the test rows, in
percent. *Held*: its 95 % interval has the accuracy on the test rows in it. That accuracy depends on chance as well, the more the fewer test
rows there are; *held, with chance*: the difference is within both intervals together (their halves added squared). *Above 100 %*: figures shown above
100 %, and figures that came out above and are shown as 100 %. `predict --precision-target 0.9` is *reached* for an observed class unless 0.9 is above the 95 % interval
(Wilson) of its precision on the test rows; a class that answers no row is *silent*. *More answers*: classes that answer more rows than
without the target. *Same*: `evaluate` counts the answers that `predict` gives.
"""


def latest(text):
    """The last line of every run, in the order of the first ones."""
    runs = {}
    for line in map(json.loads, text.splitlines()):
        runs[line["table"], line["share"], line["seed"], line["method"]] = line
    return list(runs.values())


def grid(first, *lines):
    return "".join(f"| {' | '.join(line)} |\n" for line in [first, ["---"] * len(first), *lines])


def number(value, factor=1, decimals=1):
    return "–" if value is None else f"{factor * value:.{decimals}f}"


def percent(*shares):
    *others, last = (f"{100 * share:g}" for share in shares)
    return (f"{', '.join(others)} and {last}" if others else last) + " % labelled"


def bold(accuracies):
    """Accuracies as text, the best in bold; the last ones are references."""
    shown = [number(value, 100) for value in accuracies]
    best = number(max((value for value in accuracies[:-N_REFERENCES] if value is not None), default=None), 100)
    return [f"**{text}**" if text == best != "–" else text for text in shown[:-N_REFERENCES]] + shown[-N_REFERENCES:]


class Page:
    def __init__(self, runs, tables, shares, seeds):
        asked = lambda run: run["table"] in tables and run["share"] in shares and run["seed"] in seeds
        self.runs = [run for run in runs if asked(run)]
        self.shares, self.seeds = shares, seeds
        there = {run["table"] for run in self.runs if run["method"] != "table"}
        self.tables = [table for table in tables if table in there]
        # A table that was missing once and has been measured since is not missing.
        self.failed = [run for run in self.runs if "error" in run and (run["method"] != "table" or run["table"] not in there)]

    def of(self, method, *cells):
        return [run for run in self.runs if run["method"] == method and (run["table"], run["share"]) in cells]

    def mean(self, cell, method, figure="accuracy"):
        """Over seeds; nothing where one is missing or has failed."""
        values = [run.get(figure) for run in self.of(method, cell)]
        return None if len(values) < len(self.seeds) or None in values else mean(values)

    def cells(self, shares):
        return [(table, share) for share in shares for table in self.tables]

    def gap(self, cell):
        """By how many points the best peer is above ours, and which it is; nothing if either has no figure."""
        peers = [(value, peer) for peer in PEERS if (value := self.mean(cell, peer)) is not None]
        ours = self.mean(cell, OURS)
        return None if ours is None or not peers else (100 * (max(peers)[0] - ours), max(peers)[1])

    def means(self, shares):
        """Every figure, the mean over tables; and how often ours is best."""
        cells = self.cells(shares)
        common = [cell for cell in cells if all(self.mean(cell, method) is not None for method in METHODS)]
        lines, over = [], {}
        for method, name in METHODS.items():
            lines.append([name])
            for figure, (_, factor, decimals) in FIGURES.items():
                values = [self.mean(cell, method, figure) for cell in common]
                over[method, figure] = None if None in values or not values else mean(values)
                lines[-1].append(number(over[method, figure], factor, decimals))
        close = sum(gap is not None and gap[0] <= CLOSE + 1e-9 for gap in map(self.gap, cells))
        text = grid(["mean"] + [heading for heading, *_ in FIGURES.values()], *lines)
        text += f"\nOurs is the best or within {CLOSE} points of the best in {close} of {len(cells)} cases. "
        if common:
            best = max(PEERS, key=lambda peer: over[peer, "accuracy"])
            over = {method: 100 * over[method, "accuracy"] for method in METHODS}
            text += (f"On average it is {over[OURS] - over[best]:+.1f} points from the best single peer ({METHODS[best]}) and "
                     f"{over[OURS] - over['supervised']:+.1f} from the limit; the reference, which has labelled unknown rows, is "
                     f"{over['share-of-all'] - over['supervised']:+.1f} from it. ")
        return text + f"Means are over the {len(common)} cases where every method has a figure.\n"

    def share(self, share):
        lines = []
        for cell in self.cells([share]):
            facts = next(iter(self.of(OURS, cell)), {})
            counts = [str(facts.get(key, "–")) for key in ["train", "labelled", "observed"]]
            lines.append([cell[0], *counts, *bold([self.mean(cell, method) for method in METHODS])])
        first = ["table", "training rows", "labelled", "observed classes", *METHODS.values()]
        return (f"\n## {percent(share)}: accuracy in percent, mean over seeds\n\n{grid(first, *lines)}\n"
                + self.means([share]))

    def groups(self):
        """Sets of shares that get a summary: all but the smallest, and all."""
        return [shares for shares in (sorted(self.shares)[:0:-1], self.shares) if len(shares) > 1]

    def trusted(self, name, runs):
        trust = [run["trust"] for run in runs]
        total = lambda key: sum(one[key] for one in trust)
        yes = lambda key: f"{sum(one[key] is True for one in trust)} of {sum(one[key] is not None for one in trust)}"
        pairs = [(run["accuracy"], run["trust"]["estimate"]) for run in runs if run["trust"]["estimate"] is not None]
        average = lambda values: mean(values) if values else None
        return [
            name,
            number(average([truth for truth, _ in pairs]), 100),
            number(average([estimate for _, estimate in pairs]), 100),
            number(average([abs(estimate - truth) for truth, estimate in pairs]), 100),
            yes("held"),
            yes("near"),
            f"{total('above_one')} and {total('clipped')}",
            number(average([run["prior_error"] for run in runs]), 1, 3),
            f"{total('reached')} of {total('classes') - total('silent')}",
            str(total("silent")),
            str(total("more")),
            yes("same"),
        ]

    def trust(self):
        runs = [run for run in self.of(OURS, *self.cells(self.shares)) if "error" not in run]
        groups = [(table, [run for run in runs if run["table"] == table]) for table in self.tables]
        shares = [*([share] for share in self.shares), *self.groups()[:-1]]
        groups += [(percent(*some), [run for run in runs if run["share"] in some]) for some in shares]
        first = ["", "true accuracy", "estimated", "mean absolute difference", "held", "held, with chance", "above 100 %", "error of the priors",
                 "target reached", "silent", "more answers", "same"]
        return TRUST + "\n" + grid(first, *(self.trusted(*group) for group in [*groups, ("all", runs)]))

    def losses(self):
        gaps = [(*gap, *cell) for cell in self.cells(self.shares) if (gap := self.gap(cell)) and gap[0] > CLOSE + 1e-9]
        lines = [f"- {table}, {percent(share)}: {gap:.1f} points below {METHODS[peer]}\n"
                 for gap, peer, table, share in sorted(gaps, reverse=True)]
        return f"\n## Where ours loses\n\nBy more than {CLOSE} points, the widest gap first:\n\n" + "".join(lines or ["Nowhere.\n"])

    def failures(self):
        lines = [f"- {run['table']}, {percent(run['share'])}, seed {run['seed']}, {run['method']}: "
                 f"{run['error'].splitlines()[0]}\n" for run in self.failed]
        return "\n## Not measured\n\n" + "".join(lines) if lines else ""

    def text(self, machine):
        done = [run for run in self.runs if "error" not in run]
        rows = [run["train"] + run["test"] for run in done] or [0]
        return (
            "# Real tables\n\nOur default beside what a practitioner would pick instead, on the same rows with the same seeds: "
            f"{len(self.tables)} tables of\n{min(rows)} to {max(rows)} rows, labelled shares {', '.join(map(str, self.shares))}, "
            f"seeds {', '.join(map(str, self.seeds))}; {len(done)} runs.\nMade by `cargo xtask bench tables` on {machine}, with "
            f"{'; '.join(sorted({run['made_by'] for run in done}))}.\n"
            + PROTOCOL
            + "".join(map(self.share, self.shares))
            + "".join(f"\n## Summary: {percent(*shares)}\n\n{self.means(shares)}" for shares in self.groups())
            + self.trust()
            + self.losses()
            + self.failures()
        )
