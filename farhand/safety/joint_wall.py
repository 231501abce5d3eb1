"""Joint wall: near a joint's limit a spring pushes the operator gently back, before the machine stops itself hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class JointWall:
    r"""A one-sided spring and damper in a zone before every joint limit.

    With the depth :math:`s = \max(q - (q_{max} - z), 0)` and the speed :math:`\dot q` towards the
    limit,

    .. math:: \tau = -\max\bigl(k\,s + d\,\dot q\,\min(s/s_0, 1),\ 0\bigr)

    and the mirror image at the lower limit. The damper grows in with the depth, so the torque has
    no step when a moving joint enters; it never pulls a joint into the zone.
    """

    zone: float = parameter(
        np.radians(10.0), "rad", "width of the wall before a joint limit", 1e-4, 3.0
    )
    stiffness: float = parameter(200.0, "N·m/rad", "stiffness of the wall", 0.0, 1e5)
    damping: float = parameter(40.0, "N·m·s/rad", "damping of the wall", 0.0, 1e4)
    entry: float = parameter(
        np.radians(2.0), "rad", "depth at which the damping is all there", 1e-4, 3.0
    )

    def __post_init__(self) -> None:
        """No limits known yet."""
        self._lower, self._upper = np.zeros(0), np.zeros(0)

    def watch(self, lower: Array, upper: Array) -> None:
        """Take the joint limits, [rad]."""
        if (
            np.shape(lower) != np.shape(upper)
            or not (np.asarray(lower) + 2.0 * self.zone < upper).all()
        ):
            raise BadValue(f"joint limits must leave room between two walls of {self.zone:.3f} rad")
        self._lower, self._upper = np.array(lower, dtype=float), np.array(upper, dtype=float)

    def torque(self, q: Array, v: Array) -> Array:
        """What to add to the joints, [N·m]; leading axes of ``q`` [rad] and ``v`` [rad/s] are kept."""
        below, above = self._lower - q + self.zone, q - self._upper + self.zone
        if max(below.max(), above.max()) <= 0.0:  # as nearly always
            return np.zeros(np.shape(q))
        return self._push(below, -v) - self._push(above, v)

    def clearance(self, q: Array) -> Array:
        """Distance of every joint from its nearer limit, [rad]."""
        return np.minimum(q - self._lower, self._upper - q)

    def _push(self, depth: Array, inward: Array) -> Array:
        s = np.maximum(depth, 0.0)
        return np.maximum(
            self.stiffness * s + self.damping * inward * np.minimum(s / self.entry, 1.0), 0.0
        )
