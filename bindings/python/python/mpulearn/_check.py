"""What can be known before anything is fitted."""

from __future__ import annotations

import html as _html
import json

import numpy as np

from . import _native
from ._classifier import MPUClassifier
from ._rows import silent, teller


class DataCheck:
    """What was understood of rows and labels. ``facts`` has it as a dictionary, ``str`` as text."""

    def __init__(self, text, facts):
        self.text, self.facts = text, facts

    @property
    def warnings(self):
        """What should be looked at, one sentence each."""
        return [line.removeprefix("warning: ") for line in self.text.splitlines() if line.startswith("warning: ")]

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_html_(self):
        return f"<pre>{_html.escape(self.text)}</pre>"


class PriorEstimate:
    """Class priors: the share of each class in the unlabelled pool, with a 95 % interval."""

    def __init__(self, classes, priors, intervals):
        self.classes, self.priors, self.intervals = classes, priors, intervals

    def as_dict(self):
        """Shares by class."""
        return dict(zip(self.classes.tolist(), self.priors.tolist()))

    def __repr__(self):
        rows = zip(self.classes.tolist(), self.priors, self.intervals)
        shares = ", ".join(f"{c!r}: {p:.3f} [{low:.3f}, {high:.3f}]" for c, p, (low, high) in rows)
        return f"PriorEstimate({shares})"


def check(X, y, *, unlabeled="auto", categorical=None):
    """Says what is understood of rows and labels: classes, columns, gaps, duplicates, columns that give labels away."""
    estimator = MPUClassifier(unlabeled=unlabeled, categorical=categorical)
    rows, labels, _ = estimator._training_rows(X, y)
    text, facts = _native.check(rows, labels, estimator._settings(None), silent)
    return DataCheck(text, json.loads(facts))


def estimate_priors(X, y, *, unlabeled="auto", unknown_label=None, scenario="auto", categorical=None, seed=0, n_jobs=None):
    """Estimates the share of each class in the unlabelled rows, as a fit with ``priors="auto"`` would."""
    estimator = MPUClassifier(
        unlabeled=unlabeled,
        unknown_label=unknown_label,
        scenario=scenario,
        categorical=categorical,
        seed=seed,
        n_jobs=n_jobs,
    )
    rows, labels, known = estimator._training_rows(X, y)
    shares, intervals, places = _native.estimate_priors(rows, labels, estimator._settings(known), teller(0))
    classes, order = estimator._class_order(known.classes, places)
    return PriorEstimate(classes, np.array(shares)[order], np.array(intervals)[order])
