"""Rows of whatever kind as the native code takes them."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.utils.validation import check_array

from . import _native

#: A sparse matrix is made dense if that takes at most so many bytes.
DENSE_LIMIT = 2 << 30


class MPUWarning(UserWarning):
    """What the user of a fit should know of rows, priors or training."""


def teller(verbose):
    """Prints progress and hands warnings on."""

    def tell(kind, text):
        if kind == "warning":
            warnings.warn(text, MPUWarning, stacklevel=4)
        elif verbose:
            print(f"[mpulearn] {text}", file=sys.stdout, flush=True)

    return tell


def silent(kind, text):
    """Tells nobody."""


def is_frame(X):
    """Whether rows come with named columns: pandas, polars, or what looks like them."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def as_rows(X):
    """Rows as a frame, a sparse matrix or an array."""
    return X if is_frame(X) or is_sparse(X) else np.asarray(X)


def is_sparse(X):
    """Whether rows are a sparse matrix."""
    return hasattr(X, "tocsr") and not isinstance(X, np.ndarray)


def is_images(X):
    """Whether rows have more than one dimension each."""
    return isinstance(X, np.ndarray) and X.ndim >= 3


def n_rows(X):
    """The number of rows."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def rows_of(X, names=None, estimator=None):
    """Rows for the native code, and whether they are a plain matrix.

    Contiguous float32 is handed over without a copy. Everything else becomes float32 once; frames with texts are
    handed over column by column, under their own names unless others are given.
    """
    X = as_rows(X)
    if is_frame(X):
        columns = [(str(name), _column(X, name)) for name in X.columns]
        if any(isinstance(column, tuple) for _, column in columns):
            if n_rows(X) == 0:
                check_array(np.empty((0, len(columns))), estimator=estimator)
            return _native.Rows.columns(columns)
        matrix = np.empty((n_rows(X), len(columns)), dtype=np.float32)
        for place, (name, column) in enumerate(columns):
            with np.errstate(over="ignore"):
                matrix[:, place] = column
        if np.isinf(matrix).any():
            raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
        return _matrix(matrix, [name for name, _ in columns] if names is None else names, estimator)
    if is_sparse(X):
        X = _dense(X)
    if is_images(X):
        return _images(X, estimator)
    return _matrix(X, names, estimator)


def _matrix(X, names, estimator):
    as_float = X.dtype == np.float32
    X = check_array(
        X,
        dtype=np.float32 if as_float else np.float64,
        order="C",
        ensure_all_finite="allow-nan",
        estimator=estimator,
        input_name="X",
    )
    if not as_float:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32, order="C")
        if np.isinf(X).any():
            raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    if names is None:
        names = [f"x{i}" for i in range(X.shape[1])]
    return _native.Rows.matrix(X, list(names))


def _dense(X):
    """A sparse matrix as a dense one, if it is not too large."""
    size = X.shape[0] * X.shape[1] * 4
    if size > DENSE_LIMIT:
        raise ValueError(
            f"X is sparse with shape {X.shape}: made dense it would take {size / 2**30:.1f} GiB, and "
            f"{DENSE_LIMIT / 2**30:.0f} GiB is the limit\n"
            "hint: use fewer columns, for instance with TruncatedSVD, or raise mpulearn._rows.DENSE_LIMIT"
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if X.dtype.kind not in "fiub":
        X = X.astype(np.float64)
    dense = X.astype(np.float32) if X.dtype != np.float64 else X
    return dense.toarray(order="C")


def _images(X, estimator):
    """Images as (rows, channels, height, width)."""
    X = check_array(X, dtype=np.float32, allow_nd=True, estimator=estimator, input_name="X")
    if X.ndim == 3:
        X = X[:, None]
    elif X.ndim == 4:
        last, first = X.shape[3] in (1, 3), X.shape[1] in (1, 3)
        if last and not first:
            X = np.moveaxis(X, 3, 1)
        elif not first:
            raise ValueError(
                f"X has shape {X.shape}: images are (rows, height, width), (rows, height, width, channels) or "
                "(rows, channels, height, width), with 1 or 3 channels"
            )
    else:
        raise ValueError(
            f"Found array with dim {X.ndim}: rows have 2 dimensions, images 3 or 4 (rows, height, width, channels)"
        )
    X = np.ascontiguousarray(X)
    width = X.shape[1] * X.shape[2] * X.shape[3]
    return _native.Rows.matrix(X, [f"x{i}" for i in range(width)])


def _column(X, name):
    """A column as float64 numbers, or as codes and texts; -1 is missing."""
    column = X[name]
    if hasattr(X, "get_column"):
        return _polars(column)
    return _pandas(column)


def _pandas(column):
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return codes, [str(name) for name in column.cat.categories]
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind):
        if pd.api.types.is_complex_dtype(kind):
            raise ValueError("Complex data not supported")
        return _numbers(column.to_numpy(dtype=np.float64, na_value=np.nan), column.name)
    if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
        raise ValueError(
            f"column `{column.name}` holds dates or durations, which are not read\nhint: make numbers of them, or drop it"
        )
    codes, names = pd.factorize(column)
    return codes.astype(np.int64), [str(name) for name in names]


def _polars(column):
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return _numbers(np.array(values, dtype=np.float64), column.name)
    if kind in (pl.String, pl.Categorical, pl.Enum) or isinstance(kind, (pl.Categorical, pl.Enum)):
        texts = column.cast(pl.String)
        names = texts.drop_nulls().unique().sort().to_list()
        place = {name: i for i, name in enumerate(names)}
        codes = np.array([place.get(text, -1) for text in texts.to_list()], dtype=np.int64)
        return codes, names
    raise ValueError(f"column `{column.name}` is of type {kind}, which is not read\nhint: make numbers of it, or drop it")


def _numbers(values, name):
    if np.isinf(values).any():
        raise ValueError(f"Input X contains infinity or a value too large: column `{name}`")
    return np.ascontiguousarray(values)
