"""Whether a linear loop with a delay is stable, up to where, and how it shakes beyond."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from farhand.analysis.stability.loop import Loop, Mode
from farhand.analysis.stability.whole import WholeLoop

Array = np.ndarray

SMALL = 140
"""Largest number of states for which the eigenvalues themselves are computed."""

POINTS_PER_TURN = 24
"""Points on the unit circle for each time that the delayed part turns once as z goes round."""

DEFECTIVE = 1e9
"""Condition of the eigenvectors from which on they are not used."""

CLOSE = 1.0
"""Largest turn of f between two points that is not looked at more closely, [rad]."""

ROUNDS = 24
"""How often the points may be made denser."""

STILL = 1e-7
"""How far outside the unit circle an eigenvalue may lie: a free pair of tools stays where it is
put, at 1."""


Lin = TypeVar("Lin", Loop, WholeLoop)


def stable(loop: Lin) -> bool:
    r"""Whether all eigenvalues of the loop lie inside the unit circle, or on it but for rounding.

    With few delayed ticks the eigenvalues are computed. With many, the characteristic function
    :math:`f(z) = \det(z I - A - z^{-d} B R)` is followed once round the unit circle
    (:class:`Turning`): it behaves as
    :math:`z^n` far outside and has no poles there, so the loop is stable if and only if f turns
    round zero n times.
    """
    A, B, R = loop.matrices()
    if len(A) + len(R) * loop.delay <= SMALL:
        return bool(np.abs(np.linalg.eigvals(unrolled(A, B, R, loop.delay))).max() < 1.0 + STILL)
    return Turning(loop, loop.delay).stable(loop.delay)


def calm(loop: Lin, bump: float = 0.0, quanta: float = 0.0) -> bool:
    """Whether nothing shakes, with dry friction and the encoders' steps as their describing functions.

    Dry friction stills what a small bump starts even where the loop without it would shake; what a
    larger bump starts may grow. Encoder steps keep a poorly damped loop going: a limit cycle of so
    many steps is possible if reading positions by as much too large or too small as steps can would
    make the loop unstable.

    Args:
        loop: in question.
        bump: what friction has to still, [m]; 0 leaves it out.
        quanta: amplitude of the smallest limit cycle that counts, in encoder steps; 0 leaves them
            out.
    """
    if not _still(loop, bump):
        return False
    if quanta <= 0.0:
        return True
    return all(_still(replace(loop, reading=reading), bump) for reading in _readings(loop, quanta))


def _readings(loop: Lin, quanta: float) -> list[tuple[float, float]]:
    """How wrong the encoders' steps can make the loop read an oscillation of so many steps, in its own shape."""
    a, b = (
        misread(round(max(quanta * part, 0.05), 2)) / quanta for part in loudest(loop).amplitudes
    )
    return [(1.0 + p * a, 1.0 + q * b) for p in (-1, 1) for q in (-1, 1)]


def _still(loop: Lin, bump: float) -> bool:
    """Whether the loop is stable, or its dry friction stills what a bump starts."""
    if stable(loop):
        return True
    if bump <= 0.0 or not loop.rubs:
        return False
    mode = loudest(loop)
    for _ in range(3):  # friction moves the frequency a little
        rubbed = loop.rubbed(mode, bump)
        if not stable(rubbed):
            return False
        last, mode = mode.frequency, loudest(rubbed)
        if mode.frequency < 0.5 * last:  # what is loudest now only creeps
            break
    return True


@lru_cache(maxsize=512)
def misread(amplitude: float) -> float:
    """Largest first harmonic of the rounding error for an oscillation of this amplitude or somewhat more, in steps.

    It is in phase with the oscillation whatever the offset of the steps, so it acts as a change of
    gain.
    """
    phase = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    offset, size = (
        np.linspace(0.0, 0.5, 21)[:, None],
        amplitude * np.linspace(1.0, 1.2, 9)[:, None, None],
    )
    read = size * np.sin(phase) + offset
    return float(np.abs(2.0 * ((np.round(read) - read) * np.sin(phase)).mean(axis=-1)).max())


def largest_stable(
    make: Callable[[float], Lin],
    low: float,
    high: float,
    tolerance: float = 0.01,
    points: int = 60,
    bump: float = 0.0,
    quanta: float = 0.0,
) -> float:
    """The largest value up to which all is calm, by bisection in the logarithm.

    Args:
        make: the loop for a value.
        low: a value to start from; 0 is returned if the loop is not stable there.
        high: where to stop; infinity is returned if it is stable there and everywhere in between.
        tolerance: relative, [-].
        points: looked at between low and high before the bisection, so that an island of
            instability is not missed.
        bump: see :func:`calm`.
        quanta: see :func:`calm`.
    """
    if not calm(make(low), bump, quanta):
        return 0.0
    good = low
    for value in np.geomspace(low, high, points)[1:].tolist():
        if not calm(make(value), bump, quanta):
            bad = value
            break
        good = value
    else:
        return math.inf
    while bad / good > 1.0 + tolerance:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if calm(make(middle), bump, quanta) else (good, middle)
    return good


def largest_stable_delay(loop: Lin, most: int, bump: float = 0.0, quanta: float = 0.0) -> float:
    """The most ticks of delay up to which all is calm; −1 if without any it is not, infinity beyond ``most``.

    Every number of ticks up to 20 is looked at, then steps of a twentieth, refined where the loop
    stops being calm.

    Args:
        loop: its own delay does not count.
        most: ticks up to which is looked.
        bump: see :func:`calm`.
        quanta: see :func:`calm`.
    """
    _, B, R = loop.matrices()
    if not (B @ R).any():  # nothing crosses the link
        return math.inf if calm(replace(loop, delay=0), bump, quanta) else -1.0
    if bump > 0.0 and loop.rubs:
        return _last(lambda delay: calm(replace(loop, delay=delay), bump, quanta), most)
    found = _last(Turning(loop, most).stable, most)
    if quanta <= 0.0 or found < 0.0:
        return found
    for reading in _readings(replace(loop, delay=int(min(found, most))), quanta):
        found = min(
            found,
            _last(Turning(replace(loop, reading=reading), most).stable, int(min(found, most))),
        )
    return found


def _last(good_at: Callable[[int], bool], most: int) -> float:
    """The last number before the first that is not good."""
    if not good_at(0):
        return -1.0
    good = 0
    while good < most:
        bad = min(most, good + max(1, good // 20))
        if not good_at(bad):
            while bad - good > 1:
                middle = (good + bad) // 2
                good, bad = (middle, bad) if good_at(middle) else (good, middle)
            return float(good)
        good = bad
    return math.inf


def loudest(loop: Lin) -> Mode:
    """The motion that is closest to shaking, or shakes the most; frequency 0 is one that creeps."""
    A, B, R = loop.matrices()
    if len(A) + len(R) * loop.delay <= SMALL:
        values, vectors = np.linalg.eig(unrolled(A, B, R, loop.delay))
        at = int(np.argmax(np.abs(values)))
        z, shape = values[at], vectors[: len(A), at]
    else:
        z = Turning(loop, loop.delay).nearest(loop.delay)
        shape = np.linalg.svd(z * np.eye(len(A)) - A - z ** (-loop.delay) * (B @ R))[2][-1].conj()
    sizes = loop.amplitudes(shape)
    largest = max(*sizes, 1e-300)
    frequency = float(abs(np.angle(z)) / (2.0 * np.pi * loop.period))
    return Mode(frequency, (sizes[0] / largest, sizes[1] / largest), np.abs(shape) / largest)


def unrolled(A: Array, B: Array, R: Array, delay: int) -> Array:
    """The loop with what is under way on the link as states."""
    if delay == 0:
        return A + B @ R
    n, wide = len(A), len(R)
    whole = np.zeros((n + wide * delay, n + wide * delay))
    whole[:n, :n], whole[:n, -wide:] = A, B
    whole[n : n + wide, :n] = R
    whole[n + wide :, n:-wide] = np.eye(wide * (delay - 1))
    return whole


class Turning:
    r"""A loop followed round a circle just outside the unit circle, for any delay up to the most.

    .. math:: f(z) = \det(z I - A)\,\det\bigl(I - z^{-d} G(z)\bigr), \qquad G = R\,(z I - A)^{-1} B

    Args:
        loop: its own delay does not count.
        most: ticks of delay; decides how close together the points are.

    The points lie along the upper half, closest together near 1, where slow motions are, and
    wherever f turns fast.
    """

    def __init__(self, loop: Lin, most: int) -> None:
        A, B, R = loop.matrices()
        self._roots, V = np.linalg.eig(A)
        apart = np.linalg.cond(V) < DEFECTIVE
        self._split = (R @ V, np.linalg.solve(V, B)) if apart else None
        self._A, self._B, self._R = A, B, R
        even = np.linspace(0.02, np.pi, POINTS_PER_TURN * (most + 20) // 2)
        self._angles = np.zeros(0)
        self._phase, self._G = np.zeros(0), np.zeros((0, len(R), len(R)), dtype=complex)
        self._add(np.concatenate([[0.0], np.geomspace(1e-6, 0.02, 300)[:-1], even]))

    @property
    def z(self) -> Array:
        """The points."""
        points: Array = (1.0 + STILL) * np.exp(1j * self._angles)
        return points

    def _add(self, angles: Array) -> None:
        """Look at more points."""
        z = ((1.0 + STILL) * np.exp(1j * angles))[:, None]
        away = z - self._roots
        if self._split is not None:
            G = (self._split[0] / away[:, None, :]) @ self._split[1]
        else:
            alone = z[:, :, None] * np.eye(len(self._A)) - self._A
            G = self._R @ np.linalg.solve(
                alone, np.broadcast_to(self._B, (len(alone), *self._B.shape))
            )
        order = np.argsort(np.concatenate([self._angles, angles]), kind="stable")
        self._angles = np.concatenate([self._angles, angles])[order]
        self._phase = np.concatenate([self._phase, np.angle(away).sum(axis=1)])[order]
        self._G = np.concatenate([self._G, G])[order]

    def closed(self, delay: int) -> Array:
        """The second factor of f."""
        late, G = self.z ** (-float(delay)), self._G
        if G.shape[1] == 2:
            crossed = G[:, 0, 0] * G[:, 1, 1] - G[:, 0, 1] * G[:, 1, 0]
            two: Array = 1.0 - late * (G[:, 0, 0] + G[:, 1, 1]) + late * late * crossed
            return two
        many: Array = np.linalg.det(np.eye(G.shape[1]) - late[:, None, None] * G)
        return many

    def stable(self, delay: int) -> bool:
        """Whether f turns round zero as often as there are states, so that no root lies outside."""
        phase = self._turned(delay)
        return round(float((phase[-1] - phase[0]) / np.pi)) == len(self._A)

    def nearest(self, delay: int) -> complex:
        """The point nearest to a root of f: there f turns fastest."""
        phase = self._turned(delay)
        at = int(np.argmax(np.abs(np.diff(phase)) / np.diff(self._angles)))
        return complex(np.exp(0.5j * (self._angles[at] + self._angles[at + 1])))

    def _turned(self, delay: int) -> Array:
        """Phase of f at the points, which are made denser until it is certain, [rad]."""
        for _ in range(ROUNDS):
            phase = np.unwrap(self._phase + np.angle(self.closed(delay)))
            wide = np.abs(np.diff(phase)) > CLOSE
            if not wide.any():
                break
            self._add(0.5 * (self._angles[1:] + self._angles[:-1])[wide])
        return phase
