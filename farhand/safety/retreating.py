"""Retreating controller: around a controller that goes for targets, what leads a stuck or tripped tool away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, Controller, ControlRequest
from farhand.plants.plant import Command, JointVelocity
from farhand.safety.collision import CollisionRetreat, Phase
from farhand.safety.guard import Guard

Array = np.ndarray


class FollowingController(Protocol):
    """A controller that goes for targets, as :class:`farhand.control.tool.tracking.TrackingController` does.

    Attributes:
        command: the last command.
        holding: whether the arm is being held still.
        status: of the last inverse kinematics.
    """

    command: Command
    holding: bool

    @property
    def status(self) -> str:
        """Of the last inverse kinematics."""

    @property
    def parts(self) -> dict[str, Any]:
        """What a user may set of it."""

    def record(self, stream: Channels) -> Array:
        """Declare what is recorded."""

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """The command for this tick."""

    def forget(self) -> None:
        """Start anew from where the arm is."""

    def give_up(self) -> None:
        """Stand still."""


class Refuge:
    """Where a retreating tool goes: a target of its own."""

    def __init__(self) -> None:
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)


class RetreatingController(Controller):
    """Hands targets on to a controller, until the tool is stuck or pressed too hard; then the retreat leads.

    A collision trips the guard (kind ``collision``), so that the coupling parts; a trip of kind
    ``force`` starts a retreat likewise. The tool then keeps its orientation, goes out along the
    force it felt and is held. A reset of the trip ends it. Any other trip just stops the arm.

    Args:
        inside: the controller that goes for targets.
        arm: the controller's model, kept up to date by the station.
        guard: of the same station.
        collision: when to retreat, and how.
        touch: the contact wrench, not smoothed, [N] and [N·m]; None when there is no measurement.
    """

    commands = JointVelocity
    channel = ("velocity_commanded", "rad/s")
    exerts_effort = False

    def __init__(
        self,
        inside: FollowingController,
        arm: Arm,
        guard: Guard,
        collision: CollisionRetreat,
        touch: Callable[[], Array | None],
    ) -> None:
        self.inside, self.collision = inside, collision
        self._arm, self._guard, self._touch = arm, guard, touch
        self.command = inside.command
        self._refuge, self._nothing = Refuge(), np.zeros(3)
        self._last_ns = 0

    @property
    def parts(self) -> dict[str, Any]:
        """What the controller inside has, and the collision's."""
        return self.inside.parts | {"collision": self.collision}

    @property
    def status(self) -> str:
        """Of the last inverse kinematics."""
        return self.inside.status

    def record(self, stream: Channels) -> Array:
        """Declare what the controller inside declares."""
        return self.inside.record(stream)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """What the controller inside makes of the operator's target, or of the retreat's."""
        tripped, dt = asked.tripped, (now_ns - self._last_ns) * 1e-9
        self._last_ns = now_ns
        if asked.valid and self._away(dt, now_ns):
            asked.target, asked.tripped = self._refuge, False
        command = self.inside.step(asked, now_ns)
        asked.tripped, self.holding = tripped, self.inside.holding
        return command

    def give_up(self) -> None:
        """Stand still."""
        self.inside.give_up()

    def _away(self, dt: float, now_ns: int) -> bool:
        """Whether the retreat leads; begins and ends it."""
        collision, guard, arm = self.collision, self._guard, self._arm
        wrench = self._touch()
        force = self._nothing if wrench is None or not np.isfinite(wrench).all() else wrench[:3]
        size = float(np.linalg.norm(force))
        if size > guard.force:  # the guard itself may look at a smoothed force, which is late
            guard.stop(now_ns, "force", f"contact force {size:.1f} N (limit {guard.force:g} N)")
        if collision.phase is Phase.CLEAR:
            if guard.trip is not None and guard.trip.kind != "force":
                return False
            if guard.trip is not None:
                self.inside.forget()
                collision.begin(arm.position, force)
            self._refuge.rotation[:] = arm.rotation
        elif guard.trip is None:
            collision.engage()
            return False
        # a tool that slides along a wall is stuck all the same
        into = force / -size if size > 0.0 else self._nothing
        speed, asked = (
            abs(float(into.dot(arm.twist[:3]))),
            float(into.dot(arm.J[:3].dot(self.command.value))),
        )
        target = collision.step(arm.position, speed, asked, force, dt)
        if target is None:
            return False
        if guard.trip is None and collision.phase is not Phase.CLEAR:
            reason = f"the tool is stuck at {size:.1f} N (limit {collision.force:g} N): it retreats"
            guard.stop(now_ns, "collision", reason)
            self.inside.forget()
        self._refuge.position[:] = target
        return True
