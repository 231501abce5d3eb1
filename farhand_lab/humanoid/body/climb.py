"""Step climbing, its first half: from standing until the free foot is on the step, by via-points and quintics."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from farhand.control.trajectory.paths import Quintic
from farhand.errors import BadValue
from farhand_lab.humanoid.body.body import WholeBody
from farhand_lab.humanoid.body.planar import SHANK, THIGH, LegAngles, free_leg, support_leg

Array = np.ndarray

STAGES = (0.0, 0.35, 0.567, 0.783, 1.0)
"""Ends of the four stages as shares of the whole, as published."""

HEIGHTS = (0.025, 0.050, 0.075, 0.100, 0.125)
"""Steps shown in the publication, [m]."""

MOST_DORSIFLEXION = np.radians(20.0)


@dataclass(frozen=True)
class StepClimb:
    """The first half of climbing a step: hip lowered and drawn back, thigh up, foot forward, foot down on the step.

    Only the stages are published. Distances are assumed, chosen within the joints' ranges for all
    published heights.

    Attributes:
        height: of the step, [m].
        drop: how far the hips are lowered, [m].
        back: how far they are drawn back, [m].
        clearance: how high above the step the foot passes, [m].
        forward: how far the foot goes, [m].
        lifted: how far forward it is when it is highest first, [m].
        duration: of the whole, [s].
        support: the foot that stands.
    """

    height: float = 0.050
    drop: float = 0.020
    back: float = 0.020
    clearance: float = 0.030
    forward: float = 0.100
    lifted: float = 0.050
    duration: float = 10.0
    support: str = "right"

    def poses(self) -> list[tuple[LegAngles, LegAngles]]:
        """Support leg and free leg at the ends of the stages.

        Raises:
            BadValue: a pose is out of reach.
        """
        top = THIGH + SHANK
        stand = support_leg(0.0, top), free_leg(0.0, -top)
        lowered = support_leg(-self.back, top - self.drop)
        raised = self.height + self.clearance
        places = [
            (0.0, 0.0),
            (self.lifted, raised),
            (self.forward, raised),
            (self.forward, self.height),
        ]
        return [stand, *((lowered, self._free(x, z)) for x, z in places)]

    def _free(self, x: float, z: float) -> LegAngles:
        """Free leg with its ankle at (x, z) from where it stood; the foot flat, or toes down as far as it must be."""
        hip_x, hip_z = -self.back, THIGH + SHANK - self.drop
        flat = free_leg(x - hip_x, z - hip_z)
        return LegAngles(flat.hip, flat.knee, min(flat.ankle, MOST_DORSIFLEXION))

    def on(self, body: WholeBody) -> ClimbCurve:
        """The motion of all joints of a body; those that take no part stand at zero."""
        free = "left" if self.support == "right" else "right"
        rows = []
        for standing, swinging in self.poses():
            row = np.zeros(len(body.joints))
            for side, leg in ((self.support, standing), (free, swinging)):
                for joint in ("hip_flexion", "knee", "ankle_flexion"):
                    row[body.index(f"{side}_{joint}")] = getattr(leg, joint.partition("_")[0])
            rows.append(row)
        return ClimbCurve(rows, [share * self.duration for share in STAGES])


class ClimbCurve:
    """Joint postures [rad] at times [s], with a quintic from rest to rest between them."""

    def __init__(self, postures: list[Array], times: list[float]) -> None:
        if len(postures) != len(times) or len(times) < 2:
            raise BadValue(
                f"{len(postures)} postures do not go with {len(times)} times; it takes two or more of both"
            )
        self.postures, self.times = postures, times
        nothing = np.zeros_like(postures[0])
        self._segments = [
            Quintic([a, nothing, nothing], [b, nothing, nothing], end - begin)
            for (a, b), (begin, end) in zip(pairwise(postures), pairwise(times), strict=True)
        ]

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at a time [s]; at rest before and after."""
        t = min(max(t, self.times[0]), self.times[-1])
        index = min(bisect_right(self.times, t), len(self._segments)) - 1
        q, v, a = self._segments[index].at(t - self.times[index])
        return q, v, a
