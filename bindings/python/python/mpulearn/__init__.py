"""Multi-class positive-unlabelled learning for scikit-learn.

You have labelled rows of some classes, an unlabelled pool in which all classes are mixed, and no negatives.
:class:`MPUClassifier` finds the classes you know and calls everything else unknown.
"""

from . import losses, risks
from ._check import DataCheck, PriorEstimate, check, estimate_priors
from ._classifier import MPUClassifier
from ._report import Report
from ._rows import MPUWarning
from ._selection import PUStratifiedKFold, make_pu_scorer, pu_accuracy, pu_auc, pu_f1
from ._native import __version__

__all__ = [
    "DataCheck",
    "MPUClassifier",
    "MPUWarning",
    "PUStratifiedKFold",
    "PriorEstimate",
    "Report",
    "__version__",
    "check",
    "estimate_priors",
    "losses",
    "make_pu_scorer",
    "pu_accuracy",
    "pu_auc",
    "pu_f1",
    "risks",
]
