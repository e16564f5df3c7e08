"""Makes the example of docs/OWN_DATA.md: products with three known kinds of defect and an unlabelled pool.

    python3 examples/products/make_products.py

writes products.csv (to train on), checked.csv (with true labels, to judge by) and new.csv (to score) beside this
file. A fourth kind of defect, `crack`, was never labelled by anybody: it is part of what must be rejected.
"""

import csv
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ["id", "length_mm", "weight_g", "gloss", "noise_db", "line", "shift", "defect"]
# Mean length, weight, gloss and noise of each kind; then how many are in the pool, labelled and checked.
KINDS = {
    "dent": ((118.0, 250.0, 60.0, 38.0), 180, 70, 40),
    "scratch": ((120.0, 252.0, 42.0, 35.0), 150, 60, 35),
    "loose": ((121.0, 240.0, 61.0, 47.0), 120, 50, 30),
    "fine": ((120.0, 252.0, 62.0, 34.0), 750, 0, 150),
    "crack": ((124.0, 244.0, 52.0, 41.0), 100, 0, 25),
}
SPREAD = (0.7, 2.5, 4.0, 1.8)


def product(rng, kind):
    """The measurements of one product; about one in thirty was not weighed."""
    means = KINDS[kind][0]
    length, weight, gloss, noise = (rng.gauss(m, s) for m, s in zip(means, SPREAD))
    weighed = "" if rng.random() < 1 / 30 else f"{weight:.1f}"
    line = rng.choice("AAB" if kind == "loose" else "ABC")
    shift = rng.choice(["early", "late", "night"])
    return [f"{length:.2f}", weighed, f"{gloss:.1f}", f"{noise:.1f}", line, shift]


def main():
    rng = random.Random(7)
    train, checked = [], []
    for kind, (_, pool, labelled, known) in KINDS.items():
        train += [product(rng, kind) + [kind] for _ in range(labelled)]
        train += [product(rng, kind) + [""] for _ in range(pool)]
        checked += [product(rng, kind) + [kind] for _ in range(known)]
    for rows in (train, checked):
        rng.shuffle(rows)
    train = [[f"P{i:04}"] + row for i, row in enumerate(train)]
    checked = [[f"Q{i:04}"] + row for i, row in enumerate(checked)]
    tables = {"products": train, "checked": checked, "new": [row[:-1] for row in checked]}
    for name, rows in tables.items():
        with open(HERE / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS[: len(rows[0])])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
