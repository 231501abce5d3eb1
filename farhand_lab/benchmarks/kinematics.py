"""Pose and body Jacobian of the UR5e: NumPy from the DH table, compiled, and a peer."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from farhand.robots import load_robot
from farhand_lab.benchmarks.measure import Benchmark, Prepared, Work
from farhand_lab.benchmarks.tick import toolbox_arm
from farhand_lab.dh import DHArm

Array = np.ndarray

Kinematics = Callable[[Array], tuple[Array, Array, Array]]
"""From a configuration [rad] to the tool's position [m], its rotation matrix, and its Jacobian in
the tool's own axes.
The arrays may be overwritten by the next call."""


def generic(robot: str = "ur5e") -> Kinematics:
    """The generic path: NumPy on a table, the same code for any arm."""
    arm = DHArm.load(robot)

    def evaluate(q: Array) -> tuple[Array, Array, Array]:
        pose, J = arm.pose_and_body_jacobian(q)
        return pose[:3, 3], pose[:3, :3], J

    return evaluate


def fast(robot: str = "ur5e") -> Kinematics:
    """The fast path: compiled code on the robot's model, as the tick uses it."""
    model = load_robot(robot).pinocchio()
    data = model.createData()
    frame = model.getFrameId("tool", pin.FrameType.OP_FRAME)
    position, rotation = data.oMf[frame].translation, data.oMf[frame].rotation

    def evaluate(q: Array) -> tuple[Array, Array, Array]:
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacement(model, data, frame)
        return position, rotation, pin.getFrameJacobian(model, data, frame, pin.LOCAL)

    return evaluate


def _bare() -> Work:
    """The one library call that cannot be left out."""
    model, q = load_robot("ur5e").pinocchio(), load_robot("ur5e").home
    data = model.createData()
    frame = model.getFrameId("tool", pin.FrameType.OP_FRAME)

    def bare() -> None:
        pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)

    return bare


def _toolbox() -> dict[str, Work]:
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    # its compiled path, ten times faster than its DH path
    chain, q = (toolbox_arm().ets(), load_robot("ur5e").home)

    def evaluate() -> None:
        chain.eval(q)
        chain.jacobe(q)

    return {"roboticstoolbox": evaluate}


def _prepared(path: Callable[[], Kinematics]) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        evaluate, q = path(), load_robot("ur5e").home

        def work() -> None:
            evaluate(q)

        return work, _bare(), _toolbox()

    return prepare


BENCHMARKS = [
    Benchmark("model/ur5e/generic-numpy", _prepared(generic), calls=300),
    Benchmark("model/ur5e/fast", _prepared(fast), calls=2000),
]
