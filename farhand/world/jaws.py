"""Jaws that hold an object by the engine's own contact: two soft pads above and below it, with Coulomb friction."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.errors import ModelError
from farhand.parameters import parameter
from farhand.robots.edits import Edit
from farhand.robots.model_file import TOOL, compile_spec

Array = np.ndarray

PADS = ("pad_upper", "pad_lower")
HALF = np.array([0.01, 0.04, 0.03])
"""Half edges of a pad along the tool's axes: the way it closes, along the object, into the object;
assumed, [m]."""

PAD_BIT, THING_BITS = 2, 3
"""Pads touch what they hold and nothing else; what they hold touches its table too."""

IMPEDANCE = 0.95
"""Of the engine's contact; the rest of it is what makes a pad soft, [-]."""

POINTS = 4
"""Places at which the engine lets a pad touch a flat face."""


def add_pads(height: float, crush: float) -> Edit:
    """Give a gripper two pads for an object as high as this between them, where they are pressed in by ``crush``, [m].

    The jaws close along the tool's x axis.
    """

    def edit(spec: mujoco.MjSpec) -> None:
        site = spec.site(TOOL)
        if site is None:
            raise ModelError(f"no site named {TOOL!r} to fix the pads to")
        model = compile_spec(spec, "pads")
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)
        turn, place = np.zeros(9), model.site_pos[index]
        mujoco.mju_quat2Mat(turn, model.site_quat[index])
        for name, side in zip(PADS, (-1.0, 1.0), strict=True):
            at = np.array([side * (0.5 * height + HALF[0] - crush), 0.0, HALF[2]])
            # fmt: skip
            site.parent.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=HALF,
                pos=place + turn.reshape(3, 3) @ at,
                quat=model.site_quat[index],
                mass=0.0,
                contype=PAD_BIT,
                conaffinity=0,
                condim=3,
                priority=1,
                solimp=[IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0],
                rgba=[0.2, 0.2, 0.22, 1.0],
            )

    return edit


@dataclass
class Jaws:
    r"""Two pads on an object, opened and closed at run time.

    Closed, both are pressed into it by a depth δ that the model gives them (:func:`add_pads`); how
    hard is N. The engine's contact has the normal force :math:`f = s\,\delta / ((1 - d) \hat A)` at
    each of its points, with impedance d and inverse inertia Â, so its stiffness s follows from N.
    It is critically damped. Friction slides beyond 2 μ N; below, the engine lets it creep a little,
    as it has no stiffness along a face.

    Attributes:
        crush: δ, [m].
    """

    closed: bool = parameter(False, "-", "whether the jaws hold")
    clamp: float = parameter(750.0, "N", "force of the jaws", 1.0, 1e5)
    friction: float = parameter(0.6, "-", "friction of the pads", 0.0, 5.0)
    time: float = parameter(0.2, "s", "time in which they close", 1e-3, 10.0)
    crush: float = 0.0075

    def join(self, model: mujoco.MjModel, robot: str, thing: str) -> None:
        """Take the pads of ``robot`` in the world's model, open, for ``thing``."""
        self._model = model
        self._pads = [model.geom(f"{robot}/{name}").id for name in PADS]
        body, held = model.geom_bodyid[self._pads[0]], model.geom(f"{thing}/box").bodyid[0]
        # [1/kg]
        self._inverse = float(model.body_invweight0[body, 0] + model.body_invweight0[held, 0])
        self._share = 0.0
        self._set()

    def step(self, dt: float) -> None:
        """Close further, or open, over ``dt`` [s]."""
        share = min(1.0, self._share + dt / self.time) if self.closed else 0.0
        if share != self._share:
            self._share = share
            self._set()

    def feel(self, data: mujoco.MjData, position: Array, wrench: Array) -> None:
        """Write what the contacts do to the tool at ``position`` [m] in the step just made, [N] and [N·m]."""
        wrench[:] = 0.0
        if not self._share:
            return
        contacts, (upper, lower) = data.contact, self._pads
        geoms, start = contacts.geom, contacts.efc_address
        mine = (geoms == upper) | (geoms == lower)
        rows = np.flatnonzero(mine.any(axis=1) & (start >= 0))
        inside = (
            data.efc_force[start[rows, None] + np.arange(3)]
            * np.where(mine[rows, 1], 1.0, -1.0)[:, None]
        )
        # it acts on the second geom
        force = np.einsum("nk,nkj->nj", inside, contacts.frame[rows].reshape(-1, 3, 3))
        wrench[:3] = force.sum(axis=0)
        wrench[3:] = np.cross(contacts.pos[rows] - position, force).sum(axis=0)

    def _set(self) -> None:
        stiffness = (
            self._share * self.clamp / POINTS * (1.0 - IMPEDANCE) * self._inverse / self.crush
        )
        for pad in self._pads:
            self._model.geom_contype[pad] = PAD_BIT if self._share else 0
            self._model.geom_friction[pad, 0] = self.friction
            self._model.geom_solref[pad] = (
                -max(stiffness, 1e-6),
                -2.0 * np.sqrt(max(stiffness, 1e-6)),
            )
