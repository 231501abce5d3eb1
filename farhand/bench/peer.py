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
    """Pose, Jacobian, mass matrix, bias and gravity of both arms, and a spring between them; empty if not installed."""
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    robot = toolbox_arm()
    states = [(station.arm.q.copy(), station.arm.v.copy()) for station in rig.session.stations]
    zero, up = np.zeros(6), np.array([0.0, 0.0, 9.81])

    def tick() -> None:
        poses, jacobians, gravities = [], [], []
        for q, v in states:
            poses.append(robot.fkine(q).A)
            jacobians.append(robot.jacob0(q))
            robot.inertia(q)
            robot.rne(q, v, zero, gravity=up)
            gravities.append(robot.rne(q, zero, zero, gravity=up))
        turn = poses[0][:3, :3] @ poses[1][:3, :3].T
        angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
        axis = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        error = np.concatenate(
            [poses[0][:3, 3] - poses[1][:3, 3], axis if angle < 1e-6 else axis * angle / np.sin(angle)]
        )
        rate = jacobians[0] @ states[0][1] - jacobians[1] @ states[1][1]
        wrench = 1000.0 * error + 70.0 * rate
        for jacobian, gravity, sign in zip(jacobians, gravities, (-1.0, 1.0), strict=True):
            np.clip(sign * (jacobian.T @ wrench) + gravity, -150.0, 150.0)

    return {"roboticstoolbox": tick}
