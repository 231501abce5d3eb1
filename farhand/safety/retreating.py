"""Retreat from collisions: a stuck or overloaded tool backs off and waits to be engaged again."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller, ControlRequest
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command, JointVelocity
from farhand.safety.guard import Guard
from farhand.spatial import Array


class RetreatPhase(enum.Enum):
    """What the arm is doing about a collision."""

    CLEAR = "clear"
    RETREATING = "retreating"
    HOLDING = "holding"


@dataclass
class CollisionRetreat:
    """Notice a stuck tool and lead it away from what it hit.

    A tool is suspected when the force is above ``force`` and it is slower than ``still`` although
    it is commanded to go faster than ``asked``. It is then held, so that the drives relax; if the
    force has not fallen to half within ``patience``, it is stuck. The retreat goes along the force
    that the obstacle exerts on the tool, which points out of the obstacle, at ``speed``. It ends
    ``distance`` after the force has fallen below ``contact``: counted from there, because an arm
    that yields has pushed its joints past the surface. Then the tool is held until :meth:`engage`.
    Do not smooth the force: a filter of 0.1 s doubles the time to notice.

    Attributes:
        phase: what is being done.
        target: where the tool has to go while suspected, retreating or holding, in world, [m].
        direction: of the retreat, a unit vector in world.
        peak: largest force since the last :meth:`engage`, [N].
    """

    force: float = parameter(60.0, "N", "contact force of a collision", 1.0, 1e4)
    patience: float = parameter(0.050, "s", "how long it must last", 0.0, 10.0)
    still: float = parameter(0.002, "m/s", "tool speed below which it is stuck", 0.0, 1.0)
    asked: float = parameter(0.010, "m/s", "commanded speed above which it should move", 0.0, 1.0)
    distance: float = parameter(0.010, "m", "distance kept after a collision", 0.0, 1.0)
    speed: float = parameter(0.020, "m/s", "speed of the retreat", 1e-4, 1.0)
    contact: float = parameter(8.0, "N", "force below which the tool is free", 0.1, 1e3)
    reach: float = parameter(0.100, "m", "how far a retreat goes at most", 0.0, 1.0)

    def __post_init__(self) -> None:
        self.engage()

    def engage(self) -> None:
        """Follow the operator again."""
        self.phase, self.peak = RetreatPhase.CLEAR, 0.0
        self.target, self.direction = np.zeros(3), np.zeros(3)
        self._lasted, self._left, self._gone = 0.0, self.distance, 0.0

    def begin(self, position: Array, force: Array) -> None:
        """Retreat from here along the obstacle's force, [m] and [N]; without a force, hold."""
        size = float(np.linalg.norm(force))
        self.target = np.array(position)
        self.phase = RetreatPhase.RETREATING if size > self.contact else RetreatPhase.HOLDING
        self.direction = force / size if size > self.contact else np.zeros(3)

    def step(
        self, position: Array, speed: float, commanded: float, force: Array, dt: float
    ) -> Array | None:
        """Where the tool has to go, in world, [m]; None while the operator leads.

        Args:
            position: of the tool in world, [m].
            speed: of the tool, [m/s].
            commanded: speed that it is commanded, [m/s].
            force: of the obstacle on the tool, world axes, [N].
            dt: since the last step, [s].
        """
        size = float(np.linalg.norm(force))
        self.peak = max(self.peak, size)
        if self.phase is RetreatPhase.CLEAR:
            suspected = self._lasted > 0.0
            if suspected and size < 0.5 * self.force:
                self._lasted, suspected = 0.0, False
            if not suspected:
                if not (size > self.force and speed < self.still and commanded > self.asked):
                    return None
                self.target = np.array(position)
            self._lasted += dt
            if self._lasted >= self.patience:
                self.begin(position, force)
        elif self.phase is RetreatPhase.RETREATING:
            self._retreat(size, dt)
        return self.target

    def _retreat(self, size: float, dt: float) -> None:
        """Move the target on by one step, and hold once far enough."""
        step = min(self.speed * dt, self._left)
        self.target = self.target + step * self.direction
        if size < self.contact:
            self._left -= step
        self._gone += step
        if self._left <= 1e-12 or self._gone >= self.reach:
            self.phase = RetreatPhase.HOLDING


class RetreatTarget:
    """Where a retreating tool goes, as a :class:`~farhand.control.controller.Target`."""

    def __init__(self) -> None:
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)


class RetreatingController(Controller):
    """Passes targets to an inner controller until the tool is stuck or overloaded; then retreats.

    A collision trips the guard (kind ``collision``), so that the coupling parts; a trip of kind
    ``force`` also starts a retreat. The tool then keeps its orientation, goes out along the force
    it felt and is held. A reset of the trip ends it. Any other trip just stops the arm.

    Args:
        inside: a controller that follows targets, such as a
            :class:`~farhand.control.tool.tracking.TrackingController`.
        collision: when to retreat, and how.
        touch: the contact wrench, not smoothed, [N] and [N·m]; None without a measurement.
    """

    commands = JointVelocity
    channel = ("velocity_commanded", "rad/s")
    exerts_effort = False

    def __init__(
        self,
        inside: Controller,
        arm: Arm,
        guard: Guard,
        collision: CollisionRetreat,
        touch: Callable[[], Array | None],
    ) -> None:
        self.inside, self.collision = inside, collision
        self._arm, self._guard, self._touch = arm, guard, touch
        self.command = inside.command
        self._target, self._no_force = RetreatTarget(), np.zeros(3)
        self._last_ns = 0

    @property
    def parts(self) -> dict[str, Any]:
        """The inner controller's parts, and the collision's."""
        return self.inside.parts | {"collision": self.collision}

    def record(self, stream: Channels) -> Array:
        """Declare what the inner controller declares."""
        return self.inside.record(stream)

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """The inner controller's command for the operator's target, or for the retreat's."""
        tripped, dt = request.tripped, (now_ns - self._last_ns) * 1e-9
        self._last_ns = now_ns
        if request.valid and self._retreats(dt, now_ns):
            request.target, request.tripped = self._target, False
        command = self.inside.step(request, now_ns)
        request.tripped = tripped
        self.holding, self.status = self.inside.holding, self.inside.status
        return command

    def give_up(self) -> None:
        """Let the inner controller give up."""
        self.inside.give_up()

    def _retreats(self, dt: float, now_ns: int) -> bool:
        """Whether the retreat leads; begins and ends it."""
        collision, guard, arm = self.collision, self._guard, self._arm
        wrench = self._touch()
        force = self._no_force if wrench is None or not np.isfinite(wrench).all() else wrench[:3]
        size = float(np.linalg.norm(force))
        # the guard itself may check a smoothed force, which is late
        if size > guard.force:
            guard.stop(now_ns, "force", f"contact force {size:.1f} N (limit {guard.force:g} N)")
        if collision.phase is RetreatPhase.CLEAR:
            if guard.trip is not None and guard.trip.kind != "force":
                return False
            if guard.trip is not None:
                self.inside.forget()
                collision.begin(arm.position, force)
            self._target.rotation[:] = arm.rotation
        elif guard.trip is None:
            collision.engage()
            return False
        # only motion into the wall counts: a tool that slides along it is stuck all the same
        into = force / -size if size > 0.0 else self._no_force
        speed = abs(float(into.dot(arm.twist[:3])))
        commanded = float(into.dot(arm.J[:3].dot(self.command.value)))
        target = collision.step(arm.position, speed, commanded, force, dt)
        if target is None:
            return False
        if guard.trip is None and collision.phase is not RetreatPhase.CLEAR:
            reason = f"the tool is stuck at {size:.1f} N (limit {collision.force:g} N): it retreats"
            guard.stop(now_ns, "collision", reason)
            self.inside.forget()
        self._target.position[:] = target
        return True
