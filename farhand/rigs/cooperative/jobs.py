"""Jobs: what an arm of the cooperative rig does, as a state machine that sees its own arm and the operator's orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.internal_force import SqueezeBleed
from farhand.errors import BadValue, UnknownName
from farhand.parameters import parameter
from farhand.rigs.cooperative.arms import TeamArm
from farhand.safety.machine import ANY, Interlock, Machine, State, Transition
from farhand.sensing.kalman import steady_gain
from farhand.world import Grip, Jaws

Array = np.ndarray
Report = Callable[[int, str], None]
Holding = Grip | Jaws

UP = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


@dataclass
class Orders:
    """What an operator tells one arm."""

    order: str = parameter(
        "none",
        "-",
        "what the operator says",
        choices=("none", "grasp", "lift", "go", "lower", "release"),
    )

    def take(self) -> str:
        """The order, once."""
        order, self.order = self.order, "none"
        return "" if order == "none" else order


@dataclass
class Pace:
    """Times and thresholds of a job: sources/cooperative §3.22 [R] where nothing else is said."""

    share: float = parameter(0.0, "kg", "mass that this arm carries", 0.0, 100.0)
    rate: float = parameter(20.0, "N/s", "rate at which load is taken up", 0.1, 1e4)
    window: float = parameter(2.0, "s", "time over which a wrench is averaged", 0.01, 100.0)
    settle: float = parameter(0.3, "s", "time of rest before that", 0.0, 100.0)
    alarm: float = parameter(120.0, "N", "unexplained force at which the arm stops", 1.0, 1e4)
    alarm_moment: float = parameter(
        45.0, "N·m", "unexplained moment at which the arm stops", 1.0, 1e4
    )


class Job:
    """A machine with the arm it belongs to. :meth:`step` runs in every tick, after the arm was read and before it acts.

    Args:
        arm: its arm.
        grip: its gripper.
        gravity: downward acceleration, [m/s²].
        report: told what happens.

    Attributes:
        machine: its states.
        pace: its times and thresholds.
        loaded: how much of its share it carries, [N].
    """

    def __init__(self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report) -> None:
        self.arm, self.grip, self.gravity, self.report = arm, grip, gravity, report
        self.orders, self.pace = Orders(), Pace()
        self.loaded = 0.0
        self._dt = arm.station.period_ns * 1e-9
        self._sum, self._count = np.zeros(6), 0
        self._now_ns, self._stopped = 0, False
        self.machine = self.make()
        self.machine.report = report

    def make(self) -> Machine:
        """The states of this job."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set."""
        return {"orders": self.orders, "pace": self.pace}

    @property
    def weight(self) -> float:
        """Of its share, [N]."""
        return self.pace.share * self.gravity

    @property
    def wrench(self) -> Array:
        """As measured by the arm's own cell, zero where there is no measurement, [N] and [N·m]."""
        wrench = self.arm.station.side.wrench
        return np.zeros(6) if wrench is None else wrench

    def step(self, now_ns: int) -> None:
        """Take orders and do what is due."""
        self._now_ns = now_ns
        if not self.machine.running and self.machine.trip is None:
            self.machine.start(now_ns)
        order = self.orders.take()
        if order:
            self.order(order)
        self.machine.step(now_ns)
        self._agree(now_ns)

    def _agree(self, now_ns: int) -> None:
        """Arm and job stop together, and go on together when an operator has reset the arm."""
        guard = self.arm.station.guard
        if self._stopped and guard.trip is None and self.machine.trip is not None:
            try:
                self.machine.reset(now_ns, self.resumed())
            except BadValue as error:
                guard.stop(now_ns, self.machine.trip.kind, str(error))
        trip = self.machine.trip
        if trip is not None and guard.trip is None:
            guard.stop(now_ns, trip.kind, trip.reason)
        elif guard.trip is not None and trip is None:
            self.machine.fail(now_ns, guard.trip.kind, guard.trip.reason)
        self._stopped = guard.trip is not None

    def resumed(self) -> str:
        """State in which the job goes on after a reset; by what the arm holds, so that nothing is dropped."""
        return self.machine.initial

    @property
    def holds(self) -> bool:
        """Whether the gripper is closed."""
        return self.grip is not None and self.grip.closed

    def order(self, order: str) -> None:
        """Take an order; one that this job does not know is noted and ignored."""
        try:
            self.machine.post(order)
        except UnknownName as error:
            self.report(self._now_ns, f"{self.arm.name}: {error}")

    def close(self) -> None:
        """Take hold."""
        if self.grip is not None:
            self.grip.closed = True

    def open(self) -> None:
        """Let go."""
        if self.grip is not None:
            self.grip.closed = False

    def average(self) -> None:
        """Add what is measured now to the mean."""
        self._sum += self.wrench
        self._count += 1

    def mean(self) -> Array:
        """What was measured since the last call, on average, [N] and [N·m]."""
        mean = self._sum / max(self._count, 1)
        self._sum, self._count = np.zeros(6), 0
        return mean

    def unexplained(self) -> str | None:
        """Why the wrench at this wrist cannot be the share alone, or None."""
        beyond = self.wrench.copy()
        # any part of its share is explained
        beyond[2] += float(np.clip(-beyond[2], 0.0, self.loaded))
        force, moment = float(np.linalg.norm(beyond[:3])), float(np.linalg.norm(beyond[3:]))
        if force > self.pace.alarm:
            share = f"its share of {self.loaded:.0f} N"
            return f"{force:.0f} N at the wrist beyond {share} (limit {self.pace.alarm:g} N): a partner fails"
        if moment > self.pace.alarm_moment:
            return f"{moment:.0f} N·m at the wrist (limit {self.pace.alarm_moment:g} N·m): a partner fails"
        return None


class FollowerCarry(Job):
    """A follower on a common object: grasp, let the squeeze go, take up its share, follow, put it down, let go.

    It is told its share beforehand and senses nothing but the wrench at its own wrist.
    """

    controller: DirectForce

    def __init__(self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report) -> None:
        assert isinstance(arm.controller, DirectForce)
        self.controller, self.bleed, self._expected = arm.controller, SqueezeBleed(), 0.0
        super().__init__(arm, grip, gravity, report)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set."""
        return {**super().parameters, "bleed": self.bleed}

    def make(self) -> Machine:
        """Ready, grasp, relax, gripped, load, carry, unload, away, and fault."""
        full = lambda: self.loaded >= self.weight or "taking up its share"  # noqa: E731
        empty = lambda: self.loaded <= 0.0 or "putting its share down"  # noqa: E731
        states = [
            State("ready"),
            State("grasp", enter=self.close, timeout=lambda: self.pace.settle, after="measure"),
            State("measure", during=self.average, timeout=0.2, after="relax"),
            State(
                "relax",
                self._relax,
                during=self._bleed,
                timeout=lambda: 2.0 * self.bleed.time,
                after="gripped",
            ),
            State("gripped", during=self._bleed),
            State("load", during=lambda: self._ramp(self.weight)),
            State("carry", during=lambda: self._ramp(self.weight)),
            State("unload", during=lambda: self._ramp(0.0)),
            State("away", enter=self.open),
            State("fault"),
        ]
        ways = [
            Transition("ready", "grasp", event="grasp"),
            *(Transition(state, "load", event="lift") for state in ("relax", "gripped")),
            Transition("load", "carry", guard=full),
            Transition("carry", "unload", event="lower"),
            Transition("unload", "away", guard=empty),
            *(
                Transition(state, "away", event="release")
                for state in ("grasp", "relax", "gripped")
            ),
            Transition("away", "grasp", event="grasp"),
        ]
        alarm = Interlock(
            "overload", self.unexplained, frozenset({"relax", "gripped", "load", "carry", "unload"})
        )
        return Machine(self.arm.name, states, ways, [alarm])

    def resumed(self) -> str:
        """With its load, with the object but no load, or with nothing."""
        if self.holds:
            return "carry" if self.loaded > 0.0 else "gripped"
        return "away"

    def _relax(self) -> None:
        self.bleed.begin(self.mean(), np.zeros(6))
        self.controller.offset[:] = self.bleed.left

    def _bleed(self) -> None:
        self.controller.offset[:] = self.bleed.step(self._dt) - self._expected * UP

    def _ramp(self, goal: float) -> None:
        """Move what this arm lifts with towards ``goal`` [N]. The cell shows it late, so late it is expected there."""
        step = self.pace.rate * self._dt
        self.loaded += float(np.clip(goal - self.loaded, -step, step))
        filters = self.arm.filters
        self._expected += steady_gain(filters.q, filters.r_wrench) * (self.loaded - self._expected)
        self.controller.support[:] = self.loaded * UP
        self._bleed()


class LeaderCarry(Job):
    """A leader on a common object: grasp, carry along its path, let go. It stops by itself when a load makes no sense.

    Args:
        arm: its arm.
        grip: its gripper.
        gravity: downward acceleration, [m/s²].
        report: told what happens.
        path: of its tool, from its own beginning.
    """

    def __init__(
        self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report, path: Any
    ) -> None:
        self.path, self._begun = path, False
        super().__init__(arm, grip, gravity, report)

    def make(self) -> Machine:
        """Ready, gripped, carry, arrived, away, and fault."""
        states = [
            State("ready"),
            State("gripped", enter=self.close),
            State(
                "carry",
                enter=self._follow,
                timeout=lambda: self.path.duration + 0.5,
                after="arrived",
            ),
            State("arrived", enter=self._stand),
            State("away", enter=self.open),
            State("fault"),
        ]
        ways = [
            Transition("ready", "gripped", event="grasp"),
            Transition("gripped", "carry", event="go"),
            *(Transition(state, "away", event="release") for state in ("gripped", "arrived")),
        ]
        alarm = Interlock("overload", self.unexplained, frozenset({"gripped", "carry", "arrived"}))
        return Machine(self.arm.name, states, ways, [alarm])

    def resumed(self) -> str:
        """Where it stands: a path that was broken off is not begun again from its start."""
        if self._begun:
            return "arrived" if self.holds else "away"
        return "gripped" if self.holds else "ready"

    def _follow(self) -> None:
        self._begun = True
        self.loaded = self.weight
        self.arm.controller.follow(self.path, self._now_ns)  # type: ignore[attr-defined]

    def _stand(self) -> None:
        """Stay where it has come to: on a table, what is left of the way would only be pressed out of the table."""
        self.arm.controller.begin()
        self.arm.controller.change()


@dataclass
class Press:
    """With what force a follower keeps in touch."""

    force: float = parameter(0.0, "N", "force with which the follower keeps in touch", 0.0, 1e3)
    rate: float = parameter(5.0, "N/s", "rate at which that is built up", 0.1, 1e4)


class Follow(Job):
    """A follower that has nothing to do but to follow the force at its wrist, and to keep in touch."""

    def __init__(self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report) -> None:
        self.press, self._pressed = Press(), 0.0
        super().__init__(arm, grip, gravity, report)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set."""
        return {**super().parameters, "press": self.press}

    def make(self) -> Machine:
        """Follow, and fault."""
        states = [State("follow", during=self._push), State("fault")]
        return Machine(self.arm.name, states, [Transition(ANY, "follow", event="go")])

    def _push(self) -> None:
        step = self.press.rate * self._dt
        self._pressed += float(np.clip(self.press.force - self._pressed, -step, step))
        controller = self.arm.controller
        controller.desired[:3] = self._pressed * controller.arm.rotation[:, 2]  # type: ignore[attr-defined]


class Lead(LeaderCarry):
    """A leader that follows its path and holds nothing."""

    def resumed(self) -> str:
        """As a leader that carries, but there is nothing to hold."""
        return "arrived" if self._begun else "ready"

    def make(self) -> Machine:
        """Ready, path, arrived, and fault."""
        states = [
            State("ready"),
            State(
                "path",
                enter=self._follow,
                timeout=lambda: self.path.duration + 0.5,
                after="arrived",
            ),
            State("arrived"),
            State("fault"),
        ]
        return Machine(self.arm.name, states, [Transition("ready", "path", event="go")])
