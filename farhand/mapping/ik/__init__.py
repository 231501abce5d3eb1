"""Inverse kinematics: the recommended solver, and the published ones it is compared with."""

from farhand.mapping.ik.chain import Chain, Model, Pose
from farhand.mapping.ik.levenberg import Levenberg
from farhand.mapping.ik.newton import Newton
from farhand.mapping.ik.position_solver import PositionSolver
from farhand.mapping.ik.solution import STATUSES, Solution
from farhand.mapping.ik.solver import Solver

__all__ = [
    "STATUSES",
    "Chain",
    "Levenberg",
    "Model",
    "Newton",
    "Pose",
    "PositionSolver",
    "Solution",
    "Solver",
]
