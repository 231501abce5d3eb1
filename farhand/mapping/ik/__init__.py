"""Inverse kinematics: the recommended solver, and the published ones it is compared with."""

from farhand.mapping.ik.chain import STATUS_INDEX, STATUSES, Chain, Model, Pose, Solution
from farhand.mapping.ik.position_solver import PositionSolver
from farhand.mapping.ik.published import Levenberg, Newton
from farhand.mapping.ik.solver import Solver

__all__ = [
    "STATUSES",
    "STATUS_INDEX",
    "Chain",
    "Levenberg",
    "Model",
    "Newton",
    "Pose",
    "PositionSolver",
    "Solution",
    "Solver",
]
