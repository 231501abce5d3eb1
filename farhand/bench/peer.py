"""The peer: the same tick on Robotics Toolbox for Python, where it is installed (``pip install farhand[bench]``)."""

from __future__ import annotations

import importlib.util

import numpy as np

from farhand.bench.measure import Work
from farhand.rigs import Rig


def toolbox_arm():
    """The UR5e of the dual-arm rig (kinematics ``cb``) as a Robotics Toolbox arm, with its own compiled dynamics."""
    from roboticstoolbox import DHRobot, RevoluteDH

    d = (0.163, 0.0, 0.0, 0.131, 0.1, 0.1)
    a = (0.0, -0.425, -0.392, 0.0, 0.0, 0.0)
    alpha = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
    mass = (3.761, 8.058, 2.846, 1.37, 1.3, 0.365)
    centre = (
        (0, -0.02561, 0.00193),
        (0.2125, 0, 0.11336),
        (0.15, 0, 0.0265),
        (0, -0.0018, 0.01634),
        (0, 0.0018, 0.01634),
        (0, 0, -0.001159),
    )
    inertia = (
        (0.007, 0.0065, 0.0066),
        (0.015, 0.334, 0.332),
        (0.004, 0.0788, 0.0785),
        (0.0017, 0.0014, 0.0013),
        (0.0014, 0.0013, 0.001),
        (0.00019, 0.00019, 0.00026),
    )
    links = [
        RevoluteDH(d=d[i], a=a[i], alpha=alpha[i], m=mass[i], r=centre[i], I=[*inertia[i], 0, 0, 0], Jm=0.1, G=1)
        for i in range(6)
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
            rhs += sign * (J @ response[:, 6] - robot.jacob0_dot(q, v, J0=J) @ v) - sign * Kd * (J @ v)
            terms.append((q, v, J))
        turn = poses[1][:3, :3] @ poses[0][:3, :3].T
        angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
        axis = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        error = np.concatenate([poses[1][:3, 3] - poses[0][:3, 3], axis * (angle / max(np.sin(angle), 1e-9))])
        u = np.linalg.solve(gamma, rhs - Kp * error)
        return terms, (-u, u)

    return evaluate
