"""Internal force: the part of several grips on one object that squeezes it and does not move it.

With every force cell known, it is the part of all grip wrenches in the null space of the grasp
matrix. A follower has only its own cell: :class:`SqueezeBleed` takes everything but its share of
the weight for squeeze.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.spatial import Array, skew


def grasp_matrix(places: Array, length: float = 1.0) -> Array:
    r"""6 × 6n: from the wrenches of n grips to their resultant on the object.

    .. math:: G = \begin{bmatrix} I & 0 & \cdots \\ \hat r_1/\ell & I & \cdots \end{bmatrix},
              \qquad w = G\,h

    Moments are divided by ℓ on both sides, so that all entries have one unit and a least norm makes
    sense.

    Args:
        places: n × 3, of the grips from the object's centre, one set of axes for all, [m].
        length: ℓ, [m].
    """
    points = np.atleast_2d(np.asarray(places, dtype=float))
    G = np.zeros((6, 6 * len(points)))
    for number, place in enumerate(points):
        column = 6 * number
        G[:, column : column + 6] = np.eye(6)
        G[3:, column : column + 3] = skew(place) / length
    return G


def internal(wrenches: Array, places: Array, length: float = 1.0) -> Array:
    r"""Part of n grip wrenches that cancels on the object, :math:`(I - G^+ G)\,h`, [N] and [N·m].

    Args:
        wrenches: n × 6 (or times × n × 6), of the arms on the object at the grips.
        places: n × 3, of the grips from the object's centre, [m].
        length: lever arm at which a moment counts as much as a force, [m].
    """
    h = np.array(wrenches, dtype=float)
    h[..., 3:] /= length
    G = grasp_matrix(places, length)
    flat = h.reshape(*h.shape[:-2], -1)
    inner = (flat - flat @ (np.linalg.pinv(G) @ G).T).reshape(h.shape)
    inner[..., 3:] *= length
    return inner


def nominal_shares(places: Array) -> Array:
    """Share of the weight that each grip carries without moments, of least squares, [-].

    ``places`` is n × 3, of the grips from the object's centre of mass, z up, [m].
    """
    points = np.atleast_2d(np.asarray(places, dtype=float))
    rows = np.vstack([np.ones(len(points)), points[:, 0], points[:, 1]])
    shares = np.linalg.pinv(rows, rcond=1e-9) @ np.array([1.0, 0.0, 0.0])
    if abs(shares.sum() - 1.0) > 1e-9 or (shares <= 0.0).any():
        # forces alone cannot carry it: the grips need moments, and share equally
        shares = np.full(len(points), 1.0 / len(points))
    return shares


@dataclass
class SqueezeBleed:
    r"""Releases the squeeze at one grip, from that grip's own cell.

    At rest with a common object a follower reads its share of the weight plus whatever the grips do
    to each other. If all of it counted as offset, the squeeze would stay for good. So only the
    weight w stays in the offset,

    .. math:: o(t) = w + b(t), \qquad \dot b = -b/T, \quad b(0) = h_0 - w

    and the force law moves the arm until the rest is gone. The bleed starts at the present reading
    h₀, so nothing jumps.

    Attributes:
        left: b, [N] and [N·m].
    """

    time: float = parameter(2.0, "s", "time constant with which squeeze is let go", 0.01, 1e3)
    most: float = parameter(60.0, "N", "largest squeeze accepted at the start", 0.0, 1e4)
    most_moment: float = parameter(10.0, "N·m", "largest squeezing moment at the start", 0.0, 1e3)

    def __post_init__(self) -> None:
        self.left = np.zeros(6)

    def begin(self, measured: Array, weight: Array) -> None:
        """Start from a wrench at rest and the part of it that is weight, [N] and [N·m]."""
        bound = np.repeat([self.most, self.most_moment], 3)
        self.left = np.clip(np.asarray(measured, dtype=float) - weight, -bound, bound)

    def step(self, dt: float) -> Array:
        """B after ``dt`` [s], [N] and [N·m]."""
        if not dt > 0.0:
            raise BadValue(f"a step of {dt:g} s must be longer than 0 s")
        self.left *= np.exp(-dt / self.time)
        return self.left
