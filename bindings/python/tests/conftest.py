"""Rows that the tests share."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def rows():
    """Two observed classes and a pool of them and of others: X, y with -1 for unlabelled, the truth."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 3, 600)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 4.0, 2.0]])
    X = (centres[truth] + rng.normal(size=(600, 3))).astype(np.float32)
    y = np.where((truth > 0) & (rng.random(600) < 0.4), truth, -1)
    return X, y, truth


@pytest.fixture(scope="session")
def digits():
    """Digits, of which half of the 0, 3 and 8 are labelled."""
    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(np.isin(truth, [0, 3, 8]) & (rng.random(len(truth)) < 0.5), truth, -1)
    return X.astype(np.float32), y, truth


def _cli():
    named = os.environ.get("MPU_CLI")
    places = [Path(named)] if named else [ROOT / "target" / p / "mpu-cli" for p in ("debug", "release")]
    return next((place for place in places if place.is_file()), None) or shutil.which("mpu-cli")


@pytest.fixture(scope="session")
def cli():
    """Runs the command line. Where it is not built its tests are left out, unless MPU_REQUIRE names it."""
    program = _cli()
    if program is None:
        if "cli" in os.environ.get("MPU_REQUIRE", "").split(","):
            pytest.fail("mpu-cli is required but not built")
        pytest.skip("mpu-cli is not built: cargo build -p mpu-cli, or name it with MPU_CLI")

    def run(*args):
        done = subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
