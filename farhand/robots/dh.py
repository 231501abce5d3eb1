"""An arm from its Denavit–Hartenberg table, in plain NumPy: slow, short, and independent of every engine.

It is the oracle for the models that run in the tick, and the generic path they are timed against.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, ModelError, UnknownName
from farhand.robots.description import known_keys, section, vector

Array = np.ndarray

FOLDER = Path(__file__).parent
_COLUMNS = {"a": 0, "d": 0, "alpha": 0, "mass": 0, "armature": 0, "com": 3, "inertia": 6}  # values per link; 0: one


@dataclass(frozen=True)
class DHArm:
    r"""A chain of n revolute joints, :math:`T_i = R_z(q_i)\,T_z(d_i)\,T_x(a_i)\,R_x(\alpha_i)`, and its links.

    Frame i lies after joint i and is fixed to link i; frame n is the tool. Everything is in the axes of frame 0 unless
    it says otherwise. Complex configurations are allowed, so that derivatives can be taken by a complex step.

    Attributes:
        a: lengths along x, [m].
        d: lengths along z, [m].
        alpha: twists about x, [rad].
        mass: of each link, [kg].
        com: centre of mass of each link in its frame, n × 3, [m].
        inertia: about the centre of mass in the frame's axes, n × 6 as Ixx, Ixy, Ixz, Iyy, Iyz, Izz, [kg·m²].
        armature: rotor inertia on each joint, [kg·m²].
    """

    a: Array
    d: Array
    alpha: Array
    mass: Array
    com: Array
    inertia: Array
    armature: Array

    def __post_init__(self) -> None:
        """Prepare what does not depend on the configuration."""
        n = len(self.a)
        xx, xy, xz, yy, yz, zz = self.inertia.T
        tensors = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), 2, 0)
        prepared = {
            "_cos": np.cos(self.alpha),
            "_sin": np.sin(self.alpha),
            "_tensors": tensors,
            "_moves": np.tri(n),  # joint j moves link i where j ≤ i
        }
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    def frames(self, q: Array) -> Array:
        """Poses of frames 0 … n in frame 0, (n + 1) × 4 × 4."""
        c, s, ca, sa = np.cos(q), np.sin(q), self._cos, self._sin  # type: ignore[attr-defined]
        steps = np.zeros((len(q), 4, 4), dtype=c.dtype)
        steps[:, 0, 0], steps[:, 0, 1], steps[:, 0, 2], steps[:, 0, 3] = c, -s * ca, s * sa, self.a * c
        steps[:, 1, 0], steps[:, 1, 1], steps[:, 1, 2], steps[:, 1, 3] = s, c * ca, -c * sa, self.a * s
        steps[:, 2, 1], steps[:, 2, 2], steps[:, 2, 3], steps[:, 3, 3] = sa, ca, self.d, 1.0
        poses = np.empty((len(q) + 1, 4, 4), dtype=c.dtype)
        poses[0] = np.eye(4)
        for i, step in enumerate(steps):
            np.matmul(poses[i], step, out=poses[i + 1])
        return poses
