from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str
METHODS: str
OBJECTIVES: str
SURROGATES: str

_Tell = Callable[[str, str], None]

class Rows:
    @staticmethod
    def matrix(array: NDArray[np.float32], names: list[str]) -> Rows: ...
    @staticmethod
    def columns(columns: list[tuple[str, Any]]) -> Rows: ...

class Model:
    names: list[str]
    columns: list[str]
    image: tuple[int, int, int] | None
    priors: list[float]
    population: list[float]
    prior_intervals: list[tuple[float, float]] | None
    costs: list[list[float]] | None
    config: str
    seconds: float | None
    epochs: int
    @staticmethod
    def load(folder: str | PathLike[str]) -> Model: ...
    def save(self, folder: str | PathLike[str]) -> None: ...
    def files(self) -> list[tuple[str, bytes]]: ...
    @staticmethod
    def from_files(files: list[tuple[str, bytes]]) -> Model: ...
    def predict(
        self, rows: Rows, threads: int | None, tell: _Tell
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    def judge(
        self, rows: Rows, labels: NDArray[np.int64], threads: int | None, tell: _Tell
    ) -> tuple[float, float, float]: ...
    def report(self) -> str: ...
    def onnx(self) -> bytes: ...

def fit(rows: Rows, labels: dict[str, Any], settings: dict[str, Any], tell: _Tell) -> tuple[Model, list[int]]: ...
def check(rows: Rows, labels: dict[str, Any], settings: dict[str, Any], tell: _Tell) -> tuple[str, str]: ...
def estimate_priors(
    rows: Rows, labels: dict[str, Any], settings: dict[str, Any], tell: _Tell
) -> tuple[list[float], list[tuple[float, float]], list[int]]: ...
def pu_judgement(priors: list[float], labels: NDArray[np.int64], answers: NDArray[np.int64]) -> tuple[float, float]: ...
def pu_auc(priors: list[float], labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float: ...
def surrogate(
    name: str, margins: NDArray[np.float64], gamma: float, form: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def risk(
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    priors: list[float],
    objective: str,
    surrogate: str,
    gamma: float,
    form: str,
    targets: NDArray[np.float64] | None,
) -> tuple[float, float, NDArray[np.float64]]: ...
