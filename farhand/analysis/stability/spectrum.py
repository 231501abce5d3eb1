"""Whether a linear loop with a delay is stable, and up to where."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.analysis.stability.loop import Loop

Array = np.ndarray

SMALL = 40
"""Largest number of states for which the eigenvalues themselves are computed."""


def stable(loop: Loop) -> bool:
    r"""Whether all eigenvalues of the loop lie inside the unit circle.

    With few delayed ticks the eigenvalues are computed. With many, the characteristic function
    :math:`f(z) = \det(z I - A_0 - A_1 z^{-d})` is followed once round the unit circle: it behaves as :math:`z^n` far
    outside and has no poles there, so the loop is stable if and only if f turns round zero n times.
    """
    A0, A1 = loop.matrices()
    if not loop.delay:
        return bool(np.abs(np.linalg.eigvals(A0 + A1)).max() < 1.0)
    if len(A0) * (loop.delay + 1) <= SMALL:
        return bool(np.abs(np.linalg.eigvals(_unrolled(A0, A1, loop.delay))).max() < 1.0)
    return _turns(A0, A1, loop.delay) == len(A0)


def largest_stable(make: Callable[[float], Loop], low: float, high: float, tolerance: float = 0.01) -> float:
    """The largest value up to which the loop stays stable, by bisection in the logarithm.

    Args:
        make: the loop for a value.
        low: a value to start from; 0 is returned if the loop is not stable there.
        high: where to stop; infinity is returned if it is stable there and everywhere in between.
        tolerance: relative, [-].
    """
    if not stable(make(low)):
        return 0.0
    grid = np.geomspace(low, high, 25)
    good = low
    for value in grid[1:]:
        if not stable(make(float(value))):
            bad = float(value)
            break
        good = float(value)
    else:
        return float("inf")
    while bad / good > 1.0 + tolerance:
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if stable(make(middle)) else (good, middle)
    return good


def _unrolled(A0: Array, A1: Array, delay: int) -> Array:
    """The loop with its past as states."""
    n = len(A0)
    whole = np.zeros((n * (delay + 1), n * (delay + 1)))
    whole[:n, :n], whole[:n, -n:] = A0, A1
    whole[n:, :-n] = np.eye(n * delay)
    return whole


def _turns(A0: Array, A1: Array, delay: int) -> int:
    """How often det(zI − A₀ − A₁ z⁻ᵈ) turns round zero as z goes once round the unit circle."""
    n = len(A0)
    upper = np.concatenate([np.geomspace(1e-6, 0.05, 4000), np.linspace(0.05, np.pi, 200 * (delay + 20))[1:]])
    z = np.exp(1j * upper)[:, None, None]
    f = np.linalg.det(z * np.eye(n) - A0 - A1 * z ** (-delay))
    phase = np.unwrap(np.angle(f))
    start = np.angle(f[0])  # from z = 1, where f is real, to the first point
    at_one = np.sign(np.linalg.det(np.eye(n) - A0 - A1))
    first = start if at_one > 0 else (start - np.pi if start > 0 else start + np.pi)
    return round(float((phase[-1] - phase[0] + first) / np.pi))
