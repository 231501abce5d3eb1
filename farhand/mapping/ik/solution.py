"""What a solver hands back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from farhand.mapping.ik.chain import Array, Model

STATUSES = {
    "solved": "the pose is met inside the joint limits",
    "limited": "the pose can be met only outside the joint limits",
    "unreachable": "no configuration was found that meets the pose, with or without limits",
    "jump": "the pose is met only by a larger step from the start than allowed, so the start is held",
    "invalid": "the pose or the start is not a number or not a rotation, so the start is held",
    "failed": "a published solver did not converge: its joints must not be used",
}
"""What the words in :attr:`Solution.status` mean. Only ``solved`` is a solution."""


class Solution(NamedTuple):
    """The answer to one pose.

    Attributes:
        q: joint positions, always finite; the closest pose found where the pose is not met, [rad or
            m].
        status: one of :data:`STATUSES`.
        position_error: distance of the tool at ``q`` from the pose, [m].
        rotation_error: angle of the tool at ``q`` from the pose, [rad].
        iterations: steps of the numerical part, of its longest descent where there were several; 0
            for a closed form.
    """

    q: Array
    status: str
    position_error: float
    rotation_error: float
    iterations: int


def solution_of(
    model: Model,
    q: Array,
    error: Array,
    iterations: int,
    met: bool = True,
    otherwise: str = "failed",
) -> Solution:
    """A solution of the plain solvers, which look at the limits only afterwards."""
    status = otherwise if not met else "solved" if model.within(q) else "limited"
    return Solution(
        q, status, float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])), iterations
    )
