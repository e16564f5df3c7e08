"""The six surrogate losses as functions of margins, each with its slope.

Every function takes an array of margins ``z`` and gives ``(value, slope)`` of the same shape. ``gamma`` scales the
margin where a loss has a scale; ``form="sym"`` is the loss symmetrised and clipped, so that ``l(z) + l(-z) = 1``.
"""

from __future__ import annotations

import numpy as np

from . import _native

#: The names of all surrogates.
SURROGATES = tuple(_native.SURROGATES.split())


def surrogate(name, z, *, gamma=1.0, form="raw"):
    """Value and slope of the loss of this name."""
    z = np.asarray(z, dtype=np.float64)
    value, slope = _native.surrogate(name, np.ascontiguousarray(z.ravel()), float(gamma), form)
    return value.reshape(z.shape), slope.reshape(z.shape)


def sigmoid_prob(z, *, gamma=1.0, form="raw"):
    """``1 / (1 + exp(gamma z))``."""
    return surrogate("sigmoid_prob", z, gamma=gamma, form=form)


def unhinged(z, *, form="raw"):
    """``(1 - z) / 2``."""
    return surrogate("unhinged", z, form=form)


def tanh_smooth(z, *, gamma=1.0, form="raw"):
    """``(1 - tanh(gamma z)) / 2``."""
    return surrogate("tanh_smooth", z, gamma=gamma, form=form)


def hinge(z, *, form="raw"):
    """``max(0, 1 - z)``."""
    return surrogate("hinge", z, form=form)


def ramp(z, *, form="raw"):
    """``min(1, max(0, 1 - z))``."""
    return surrogate("ramp", z, form=form)


def logistic(z, *, gamma=1.0, form="raw"):
    """``log(1 + exp(-gamma z))``."""
    return surrogate("logistic", z, gamma=gamma, form=form)
