"""Robot models: one folder per robot, or a user's own MJCF or URDF file."""

from farhand.robots.limits import Limits
from farhand.robots.pinocchio_model import (
    pinocchio_from_mujoco,
    q_from_pinocchio,
    q_to_pinocchio,
    v_from_pinocchio,
    v_to_pinocchio,
)
from farhand.robots.robot import (
    Placement,
    Robot,
    RobotCheck,
    check_robot,
    is_robot,
    load_robot,
    robot_names,
)

__all__ = [
    "Limits",
    "Placement",
    "Robot",
    "RobotCheck",
    "check_robot",
    "is_robot",
    "load_robot",
    "pinocchio_from_mujoco",
    "q_from_pinocchio",
    "q_to_pinocchio",
    "robot_names",
    "v_from_pinocchio",
    "v_to_pinocchio",
]
