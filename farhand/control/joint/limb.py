"""Limb controller: a place for a limb's end becomes positions of servos on a slow bus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller, ControlRequest
from farhand.mapping.ik.chain import STATUS_INDEX, Solution
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command, JointPosition
from farhand.spatial import Array


class LimbKinematics(Protocol):
    """Closed form of a limb; :mod:`farhand.mapping.limbs` has an arm and a leg."""

    @property
    def lowest(self) -> tuple[float, ...]:
        """Smallest angles, [rad]."""

    @property
    def highest(self) -> tuple[float, ...]:
        """Largest angles, [rad]."""

    def forward(self, q: Array) -> Array:
        """Place of its end in its base, [m]."""

    def solve(self, p: Array, near: Array) -> Solution:
        """Angles for a place, the ones nearest ``near`` [rad]."""


@dataclass
class MotionDeadBand:
    """Ignores places close to the last accepted one, so that tremor does not load a slow bus.

    Attributes:
        passed: how many places were accepted.
    """

    # published code; choices 1 mm to 1 µm
    width: float = parameter(1e-3, "m", "smallest change that counts", 0.0, 0.1)

    def __post_init__(self) -> None:
        self.last: Array | None = None
        self.passed = 0

    def reset(self) -> None:
        """Accept the next place in any case."""
        self.last = None

    def step(self, place: Array) -> bool:
        """Whether to accept this place [m]."""
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
    """Joint positions for the place of a coupling's target; the orientation is not controlled.

    The first place of an engagement counts as the place where the limb was sent last, whatever its
    potentiometers say, so that engaging moves nothing. A place out of reach leaves the last
    positions and sets ``status``. Without a target, tripped or without a good sample, the last
    positions stay.

    Args:
        chain: closed form of the limb.
        base: of the limb in world, [m].
    """

    commands = JointPosition
    channel = ("q_commanded", "rad")
    exerts_effort = False
    controls_orientation = False
    arm: Arm
    chain: LimbKinematics
    workspace_origin: Array

    def __init__(
        self, arm: Arm, chain: LimbKinematics, base: Array, dead_band: MotionDeadBand | None = None
    ) -> None:
        self.arm, self.chain, self.dead_band = arm, chain, dead_band or MotionDeadBand()
        self.workspace_origin = np.array(base, dtype=float)
        self.command: Command = JointPosition(arm.nv)
        self.single = SingleJoint()  #: a joint that the user moves by itself
        self.place = np.zeros(3)  #: where the limb was sent last, in its base, [m]
        self._shift = np.zeros(3)
        self._started = False
        self._engaged = False
        self._recorded = np.zeros(1)

    @property
    def parts(self) -> dict[str, Any]:
        """Its dead band, and the joint that the user moves by itself."""
        return {"dead_band": self.dead_band, "single": self.single}

    def record(self, stream: Channels) -> Array:
        """Declare the positions and the status of the inverse kinematics."""
        self._recorded = stream.channel("ik_status", 1, "index")
        return super().record(stream)

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Positions for the target."""
        if not self._started:
            if not request.valid:
                return self.command
            self._started = True
            self._keep(self.arm.q)
        if request.target is None or request.tripped or not request.valid:
            self._engaged, self.holding = False, True
            if request.valid and not request.tripped and 0 < self.single.joint <= self.arm.nv:
                self._move_one(self.single.joint - 1, self.single.angle)
        else:
            self._follow(request.target.position - self.workspace_origin)
        self._recorded[0] = STATUS_INDEX[self.status]
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

    def _follow(self, target: Array) -> None:
        if not self._engaged:
            self._engaged, self.holding = True, False
            self._shift = self.place - target
            self.dead_band.reset()
        place = target + self._shift
        if not self.dead_band.step(place):
            return
        solution = self.chain.solve(place, self.command.value)
        self.status = solution.status
        if solution.status == "solved":
            self.command.value[:] = solution.q
            self.place[:] = place
