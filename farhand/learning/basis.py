"""Basis: Gaussian bumps along the phase, and how smooth what they add up to is."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

LOCAL = 0.05
"""ℓ: how far along the phase a bend reaches, [-]."""


def bumps(phase: Array, count: int) -> Array:
    """Normalised Gaussian bumps at equal distances, shape (n, count), two beyond either end; each row sums to one."""
    width = 1.0 / (count - 5)
    centres = width * (np.arange(count) - 2.0)
    values = np.exp(-0.5 * np.square((np.asarray(phase)[:, None] - centres) / width))
    return values / values.sum(axis=1, keepdims=True)


def bending(basis: Array) -> Array:
    r"""The matrix W with :math:`w^\top W w = \int y^2 + \ell^4 \int y''^2` of the curve y that weights w make.

    A curve that must be bent at one place and costs least by this returns to zero within a few ℓ on
    either side.
    """
    bent = np.diff(basis, n=2, axis=0) * (len(basis) - 1) ** 2
    return basis.T @ basis / len(basis) + LOCAL**4 * bent.T @ bent / len(bent)


def ridge(basis: Array, values: Array, amount: float = 1e-9) -> Array:
    """Weights of the curve nearest to ``values``, shape (count, dimensions); ``amount`` keeps them small."""
    square = basis.T @ basis
    return np.linalg.solve(
        square + amount * np.trace(square) * np.eye(len(square)), basis.T @ values
    )
