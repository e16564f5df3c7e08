from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

OBJECTIVES: tuple[str, ...]

class Risk(NamedTuple):
    value: float
    raw: float
    gradient: NDArray[np.float64]

def risk(
    scores: ArrayLike,
    labels: ArrayLike,
    priors: ArrayLike,
    *,
    objective: str = "csmpu-exact-nn",
    surrogate: str = "sigmoid_prob",
    gamma: float = 1.0,
    form: str = "raw",
    targets: ArrayLike | None = None,
) -> Risk: ...
