"""Handle controller: a leader guided by a handle, with a dead-man grip and a wall before its joint limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.haptic.impedance import CartesianImpedance, Rendering
from farhand.control.joint.loops import JointLock
from farhand.control.tool.torque import TorqueController
from farhand.parameters import parameter
from farhand.plants.plant import Command
from farhand.safety.deadman import DeadMan
from farhand.safety.joint_wall import JointWall

Array = np.ndarray


@dataclass
class Handle:
    """What the operator does with the handle: a person's hand in simulation, a driver's readings on hardware."""

    grip: float = parameter(10.0, "N", "force on the grip sensor", 0.0, 1000.0)
    ring: int = parameter(0, "-", "ring of the gripper: -1 opens, +1 closes", -1, 1)


@dataclass
class HandleParts:
    """What a handle controller is made of.

    Attributes:
        handle: what the operator does.
        deadman: what happens when the handle is let go.
        wall: what keeps the joints off their limits.
        rendering: how a force is made.
        lock: which joints are kept where they are.
    """

    handle: Handle = field(default_factory=Handle)
    deadman: DeadMan = field(default_factory=DeadMan)
    wall: JointWall = field(default_factory=JointWall)
    rendering: Rendering = field(default_factory=Rendering)
    lock: JointLock = field(default_factory=JointLock)


class HandleController(TorqueController):
    """Joint torque for what the hand is to feel, what holds a handle that was let go, and what guards the limits.

    The wall watches the joint limits given to it. A tripped station is held as any other; the wall
    acts then too.

    Args:
        arm: the controller's model, kept up to date by the station.
        period_ns: time between ticks, [ns].
        made_of: the parts.
        can_brake: whether the plant has brakes.
    """

    def __init__(
        self, arm: Arm, period_ns: int, made_of: HandleParts, can_brake: bool = True
    ) -> None:
        super().__init__(arm, "free", period_ns, can_brake)
        self.made_of = made_of
        self._spring = CartesianImpedance()
        self._walled = np.zeros(arm.nv)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, and all that the handle is made of."""
        return super().parts | vars(self.made_of)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Torque for this tick."""
        if asked.valid:
            self._feel(asked, now_ns)
        command = super().step(asked, now_ns)
        if asked.valid:
            arm, made_of = self.arm, self.made_of
            self._walled[:] = made_of.wall.torque(arm.q, arm.v)
            made_of.lock.add_torque(arm.q, arm.v, self._walled)
            command.value += self._walled
        return command

    def _feel(self, asked: ControlRequest, now_ns: int) -> None:
        """Replace the effort asked for by what the device makes of it, with the hold of a handle that was let go."""
        arm, made_of = self.arm, self.made_of
        deadman, pose = made_of.deadman, (arm.position, arm.rotation, arm.twist)
        effort = made_of.rendering.wrench(asked.effort, *pose, now_ns, self._dt)
        deadman.step(self._spring, made_of.handle.grip, *pose, self._dt)
        asked.effort[:] = effort + self._spring.wrench(*pose) if deadman.holding else effort
