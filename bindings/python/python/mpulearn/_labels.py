"""Which rows are unlabelled, and what the classes are."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

AUTO = "auto"


def is_missing(value):
    """None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA cannot be asked
        return True


def as_column(y):
    """A target as an array of one dimension, whatever it came as; missing values stay as they are."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: it holds the labels, and a mark where nobody looked"
        )
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    given = y
    y = np.asarray(given)
    if y.dtype.kind in "US" and isinstance(given, (list, tuple)) and not all(isinstance(v, str) for v in given):
        # NumPy would make the text "nan" of a missing value among texts.
        y = np.array(given, dtype=object)
    if y.dtype == object or y.dtype.kind in "US":
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.ravel()
        if y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        return y
    return column_or_1d(y, warn=True)


def _is_number(value):
    return isinstance(value, (numbers.Number, np.number, np.bool_)) and not isinstance(value, (bool, np.bool_))


class Labels:
    """The labels of a fit: a code for each row (-1 is unlabelled) and the classes, in order.

    ``unlabeled`` says how unlabelled rows are marked: a value, a list of values, or "auto". Then -1 marks them among
    numbers, and None, NaN and the empty text do among everything else.
    """

    def __init__(self, y, unlabeled=AUTO):
        y = as_column(y)
        missing = np.array([is_missing(value) for value in y], dtype=bool) if y.dtype == object else None
        if y.dtype.kind == "f":
            if np.isinf(y).any():
                raise ValueError("Input y contains infinity or a value too large for a label.")
            missing = np.isnan(y)
        if missing is None:
            missing = np.zeros(len(y), dtype=bool)
        present = y[~missing]
        self.numeric = y.dtype.kind in "iuf" or (
            y.dtype == object and len(present) > 0 and all(_is_number(v) for v in present)
        )
        if y.dtype.kind == "f" or (self.numeric and y.dtype == object):
            if len(present) and type_of_target(present.astype(float)) == "continuous":
                raise ValueError(
                    "Unknown label type: continuous. Labels are classes: whole numbers, texts or booleans, and a mark "
                    "for unlabelled rows."
                )
        if isinstance(unlabeled, str) and unlabeled == AUTO:
            self.marker = -1 if self.numeric else (None, float("nan"), "")
            marks = [-1] if self.numeric else [""]
            if missing.any() and self.numeric:
                if (present == -1).any():
                    raise ValueError(
                        "y marks rows both by -1 and by NaN or None\nhint: say which means unlabelled, with unlabeled="
                    )
                self.marker, marks = (None, float("nan")), []
            pool = missing
        else:
            given = list(unlabeled) if isinstance(unlabeled, (list, tuple, set, frozenset)) else [unlabeled]
            self.marker = unlabeled
            marks = [value for value in given if not is_missing(value)]
            pool = missing & any(is_missing(value) for value in given)
            if (missing & ~pool).any():
                raise ValueError(
                    f"y has missing values, but only {self.marker!r} marks unlabelled rows\n"
                    "hint: add None to the marks: unlabeled=[..., None]"
                )
        pool = pool.copy()
        for mark in marks:
            pool |= np.array([_equal(value, mark) for value in y], dtype=bool) if y.dtype == object else _same(y, mark)
        labeled = y[~pool]
        self.n_rows, self.n_unlabeled = len(y), int(pool.sum())
        if y.dtype == object:
            self.classes, codes = _sorted_objects(labeled, self.numeric)
        else:
            if y.dtype.kind == "f" and len(labeled) and np.all(labeled == np.floor(labeled)):
                whole = labeled.astype(np.int64) if missing.any() else labeled
                labeled = whole
            self.classes, codes = np.unique(labeled, return_inverse=True)
        self.codes = np.full(len(y), -1, dtype=np.int64)
        self.codes[~pool] = codes.ravel()

    def names(self):
        """What the classes are called in Rust, and in the folder of a model."""
        return [name_of(label) for label in self.classes.tolist()]


def name_of(label):
    """The name of a label: of a whole number without a point."""
    if _is_number(label) and float(label) == int(label):
        return str(int(label))
    return str(label)


def _equal(value, mark):
    try:
        return not is_missing(value) and bool(value == mark)
    except (TypeError, ValueError):
        return False


def _same(y, mark):
    if y.dtype.kind in "US":
        return y == str(mark) if isinstance(mark, str) else np.zeros(len(y), dtype=bool)
    if isinstance(mark, str):
        return np.zeros(len(y), dtype=bool)
    return y == mark


def _sorted_objects(values, numeric):
    """Distinct values in order, and the place of each value among them."""
    try:
        distinct = sorted(set(values.tolist()))
    except TypeError:
        distinct = sorted(set(values.tolist()), key=lambda value: (str(type(value)), str(value)))
    place = {value: i for i, value in enumerate(distinct)}
    codes = np.array([place[value] for value in values.tolist()], dtype=np.int64)
    if numeric:
        whole = all(float(value) == int(value) for value in distinct)
        return np.array(distinct, dtype=np.int64 if whole else float), codes
    if all(isinstance(value, str) for value in distinct):
        return np.array(distinct, dtype=object), codes
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, codes


def classes_of_names(names):
    """The classes of a model that the command line made: whole numbers if all names are, else texts."""
    try:
        numbers_ = [int(name) for name in names]
    except ValueError:
        return np.array(list(names), dtype=object)
    if [str(number) for number in numbers_] == list(names):
        return np.array(numbers_, dtype=np.int64)
    return np.array(list(names), dtype=object)


def unknown_label_for(classes):
    """What rows of no observed class are called unless told otherwise: -1 among numbers, else a word."""
    if classes.dtype.kind in "iuf":
        return -1
    for word in ("unknown", "negative", "none of these"):
        if word not in classes.tolist():
            return word
    return "negative class"
