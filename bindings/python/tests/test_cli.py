"""The command line and Python make and read the same models."""

import csv
import json

import numpy as np

from mpulearn import MPUClassifier


def write_csv(path, X, y):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{i}" for i in range(X.shape[1])] + ["y"])
        for row, label in zip(X.tolist(), y):
            writer.writerow([repr(np.float32(value).item()) for value in row] + ["" if label == -1 else label])


def test_same_bits_with_the_same_rows_and_seed(rows, cli, tmp_path):
    X, y, _ = rows
    X = X.copy()
    X[::19, 1] = np.nan
    write_csv(tmp_path / "rows.csv", X, y)
    cli("train", "--data", tmp_path / "rows.csv", "--seed", 5, "--epochs", 6, "--out", tmp_path / "cli")
    model = MPUClassifier(seed=5, epochs=6).fit(X, y)
    model.save(tmp_path / "python")
    for name in ("model.safetensors", "forest.safetensors", "held-out.csv", "metrics.csv", "background.json"):
        ours, theirs = tmp_path / "python" / name, tmp_path / "cli" / name
        assert ours.exists() == theirs.exists(), name
        if ours.exists():
            assert ours.read_bytes() == theirs.read_bytes(), name
    cards = [json.loads((tmp_path / side / "model.json").read_text()) for side in ("python", "cli")]
    for key in ("priors", "scaler", "calibration", "estimated_priors", "schema", "choice", "range", "importances"):
        assert cards[0].get(key) == cards[1].get(key), key


def test_each_reads_what_the_other_saved(rows, cli, tmp_path):
    X, y, _ = rows
    write_csv(tmp_path / "rows.csv", X, y)
    cli("train", "--data", tmp_path / "rows.csv", "--seed", 0, "--epochs", 6, "--out", tmp_path / "cli")
    read = MPUClassifier.load(tmp_path / "cli")
    assert read.classes_.tolist() == [-1, 1, 2] and read.n_features_in_ == 3
    assert read.get_params()["epochs"] == 6
    fitted = MPUClassifier(epochs=6).fit(X, y)
    assert (read.predict_proba(X) == fitted.predict_proba(X)).all()

    fitted.save(tmp_path / "python")
    cli("predict", "--model", tmp_path / "python", "--data", tmp_path / "rows.csv", "--out", tmp_path / "answers.csv")
    with open(tmp_path / "answers.csv") as file:
        answers = list(csv.DictReader(file))
    assert [row["answer"] for row in answers] == ["unknown" if a == -1 else str(a) for a in fitted.predict(X)]


def test_labels_come_back_as_they_were(rows, tmp_path):
    X, y, _ = rows
    labels = np.where(y == 1, True, None)
    model = MPUClassifier(model="forest", trees=10).fit(X, labels)
    model.save(tmp_path / "model")
    again = MPUClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert (again.predict(X) == model.predict(X)).all()
    assert again.get_params()["model"] == "forest"
