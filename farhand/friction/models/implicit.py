"""Couple friction to an inertia: velocity and friction at the end of a step, solved together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.friction.models.model import Array, Friction

Surplus = Callable[[Array], Array]

ACCURACY = 1e-8
"""Error of the velocity as a share of what torque and friction change in a step."""

ROUNDS = 60
TOLERANCE = 1e-10
"""Of a bracket relative to its first width, of a function relative to its smaller first value."""


def advance(
    friction: Friction, velocity: Array, dt: float, torque: Array, inertia: Array
) -> tuple[Array, Array]:
    r"""Velocity at the end of a step, [rad/s], and the friction that acted during it, [N·m].

    Solves :math:`J\,(v' - v)/dt = \tau - F(v')`, with the friction's state advanced at v'. A model
    that jumps at zero holds the joint exactly as long as it can balance :math:`\tau + J v/dt`, all
    that would move it. Backward Euler is dissipative: a step of 1 ms neither makes a stuck joint
    chatter nor a stiff bristle ring.

    Args:
        friction: the model; its state is advanced.
        velocity: v at the start, one per joint, [rad/s].
        dt: length of the step, [s].
        torque: τ, everything that acts on the joint but friction, [N·m].
        inertia: J, [kg·m²].
    """
    drive = torque + inertia * velocity / dt
    mobility = dt / inertia

    def surplus(after: Array) -> Array:
        return after + mobility * (friction.move(after, dt, drive)[0] - drive)

    hold = friction.hold
    stuck = np.zeros(drive.shape, dtype=bool)
    if hold is not None:
        stuck = (drive >= hold[0]) & (drive <= hold[1])
    if stuck.all():
        after = np.zeros_like(drive)
    else:
        after, error = secant(surplus, velocity, rounds=8)
        missed = ~(np.abs(error) <= ACCURACY * mobility * np.abs(drive) + 1e-14) & ~stuck
        if missed.any():
            after = np.where(missed, _search(friction, surplus, mobility, drive, dt), after)
        after = np.where(stuck, 0.0, after)
    friction.step(after, dt, drive)
    return after, drive - after / mobility


def _search(
    friction: Friction, surplus: Surplus, mobility: Array, drive: Array, dt: float
) -> Array:
    """The root between rest and free motion, or beyond where friction falls; never fails."""
    first = mobility * (drive - friction.move(np.zeros_like(drive), dt, drive)[0])
    far = first.copy()
    for _ in range(8):
        short = surplus(far) * np.sign(first) < 0.0
        if not short.any():
            break
        far = np.where(short, 4.0 * far, far)
    return bracketed(surplus, np.minimum(far, 0.0), np.maximum(far, 0.0))


def bracketed(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where ``function`` is zero between ``low`` and ``high``, element by element.

    False position with the Illinois rule, bisection every fourth round so that a kink or a jump
    costs no more than a bisection does. Where the signs at the two ends do not differ, the end
    nearer to zero is returned.
    """
    a, b = low.copy(), high.copy()
    fa, fb = function(a), function(b)
    width, small = TOLERANCE * (b - a) + 1e-300, TOLERANCE * np.minimum(np.abs(fa), np.abs(fb))
    none = fa * fb > 0.0
    a = np.where(fb == 0.0, b, a)
    b = np.where(fa == 0.0, low, b)
    nearer = np.abs(fa) < np.abs(fb)
    b, a = np.where(none & nearer, a, b), np.where(none & ~nearer, b, a)
    side = np.zeros(low.shape)
    for k in range(ROUNDS):
        open_ = np.abs(b - a) > width
        if not open_.any():
            break
        gap = fb - fa
        middle = 0.5 * (a + b)
        guess = np.divide(a * fb - b * fa, gap, out=middle.copy(), where=gap != 0.0)
        inside = np.clip(guess, np.minimum(a, b), np.maximum(a, b))
        x = np.where(open_ & (k % 4 != 3), inside, middle)
        fx = function(x)
        up = fx * fb > 0.0  # same sign as the upper end: the root is below
        fa = np.where(up, np.where(side == 1.0, 0.5 * fa, fa), fx)
        fb = np.where(up, fx, np.where(side == -1.0, 0.5 * fb, fb))
        a, b = np.where(up, a, x), np.where(up, x, b)
        done = np.abs(fx) <= small
        a, b = np.where(done, x, a), np.where(done, x, b)
        side = np.where(up, 1.0, -1.0)
    return 0.5 * (a + b)


def secant(function: Callable[[Array], Array], start: Array, rounds: int) -> tuple[Array, Array]:
    """Where ``function``, of slope near 1, is about zero, and its value there; quick, may miss."""
    before, at_before = start, function(start)
    now = start - at_before
    at_now = function(now)
    for _ in range(rounds):
        fall = at_before - at_now
        change = np.divide(at_now * (now - before), fall, out=np.zeros_like(now), where=fall != 0.0)
        if (np.abs(change) <= TOLERANCE * np.abs(now) + 1e-15).all():
            break
        before, at_before, now = now, at_now, now + change
        at_now = function(now)
    return now, at_now


def newton(function: Callable[[Array], tuple[Array, Array]], low: Array, high: Array) -> Array:
    """Where a rising function is zero between ``low`` and ``high``, from its value and slope.

    Newton's step where it stays inside the bracket, bisection where it does not.
    """
    x, width = 0.5 * (low + high), TOLERANCE * (high - low) + 1e-300
    for _ in range(ROUNDS):
        value, slope = function(x)
        low, high = np.where(value < 0.0, x, low), np.where(value > 0.0, x, high)
        guess = x - value / slope
        after = np.where((guess >= low) & (guess <= high), guess, 0.5 * (low + high))
        change = np.abs(after - x)
        x = after
        if (change <= width).all():
            break
    return x
