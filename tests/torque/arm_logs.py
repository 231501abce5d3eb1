"""Logs of an arm that moves freely, by Pinocchio's inverse dynamics, with faults of choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from farhand.robots import load_robot
from farhand.robots.edits import add_payload

COULOMB, VISCOUS = 1.5, 0.8  # [N·m], [N·m·s/rad]


def arm_columns(
    robot: str = "elbow6",
    seconds: float = 20.0,
    rate: float = 250.0,
    payload: float = 0.0,
    seed: int = 3,
) -> dict[str, np.ndarray]:
    """Columns of a log; friction in every joint, a little noise, nothing wrong but the payload."""
    rng = np.random.default_rng(seed)
    loaded = load_robot(robot)
    true = loaded.edited(add_payload(payload, (0.0, 0.0, 0.05))) if payload else loaded
    n = loaded.actuated.size - (loaded.gripper is not None)
    t = np.arange(0.0, seconds, 1.0 / rate)
    omega = 2.0 * np.pi * np.array([0.11, 0.23, 0.41])[:, None] * rng.uniform(0.9, 1.1, n)
    phase, size = rng.uniform(0.0, 6.28, (3, n)), np.array([0.35, 0.2, 0.12])[:, None]
    angle = omega * t[:, None, None] + phase
    q = loaded.home[:n] + (size * np.sin(angle)).sum(axis=1)
    v = (size * omega * np.cos(angle)).sum(axis=1)
    a = -(size * omega**2 * np.sin(angle)).sum(axis=1)
    model = true.pinocchio()
    data = model.createData()
    full = np.tile(loaded.home, (len(t), 1))
    full[:, :n] = q
    rest = np.zeros((len(t), model.nv - n))
    states = zip(full, np.hstack([v, rest]), np.hstack([a, rest]), strict=True)
    torque = np.array([pin.rnea(model, data, *state)[:n] for state in states])
    torque += COULOMB * np.tanh(v / 1e-3) + VISCOUS * v
    torque += 0.05 * rng.standard_normal(torque.shape)
    columns: dict[str, Any] = {"t": t}
    for key, values in (("q", q), ("v", v), ("torque", torque)):
        columns |= {f"{key}{k + 1}": values[:, k] for k in range(n)}
    return columns
