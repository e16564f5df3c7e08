"""The estimator."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from . import _native
from ._labels import Labels, as_column, classes_of_names, is_missing, name_of, unknown_label_for
from ._report import Report
from ._rows import MPUWarning, as_rows, is_frame, is_images, rows_of, silent, teller

#: The file that keeps, beside the model, what only Python knows of its labels.
_LABELS = "python.json"

#: The fewest labelled rows of a class, and the fewest rows of the pool, that a fit needs.
_FEWEST_LABELED, _FEWEST_POOL = 6, 20


class MPUClassifier(ClassifierMixin, BaseEstimator):
    """A classifier from labelled rows of some classes, an unlabelled pool and no negatives.

    Parameters
    ----------
    method : str, default="csmpu-st"
        How a network is trained; ``mpulearn._native.METHODS`` lists the names. A method other than the default means
        a network alone, as on the command line.
    model : {"auto", "forest", "network"}, default="auto"
        "auto" grows a forest and trains a network, and takes for each fit the one, or the mean of both, that
        explains held-out rows best; for images it is a network.
    priors : "auto" or dict, default="auto"
        The share of each observed class in the unlabelled rows, where it is known: ``{class: share}``.
    scenario : {"auto", "single-sample", "case-control"}, default="auto"
        Whether labelled and unlabelled rows are one population, of which some rows were labelled ("single-sample", what
        "auto" means), or were collected separately ("case-control").
    costs : dict or array, default=None
        What mistakes cost: ``{truth: {answer: cost}}``, or a square array in the order of ``classes_``.
    epochs : int, default=None
        How often a network goes over the rows; 40 to 100 by default, fewer the more rows there are.
    seed : int, default=0
        The seed of everything random but which rows are held out.
    n_jobs : int, default=None
        How many threads; None and -1 mean one for every core. The outcome does not depend on it.
    verbose : int, default=0
        Above 0, prints what was understood and how the fit goes.
    unlabeled : "auto", a value or a list of values, default="auto"
        How unlabelled rows are marked in ``y``. By default -1 among numbers; None, NaN and "" among all else.
    unknown_label : default=None
        What rows of no observed class are called in answers; by default -1 among numbers and "unknown" else.
    categorical : list of str or int, default=None
        Columns that are categories even if they look like numbers, by name or by position.
    hidden : list of int, default=None
        The widths of the network's hidden layers.
    trees : int, default=None
        The trees of ``model="forest"``.
    learning_rate : float, default=None
        The learning rate of the network.
    validation_share : float, default=0.2
        The share of every group of rows that is held out to calibrate probabilities and to judge by.
    split_seed : int, default=42
        The seed of which rows are held out.

    Attributes
    ----------
    classes_ : array
        The observed classes and ``unknown_label_``, sorted. Without the latter if every row of ``y`` was labelled.
    priors_ : array
        The share of each of ``classes_`` in the unlabelled rows.
    prior_intervals_ : array of shape (n_classes, 2)
        The 95 % interval of each estimated share; NaN where shares were given.
    unlabeled_marker_
        How unlabelled rows were marked.
    unknown_label_
        What rows of no observed class are called.
    n_features_in_ : int
    feature_names_in_ : array
        Where columns have names.
    n_iter_ : int
        The epochs of the network; 0 for a forest.
    """

    def __init__(
        self,
        method="csmpu-st",
        model="auto",
        priors="auto",
        scenario="auto",
        costs=None,
        epochs=None,
        seed=0,
        n_jobs=None,
        verbose=0,
        *,
        unlabeled="auto",
        unknown_label=None,
        categorical=None,
        hidden=None,
        trees=None,
        learning_rate=None,
        validation_share=0.2,
        split_seed=42,
    ):
        self.method = method
        self.model = model
        self.priors = priors
        self.scenario = scenario
        self.costs = costs
        self.epochs = epochs
        self.seed = seed
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.unlabeled = unlabeled
        self.unknown_label = unknown_label
        self.categorical = categorical
        self.hidden = hidden
        self.trees = trees
        self.learning_rate = learning_rate
        self.validation_share = validation_share
        self.split_seed = split_seed

    # Fitting

    def fit(self, X, y):
        """Fits the classifier to rows, of which ``y`` marks some as unlabelled.

        There is no ``sample_weight``: passing one is an error, because the risk estimators have no place for it.
        """
        rows, labels, known = self._training_rows(X, y)
        marked = f"{known.n_unlabeled} of {known.n_rows} rows unlabelled, marked by {known.marker!r}"
        tell = teller(self.verbose)
        tell("progress", f"classes {', '.join(labels['names'])}; {marked}")
        model, places = _native.fit(rows, labels, self._settings(known), tell)
        self.unlabeled_marker_ = known.marker
        self._n_unlabeled = known.n_unlabeled
        self._take(model, known.classes, places, known.n_unlabeled == 0)
        return self

    def _training_rows(self, X, y):
        """Rows and labels for the native code, checked."""
        X = as_rows(X)
        if y is not None:
            check_consistent_length(X, as_column(y))
        known = Labels(y, self.unlabeled)
        names = known.names()
        if not names:
            raise ValueError(
                f"every row of y is marked as unlabelled ({known.marker!r}): at least one class needs labelled rows"
            )
        image = is_images(X)
        if known.n_unlabeled == 0:
            X, known.codes = _own_pool(X, known, type(self).__name__)
        rows = rows_of(X, self._matrix_names(X), self)
        self._notice(X, image)
        column = "y"
        while column in self._columns_given(X):
            column += "_"
        labels = {"codes": known.codes, "names": names, "column": column, "categorical": self._categorical(X)}
        return rows, labels, known

    def _notice(self, X, image):
        """Keeps how many features there are and what they are called."""
        if image:
            self.n_features_in_ = int(np.prod(np.shape(X)[1:]))
            self.__dict__.pop("feature_names_in_", None)
        else:
            validate_data(self, X, reset=True, skip_check_array=True)

    def _columns_given(self, X):
        return [str(name) for name in X.columns] if is_frame(X) else []

    def _matrix_names(self, X):
        return self._columns_given(X) or None

    def _categorical(self, X):
        if self.categorical is None:
            return []
        names = self._columns_given(X) or [f"x{i}" for i in range(np.shape(X)[1])]
        return [names[c] if isinstance(c, (int, np.integer)) else str(c) for c in self.categorical]

    def _settings(self, known):
        """The parameters for the native code."""
        if self.model not in ("auto", "forest", "network"):
            raise ValueError(f"model is {self.model!r}: one of 'auto', 'forest', 'network' is needed")
        priors, scenario, costs = None, self.scenario, None
        if known is not None:
            if known.n_unlabeled == 0:
                shares = np.bincount(known.codes[known.codes >= 0], minlength=len(known.classes))
                priors = dict(zip(known.names(), (shares / shares.sum()).tolist()))
                # The shares of the classes add up to 1, but for rounding.
                priors[known.names()[-1]] = 1.0 - sum(list(priors.values())[:-1])
                scenario = "case-control"
            elif not (isinstance(self.priors, str) and self.priors == "auto"):
                priors = {name_of(label): float(share) for label, share in dict(self.priors).items()}
            costs = self._named_costs(known)
        return {
            "method": self.method,
            "model": self.model,
            "hidden": None if self.hidden is None else [int(width) for width in self.hidden],
            "trees": None if self.trees is None else int(self.trees),
            "priors": priors,
            "scenario": scenario,
            "costs": costs,
            "epochs": None if self.epochs is None else int(self.epochs),
            "learning_rate": None if self.learning_rate is None else float(self.learning_rate),
            "validation_share": float(self.validation_share),
            "split_seed": int(self.split_seed),
            "seed": int(self.seed),
            "threads": self._threads(),
        }

    def _threads(self):
        if self.n_jobs is None:
            return None
        if self.n_jobs == 0:
            raise ValueError("n_jobs is 0: it must be 1 or more, or -1 for one thread for every core")
        cores = os.cpu_count() or 1
        return int(self.n_jobs) if self.n_jobs > 0 else max(1, cores + 1 + int(self.n_jobs))

    def _unknown(self, classes):
        unknown = unknown_label_for(classes) if self.unknown_label is None else self.unknown_label
        if unknown in classes.tolist():
            raise ValueError(f"unknown_label is {unknown!r}, which is an observed class: {classes.tolist()}")
        return unknown

    def _named_costs(self, known):
        if self.costs is None:
            return None
        unknown = self._unknown(known.classes)

        def name(label):
            return "unknown" if label == unknown else name_of(label)

        if hasattr(self.costs, "items"):
            return {
                name(truth): {name(answer): float(cost) for answer, cost in row.items()}
                for truth, row in self.costs.items()
            }
        labels = _sorted_labels(known.classes.tolist() + [unknown])
        costs = np.asarray(self.costs, dtype=float)
        if costs.shape != (len(labels), len(labels)):
            raise ValueError(f"costs has shape {costs.shape}: one row and one column for each of {labels} are needed")
        return {name(truth): dict(zip(map(name, labels), row.tolist())) for truth, row in zip(labels, costs)}

    def _class_order(self, classes, places, all_labeled=False):
        """The sorted classes, and which number each of them has in the native model."""
        number = {label: place for label, place in zip(classes.tolist(), places)}
        if all_labeled:
            return classes, np.array([number[label] for label in classes.tolist()])
        unknown = self._unknown(classes)
        number[unknown] = len(places)
        labels = _sorted_labels(list(number))
        return _label_array(labels, classes), np.array([number[label] for label in labels])

    def _take(self, model, classes, places, all_labeled):
        self._model = model
        self._all_labeled = all_labeled
        self.unknown_label_ = self._unknown(classes)
        self.classes_, self._order = self._class_order(classes, places, all_labeled)
        by_number = np.argsort(np.asarray(places))
        self._observed = classes[by_number]
        self.priors_ = np.array(model.priors)[self._order]
        intervals = model.prior_intervals
        unknown = np.full((len(places) + 1, 2), np.nan)
        self.prior_intervals_ = (unknown if intervals is None else np.array(intervals))[self._order]
        self.n_iter_ = model.epochs

    # Answering

    def _rows(self, X):
        check_is_fitted(self)
        X = as_rows(X)
        if is_images(X):
            return rows_of(X, estimator=self)
        if getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        # By name if columns have names, else by position.
        return rows_of(X, None if is_frame(X) and hasattr(self, "feature_names_in_") else self._model.columns, self)

    def _answers(self, X):
        """Class numbers of the native model, and probabilities in their order."""
        rows = self._rows(X)
        return self._model.predict(rows, self._threads(), silent)

    def _judge(self, X, codes):
        rows = self._rows(X)
        return self._model.judge(rows, codes, self._threads(), silent)

    def predict(self, X):
        """The likeliest class of each row, or with ``costs`` the cheapest; ``unknown_label_`` for none of them."""
        answers, _ = self._answers(X)
        place = np.empty(len(self._model.names), dtype=np.int64)
        place.fill(-1)
        place[self._order] = np.arange(len(self._order))
        return self.classes_[place[answers]]

    def predict_proba(self, X):
        """The probability of each of ``classes_``, calibrated on rows that were held out."""
        _, probabilities = self._answers(X)
        return np.ascontiguousarray(probabilities[:, self._order])

    def decision_function(self, X):
        """What answers are decided by, the higher the better: log probabilities, or with ``costs`` minus the expected
        cost of each answer. With two classes, the second less the first."""
        probabilities = self.predict_proba(X).astype(np.float64)
        costs = self._model.costs
        if costs is None:
            values = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
        else:
            values = -probabilities @ np.array(costs)[np.ix_(self._order, self._order)]
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def score(self, X, y, sample_weight=None):
        """The share of right answers by true labels. A label that is no observed class means ``unknown_label_``.

        Unlabelled rows have no true label: for rows like those of the fit use :func:`mpulearn.pu_accuracy`.
        """
        answers = self.predict(X)
        truth = as_column(y)
        known = set(self.classes_.tolist())
        if truth.dtype == object and any(is_missing(label) for label in truth):
            raise ValueError(
                "y has rows without a label, and score needs true labels\nhint: mpulearn.pu_accuracy judges without them"
            )
        if self._all_labeled:
            return accuracy_score(truth, answers, sample_weight=sample_weight)
        labels = [label if label in known else self.unknown_label_ for label in truth.tolist()]
        return accuracy_score(_label_array(labels, self.classes_), answers, sample_weight=sample_weight)

    def _priors_of(self, priors):
        """Shares by class number, from a share for each observed class."""
        named = {label: float(share) for label, share in dict(priors).items() if label != self.unknown_label_}
        missing = [label for label in self._observed.tolist() if label not in named]
        if missing or len(named) != len(self._observed):
            raise ValueError(f"priors has shares for {list(named)}: one for each of {self._observed.tolist()} is needed")
        observed = [named[label] for label in self._observed.tolist()]
        return observed + [1.0 - sum(observed)]

    # Keeping

    def report(self):
        """A page about the fit: what was done, how good it is without negatives, what to mind."""
        check_is_fitted(self)
        return Report(self._model.report())

    def to_onnx(self, path=None):
        """The model as ONNX bytes, also written to ``path`` if given. Inputs are encoded rows, as ``report`` says."""
        check_is_fitted(self)
        data = self._model.onnx()
        if path is not None:
            Path(path).write_bytes(data)
        return data

    def save(self, folder):
        """Writes a folder that :meth:`load` and ``mpu-cli predict --model`` read. It must be new or empty."""
        check_is_fitted(self)
        self._model.save(os.fspath(folder))
        (Path(folder) / _LABELS).write_text(json.dumps(self._label_facts()), encoding="utf-8")

    def _label_facts(self):
        def plain(label):
            return label if isinstance(label, (str, bool, int, float)) else str(label)

        return {
            "version": 1,
            "observed": [plain(label) for label in self._observed.tolist()],
            "unknown": plain(self.unknown_label_),
            "all-labeled": self._all_labeled,
            "feature-names": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "features": int(self.n_features_in_),
        }

    @classmethod
    def load(cls, folder):
        """Reads a folder that :meth:`save` or ``mpu-cli train`` wrote."""
        model = _native.Model.load(os.fspath(folder))
        observed = model.names[:-1]
        facts = {}
        kept = Path(folder) / _LABELS
        if kept.is_file():
            facts = json.loads(kept.read_text(encoding="utf-8"))
        params = _params_of(model.config)
        if "unknown" in facts:
            params["unknown_label"] = facts["unknown"]
        estimator = cls(**params)
        classes = classes_of_names(observed)
        if "observed" in facts:
            classes = _label_array(facts["observed"], np.array(facts["observed"]))
        columns = model.columns
        estimator.n_features_in_ = facts.get("features", len(columns))
        names = facts.get("feature-names", [] if _are_numbered(columns) else columns)
        if names:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.unlabeled_marker_ = None
        estimator._n_unlabeled = None
        estimator._take(model, classes, list(range(len(classes))), facts.get("all-labeled", False))
        return estimator

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = dict(state["_model"].files())
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "_model" in state:
            state["_model"] = _native.Model.from_files(list(state["_model"].items()))
        super().__setstate__(state)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __repr__(self, N_CHAR_MAX=700):
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "_model") or self._n_unlabeled is None:
            return text
        marked = f"{self._n_unlabeled} unlabelled rows, marked by {self.unlabeled_marker_!r}"
        return f"{text}  # fitted to classes {self._observed.tolist()} and {marked}"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.three_d_array = True
        return tags


def _own_pool(X, known, who):
    """Rows that are all labelled: they are their own pool, and the classifier an ordinary one.

    Groups of few rows are repeated, which changes no mean over a group.
    """
    if known.n_rows == 1:
        raise ValueError("X has 1 sample: that is too few to learn from")
    warnings.warn(
        f"{who}: every row of y is labelled, so nothing is left to find: the fit is that of an ordinary classifier\n"
        f"hint: mark rows as unlabelled by {known.marker!r}, or name the mark with unlabeled=",
        MPUWarning,
        stacklevel=4,
    )
    fewest = np.bincount(known.codes).min()
    often = -(-_FEWEST_LABELED // max(int(fewest), 1))
    pools = max(1, -(-_FEWEST_POOL // known.n_rows))
    n = known.n_rows
    every = np.tile(np.arange(n), often + pools)
    codes = np.tile(known.codes, often + pools)
    codes[often * n :] = -1
    if is_frame(X):
        X = X.iloc[every] if hasattr(X, "iloc") else X[every.tolist()]
    elif hasattr(X, "tocsr"):
        X = X.tocsr()[every]
    else:
        X = X[every]
    return X, codes


def _sorted_labels(labels):
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (str(type(label)), str(label)))


def _label_array(labels, like):
    """Labels as an array of the type of others."""
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=object) if like.dtype == object else np.array(labels)
    if like.dtype.kind in "iuf" and not any(isinstance(label, str) for label in labels):
        whole = all(float(label) == int(label) for label in labels)
        if like.dtype.kind == "f" or not whole:
            return np.array(labels, dtype=np.float64 if like.dtype.kind != "f" else like.dtype)
        return np.array(labels, dtype=like.dtype if like.dtype.kind == "i" else np.int64)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _are_numbered(columns):
    return list(columns) == [f"x{i}" for i in range(len(columns))]


def _params_of(config):
    """The parameters that a stored configuration tells."""
    try:
        import tomllib
    except ImportError:  # Python 3.10
        return {}
    told = tomllib.loads(config)
    data, train = told.get("data", {}), told.get("train", {})
    found = {
        "method": told.get("method"),
        "seed": told.get("seed"),
        "epochs": train.get("epochs"),
        "learning_rate": train.get("lr"),
        "validation_share": data.get("validation-share"),
        "split_seed": data.get("split-seed"),
    }
    if told.get("model", {}).get("kind") == "forest":
        found["model"] = "forest"
    return {name: value for name, value in found.items() if value is not None}


__all__ = ["MPUClassifier"]
