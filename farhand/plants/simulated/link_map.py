"""Link Map: four mecanum wheels and the base they carry, speeds one way and torques the other; and odometry from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.friction.velocity import quantised

Array = np.ndarray

WHEELS = ("FL", "FR", "RL", "RR")
"""Order of the wheels: front left, front right, rear left, rear right."""

TICK = 2.0 * math.pi / 4000.0 / (9405.0 / 364.0)
"""One count of a motor's encoder at the wheel: 4000 a turn (stated in the source), behind the gear,
[rad]."""


@dataclass(frozen=True)
class LinkMap:
    r"""Kinematics of a mecanum base; all wheels forward turn it to the left.

    .. math::
        V = B\,w, \quad w = A\,V, \quad B A = 1_3, \qquad
        A = \frac1r \begin{bmatrix} -1 & 1 & l \\ 1 & 1 & l \\ -1 & -1 & l \\ 1 & -1 & l \end{bmatrix}, \qquad
        \tau = B^\top W, \quad W = A^\top \tau

    V = (v_x, v_y, ψ̇) and W = (F_x, F_y, M_z) are in the base's axes. Both ways keep power, and of
    all torques that make a wrench :math:`B^\top W` is the smallest. The published matrix is lost
    (erratum ER-01); this is that of the public driver of the robot.

    Attributes:
        radius: r, of a wheel, [m].
        length: from front to rear axle, [m].
        width: from left to right wheels, [m].
        A: wheel speeds per twist, 4 × 3.
        B: twist per wheel speeds, 3 × 4.
    """

    radius: float = 0.0475  # this and the two below: public driver config, sources/youbot §2.9 [X]
    length: float = 0.47
    width: float = 0.30
    A: Array = field(init=False, repr=False, compare=False)
    B: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out the matrices once."""
        if not (self.radius > 0.0 and self.length + self.width > 0.0):
            raise BadValue(f"a base with wheels of {self.radius:g} m needs lengths above 0 m")
        r, arm = self.radius, self.lever
        A = np.array([[-1, 1, arm], [1, 1, arm], [-1, -1, arm], [1, -1, arm]]) / r
        B = 0.25 * r * np.array([[-1, 1, -1, 1], [1, 1, -1, -1], np.full(4, 1.0 / arm)])
        for name, matrix in (("A", A), ("B", B)):
            matrix.flags.writeable = False
            object.__setattr__(self, name, matrix)

    @property
    def lever(self) -> float:
        """l, half of length plus width, [m]."""
        return 0.5 * (self.length + self.width)

    def twist(self, wheels: Array) -> Array:
        """(v_x, v_y, ψ̇) of the base for wheel speeds [rad/s]; the last axis is the wheels'."""
        return wheels @ self.B.T

    def speeds(self, twist: Array) -> Array:
        """Wheel speeds for a twist of the base, [rad/s]."""
        return twist @ self.A.T

    def torques(self, wrench: Array) -> Array:
        """Wheel torques that make a wrench (F_x, F_y, M_z) on the base, [N·m]."""
        return wrench @ self.B

    def wrench(self, torques: Array) -> Array:
        """Wrench on the base that wheel torques make, [N] and [N·m]."""
        return torques @ self.A


class Odometry:
    """Where a base has got to by its wheels' counts: twists of the Link Map, integrated along arcs.

    Only whole counts are seen; what is left of a count stays with the wheel, so that the error
    never grows beyond what one count of each wheel is worth along the path.

    Args:
        link: the wheels.
        tick: angle of one count at the wheel, [rad]; 0 for an ideal encoder.

    Attributes:
        pose: x, y, ψ since the start, in the axes of the start, [m] and [rad].
    """

    def __init__(self, link: LinkMap, tick: float = TICK) -> None:
        self.link, self.tick = link, tick
        self.pose = np.zeros(3)
        self._counted = np.zeros(4)

    def start(self, pose: Array, angles: Array) -> None:
        """Be at ``pose`` [m, rad] with the wheels at ``angles`` [rad]."""
        self.pose[:], self._counted = pose, quantised(angles, self.tick)

    def update(self, angles: Array) -> Array:
        """The pose now that the wheels have turned to ``angles`` [rad]; the array is reused."""
        counted = quantised(angles, self.tick)
        moved = self.link.twist(counted - self._counted)
        self._counted = counted
        move_along_arc(self.pose, moved)
        return self.pose


def move_along_arc(pose: Array, moved: Array) -> None:
    """Move a pose (x, y, ψ) on by a displacement in its own axes, as a constant twist would, in place, [m, rad]."""
    dx, dy, turn = moved.tolist()
    half = 0.5 * turn
    chord = math.sin(half) / half if abs(half) > 1e-9 else 1.0
    heading = pose[2] + half
    c, s = math.cos(heading) * chord, math.sin(heading) * chord
    pose[0] += c * dx - s * dy
    pose[1] += s * dx + c * dy
    pose[2] += turn
