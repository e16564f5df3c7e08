"""Risk estimators as functions of scores, with gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _native

#: The names of all objectives.
OBJECTIVES = tuple(_native.OBJECTIVES.split())


class Risk(NamedTuple):
    """An estimated risk."""

    #: After the correction of parts that may turn negative.
    value: float
    #: Before it.
    raw: float
    #: The derivative of ``value`` by every score.
    gradient: np.ndarray


def risk(
    scores, labels, priors, *, objective="csmpu-exact-nn", surrogate="sigmoid_prob", gamma=1.0, form="raw", targets=None
):
    """Estimates the risk of scores from labelled rows and a pool.

    Parameters
    ----------
    scores : array of shape (n, k)
        The last column is the class that is none of the observed ones.
    labels : array of n integers
        The class of a row, from 0 to ``k - 2``; -1 for a row of the pool. (For "supervised": the true class.)
    priors : array of k shares
        The share of each class in the pool.
    objective : str
        One of :data:`OBJECTIVES`.
    surrogate, gamma, form
        The binary loss, as in :mod:`mpulearn.losses`.
    targets : array of shape (rows of the pool, k), optional
        Soft targets of the pool, which "csmpu-st" needs.
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"scores has {scores.ndim} dimensions: rows by classes are needed")
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    priors = [float(share) for share in np.asarray(priors, dtype=np.float64)]
    if targets is not None:
        targets = np.ascontiguousarray(targets, dtype=np.float64)
    found = _native.risk(scores, labels, priors, objective, surrogate, float(gamma), form, targets)
    return Risk(*found)
