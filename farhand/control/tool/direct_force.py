"""Direct force control: an arm moves until the force at its own wrist is the desired one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.task import FadedSettings, PoseLoop, TaskController
from farhand.friction import Gears
from farhand.parameters import parameter
from farhand.spatial import Array, damped_inverse

MODES = {
    "compliance": "the tool gives way in position and orientation",
    "hold": "the tool gives way in position and keeps its orientation",
    "hold-moment": "as hold, but moments at the wrist act too",
}
"""What the arm does about the wrench at its wrist."""

SELECTIONS = {
    "joint": "force on joints 1 to 3, orientation on 4 to 6, after the Jacobian (published)",
    "wrist": "as joint, with the wrist's own 3 × 3 inverse, which assumes joints 1 to 3 at rest",
    "task": "orientation rows and force rows before the Jacobian (textbook)",
    "least-norm": "as task, the orientation by the least motion of all joints (equation 4.3)",
    "least-energy": "as least-norm, by the motion of least kinetic energy, free of forces",
}
"""How force and orientation share the joints."""

WRIST = 3
"""Number of the first joint that turns the tool; those before it move it."""


@dataclass
class ForceLoop(FadedSettings):
    r"""The force law, :math:`f = f_d + k_p (f_d - f_f) - k_d \dot x + k_i \int (f_d - f_f)`.

    The rate of a noisy force is of no use, so the tool's own velocity is fed back instead.
    """

    kp: float = parameter(10.0, "-", "force gain", 0.0, 1e4)
    kd: float = parameter(20.0, "N·s/m", "damping of the motion", 0.0, 1e6)
    kd_moment: float = parameter(20.0, "N·m·s/rad", "damping of the turning", 0.0, 1e6)
    ki: float = parameter(0.0, "1/s", "integral gain of force", 0.0, 1e4)
    limit: float = parameter(100.0, "N·s", "clamp of the integrated force error", 0.0, 1e6)
    mode: str = parameter("compliance", "-", "what gives way", choices=tuple(MODES))
    selection: str = parameter(
        "joint", "-", "how force and orientation share joints", choices=tuple(SELECTIONS)
    )

    def __post_init__(self) -> None:
        self.refresh()
        super().__post_init__()

    def refresh(self) -> None:
        """Stack the dampings; note that a setting changed."""
        self.damping = np.repeat([self.kd, self.kd_moment], 3)
        super().refresh()


class DirectForce(TaskController):
    r"""Force control from the wrist cell alone, without data from any other arm.

    With :math:`f_d = 0` the tool feels :math:`(1 + k_p)` times what pushes on it and moves on at
    :math:`v \approx (1 + k_p) f / k_d`. Without a measurement only the damping acts, and the arm
    comes to rest.

    Args:
        force: the force law.
        loop: gains that hold the orientation; its position gains are not used.

    Attributes:
        desired: f_d, wrench of the robot on what it holds, world axes, [N] and [N·m]; write it.
        offset: part of the measured wrench that does not count, such as an object's weight, [N] and
            [N·m]; write it.
        support: wrench that is exerted beside the law, such as to carry an object, [N] and [N·m];
            write it.
        uses_cell: whether the measured force counts; off while an object is weighed.
        error: f_d − f_f at the last tick, [N] and [N·m].
    """

    def __init__(
        self,
        arm: Arm,
        force: ForceLoop | None = None,
        loop: PoseLoop | None = None,
        gears: Gears | None = None,
        period_ns: int = 4_000_000,
        can_brake: bool = False,
    ) -> None:
        loop = loop or PoseLoop(kpo=600.0, kdo=50.0, kio=100.0, limit_o=3.0)
        super().__init__(arm, loop, gears, period_ns, can_brake)
        self.force = force or ForceLoop()
        self.desired, self.offset, self.support = np.zeros(6), np.zeros(6), np.zeros(6)
        self.error, self.integral = np.zeros(6), np.zeros(6)
        self.uses_cell = True
        self._mode = self.force.mode

    @property
    def parts(self) -> dict[str, Any]:
        """Force law, gains, dead zone, compensation, and how it holds still."""
        return {**super().parts, "force": self.force}

    def begin(self) -> None:
        """Start where the arm is: nothing integrated, the orientation as it is."""
        super().begin()
        self.integral[:] = 0.0

    def acceleration(self, request: ControlRequest, now_ns: int) -> Array:
        """q̈ that holds the orientation, [rad/s²]; zero in compliance."""
        arm, mode = self.arm, self.force.mode
        if mode != self._mode:
            # hold the orientation of the moment the mode is entered
            if self._mode == "compliance":
                self.begin()
            self._mode = mode
        if mode == "compliance":
            self.margin = np.inf
            return np.zeros(arm.nv)
        turn = self.loop.orientation(arm, self.reference, self._dt) - arm.drift[3:]
        return self._SELECT[self.force.selection](self, turn)

    def effort(self, request: ControlRequest) -> Array:
        """Joint torque of the force law, [N·m]."""
        arm, law = self.arm, self.force
        command = self.desired - law.damping * arm.twist
        if request.wrench is None or not self.uses_cell:
            self.error[:] = 0.0
        else:
            # f_f = −h: the cell measures what acts on the robot
            wrench = self.zone.apply(request.wrench - self.offset)
            np.add(self.desired, wrench, out=self.error)
            self.integral = np.clip(self.integral + self._dt * self.error, -law.limit, law.limit)
            command += law.kp * self.error + law.ki * self.integral
        if law.mode == "hold" and law.selection in ("task", "least-norm", "least-energy"):
            command[3:] = 0.0
        torque = command.dot(arm.J)
        if law.mode == "hold" and law.selection in ("joint", "wrist"):
            torque[WRIST:] = 0.0
        return torque + self.support.dot(arm.J)

    def _by_joint(self, turn: Array) -> Array:
        acceleration = self._by_task(turn)
        acceleration[:WRIST] = 0.0
        return acceleration

    def _by_wrist(self, turn: Array) -> Array:
        acceleration = np.zeros(self.arm.nv)
        acceleration[WRIST:] = self.inverse(self.arm.J[3:, WRIST:]).dot(turn)
        return acceleration

    def _by_task(self, turn: Array) -> Array:
        return self.inverse(self.arm.J).dot(np.concatenate([-self.arm.drift[:3], turn]))

    def _by_least_norm(self, turn: Array) -> Array:
        J = self.arm.J[3:]
        self.margin = float(np.linalg.svd(J, compute_uv=False)[-1])
        return damped_inverse(J, 0.0 if self.margin > self.NEAR else self.NEAR).dot(turn)

    def _by_least_energy(self, turn: Array) -> Array:
        r"""The inverse weighted by inertia, :math:`A^{-1} J_o^\top (J_o A^{-1} J_o^\top)^{-1}`."""
        spread = np.linalg.solve(self.arm.M, self.arm.J[3:].T)
        return spread @ self.inverse(self.arm.J[3:] @ spread).dot(turn)

    _SELECT = {
        "joint": _by_joint,
        "wrist": _by_wrist,
        "task": _by_task,
        "least-norm": _by_least_norm,
        "least-energy": _by_least_energy,
    }
