"""Station: a plant with its sensing, its model, its control and its guard. One half of the ring."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.friction_offset import FrictionOffset
from farhand.control.still import Still
from farhand.coupling import Side
from farhand.errors import Mismatch
from farhand.plants import Brake, JointTorque, Plant, SimulatedPlant
from farhand.safety import Guard
from farhand.telemetry import Telemetry
from farhand.world import World

Array = np.ndarray

MODES = ("free", "hold", "coupled", "tripped")
"""What a station is doing, as recorded: the index into this."""

LET_GO = 0.2
"""Time over which a station that may move again stops holding still, [s]."""


class Contribution:
    """What one coupling asks of a station: a wrench already faded, and how far it is engaged.

    Attributes:
        wrench: on the arm at the tool, world axes, [N] and [N·m].
        gain: engagement, 0 to 1, [-].
    """

    __slots__ = ("gain", "wrench")

    def __init__(self) -> None:
        self.wrench, self.gain = np.zeros(6), 0.0


class Station:
    """Reads a plant, keeps its model up to date, turns what couplings ask for into joint torque, and guards both.

    The torque is Jᵀw + g(q), the gravity of the station's own model. Where no coupling is engaged, a station at rest
    either holds still or is free to be moved; a tripped one always holds still.

    Args:
        name: of the station in the rig.
        role: ``"leader"`` or ``"follower"``.
        plant: what moves.
        arm: the controller's model of it, a different object from the plant's own.
        guard: its limits.
        rest: ``"hold"`` or ``"free"`` when not coupled.
        period_ns: time between ticks, [ns].

    Attributes:
        assist: what helps the joints against their friction, or None.
    """

    def __init__(
        self, name: str, role: str, plant: Plant, arm: Arm, guard: Guard, rest: str = "hold", period_ns: int = 1_000_000
    ) -> None:
        if JointTorque not in plant.accepts:
            accepted = ", ".join(sorted(command.name for command in plant.accepts))
            raise Mismatch(f"station {name!r} commands joint torque, but its plant accepts {accepted}")
        self.name, self.role, self.plant, self.arm, self.guard = name, role, plant, arm, guard
        self.rest, self.period_ns = rest, period_ns
        self.side = Side(role, arm)
        self.still = Still()
        self.assist: FrictionOffset | None = None
        self.valid = False
        self.holding = False
        self._letting = 0.0
        self._held, self._last_held = np.zeros(arm.nv), np.zeros(arm.nv)
        self._contributions: list[Contribution] = []
        self._command, self._brake = JointTorque(arm.nv), Brake(arm.nv)
        self._can_brake = Brake in plant.accepts

    @classmethod
    def of(cls, world: World, name: str, role: str, rest: str = "hold", gravity: float = 9.81) -> Station:
        """A station for a robot of a simulated world, with that robot's own model, limits and step.

        Args:
            world: where the robot stands.
            name: the robot's name there, and the station's.
            role: ``"leader"`` or ``"follower"``.
            rest: ``"hold"`` or ``"free"`` when not coupled.
            gravity: downward acceleration the controller compensates, [m/s²].
        """
        placed = world.placed[name]
        guard = Guard()
        guard.watch(placed.robot.limits)
        arm = Arm.of(placed.robot, placed.placement, gravity)
        return cls(name, role, SimulatedPlant(world, name), arm, guard, rest, world.step_ns)

    def join(self) -> Contribution:
        """Where one more coupling writes what it asks for."""
        contribution = Contribution()
        self._contributions.append(contribution)
        return contribution

    def record(self, telemetry: Telemetry) -> None:
        """Declare this station's channels."""
        self._stream = stream = telemetry.stream(self.name, 1e9 / self.period_ns)
        nq, nv, axes = self.arm.nq, self.arm.nv, ("fx", "fy", "fz", "tx", "ty", "tz")
        self._q = stream.channel("q", nq, "rad")
        self._v = stream.channel("v", nv, "rad/s")
        self._position = stream.channel("position_tool_in_world", 3, "m", ("x", "y", "z"))
        self._twist = stream.channel("twist_tool_in_world", 6, "m/s, rad/s", ("vx", "vy", "vz", "wx", "wy", "wz"))
        self._measured = stream.channel("wrench_measured_in_world", 6, "N, N·m", axes)
        self._effort = stream.channel("wrench_commanded_in_world", 6, "N, N·m", axes)
        self._torque = stream.channel("torque_commanded", nv, "N·m")
        self._command.value = self._brake.value = self._torque  # computed in place where it is published and commanded
        self._mode = stream.channel("mode", 1, "index")

    def sense(self, now_ns: int) -> None:
        """Read the plant; an unfit sample leaves the model at the last good state."""
        sample = self.plant.read(now_ns)
        self.valid = self.guard.check(sample, now_ns)
        if self.valid:
            self.arm.motion[:] = sample.motion
            self.arm.compute()
            self.guard.check_tool(self.arm.position, now_ns)
            self.side.age = (now_ns - sample.time_ns) * 1e-9
        self.side.wrench = sample.wrench if self.valid and self.guard.wrench_valid else None

    def act(self, now_ns: int) -> None:
        """Command the plant and publish this tick."""
        arm, torque, effort = self.arm, self._torque, self._effort
        gain = 0.0
        if self.valid:
            gain = self._gather(effort)
        else:
            effort[:] = 0.0  # without a state, nothing asked for can be done safely: only the stop is left
        effort.dot(arm.J, torque)
        if self.assist is not None and self.valid:
            torque += self.assist.torque(arm, torque, self.side.wrench)
        torque += arm.gravity
        tripped = self.guard.trip is not None
        if gain < 1.0 and (tripped or self.rest == "hold"):
            self._held[:] = (1.0 - gain) * self._hold()
            torque += self._held
        elif self.holding or self._letting > 0.0:
            torque += self._let_go()
        if not self.guard.limit(torque, now_ns):
            torque[:] = arm.gravity  # the last good gravity torque is the stillest thing that can be said
        self.plant.write(self._command if self.valid or not self._can_brake else self._brake, now_ns)
        self._publish(now_ns, 3 if tripped else 1 if self.holding else 2 if gain > 0.0 else 0)

    def _gather(self, effort: Array) -> float:
        """Sum what the couplings ask for into ``effort``, and return how far the station is engaged."""
        gain = 0.0
        effort[:] = self._contributions[0].wrench if self._contributions else 0.0
        for contribution in self._contributions[1:]:
            effort += contribution.wrench
        for contribution in self._contributions:
            gain = max(gain, contribution.gain)
        return gain

    def _let_go(self) -> Array:
        """What is left of holding still: its last torque, faded out, so that letting go is soft."""
        if self.holding:
            self.holding, self._letting = False, 1.0
            self._last_held[:] = self._held
        self._letting = max(0.0, self._letting - self.period_ns * 1e-9 / LET_GO)
        np.multiply(self._last_held, self._letting, self._held)
        return self._held

    def _hold(self) -> Array:
        """Torque without gravity that stops the arm and keeps it; without a valid sample, as predicted by the model."""
        if not self.holding:
            self.still.begin(self.arm)
            self.holding = True
        if not self.valid:
            if self._can_brake:  # the brakes stop the arm; when samples come back, holding starts from there
                self.holding = False
                return np.zeros(self.arm.nv)
            self.arm.update(self.still.q, self.still.v)
        return self.still.step(self.arm, self.period_ns * 1e-9)

    def _publish(self, now_ns: int, mode: int) -> None:
        arm = self.arm
        self._q[:] = arm.q
        self._v[:] = arm.v
        self._position[:] = arm.position
        self._twist[:] = arm.twist
        self._measured[:] = np.nan if self.side.wrench is None else self.side.wrench
        self._mode[0] = mode
        self._stream.commit(now_ns)
