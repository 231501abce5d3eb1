"""Velocity-commanded arms: the limits of their drives, and such an arm as a plant."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.plant import Brake, Command, InnerLoop, JointTorque, JointVelocity, Sample
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.spatial import Array
from farhand.world.world import World

POWERBALL_VELOCITY = (0.45, 0.5, 0.5, 0.6, 0.8, 1.0)
"""Largest velocity of the Powerball's joints, as a share of full speed (source, Table 2.3), [-]."""

POWERBALL_STEP = (0.04, 0.06, 0.06, 0.1, 0.1, 0.2)
"""Its largest change per command, as the same share (source, Table 2.3), [-]."""

LIMIT_TOLERANCE = 1e-9
"""By how much a command may exceed a limit, as a share of full speed, [-]."""


@dataclass
class DriveLimits:
    """Limits on relative joint velocities; a command beyond them makes the drives switch off."""

    velocity_limit: Array = parameter(
        POWERBALL_VELOCITY, "-", "relative velocity that trips", 0.0, 1.0
    )
    step_limit: Array = parameter(POWERBALL_STEP, "-", "change per command that trips", 0.0, 2.0)

    def breaches(self, command: Array, last: Array) -> tuple[Array, Array]:
        """Which joints get too much velocity, and which too much change; NaN breaks any limit.

        Args:
            command: relative velocities, joints on the last axis, [-].
            last: those before, [-].
        """
        fast = ~(np.abs(command) <= self.velocity_limit + LIMIT_TOLERANCE)
        steep = ~(np.abs(command - last) <= self.step_limit + LIMIT_TOLERANCE)
        return fast, steep

    def objection(self, command: Array, last: Array) -> str | None:
        """Why the drives refuse a command, with the joint; None if they accept it."""
        named = (
            ("velocity", command, self.velocity_limit),
            ("change of velocity", command - last, self.step_limit),
        )
        for (what, share, limit), beyond in zip(named, self.breaches(command, last), strict=True):
            if beyond.any():
                joint = int(np.argmax(beyond))
                size = f"{share[joint]:.3f} of its largest speed (limit {limit[joint]:g})"
                return f"joint {joint + 1} switched the arm off: commanded {what} {size}"
        return None


@dataclass
class Drives(DriveLimits):
    """How the drives of an arm execute velocities, and what they refuse."""

    velocity_limit: Array = parameter((1.0,) * 6, "-", "largest relative velocity taken", 0.0, 1.0)
    step_limit: Array = parameter(
        (1.0,) * 6, "-", "largest relative change between commands", 1e-6, 2.0
    )
    rate: float = parameter(120.0, "Hz", "how often a command is taken", 1.0, 10_000.0)
    delay: float = parameter(0.05, "s", "from taking a command to acting on it", 0.0, 1.0)
    bandwidth: float = parameter(60.0, "rad/s", "of the servo in the drives", 1.0, 500.0)
    windup: float = parameter(
        0.02, "rad", "how far the reference may run ahead of a joint", 1e-4, 1.0
    )
    latch: bool = parameter(True, "-", "whether a command beyond the limits switches the arm off")


class VelocityPlant(SimulatedPlant):
    r"""A robot of the World whose drives take joint velocities.

    A command is read from the bus every :math:`1/\mathrm{rate}` and executed after the delay
    :math:`\theta_d`. The reference of the drives follows it no faster than the step limit per
    command, and the arm follows the reference by computed torque on its true model,

    .. math:: \dot q_r &\to \mathrm{sat}(u(t - \theta_d)), \\
              \tau &= M\,(\ddot q_r + 2\omega(\dot q_r - \dot q) + \omega^2 (q_r - q))
              + c + g + D\,\dot q,

    so it is stiff in contact and stands still at :math:`u = 0`. A command beyond the velocity
    limit, or too far from the one before, switches the arm off: brakes close, and commands have no
    effect until :meth:`restart`.

    The servo runs in every step of the world, so the session must advance this plant
    (``worlds=[plant]``) in place of the world.

    Args:
        drives: limits, delay and servo; the others as for :class:`SimulatedPlant`.
    """

    accepts: frozenset[type[Command]] = frozenset({JointVelocity})

    def __init__(
        self,
        world: World,
        name: str,
        drives: Drives | None = None,
        imperfections: Imperfections | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(world, name, imperfections, rng)
        placed = world.placed[name]
        ones = np.ones(len(self.actuated))
        self.drives = drives or Drives(ones, ones.copy())
        if not self._plain or not self._all_actuated:
            robot = placed.robot.name
            raise BadValue(f"a velocity plant needs driven hinges and slides; {robot} has others")
        self._true = Arm.of(placed.robot, placed.placement, -float(world.model.opt.gravity[2]))
        self._true.update(self.port.q, self.port.v)
        self._speed = placed.robot.limits.velocity
        nv = self._true.nv
        self._torque, self._off = JointTorque(nv), Brake(nv)
        self._commanded, self._taken, self._due = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        self._q, self._v = self.port.q.copy(), np.zeros(nv)
        self._under_way: deque[tuple[int, Array]] = deque()
        self._take_ns = world.now_ns

    @property
    def unstable(self) -> str:
        """Why the world that this plant carries along has diverged."""
        return self.world.unstable

    @property
    def inner_loop(self) -> InnerLoop:
        """The servo in the drives, behind their delay."""
        drives, ones = self.drives, np.ones(self._true.nv)
        late, w = drives.delay + 0.5 / drives.rate, drives.bandwidth
        step = self.world.step_ns * 1e-9
        return InnerLoop(w * w * ones, 2.0 * w * ones, True, step, late, 1.0 / drives.rate)

    def advance(self, to_ns: int) -> None:
        """Step the world until ``to_ns``, with the servo in every step."""
        world = self.world
        while world.now_ns + world.step_ns <= to_ns:
            self._servo(world.now_ns)
            world.advance(world.now_ns + world.step_ns)

    def read(self, now_ns: int) -> Sample:
        """The latest sample."""
        self.advance(now_ns)
        return super().read(now_ns)

    def write(self, command: Command, now_ns: int) -> None:
        """Put a velocity on the bus."""
        self._commanded[:] = command.value

    def restart(self) -> None:
        """Switch the arm on again; it stands still where it is."""
        self.fault = None
        self._under_way.clear()
        for velocity in (self._commanded, self._taken, self._due, self._v):
            velocity[:] = 0.0
        self._q[:] = self.port.q
        # Without this, the bus would catch up on the commands of the whole fault.
        self._take_ns = self.world.now_ns

    def _servo(self, now_ns: int) -> None:
        """Torque for the next step."""
        if now_ns >= self._take_ns and self.fault is None:
            self._take(now_ns)
        if self.fault is not None:
            # Gravity is compensated because the engine's brakes creep, unlike real ones.
            self._off.value[:] = self._true.gravity
            super().write(self._off, now_ns)
            return
        drives, arm, h = self.drives, self._true, self.world.step_ns * 1e-9
        while self._under_way and self._under_way[0][0] <= now_ns:
            self._due = self._under_way.popleft()[1]
        arm.update(self.port.q, self.port.v)
        steepest = drives.step_limit * self._speed * drives.rate  # [rad/s²]
        acceleration = np.clip((self._due - self._v) / h, -steepest, steepest)
        self._q += h * self._v + 0.5 * h * h * acceleration
        self._v += h * acceleration
        np.clip(self._q, arm.q - drives.windup, arm.q + drives.windup, out=self._q)
        w = drives.bandwidth
        servo = acceleration + 2.0 * w * (self._v - arm.v) + w * w * (self._q - arm.q)
        np.add(arm.M.dot(servo), arm.bias, out=self._torque.value)
        self._torque.value += arm.viscous * arm.v
        super().write(self._torque, now_ns)

    def _take(self, now_ns: int) -> None:
        """Read the command from the bus, unless the drives refuse it."""
        drives = self.drives
        self._take_ns += round(1e9 / drives.rate)
        if drives.latch:
            self.fault = drives.objection(self._commanded / self._speed, self._taken / self._speed)
        if self.fault is None:
            self._taken[:] = self._commanded
            self._under_way.append((now_ns + round(1e9 * drives.delay), self._commanded.copy()))
