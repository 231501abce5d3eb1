"""Station: a plant with its sensing, its model, its control and its guard. One half of the ring."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller, ControlRequest, Target
from farhand.control.joint.joint_units import joint_units
from farhand.control.tool.torque import TorqueController
from farhand.coupling import Side
from farhand.errors import BadValue, Mismatch, UnknownName, describe_error
from farhand.loop.telemetry import Stream
from farhand.plants import Brake, JointTorque, Plant, SimulatedPlant
from farhand.safety import Guard
from farhand.sensing.observer import MomentumObserver
from farhand.world import World

Array = np.ndarray

ROLES = ("leader", "follower")
MAX_MISPLACED_M = 0.05
"""How far an arm's tool may be from its plant's: models may differ a little, places may not."""

MODES = ("free", "hold", "coupled", "tripped")
"""What a station is doing, as recorded: the index into this."""


class Contribution:
    """What one coupling asks of a station: a faded effort, a target, a degree of engagement.

    Attributes:
        wrench: on the arm at the tool, world axes, [N] and [N·m].
        torque: on its joints, [N·m]; None of a coupling of tools.
        gain: engagement, 0 to 1, [-].
        target: pose for the tool while engaged; None when the law names none or the coupling parts.
    """

    __slots__ = ("gain", "target", "torque", "wrench")

    def __init__(self) -> None:
        self.wrench, self.gain = np.zeros(6), 0.0
        self.torque: Array | None = None
        self.target: Target | None = None


NO_CONTRIBUTION = Contribution()


class Station:
    """A plant with its model, its controller and its guard.

    A plant that raises trips the guard with the reason. It is still read, and commanded to stop, in
    every tick.

    It publishes its signals in a telemetry stream of its own name: ``q``, ``v``,
    ``position_tool_in_world``, ``wrench_measured_in_world`` and others.

    Args:
        name: of the station in the rig.
        role: ``"leader"`` or ``"follower"``.
        plant: what moves.
        arm: the controller's model of it, a different object from the plant's own.
        guard: its limits.
        rest: ``"hold"`` or ``"free"`` when not coupled, for the torque controller made by default.
        period_ns: time between ticks, [ns]; that of a simulated plant's world is ``world.step_ns``.
        controller: what turns efforts or targets into the plant's commands; joint torque by
            default.
        observer: estimates the tool's wrench from the arm's momentum; laws get it in place of the
            sensor's.
    """

    def __init__(
        self,
        name: str,
        role: str,
        plant: Plant,
        arm: Arm,
        guard: Guard,
        *,
        rest: str = "hold",
        period_ns: int = 1_000_000,
        controller: Controller | None = None,
        observer: MomentumObserver | None = None,
    ) -> None:
        if role not in ROLES:
            raise UnknownName(f"role of station {name!r}", str(role), ROLES)
        if not period_ns >= 1:
            raise BadValue(f"station {name!r} has a period of {period_ns} ns; it must be positive")
        if not isinstance(plant, Plant):
            kind = type(plant).__name__
            raise Mismatch(
                f"station {name!r}: {kind} is not a plant; inherit from farhand.plants.Plant"
            )
        if isinstance(plant, SimulatedPlant):
            _check_model(name, plant, arm)
        self.controller = controller or TorqueController(
            arm, rest, period_ns, Brake in plant.accepts
        )
        commands = self.controller.commands
        if commands not in plant.accepts:
            accepted = ", ".join(sorted(command.name for command in plant.accepts))
            raise Mismatch(
                f"station {name!r} commands {commands.name}, but its plant accepts {accepted}"
            )
        if observer is not None and commands is not JointTorque:
            raise Mismatch(
                f"station {name!r} commands {commands.name}; an observer needs joint torques"
            )
        self.name, self.role, self.plant, self.arm, self.guard = name, role, plant, arm, guard
        self.observer = observer
        self._wrench: Array | None = None
        self.period_ns = period_ns
        self.side = Side(role, arm)
        self.valid, self._sampled_ns = False, 0
        self._contributions: list[Contribution] = []
        self._asked = ControlRequest()
        #: external joint torque as it is recorded, [N·m]; None unless joints are coupled
        self._external: Array | None = None
        #: along which of the tool's six axes the plant can exert an effort; elsewhere a passive
        #: joint gives way
        self.drives = driven_axes(arm, plant.actuated)
        self._torque_limited = commands is JointTorque
        self.stream = Stream(name, 1e9 / period_ns)
        self._declare(self.stream)

    @classmethod
    def of(
        cls, world: World, name: str, role: str, rest: str = "hold", gravity: float = 9.81
    ) -> Station:
        """A station for a robot of a simulated world, with that robot's own model, limits and step.

        Args:
            world: where the robot stands.
            name: the robot's name there, and the station's.
            role: ``"leader"`` or ``"follower"``.
            rest: ``"hold"`` or ``"free"`` when not coupled.
            gravity: downward acceleration the controller compensates, [m/s²].

        Raises:
            UnknownName: the world has no robot of that name, or there is no such role or rest.
        """
        if name not in world.placed:
            raise UnknownName("robot of this world", name, world.placed)
        placed = world.placed[name]
        guard = Guard()
        guard.watch(placed.robot.limits)
        arm = Arm.of(placed.robot, placed.placement, gravity)
        return cls(
            name, role, SimulatedPlant(world, name), arm, guard, rest=rest, period_ns=world.step_ns
        )

    def _declare(self, stream: Stream) -> None:
        """Lay out what is computed and published in every tick."""
        nq, nv, axes = self.arm.nq, self.arm.nv, ("fx", "fy", "fz", "tx", "ty", "tz")
        joints = list(self.arm.model.names)[1:]
        # a floating base has more numbers
        labels = [joints if len(joints) == size else () for size in (nq, nv)]
        units = [joint_units(self.arm.model, unit) for unit in ("rad", "rad/s")]
        rates = ("vx", "vy", "vz", "wx", "wy", "wz")
        self._recorded = stream.block(
            ("q", nq, units[0], labels[0]),
            ("v", nv, units[1], labels[1]),
            ("position_tool_in_world", 3, "m", ("x", "y", "z")),
            ("rotation_tool_in_world", 9, "-", ()),
            ("twist_tool_in_world", 6, "m/s, rad/s", rates),
        )
        self._measured = stream.channel("wrench_measured_in_world", 6, "N, N·m", axes)
        self._asked.effort = stream.channel("wrench_commanded_in_world", 6, "N, N·m", axes)
        # computed in place where it is published and commanded
        self._commanded = self.controller.record(stream)
        # a single number is written faster through a view of memory
        self._mode: Any = stream.channel("mode", 1, f"index of {', '.join(MODES)}").data
        self._age: Any = stream.channel("sample_age", 1, "ns").data
        if self.observer is not None:
            self._observed = stream.channel("wrench_observed_in_world", 6, "N, N·m", axes)
        self.plant.record(stream)

    def join(self) -> Contribution:
        """Where one more coupling writes what it asks for."""
        contribution = Contribution()
        self._contributions.append(contribution)
        return contribution

    def leave(self, contribution: Contribution) -> None:
        """Forget a coupling, which asks for nothing now."""
        self._contributions.remove(contribution)

    def couple_joints(self) -> None:
        """Let couplings push on the joints, and tell them what else does.

        Raises:
            Mismatch: the arm does not take joint torques.
        """
        if self._external is not None:
            return
        if self.controller.commands is not JointTorque:
            taken = self.controller.commands.name
            raise Mismatch(f"station {self.name!r} commands {taken}; joints are coupled by torque")
        labels, unit = list(self.arm.model.names)[1:], joint_units(self.arm.model, "N·m")
        self._asked.torque = self.stream.channel("torque_coupled", self.arm.nv, unit, labels)
        self._external = self.stream.channel("torque_external", self.arm.nv, unit, labels)

    def reset(self) -> None:
        """Forget the trip, and switch a plant on again that has switched itself off."""
        self.guard.reset()
        self.plant.restart()

    def rearm(self) -> None:
        """Tell the plant that a new engagement begins: it may trust its sensors again."""
        self.plant.rearm()

    def sense(self, now_ns: int) -> None:
        """Read the plant; an unfit sample leaves the model at the last good state."""
        try:
            sample = self.plant.read(now_ns)
            sampled_ns = self._sampled_ns = sample.time_ns
            guard, arm, taken = self.guard, self.arm, 0
            if now_ns - sampled_ns <= guard.stale_ns:
                taken = arm.take(sample.values, guard.bounds)
            if taken:
                self.valid = guard.wrench_valid = True
            else:
                self.valid = guard.check(sample, now_ns)
                if self.valid:
                    arm.motion[:] = sample.motion
                    arm.compute()
            if self.valid:
                if taken != 1:
                    guard.check_tool(arm.position, now_ns)
                self.side.age = (now_ns - sampled_ns) * 1e-9
            self._wrench = sample.wrench if self.valid and guard.wrench_valid else None
        # a user's plant may raise anything, and give anything for a sample
        except Exception as error:
            self.valid, self._wrench = False, None
            self.guard.stop(now_ns, "invalid", f"reading the plant led to {describe_error(error)}")
        self.side.wrench = self._wrench if self.observer is None else self._observe(self.observer)
        if self._external is not None:
            self.side.torque = self._sense_torque(self._external)
        if fault := self.plant.fault:
            self.guard.stop(now_ns, "plant", fault)

    def _observe(self, observer: MomentumObserver) -> Array | None:
        """The wrench that explains the arm's momentum; None while the state is unknown."""
        if not self.valid:
            observer.reset()
            self._observed[:] = np.nan
            return None
        plant = self.plant
        if plant.external is not None:
            observer.torque[:] = plant.external
        elif plant.acted is None:
            observer.update(self._commanded, self.period_ns * 1e-9)
        elif plant.acted_time > 0.0:
            observer.update(plant.acted, plant.acted_time, coarse=True)
        self._observed[:] = observer.wrench()
        return self._observed

    def _sense_torque(self, external: Array) -> Array | None:
        """What touches the arm as joint torque: the observer's, or that of the wrist's wrench."""
        if self.observer is not None:
            external[:] = self.observer.torque if self.valid else np.nan
        elif self._wrench is not None:
            self._wrench.dot(self.arm.J, out=external)
        else:
            external[:] = np.nan
        return None if math.isnan(external[0]) else external

    def act(self, now_ns: int) -> None:
        """Command the plant and publish this tick."""
        asked, controller, guard = self._asked, self.controller, self.guard
        if self.valid:
            self._gather(asked)
        else:
            # without a state, nothing asked for can be done safely: only the stop is left
            asked.effort[:], asked.gain, asked.target = 0.0, 0.0, None
            if asked.torque is not None:
                asked.torque[:] = 0.0
        asked.valid, asked.wrench = self.valid, self.side.wrench
        asked.tripped = guard.trip is not None
        command = controller.step(asked, now_ns)
        if not self._fit(now_ns):
            controller.give_up()
        try:
            self.plant.write(command, now_ns)
        # A user's plant may raise anything; the stop is written in the ticks that follow
        except Exception as error:
            guard.stop(now_ns, "invalid", f"commanding the plant led to {describe_error(error)}")
        self._recorded[:] = self.arm.recorded
        self._measured[:] = np.nan if self._wrench is None else self._wrench
        coupled = 2 if asked.gain > 0.0 else 0
        self._mode[0] = 3 if asked.tripped else 1 if controller.holding else coupled
        self._age[0] = now_ns - self._sampled_ns
        self.stream.commit(now_ns)

    def _fit(self, now_ns: int) -> bool:
        """Whether the command holds numbers; torques are cut to the robot's limits on the way."""
        value = self._commanded
        if self._torque_limited:
            fits = self.guard.limit(value, now_ns)
            self.side.cut = cut = self.guard.cut
            if cut is not None and self._asked.torque is not None and self._asked.gain > 0.0:
                # what is recorded is what the motors do
                self._asked.torque += cut
            return fits
        if float(value.dot(value)) < math.inf:
            return True
        self.guard.stop(
            now_ns, "invalid", f"a commanded {self.controller.commands.name} is not a number"
        )
        return False

    def _gather(self, asked: ControlRequest) -> None:
        """Sum the efforts of all couplings; the last target and the largest gain count."""
        contributions = self._contributions
        first = contributions[0] if contributions else NO_CONTRIBUTION
        asked.effort[:], asked.gain, asked.target = first.wrench, first.gain, first.target
        if asked.torque is not None:
            asked.torque[:] = 0.0
            for contribution in contributions:
                if contribution.torque is not None:
                    asked.torque += contribution.torque
        if len(contributions) < 2:
            return
        for contribution in contributions[1:]:
            asked.effort += contribution.wrench
            asked.gain = max(asked.gain, contribution.gain)
            if contribution.target is not None:
                asked.target = contribution.target


def _check_model(name: str, plant: SimulatedPlant, arm: Arm) -> None:
    """Refuse a model with other joints than its plant's, or one that stands somewhere else."""
    port = plant.port
    if arm.nv != port.nv:
        counts = f"the arm has {arm.nv} degrees of freedom, its plant {port.nv}"
        raise Mismatch(f"station {name!r}: {counts}; make it with Arm.of the plant's own robot")
    # a quaternion has another order in each engine
    if arm.nq != arm.nv:
        return
    q, v = arm.q.copy(), arm.v.copy()
    arm.update(port.q, np.zeros(arm.nv))
    away = float(np.linalg.norm(arm.position - port.tool.position))
    arm.update(q, v)
    if away > MAX_MISPLACED_M:
        where = f"its arm has the tool {away:.3g} m from where its plant has it"
        remedy = "give Arm.of the placement that the robot has in the world"
        raise Mismatch(f"station {name!r}: {where}; {remedy}")


def driven_axes(arm: Arm, actuated: Array) -> Array:
    """Along which of the tool's six axes an effort can be exerted, in any configuration.

    An axis along which a passive joint gives way is not one of them.
    """
    if actuated.all():
        return np.ones(6, dtype=bool)
    q, v, rng = arm.q.copy(), arm.v.copy(), np.random.default_rng(0)
    moved = np.zeros((6, arm.nv))
    for _ in range(4):
        arm.update(arm.integrate(q, rng.uniform(-0.5, 0.5, arm.nv)), np.zeros(arm.nv))
        moved = np.maximum(moved, np.abs(arm.J))
    arm.update(q, v)
    driven: Array = moved[:, actuated].max(axis=1, initial=0.0) > 1e-9
    driven &= moved[:, ~actuated].max(axis=1) < 1e-9
    return driven
