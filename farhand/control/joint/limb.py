"""Limb controller: a place for the end of a limb becomes joint positions, for limbs on a bus of position servos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, Controller, ControlRequest
from farhand.mapping.ik.solution import STATUSES, Solution
from farhand.parameters import parameter
from farhand.plants.plant import Command, JointPosition

Array = np.ndarray

_STATUS = {name: float(index) for index, name in enumerate(STATUSES)}


class LimbKinematics(Protocol):
    """A limb with a closed form."""

    @property
    def lowest(self) -> tuple[float, ...]:
        """Smallest angles, [rad]."""

    @property
    def highest(self) -> tuple[float, ...]:
        """Largest angles, [rad]."""

    def forward(self, q: Array) -> Array:
        """Place of its end in its base, [m]."""

    def solve(self, p: Array, near: Array) -> Solution:
        """Angles for a place."""


@dataclass
class MotionDeadBand:
    """Passes a place on only where it differs from the last one passed on: tremor must not keep a slow bus busy.

    Attributes:
        passed: how many were passed on.
    """

    # published code; choices 1 mm to 1 µm
    width: float = parameter(1e-3, "m", "smallest change that counts", 0.0, 0.1)

    def __post_init__(self) -> None:
        """Nothing passed on yet."""
        self.last: Array | None = None
        self.passed = 0

    def reset(self) -> None:
        """Let the next place through whatever it is."""
        self.last = None

    def step(self, place: Array) -> bool:
        """Whether to pass this place [m] on."""
        if self.last is not None and float(np.abs(place - self.last).max()) < self.width:
            return False
        self.last = np.array(place)
        self.passed += 1
        return True


@dataclass
class SingleJoint:
    """One joint moved by itself while no coupling leads the limb."""

    joint: int = parameter(0, "-", "joint moved by itself, from 1; 0: none", 0, 16)
    angle: float = parameter(0.0, "rad", "where that joint goes", -4.0, 4.0)


class LimbController(Controller):
    """Joint positions for the place that a coupling names; its orientation is left to fall out as it may.

    The first place of an engagement is taken to be where the limb was sent last, whatever its
    potentiometers say, so that taking over moves nothing. A place out of reach leaves the last
    positions and a status that says so. Without a target, tripped or without a good sample, the
    last positions are kept.

    Args:
        arm: the controller's model, kept up to date by the station.
        chain: closed form of the limb.
        base: of the limb in world, [m].
        dead_band: what counts as motion.

    Attributes:
        single: a joint to be moved by itself.
        status: of the last inverse kinematics.
        place: that the limb was sent to last, in its base, [m].
    """

    commands = JointPosition
    channel = ("q_commanded", "rad")
    exerts_effort = False
    controls_orientation = False

    def __init__(
        self, arm: Arm, chain: LimbKinematics, base: Array, dead_band: MotionDeadBand | None = None
    ) -> None:
        self.arm, self.chain, self.dead_band = arm, chain, dead_band or MotionDeadBand()
        self.base, self._shift = np.array(base, dtype=float), np.zeros(3)
        self.command: Command = JointPosition(arm.nv)
        self.single = SingleJoint()
        self._begun = self._engaged = False
        self.status, self.place = "solved", np.zeros(3)
        self._recorded = np.zeros(1)

    @property
    def parts(self) -> dict[str, Any]:
        """What counts as motion, and a joint to be moved by itself."""
        return {"dead_band": self.dead_band, "single": self.single}

    def record(self, stream: Channels) -> Array:
        """Declare the positions and how they were found."""
        self._recorded = stream.channel("ik_status", 1, "index")
        return super().record(stream)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Positions for the target asked for."""
        if not self._begun:
            if not asked.valid:
                return self.command
            self._begun = True
            self._keep(self.arm.q)
        if asked.target is None or asked.tripped or not asked.valid:
            self._engaged, self.holding = False, True
            if asked.valid and not asked.tripped and 0 < self.single.joint <= self.arm.nv:
                self._move_one(self.single.joint - 1, self.single.angle)
        else:
            self._follow(asked.target.position - self.base)
        self._recorded[0] = _STATUS[self.status]
        return self.command

    def give_up(self) -> None:
        """Stay where the limb was last known to be."""
        self._keep(self.arm.q)

    def _keep(self, q: Array) -> None:
        self.command.value[:] = q
        self.place[:] = self.chain.forward(self.command.value)

    def _move_one(self, index: int, angle: float) -> None:
        angle = min(max(angle, self.chain.lowest[index]), self.chain.highest[index])
        if self.command.value[index] != angle:
            self.command.value[index] = angle
            self.place[:] = self.chain.forward(self.command.value)

    def _follow(self, wanted: Array) -> None:
        if not self._engaged:
            self._engaged, self.holding = True, False
            self._shift = self.place - wanted
            self.dead_band.reset()
        place = wanted + self._shift
        if not self.dead_band.step(place):
            return
        found = self.chain.solve(place, self.command.value)
        self.status = found.status
        if found.status == "solved":
            self.command.value[:] = found.q
            self.place[:] = place
