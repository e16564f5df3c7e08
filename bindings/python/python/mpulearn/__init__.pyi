from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from . import losses as losses
from . import risks as risks

__version__: str

class MPUWarning(UserWarning): ...

class Report:
    html: str
    def __init__(self, html: str) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...

class DataCheck:
    text: str
    facts: dict[str, Any]
    def __init__(self, text: str, facts: dict[str, Any]) -> None: ...
    @property
    def warnings(self) -> list[str]: ...
    def _repr_html_(self) -> str: ...

class PriorEstimate:
    classes: NDArray[Any]
    priors: NDArray[np.float64]
    intervals: NDArray[np.float64]
    def __init__(self, classes: NDArray[Any], priors: NDArray[np.float64], intervals: NDArray[np.float64]) -> None: ...
    def as_dict(self) -> dict[Any, float]: ...

class MPUClassifier(ClassifierMixin, BaseEstimator):
    method: str
    model: str
    priors: Any
    scenario: str
    costs: Any
    epochs: int | None
    seed: int
    n_jobs: int | None
    verbose: int
    unlabeled: Any
    unknown_label: Any
    categorical: Sequence[str | int] | None
    hidden: Sequence[int] | None
    trees: int | None
    learning_rate: float | None
    validation_share: float
    split_seed: int
    classes_: NDArray[Any]
    priors_: NDArray[np.float64]
    prior_intervals_: NDArray[np.float64]
    unlabeled_marker_: Any
    unknown_label_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    def __init__(
        self,
        method: str = "csmpu-st",
        model: Literal["auto", "forest", "network"] = "auto",
        priors: Literal["auto"] | Mapping[Any, float] = "auto",
        scenario: Literal["auto", "single-sample", "case-control"] = "auto",
        costs: Mapping[Any, Mapping[Any, float]] | ArrayLike | None = None,
        epochs: int | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        *,
        unlabeled: Any = "auto",
        unknown_label: Any = None,
        categorical: Sequence[str | int] | None = None,
        hidden: Sequence[int] | None = None,
        trees: int | None = None,
        learning_rate: float | None = None,
        validation_share: float = 0.2,
        split_seed: int = 42,
    ) -> None: ...
    def fit(self, X: Any, y: Any) -> MPUClassifier: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float32]: ...
    def decision_function(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float: ...
    def report(self) -> Report: ...
    def to_onnx(self, path: str | PathLike[str] | None = None) -> bytes: ...
    def save(self, folder: str | PathLike[str]) -> None: ...
    @classmethod
    def load(cls, folder: str | PathLike[str]) -> MPUClassifier: ...

class PUStratifiedKFold(StratifiedKFold):
    unlabeled: Any
    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None, unlabeled: Any = "auto"
    ) -> None: ...
    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]: ...

class _Scorer(Protocol):
    def __call__(self, estimator: Any, X: Any, y: Any) -> float: ...

def make_pu_scorer(
    metric: Literal["accuracy", "f1", "auc"], *, priors: Mapping[Any, float] | None = None
) -> _Scorer: ...

pu_accuracy: _Scorer
pu_f1: _Scorer
pu_auc: _Scorer

def check(X: Any, y: Any, *, unlabeled: Any = "auto", categorical: Sequence[str | int] | None = None) -> DataCheck: ...
def estimate_priors(
    X: Any,
    y: Any,
    *,
    unlabeled: Any = "auto",
    unknown_label: Any = None,
    scenario: Literal["auto", "single-sample", "case-control"] = "auto",
    categorical: Sequence[str | int] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> PriorEstimate: ...
