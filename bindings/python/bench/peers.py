"""Our classifier beside pulearn's Elkan–Noto and bagging on five tables, in one run.

    pip install mpu-learn pulearn
    python bench/peers.py

Of each observed class half of the training rows are labelled; all other rows are the pool. pulearn knows two classes, so
it gets one model for each observed class, and the likeliest is the answer if it has at least one half. Times are those of fit
and predict, with all cores for everybody. Prints a table in Markdown.
"""

import argparse
import time
import warnings

import numpy as np
from pulearn import BaggingPuClassifier, ElkanotoPuClassifier
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from mpulearn import MPUClassifier

TREES = 300


def waveform(rng, n=3000):
    """Breiman's waveforms: mixtures of two of three triangles, with noise."""
    at = np.arange(1, 22)
    triangles = [np.maximum(6 - abs(at - centre), 0) for centre in (11, 7, 15)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    kinds, u = rng.integers(0, 3, n), rng.random((n, 1))
    first = np.array([triangles[pairs[kind][0]] for kind in kinds])
    second = np.array([triangles[pairs[kind][1]] for kind in kinds])
    return u * first + (1 - u) * second + rng.normal(size=(n, 21)), kinds


def twonorm(rng, n=3000):
    """Two normal clouds of 20 dimensions."""
    kinds = rng.integers(0, 2, n)
    return rng.normal(size=(n, 20)) + np.where(kinds[:, None] == 0, 2, -2) / np.sqrt(20), kinds


def tables(rng):
    """Name, rows, true classes, observed classes."""
    yield "digits", *load_digits(return_X_y=True), [0, 3, 8]
    yield "wine", *load_wine(return_X_y=True), [0, 1]
    yield "breast_cancer", *load_breast_cancer(return_X_y=True), [0]
    yield "waveform", *waveform(rng), [0, 1]
    yield "twonorm", *twonorm(rng), [0]


def ours(**params):
    def answers(X, y, new, seed):
        return MPUClassifier(seed=seed, **params).fit(X, y).predict(new)

    return answers


def one_vs_rest(fit):
    def answers(X, y, new, seed):
        classes = np.unique(y[y >= 0])
        scores = [fit(X, (y == label).astype(int), seed).predict_proba(new)[:, 1] for label in classes]
        p = np.column_stack(scores)
        return np.where(p.max(1) >= 0.5, classes[p.argmax(1)], -1)

    return answers


def elkan_noto(X, y, seed):
    forest = RandomForestClassifier(TREES, min_samples_leaf=3, n_jobs=-1, random_state=seed)
    for share in (0.1, 0.2, 0.3, 0.5):
        try:
            return ElkanotoPuClassifier(forest, hold_out_ratio=share, random_state=seed).fit(X, y)
        except ValueError as error:  # too few labelled rows were held out
            fault = error
    raise fault


def bagging(X, y, seed):
    bags = BaggingPuClassifier(
        DecisionTreeClassifier(), n_estimators=TREES, max_samples=int(y.sum()), n_jobs=-1, random_state=seed
    )
    return bags.fit(X, y)


METHODS = {
    "mpulearn": ours(),
    "mpulearn, forest": ours(model="forest"),
    "pulearn, Elkan–Noto": one_vs_rest(elkan_noto),
    "pulearn, bagging": one_vs_rest(bagging),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    accuracy, seconds = {}, {}
    for seed in range(1, args.seeds + 1):
        rng = np.random.default_rng(seed)
        for name, X, truth, observed in tables(rng):
            X = X.astype(np.float32)
            test = rng.random(len(X)) < 0.3
            y = np.where(np.isin(truth, observed) & (rng.random(len(X)) < 0.5), truth, -1)
            wanted = np.where(np.isin(truth, observed), truth, -1)
            for method, answers in METHODS.items():
                began = time.perf_counter()
                found = answers(X[~test], y[~test], X[test], seed)
                seconds.setdefault((name, method), []).append(time.perf_counter() - began)
                accuracy.setdefault((name, method), []).append(np.mean(found == wanted[test]))
    names = list(dict.fromkeys(name for name, _ in accuracy))
    print("| table | " + " | ".join(METHODS) + " |")
    print("| --- |" + " ---: |" * len(METHODS))

    def row(title, cell):
        print(f"| {title} | " + " | ".join(cell(method) for method in METHODS) + " |")

    def both(name, method):
        return f"{100 * np.mean(accuracy[name, method]):.1f} % in {np.mean(seconds[name, method]):.2f} s"

    for name in names:
        row(name, lambda method: both(name, method))
    row(
        "**mean**",
        lambda m: f"{100 * np.mean([accuracy[n, m] for n in names]):.1f} % in {np.mean([seconds[n, m] for n in names]):.2f} s",
    )


if __name__ == "__main__":
    main()
