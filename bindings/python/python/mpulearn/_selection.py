"""Choosing models from labelled rows and a pool: splits and scores that need no negatives."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from . import _native
from ._labels import Labels


class PUStratifiedKFold(StratifiedKFold):
    """K folds in which every class and the unlabelled rows keep their shares.

    As scikit-learn's, but ``y`` may mark unlabelled rows by None, NaN or an empty text, or as ``unlabeled`` says.
    """

    def __init__(self, n_splits=5, *, shuffle=False, random_state=None, unlabeled="auto"):
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.unlabeled = unlabeled

    def split(self, X, y, groups=None):
        """Indices of rows to train on and rows held out."""
        yield from super().split(np.zeros(len(y)), Labels(y, self.unlabeled).codes, groups)


def _fitted(estimator, X):
    """The classifier of a pipeline, and the rows as they reach it."""
    while isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
        estimator = estimator.steps[-1][1]
    return estimator, X


def _codes(estimator, y):
    """Labels by class number; -1 is unlabelled."""
    labels = Labels(y, getattr(estimator, "unlabeled", "auto"))
    known = {label: place for place, label in enumerate(estimator._observed.tolist())}
    missing = [label for label in labels.classes.tolist() if label not in known]
    if missing:
        raise ValueError(f"y has labels that the model was not fitted with: {missing}")
    places = np.array([known[label] for label in labels.classes.tolist()] + [-1], dtype=np.int64)
    return places[labels.codes]


class _PUScorer:
    """A score for ``scoring=`` of scikit-learn: from labelled rows and the pool of the fold alone."""

    def __init__(self, metric, priors=None):
        self.metric, self.priors = metric, priors

    def __call__(self, estimator, X, y):
        model, X = _fitted(estimator, X)
        codes = _codes(model, y)
        if self.priors is None:
            figures = model._judge(X, codes)
            return dict(zip(("accuracy", "f1", "auc"), figures))[self.metric]
        answers, probabilities = model._answers(X)
        priors = model._priors_of(self.priors)
        if self.metric == "auc":
            return _native.pu_auc(priors, codes, probabilities.astype(np.float64))
        accuracy, f1 = _native.pu_judgement(priors, codes, answers)
        return accuracy if self.metric == "accuracy" else f1

    def __repr__(self):
        return f"make_pu_scorer({self.metric!r}, priors={self.priors!r})"


def make_pu_scorer(metric, *, priors=None):
    """A scorer for ``GridSearchCV`` and the like that needs no negatives.

    ``metric`` is "accuracy", "f1" (the mean over classes) or "auc" (likewise). Rates are those of the rows that
    the model is about, by the priors that it estimated; give ``priors`` (a share for each observed class) to judge all
    candidates by the same ones, in the pool.
    """
    if metric not in ("accuracy", "f1", "auc"):
        raise ValueError(f"metric is {metric!r}: one of 'accuracy', 'f1', 'auc' is needed")
    return _PUScorer(metric, priors)


#: The estimated share of right answers.
pu_accuracy = make_pu_scorer("accuracy")
#: The estimated F1, as the mean over classes.
pu_f1 = make_pu_scorer("f1")
#: The estimated area under the ROC curve, as the mean over classes.
pu_auc = make_pu_scorer("auc")
