"""Fits beside `mpu-cli train` on the same rows: answers, seconds and memory.

    cargo build --release -p mpu-cli
    python bench/beside_cli.py target/release/mpu-cli

The command line gets the rows as `.npz`. Its training time is the `seconds` of its record; the estimator's is that of its own
record, and the wall time of `fit` stands beside that of the whole command. On a busy machine compare processor seconds, which
are those of all threads.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def digits():
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(np.isin(truth, [0, 3, 8]) & (rng.random(len(truth)) < 0.5), truth, -1)
    return X.astype(np.float32), y, truth


def large():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 100_000)
    centres = rng.normal(scale=0.6, size=(4, 50))
    X = (centres[truth] + rng.normal(size=(100_000, 50))).astype(np.float32)
    y = np.where((truth > 0) & (rng.random(len(truth)) < 0.3), truth, -1)
    return X, y, np.where(truth > 0, truth, -1)


def processor(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def by_python(X, y, truth):
    from mpulearn import MPUClassifier

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.perf_counter(), processor(resource.RUSAGE_SELF)
    model = MPUClassifier(seed=1).fit(X, y)
    wall, cpu = time.perf_counter() - began, processor(resource.RUSAGE_SELF) - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return model, {
        "training s": model._model.seconds,
        "wall s": wall,
        "processor s": cpu,
        "accuracy": model.score(X, truth),
        "peak above the rows, MB": (peak - before) / 1024,
    }


def by_cli(cli, X, y, folder):
    np.savez(folder / "rows.npz", X=X, y=y)
    began, cpu = time.perf_counter(), processor(resource.RUSAGE_CHILDREN)
    command = [cli, "train", "--data", folder / "rows.npz", "--seed", "1", "--unlabeled-marker=-1", "--out", folder / "run"]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    wall, cpu = time.perf_counter() - began, processor(resource.RUSAGE_CHILDREN) - cpu
    record = json.loads((folder / "run" / "record.json").read_text())
    from mpulearn import MPUClassifier

    return MPUClassifier.load(folder / "run"), {
        "training s": record["seconds"],
        "wall s": wall,
        "processor s": cpu,
    }


def main():
    cli, names = sys.argv[1], sys.argv[2:] or ["digits", "large"]
    for name in names:
        X, y, truth = {"digits": digits, "large": large}[name]()
        print(f"{name}: {X.shape[0]} rows of {X.shape[1]}, {X.nbytes / 2**20:.1f} MB")
        model, ours = by_python(X, y, truth)
        with tempfile.TemporaryDirectory() as folder:
            other, theirs = by_cli(cli, X, y, Path(folder))
            theirs["accuracy"] = other.score(X, truth)
            same = bool((other.predict_proba(X) == model.predict_proba(X)).all())
        for side, figures in [("mpulearn", ours), ("mpu-cli", theirs)]:
            print(f"  {side}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()))
        print(f"  the same probabilities: {same}")


if __name__ == "__main__":
    main()
