"""The peer: the same tick on Robotics Toolbox for Python, where it is installed (``pip install farhand[bench]``)."""

from __future__ import annotations

import importlib.util

import numpy as np

from farhand.rigs import Rig
from farhand_lab.benchmarks.measure import Work
from farhand_lab.dh import DHArm


def toolbox_arm():
    """The UR5e of the dual-arm rig (kinematics ``cb``) as a Robotics Toolbox arm, with its own compiled dynamics."""
    from roboticstoolbox import DHRobot, RevoluteDH

    arm = DHArm.load("ur5e", "cb")
    order = [0, 3, 5, 1, 4, 2]  # the toolbox wants Ixx, Iyy, Izz, Ixy, Iyz, Ixz
    links = [
        RevoluteDH(d=d, a=a, alpha=alpha, m=mass, r=com, I=inertia[order], Jm=armature, G=1)
        for d, a, alpha, mass, com, inertia, armature in zip(
            arm.d, arm.a, arm.alpha, arm.mass, arm.com, arm.inertia, arm.armature, strict=True
        )
    ]
    return DHRobot(links, name="ur5e")


def toolbox_tick(rig: Rig) -> dict[str, Work]:
    """The law of virtual constraints and gravity compensation for both arms; empty if the toolbox is not installed."""
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    robot, evaluate = toolbox_arm(), _law(rig)
    zero, up = np.zeros(6), np.array([0.0, 0.0, 9.81])

    def tick() -> None:
        for (q, _, J), u in zip(*evaluate(robot), strict=True):
            np.clip(J.T @ u + robot.rne(q, zero, zero, gravity=up), -150.0, 150.0)

    return {"roboticstoolbox": tick}


def toolbox_law(rig: Rig) -> dict[str, Work]:
    """The law of virtual constraints alone; empty if the toolbox is not installed."""
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    robot, evaluate = toolbox_arm(), _law(rig)
    return {"roboticstoolbox": lambda: evaluate(robot) and None}


def _law(rig: Rig):
    """The law as a user of the toolbox would write it: pose, Jacobian, its rate, inertia, Newton–Euler, NumPy."""
    states = [(station.arm.q.copy(), station.arm.v.copy()) for station in rig.session.stations]
    zero, rho, Kp, Kd = np.zeros(6), 0.01, 110.87, 16.85

    def evaluate(robot):
        terms, gamma, rhs = [], rho * rho * np.eye(6), np.zeros(6)
        poses = [robot.fkine(q).A for q, _ in states]
        for (q, v), sign in zip(states, (-1.0, 1.0), strict=True):
            J = robot.jacob0(q)
            pushed = np.column_stack([J.T, robot.rne(q, v, zero, gravity=zero[:3])])
            response = np.linalg.solve(robot.inertia(q), pushed)
            gamma = gamma + J @ response[:, :6]
            rhs += sign * (J @ response[:, 6] - robot.jacob0_dot(q, v, J0=J) @ v) - sign * Kd * (
                J @ v
            )
            terms.append((q, v, J))
        turn = poses[1][:3, :3] @ poses[0][:3, :3].T
        angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
        axis = 0.5 * np.array(
            [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        )
        error = np.concatenate(
            [poses[1][:3, 3] - poses[0][:3, 3], axis * (angle / max(np.sin(angle), 1e-9))]
        )
        u = np.linalg.solve(gamma, rhs - Kp * error)
        return terms, (-u, u)

    return evaluate
