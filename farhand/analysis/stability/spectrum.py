"""Whether a linear loop with a delay is stable, up to which limits, and its least damped mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TypeVar

import numpy as np

from farhand.analysis.stability.loop import Loop, Mode, WholeLoop

Array = np.ndarray

MAX_EIGENVALUE_STATES = 140
"""Largest number of states, with those on the link, whose eigenvalues themselves are computed."""

POINTS_PER_TURN = 24
"""Points on the unit circle for each turn of the delayed part as z goes round."""

MAX_EIGENVECTOR_CONDITION = 1e9
"""Condition of the eigenvectors above which they are not used."""

MAX_TURN = 1.0
"""Largest turn of f between two points that needs no more points between them, [rad], and largest
change of the logarithm of its delayed part."""

BESIDE_ROOT = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Where points lie beside a root of the loop without what crosses the link, in its distances from
the circle."""

MAX_REFINEMENTS = 24

MARGIN = 1e-7
"""How far outside the unit circle an eigenvalue may lie: a free pair of tools has one at 1."""

AnyLoop = TypeVar("AnyLoop", Loop, WholeLoop)


def stable(loop: AnyLoop) -> bool:
    r"""Whether all eigenvalues of the loop lie inside the unit circle, or on it but for rounding.

    With few delayed ticks the eigenvalues are computed. With many, the characteristic function
    :math:`f(z) = \det(z I - A - z^{-d} B R)` is followed once round the unit circle
    (:class:`CharacteristicCircle`): it behaves as :math:`z^n` far outside and has no poles there,
    so the loop is stable if and only if f turns round zero n times.
    """
    A, B, R = loop.matrices()
    if loop.delay == 0 or len(A) + len(R) * loop.delay <= MAX_EIGENVALUE_STATES:
        return bool(np.abs(np.linalg.eigvals(unrolled(A, B, R, loop.delay))).max() < 1.0 + MARGIN)
    return CharacteristicCircle(loop, loop.delay).stable(loop.delay)


def is_calm(loop: AnyLoop, bump: float = 0.0, quanta: float = 0.0) -> bool:
    """Whether nothing shakes, with describing functions of dry friction and encoder steps.

    Dry friction damps out a small bump even where the loop without it would shake; a larger bump
    may grow. Encoder steps keep a poorly damped loop going: a limit cycle of some steps is possible
    if the largest position error that steps can cause would make the loop unstable.

    Args:
        loop: in question.
        bump: size that friction must damp out, [m]; 0 leaves friction out.
        quanta: amplitude of the smallest limit cycle that counts, in encoder steps; 0 leaves them
            out.
    """
    if not _is_still(loop, bump):
        return False
    if quanta <= 0.0:
        return True
    # Motors know where they are: what only drifts with a wrong reading is held within its steps.
    holds = isinstance(loop, WholeLoop) and any(loop.drives)
    return all(
        _is_still(one, bump) or (holds and least_damped(one).frequency == 0.0)
        for one in _misread(loop, quanta)
    )


def _misread(loop: AnyLoop, quanta: float) -> Iterator[AnyLoop]:
    """The loop with the worst readings that steps can cause in an oscillation of that size."""
    parts = least_damped(loop).amplitudes
    largest = [max(map(abs, rounding_gains(_steps(quanta * part)))) / quanta for part in parts]
    for p, q in product((-1.0, 1.0), repeat=2):
        yield replace(loop, reading=(1.0 + p * largest[0], 1.0 + q * largest[1]))
    if isinstance(loop, WholeLoop) and loop.speed_steps > 0.0:
        # Of a velocity it is known where zero lies between its steps.
        many = loop.speed_steps
        a, b = (rounding_gains(_steps(many * part), centred=True) for part in parts)
        for p, q in product(a, b):
            yield replace(loop, speed_reading=(1.0 + p / many, 1.0 + q / many))


def _steps(amplitude: float) -> float:
    return round(max(amplitude, 0.05), 2)


def _is_still(loop: AnyLoop, bump: float) -> bool:
    """Whether the loop is stable, or its dry friction damps out a bump."""
    if stable(loop):
        return True
    if bump <= 0.0 or not loop.has_dry_friction:
        return False
    mode = least_damped(loop)
    # Friction moves the frequency a little: iterate.
    for _ in range(3):
        damped = loop.with_friction_damping(mode, bump)
        if not stable(damped):
            return False
        last, mode = mode.frequency, least_damped(damped)
        # The least damped mode that is left only creeps.
        if mode.frequency < 0.5 * last:
            break
    return True


@lru_cache(maxsize=512)
def rounding_gains(amplitude: float, centred: bool = False) -> tuple[float, float]:
    """Least and largest first harmonic of the rounding error of an oscillation of about this size.

    Both are in steps. It is in phase with the oscillation, so it acts as a gain, for any offset of
    the steps, or where the oscillation is ``centred`` about one of them.
    """
    phase = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    offset = np.linspace(0.0, 0.0 if centred else 0.5, 1 if centred else 21)[:, None]
    size = amplitude * np.linspace(1.0, 1.2, 9)[:, None, None]
    read = size * np.sin(phase) + offset
    errors = 2.0 * ((np.round(read) - read) * np.sin(phase)).mean(axis=-1)
    return float(errors.min()), float(errors.max())


def largest_stable(
    make: Callable[[float], AnyLoop],
    low: float,
    high: float,
    tolerance: float = 0.01,
    points: int = 60,
    bump: float = 0.0,
    quanta: float = 0.0,
) -> float:
    """The largest value up to which nothing shakes, by bisection in the logarithm.

    Args:
        make: the loop for a value.
        low: a value to start from; 0 is returned if the loop shakes there.
        high: where to stop; infinity is returned if it shakes nowhere up to there.
        tolerance: relative, [-].
        points: tried between low and high before the bisection, so that an island of instability is
            not missed.
        bump: see :func:`is_calm`.
        quanta: see :func:`is_calm`.
    """
    if not is_calm(make(low), bump, quanta):
        return 0.0
    good = low
    for value in np.geomspace(low, high, points)[1:].tolist():
        if not is_calm(make(value), bump, quanta):
            bad = value
            break
        good = value
    else:
        return math.inf
    while bad / good > 1.0 + tolerance:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if is_calm(make(middle), bump, quanta) else (good, middle)
    return good


def largest_stable_delay(loop: AnyLoop, most: int, bump: float = 0.0, quanta: float = 0.0) -> float:
    """Most ticks of delay without shaking; −1 if it shakes without delay, infinity beyond ``most``.

    Every number of ticks up to 20 is tried, then steps of a twentieth, refined where the loop
    starts to shake. The delay of ``loop`` itself does not count. ``bump`` and ``quanta``: see
    :func:`is_calm`.
    """
    _, B, R = loop.matrices()
    # Nothing crosses the link.
    if not (B @ R).any():
        return math.inf if is_calm(replace(loop, delay=0), bump, quanta) else -1.0
    if bump > 0.0 and loop.has_dry_friction:
        return _last(lambda delay: is_calm(replace(loop, delay=delay), bump, quanta), most)
    ticks = _last(CharacteristicCircle(loop, most).stable, most)
    if quanta <= 0.0 or ticks < 0.0:
        return ticks
    for misread in _misread(replace(loop, delay=int(min(ticks, most))), quanta):
        circle = CharacteristicCircle(misread, most)
        ticks = min(ticks, _last(circle.stable, int(min(ticks, most))))
    return ticks


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


def least_damped(loop: AnyLoop) -> Mode:
    """The mode that is closest to shaking, or shakes most; frequency 0 is one that creeps."""
    A, B, R = loop.matrices()
    if loop.delay == 0 or len(A) + len(R) * loop.delay <= MAX_EIGENVALUE_STATES:
        values, vectors = np.linalg.eig(unrolled(A, B, R, loop.delay))
        at = int(np.argmax(np.abs(values)))
        z, shape = values[at], vectors[: len(A), at]
    else:
        z = CharacteristicCircle(loop, loop.delay).nearest(loop.delay)
        shape = np.linalg.svd(z * np.eye(len(A)) - A - z ** (-loop.delay) * (B @ R))[2][-1].conj()
    sizes = loop.amplitudes(shape)
    largest = max(*sizes, 1e-300)
    frequency = float(abs(np.angle(z)) / (2.0 * np.pi * loop.period))
    return Mode(frequency, (sizes[0] / largest, sizes[1] / largest), np.abs(shape) / largest)


def unrolled(A: Array, B: Array, R: Array, delay: int) -> Array:
    """The loop with the packets on the link as states."""
    if delay == 0:
        return A + B @ R
    n, wide = len(A), len(R)
    whole = np.zeros((n + wide * delay, n + wide * delay))
    whole[:n, :n], whole[:n, -wide:] = A, B
    whole[n : n + wide, :n] = R
    whole[n + wide :, n:-wide] = np.eye(wide * (delay - 1))
    return whole


class CharacteristicCircle:
    r"""A loop followed round a circle just outside the unit circle, for any delay up to the most.

    .. math:: f(z) = \det(z I - A)\,\det\bigl(I - z^{-d} G(z)\bigr), \qquad G = R\,(z I - A)^{-1} B

    The points lie along the upper half, closest together near 1, where slow motions are, and
    wherever f turns fast. The delay of ``loop`` does not count; ``most`` ticks decide how many
    points there are.
    """

    def __init__(self, loop: AnyLoop, most: int) -> None:
        A, B, R = loop.matrices()
        self._roots, V = np.linalg.eig(A)
        apart = np.linalg.cond(V) < MAX_EIGENVECTOR_CONDITION
        self._split = (R @ V, np.linalg.solve(V, B)) if apart else None
        self._A, self._B, self._R = A, B, R
        even = np.linspace(0.02, np.pi, POINTS_PER_TURN * (most + 20) // 2)
        self._angles = np.zeros(0)
        self._phase = np.zeros(0)
        self._G = np.zeros((0, len(R), len(R)), dtype=complex)
        self._add(np.concatenate([[0.0], np.geomspace(1e-6, 0.02, 300)[:-1], even]))
        # Like arms have the same roots twice: f may turn a whole time between two even points.
        near = self._roots[(self._roots.imag > 0.0) & (np.abs(self._roots) > 0.9)]
        spread = np.angle(near)[:, None] + np.abs(1.0 - np.abs(near))[:, None] * BESIDE_ROOT
        self._add(np.unique(spread[(spread > 0.0) & (spread < np.pi)]))

    @property
    def z(self) -> Array:
        """The points."""
        points: Array = (1.0 + MARGIN) * np.exp(1j * self._angles)
        return points

    def _add(self, angles: Array) -> None:
        z = ((1.0 + MARGIN) * np.exp(1j * angles))[:, None]
        away = z - self._roots
        if self._split is not None:
            G = (self._split[0] / away[:, None, :]) @ self._split[1]
        else:
            alone = z[:, :, None] * np.eye(len(self._A)) - self._A
            inputs = np.broadcast_to(self._B, (len(alone), *self._B.shape))
            G = self._R @ np.linalg.solve(alone, inputs)
        # z − r turns with z about a root inside, and swings to and fro before one outside.
        inside = np.abs(self._roots) < 1.0 + MARGIN
        turned = np.angle(1.0 - self._roots[inside] / z).sum(axis=1) + inside.sum() * angles
        turned += np.angle(1.0 - z / self._roots[~inside]).sum(axis=1)
        order = np.argsort(np.concatenate([self._angles, angles]), kind="stable")
        self._angles = np.concatenate([self._angles, angles])[order]
        self._phase = np.concatenate([self._phase, turned])[order]
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
        """Whether f turns round zero once per state, so that no root lies outside."""
        phase = self._phase_at(delay)
        return round(float((phase[-1] - phase[0]) / np.pi)) == len(self._A)

    def nearest(self, delay: int) -> complex:
        """The point nearest to a root of f: there f turns fastest."""
        phase = self._phase_at(delay)
        at = int(np.argmax(np.abs(np.diff(phase)) / np.diff(self._angles)))
        return complex(np.exp(0.5j * (self._angles[at] + self._angles[at + 1])))

    def _phase_at(self, delay: int) -> Array:
        """Phase of f at the points, [rad]; adds points until it is certain."""
        for _ in range(MAX_REFINEMENTS):
            closed = self.closed(delay)
            turned = np.unwrap(np.angle(closed))
            phase: Array = self._phase + turned
            grown = np.abs(np.diff(np.log(np.maximum(np.abs(closed), 1e-300))))
            wide = (np.abs(np.diff(phase)) > MAX_TURN) | (grown > MAX_TURN)
            # Turns of both factors may cancel where like arms have the same roots twice.
            wide |= np.abs(np.diff(turned)) > MAX_TURN
            if not wide.any():
                break
            self._add(0.5 * (self._angles[1:] + self._angles[:-1])[wide])
        return phase
