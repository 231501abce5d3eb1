"""A joint's velocity and its friction at the end of a step, solved together: stable for any stiffness and any step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.friction.model import FloatArray, Friction
from farhand.friction.roots import bracketed, secant

Surplus = Callable[[FloatArray], FloatArray]

ACCURACY = 1e-8
"""Error of the velocity as a share of what torque and friction change in a step."""


def advance(
    friction: Friction, velocity: FloatArray, dt: float, torque: FloatArray, inertia: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Velocity at the end of a step, [rad/s], and the friction that acted during it, [N·m].

    Solves :math:`J\,(v' - v)/dt = \tau - F(v')`, with the friction's state advanced at v'. A model that jumps at zero
    holds the joint exactly as long as it can balance :math:`\tau + J v/dt`, all that would move it. Backward Euler
    is dissipative: a step of 1 ms neither makes a stuck joint chatter nor a stiff bristle ring.

    Args:
        friction: the model; its state is advanced.
        velocity: v at the start, one per joint, [rad/s].
        dt: length of the step, [s].
        torque: τ, everything that acts on the joint but friction, [N·m].
        inertia: J, [kg·m²].
    """
    drive = torque + inertia * velocity / dt
    mobility = dt / inertia

    def surplus(after: FloatArray) -> FloatArray:
        return after + mobility * (friction.move(after, dt, drive)[0] - drive)

    hold = friction.hold
    stuck = np.zeros(drive.shape, dtype=bool) if hold is None else (drive >= hold[0]) & (drive <= hold[1])
    if stuck.all():
        after = np.zeros_like(drive)
    else:
        after, error = secant(surplus, velocity, rounds=8)
        missed = ~(np.abs(error) <= ACCURACY * mobility * np.abs(drive) + 1e-14) & ~stuck
        if missed.any():
            after = np.where(missed, _searched(friction, surplus, mobility, drive, dt), after)
        after = np.where(stuck, 0.0, after)
    friction.step(after, dt, drive)
    return after, drive - after / mobility


def _searched(friction: Friction, surplus: Surplus, mobility: FloatArray, drive: FloatArray, dt: float) -> FloatArray:
    """The root between rest and free motion, or beyond where friction falls steeply; slower, but always there."""
    first = mobility * (drive - friction.move(np.zeros_like(drive), dt, drive)[0])
    far = first.copy()
    for _ in range(8):
        short = surplus(far) * np.sign(first) < 0.0
        if not short.any():
            break
        far = np.where(short, 4.0 * far, far)
    return bracketed(surplus, np.minimum(far, 0.0), np.maximum(far, 0.0))
