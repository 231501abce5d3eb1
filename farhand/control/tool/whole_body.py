"""Whole-body control: one wrench at the tool becomes torque in an arm and force on the base that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import Assist, TorqueController
from farhand.parameters import parameter
from farhand.plants.plant import Command

Array = np.ndarray


@dataclass
class Base:
    """The base that carries an arm.

    Attributes:
        joints: how many of the first joints are its, [-].
    """

    enabled: bool = parameter(True, "-", "whether the base takes part")
    joints: int = 3


class WholeBodyController(TorqueController):
    r"""Spread a wrench over base and arm at once, by the transpose, with the arm's weight and what helps the joints.

    .. math:: \tau = S\,\bigl(J^\top w + g + \textstyle\sum_i \tau_i\bigr)

    S takes out the base's joints while the base is off. The transpose keeps power,
    :math:`\tau\cdot\dot q = w\cdot\nu`, so nothing is felt that is not done; which of the joints
    moves most is left to their inertia and friction.

    Args:
        arm: the controller's model of base and arm.
        rest: ``"hold"`` or ``"free"`` when not coupled.
        period_ns: time between ticks, [ns].
        can_brake: whether the plant has brakes.
        base: whether the base takes part.
        helpers: what adds to the joints' torque, by name: friction compensation, walls before the
            joint limits.
    """

    def __init__(
        self,
        arm: Arm,
        rest: str = "hold",
        period_ns: int = 1_000_000,
        can_brake: bool = False,
        base: Base | None = None,
        helpers: Mapping[str, Assist] | None = None,
    ) -> None:
        super().__init__(arm, rest, period_ns, can_brake)
        self.base, self.helpers = base or Base(), dict(helpers or {})
        self._pulled = np.zeros(arm.nv)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, the base's switch and the helpers."""
        return (
            super().parts
            | {"base": self.base}
            | {name: _setting(part) for name, part in self.helpers.items()}
        )

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort asked for."""
        command = super().step(asked, now_ns)
        torque = command.value
        if asked.valid:
            asked.effort.dot(self.arm.J, self._pulled)
            for helper in self.helpers.values():
                torque += helper.torque(self.arm, self._pulled, asked.wrench)
        if not self.base.enabled:
            torque[: self.base.joints] = 0.0
        return command


class WallForce(Protocol):
    """What pushes joints off their limits."""

    def torque(self, q: Array, v: Array) -> Array:
        """At these joint positions and velocities, [N·m]."""


class Walled:
    """A wall before the limits of an arm's last joints, as a helper.

    Args:
        wall: which watches the limits of these joints.
        first: the first of them.
    """

    def __init__(self, wall: WallForce, first: int = 0) -> None:
        self.part, self._first = wall, first

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """What the wall pushes with, [N·m]."""
        pushed = np.zeros(arm.nv)
        pushed[self._first :] = self.part.torque(arm.q[self._first :], arm.v[self._first :])
        return pushed


def _setting(helper: Assist) -> Any:
    """What a user may set of a helper."""
    return getattr(helper, "part", helper)
