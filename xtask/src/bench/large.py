"""Training on a large table: ours beside HistGradientBoosting, both in processes of their own, taking turns."""

import csv
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
n_rows, n_columns, rounds = map(int, sys.argv[3:6])
N_TEST = 50_000
PEER = """import sys, time
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
wall, cpu = time.perf_counter(), time.process_time()
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
print(time.process_time() - cpu, time.perf_counter() - wall, *model.predict(np.load(sys.argv[3])))
"""


def drawn(n, seed):
    """Three overlapping clouds, some columns squared; the third class is never labelled."""
    centers = np.random.default_rng(7).normal(size=(3, n_columns)) * 0.45
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.3, 0.2, 0.5])
    X = rng.normal(size=(n, n_columns)).astype(np.float32) + centers[y].astype(np.float32)
    X[:, : n_columns // 6] **= 2
    seen = (y < 2) & (rng.random(n) < 0.3)
    return np.round(X, 4), y, seen


def write_csv(path, X, labels):
    with open(path, "w") as file:
        file.write(",".join([f"x{i}" for i in range(n_columns)] + ["class"]) + "\n")
        for row, label in zip(X.tolist(), labels):
            file.write(",".join(map(str, row)) + f",{label}\n")


def tables():
    """The table, the first 1000 rows of it, and rows to judge by."""
    large, small, test = (folder / f"{n_rows}x{n_columns}{what}.csv" for what in ("", "-1000", "-test"))
    arrays = [folder / f"{n_rows}x{n_columns}-{what}.npy" for what in ("X", "seen", "true", "test")]
    Z, z, _ = drawn(N_TEST, 1)
    if not arrays[-1].exists():
        X, y, seen = drawn(n_rows, 0)
        labels = np.where(seen, np.array(["a", "b", ""])[y], "")
        write_csv(large, X, labels)
        write_csv(small, X[:1000], labels[:1000])
        write_csv(test, Z, [""] * N_TEST)
        for path, array in zip(arrays, (X, np.where(seen, y, 2), y, Z)):
            np.save(path, array)
    return large, small, test, arrays, z


def peak(process):
    """The most memory of a process so far, in bytes. What `wait` says counts the memory of its parent, too."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return max([1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")], default=0)


def measured(*command):
    """CPU seconds, wall seconds and the most memory of a process, in MB."""
    start, most, ended = time.perf_counter(), 0, 0
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while not ended:
            most = max(most, peak(process.pid))
            time.sleep(0.01)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{command[0]} failed: {errors.read().decode()}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": time.perf_counter() - start, "mb": most / 1e6}


def peer(X, y, test, truth):
    # Threads that wait must not count as work.
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-W", "ignore", "-c", PEER, X, y, test]
    words = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    answers = np.array(words[2:], int)
    return {"cpu": float(words[0]), "wall": float(words[1]), "accuracy": float((answers == truth).mean())}


def accuracy(path, truth):
    with open(path) as file:
        answers = [row["answer"] for row in csv.DictReader(file)]
    return float((np.array([{"a": 0, "b": 1}.get(answer, 2) for answer in answers]) == truth).mean())


def main():
    large, small, test, (X, seen, true, Z), truth = tables()
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:16]
    kept = folder / f"{n_rows}x{n_columns}-{digest}.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for number in range(len(done), rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        model, little = (folder / f"{digest}-{number}-{name}" for name in ("large", "small"))
        for old in (model, little):
            subprocess.run(["rm", "-rf", old], check=True)
        found = {"ours": measured(program, "train", "--data", large, "--out", model, "--seed", str(number))}
        found["peer"] = peer(X, seen, Z, truth)
        found["small"] = measured(program, "train", "--data", small, "--out", little, "--seed", str(number))
        answers = folder / f"{digest}-answers.csv"
        rest = ("--model", model, "--out", answers, "--force", "--ignore-extra")
        found["predict"] = measured(program, "predict", "--data", large, *rest)
        measured(program, "predict", "--data", test, *rest)
        found["ours"]["accuracy"] = accuracy(answers, truth)
        if number == 0:
            found["true"] = peer(X, true, Z, truth)
        answers.unlink()
        done.append(found)
        with open(kept, "a") as file:
            file.write(json.dumps(found) + "\n")
    done = done[:rounds]
    median = lambda of: float(np.median([of(found) for found in done]))  # noqa: E731
    for name, value in {
        "cpu-ratio": median(lambda found: found["ours"]["cpu"] / found["peer"]["cpu"]),
        "wall-ratio": median(lambda found: found["ours"]["wall"] / found["peer"]["wall"]),
        "train-mb": max(found["ours"]["mb"] for found in done),
        "predict-mb": max(found["predict"]["mb"] for found in done),
        "small-cpu": median(lambda found: found["small"]["cpu"]),
        "small-wall": median(lambda found: found["small"]["wall"]),
        "accuracy": median(lambda found: found["ours"]["accuracy"]),
        "true-accuracy": done[0]["true"]["accuracy"],
    }.items():
        print(name, value)


main()
