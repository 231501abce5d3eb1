"""Dynamic movement primitive: a spring that pulls to the goal, and a forcing term that makes the way there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import expm

from farhand.errors import BadValue
from farhand.learning.basis import bending, bumps, ridge

Array = np.ndarray

FADING = np.log(1000.0)
"""How far the canonical system falls from the beginning to the end: the forcing term keeps a
thousandth, [-]."""

STEPS = 1000
"""Steps in which a movement is worked out."""

SPRING = 25.0
"""Natural frequency of the critically damped spring, in radians per duration, [-]."""


@dataclass(frozen=True)
class MovementPrimitive:
    r"""A movement from a start to a goal, in time made dimensionless by its duration.

    .. math:: y'' = \omega^2 (g - y) - 2\omega y' - \omega^2 (g - y_0)\,x + \omega^2 x \sum_i \psi_i(s)\,w_i,
              \qquad x = e^{-a s}

    s is the phase from 0 to 1. The third term starts the motion softly wherever the goal is, so
    that a goal equal to the start is no special case. y is linear in start, goal and weights:
    weights are fitted to the movement itself, not to its accelerations, and a via-point is a linear
    constraint on them.
    """

    start: Array  #: y₀, shape (d,)
    goal: Array  #: g, shape (d,)
    weights: Array  #: w, shape (bumps, d)

    @classmethod
    def fit(cls, phase: Array, movements: Array, count: int) -> MovementPrimitive:
        """From demonstrations at the same phases, shape (m, n, d), by least squares."""
        start, goal = movements[:, 0].mean(axis=0), movements[:, -1].mean(axis=0)
        free, response = _at(phase, count)
        rest = movements.mean(axis=0) - free @ np.stack([start, goal])
        return cls(start, goal, ridge(response, rest))

    def movement(self, phase: Array) -> Array:
        """Where it is at these phases from 0 to 1, shape (n, d)."""
        free, response = _at(phase, len(self.weights))
        return free @ np.stack([self.start, self.goal]) + response @ self.weights

    def towards(self, goal: Array, start: Array | None = None) -> MovementPrimitive:
        """The same movement to another goal, and from another start."""
        return MovementPrimitive(
            self.start if start is None else np.asarray(start), np.asarray(goal), self.weights
        )

    def through(self, at: float, point: Array) -> MovementPrimitive:
        """The movement bent as little as possible (see :func:`.basis.bending`) to pass a via-point at a phase."""
        if not 0.0 < at < 1.0:
            raise BadValue(
                f"a via-point at phase {at:g} is not within the movement, which goes from 0 to 1"
            )
        place = np.array([at])
        row, now = _at(place, len(self.weights))[1], self.movement(place)[0]
        _, response = _responses(len(self.weights))
        ends = response[[-1]]  # the end stays where it is
        W = bending(response)
        W += 1e-9 * np.trace(W) * np.eye(len(W))
        A = np.vstack([row, ends])
        gap = np.stack([np.asarray(point) - now, np.zeros(len(now))])
        smooth = np.linalg.solve(W, A.T)
        return MovementPrimitive(
            self.start, self.goal, self.weights + smooth @ np.linalg.solve(A @ smooth, gap)
        )


def _at(phase: Array, count: int) -> tuple[Array, Array]:
    """:func:`_responses` at these phases."""
    grid = np.linspace(0.0, 1.0, STEPS + 1)
    free, response = (
        np.stack([np.interp(phase, grid, column) for column in table.T], axis=1)
        for table in _responses(count)
    )
    return free, response


@lru_cache(maxsize=8)
def _responses(count: int) -> tuple[Array, Array]:
    """How y answers to start and goal, shape (n, 2), and to each weight, shape (n, count), exact for held inputs."""
    phase, h = np.linspace(0.0, 1.0, STEPS + 1), 1.0 / STEPS
    x = np.exp(-FADING * phase)
    driven = np.concatenate(
        [x[:, None], (1.0 - x)[:, None], x[:, None] * bumps(phase, count)], axis=1
    )
    driven = 0.5 * (driven[:-1] + driven[1:]) * SPRING**2
    system = np.zeros((3, 3))
    system[0, 1], system[1] = h, [-(SPRING**2) * h, -2.0 * SPRING * h, h]
    step = expm(system)
    state = np.zeros((2, driven.shape[1]))
    state[0, 0] = 1.0  # y begins at the start
    found = [state[0]]
    for row in driven:
        state = step[:2, :2] @ state + np.outer(step[:2, 2], row)
        found.append(state[0])
    everything = np.stack(found)
    return everything[:, :2], everything[:, 2:]
