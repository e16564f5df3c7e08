"""Losses and risks against formulas and finite differences."""

import numpy as np
import pytest

from mpulearn import losses, risks


def test_losses_have_their_formulas():
    z = np.linspace(-3, 3, 13).reshape(1, 13)
    wanted = {
        "sigmoid_prob": 1 / (1 + np.exp(z)),
        "unhinged": (1 - z) / 2,
        "tanh_smooth": (1 - np.tanh(z)) / 2,
        "hinge": np.maximum(0, 1 - z),
        "ramp": np.clip(1 - z, 0, 1),
        "logistic": np.log1p(np.exp(-z)),
    }
    assert set(losses.SURROGATES) == set(wanted)
    for name, values in wanted.items():
        value, slope = getattr(losses, name)(z)
        np.testing.assert_allclose(value, values, atol=1e-12)
        inside = z + 1e-3  # off the kinks
        step = 1e-6
        _, slope = losses.surrogate(name, inside)
        around = losses.surrogate(name, inside + step)[0] - losses.surrogate(name, inside - step)[0]
        np.testing.assert_allclose(slope, around / (2 * step), atol=1e-5)
    value, _ = losses.hinge(z, form="sym")
    np.testing.assert_allclose(value + losses.hinge(-z, form="sym")[0], 1)
    with pytest.raises(ValueError, match="sigmoid_prob"):
        losses.surrogate("sigmoid", z)


@pytest.mark.parametrize("objective", risks.OBJECTIVES)
def test_gradients_of_risks(objective):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(8, 3))
    labels = np.array([0, 1, 0, 1, -1, -1, -1, -1])
    if objective == "supervised":
        labels = np.array([0, 1, 0, 1, 2, 2, 0, 1])
    targets = rng.dirichlet(np.ones(3), 4) if objective == "csmpu-st" else None

    def value(scores):
        return risks.risk(scores, labels, [0.3, 0.2, 0.5], objective=objective, targets=targets)

    found = value(scores)
    step, numeric = 1e-6, np.zeros_like(scores)
    for at in np.ndindex(scores.shape):
        moved = scores.copy()
        moved[at] += step
        above = value(moved).value
        moved[at] -= 2 * step
        numeric[at] = (above - value(moved).value) / (2 * step)
    np.testing.assert_allclose(found.gradient, numeric, atol=1e-5)


def test_faults_of_risks():
    scores = np.array([[1.0, -1.0], [-0.5, 0.5]])
    with pytest.raises(ValueError):
        risks.risk(scores, [0, -1], [0.25, 0.25, 0.5])
    with pytest.raises(ValueError, match="csmpu"):
        risks.risk(scores, [0, -1], [0.25, 0.75], objective="pn")
