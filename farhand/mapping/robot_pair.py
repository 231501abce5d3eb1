"""A robot pair: how one arm's workspace is laid over another's, as one table of constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.mapping.workspace import WorkspaceMapping
from farhand.spatial import rotation_from_vector

Array = np.ndarray


@dataclass(frozen=True)
class RobotPair:
    r"""Scale about a centre in each base, such as the shoulders, and fixed turns of viewpoint and tool.

    .. math:: p_b = c_b + s\,A\,(p_a - c_a), \qquad R_b = A\,R_a\,R_\mathrm{tool}

    Attributes:
        motion_scale: s, [-].
        centre_leader: c_a in the leader's base, [m].
        centre_follower: c_b in the follower's base, [m].
        axes: rotation vector of A, from the leader's base to the follower's, [rad].
        tool: rotation vector of R_tool, from the follower's tool axes to the leader's, [rad].
    """

    motion_scale: float
    centre_leader: tuple[float, float, float]
    centre_follower: tuple[float, float, float]
    axes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tool: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def mapping(self, force_scale: float = 1.0) -> WorkspaceMapping:
        """A workspace mapping with these constants as its offsets, before any engagement captures others."""
        mapping = WorkspaceMapping(self.motion_scale, force_scale, np.array(self.axes))
        turned = rotation_from_vector(np.array(self.axes)) @ np.array(self.centre_leader)
        mapping.offset_position = np.array(self.centre_follower) - self.motion_scale * turned
        mapping.offset_rotation = rotation_from_vector(np.array(self.tool))
        return mapping


IIWA_POWERBALL = RobotPair(705.0 / 955.0, (0.0, 0.0, 0.350), (0.0, 0.0, 0.205))
"""The published pair: ratio of the reaches of Table 2.2, about the shoulders that it implies
(sources/hazardous §2.4, E-06)."""
