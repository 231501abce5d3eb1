"""Jobs of the cooperative rig: state machines that see one arm and the operator's orders."""

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
ORDERS = ("none", "grasp", "lift", "go", "lower", "release")


@dataclass
class Orders:
    """The operator's order to one arm."""

    order: str = parameter("none", "-", "order of the operator", choices=ORDERS)

    def take(self) -> str:
        """The order, once; empty if there is none."""
        order = self.order
        self.order = "none"
        return "" if order == "none" else order


@dataclass
class Pace:
    """Times and thresholds of a job, sources/cooperative §3.22 [R]."""

    share: float = parameter(0.0, "kg", "mass that this arm carries", 0.0, 100.0)
    rate: float = parameter(20.0, "N/s", "rate at which load is taken up", 0.1, 1e4)
    window: float = parameter(2.0, "s", "time over which a wrench is averaged", 0.01, 100.0)
    settle: float = parameter(0.3, "s", "time of rest before that", 0.0, 100.0)
    alarm: float = parameter(120.0, "N", "unexplained force that stops the arm", 1.0, 1e4)
    alarm_moment: float = parameter(45.0, "N·m", "moment that stops the arm", 1.0, 1e4)


class Job:
    """A state machine and its arm. It steps in every tick, between reading the arm and acting.

    Args:
        arm: its arm.
        grip: its gripper.
        gravity: downward acceleration, [m/s²].
        report: receives events.
    """

    def __init__(self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report) -> None:
        self.arm = arm
        self.grip = grip
        self.gravity = gravity
        self.report = report
        self.orders = Orders()
        self.pace = Pace()
        #: what a user may set
        self.parameters: dict[str, Any] = {"orders": self.orders, "pace": self.pace}
        self.loaded = 0.0  #: how much of its share it carries, [N]
        self._dt = arm.station.period_ns * 1e-9
        self._sum = np.zeros(6)
        self._count = 0
        self._now_ns = 0
        self._stopped = False
        self.prepare()
        self.machine = self.make()  #: its states
        self.machine.report = report

    def prepare(self) -> None:
        """Make what the states of this job need."""

    def make(self) -> Machine:
        """The states of this job."""
        raise NotImplementedError

    @property
    def weight(self) -> float:
        """Weight of its share, [N]."""
        return self.pace.share * self.gravity

    @property
    def wrench(self) -> Array:
        """Measured by the arm's own cell; zero without a measurement, [N] and [N·m]."""
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
        """Stop arm and job together; continue together when an operator has reset the arm."""
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
        """State after a reset: by what the arm holds, so that nothing is dropped."""
        return self.machine.initial

    @property
    def holds(self) -> bool:
        """Whether the gripper is closed."""
        return self.grip is not None and self.grip.closed

    def order(self, order: str) -> None:
        """Take an order; report and ignore one that this job does not know."""
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
        self._sum = np.zeros(6)
        self._count = 0
        return mean

    def unexplained(self) -> str | None:
        """Why the wrench at this wrist cannot be the share alone, or None."""
        beyond = self.wrench.copy()
        # Any part of its share is explained.
        beyond[2] += float(np.clip(-beyond[2], 0.0, self.loaded))
        force = float(np.linalg.norm(beyond[:3]))
        moment = float(np.linalg.norm(beyond[3:]))
        if force > self.pace.alarm:
            limit = f"its share of {self.loaded:.0f} N (limit {self.pace.alarm:g} N)"
            return f"{force:.0f} N at the wrist beyond {limit}: a partner fails"
        if moment > self.pace.alarm_moment:
            limit = f"(limit {self.pace.alarm_moment:g} N·m)"
            return f"{moment:.0f} N·m at the wrist {limit}: a partner fails"
        return None


class FollowerCarry(Job):
    """A follower on a common object: grasp, relax the squeeze, load, follow, unload, release.

    It knows its share beforehand and senses nothing but the wrench at its own wrist.
    """

    def prepare(self) -> None:
        """A squeeze to relax."""
        assert isinstance(self.arm.controller, DirectForce)
        self.controller = self.arm.controller
        self.parameters["bleed"] = self.bleed = SqueezeBleed()
        self._expected = 0.0

    def make(self) -> Machine:
        """Ready, grasp, relax, gripped, load, carry, unload, away, and fault."""
        full = lambda: self.loaded >= self.weight or "taking up its share"  # noqa: E731
        empty = lambda: self.loaded <= 0.0 or "putting its share down"  # noqa: E731
        relaxed = lambda: 2.0 * self.bleed.time  # noqa: E731
        states = [
            State("ready"),
            State(
                "grasp", enter=self._take_hold, timeout=lambda: self.pace.settle, after="measure"
            ),
            State("measure", during=self.average, timeout=0.2, after="relax"),
            State("relax", self._relax, during=self._bleed, timeout=relaxed, after="gripped"),
            State("gripped", during=self._bleed),
            State("load", during=lambda: self._ramp(self.weight)),
            State("carry", during=lambda: self._ramp(self.weight)),
            State("unload", during=lambda: self._ramp(0.0)),
            # The cell forgets slowly, so go on expecting what is left of the share
            State("away", enter=self._let_go, during=lambda: self._ramp(0.0)),
            State("fault"),
        ]
        ways = [
            Transition("ready", "grasp", event="grasp"),
            *(Transition(state, "load", event="lift") for state in ("relax", "gripped")),
            Transition("load", "carry", guard=full),
            Transition("carry", "unload", event="lower"),
            Transition("unload", "away", guard=empty),
            *(Transition(held, "away", event="release") for held in ("grasp", "relax", "gripped")),
            Transition("away", "grasp", event="grasp"),
        ]
        watched = frozenset({"relax", "gripped", "load", "carry", "unload"})
        alarm = Interlock("overload", self.unexplained, watched)
        return Machine(self.arm.name, states, ways, [alarm])

    def resumed(self) -> str:
        """With its load, with the object unloaded, or with nothing."""
        if self.holds:
            return "carry" if self.loaded > 0.0 else "gripped"
        return "away"

    def _take_hold(self) -> None:
        self.controller.resting = False
        self.close()

    def _let_go(self) -> None:
        self.open()
        # With nothing in its grip it has no force to follow: holding its orientation against the
        # friction of the wrist would push the whole arm down, by 7 mm/s
        self.controller.resting = True

    def _relax(self) -> None:
        self.bleed.begin(self.mean(), np.zeros(6))
        self.controller.offset[:] = self.bleed.left

    def _bleed(self) -> None:
        self.controller.offset[:] = self.bleed.step(self._dt) - self._expected * UP

    def _ramp(self, goal: float) -> None:
        """Move the lifting force of this arm towards ``goal`` [N]."""
        step = self.pace.rate * self._dt
        self.loaded += float(np.clip(goal - self.loaded, -step, step))
        # The filtered cell shows the load late, so expect it just as late.
        filters = self.arm.filters
        self._expected += steady_gain(filters.q, filters.r_wrench) * (self.loaded - self._expected)
        self.controller.support[:] = self.loaded * UP
        self._bleed()


class LeaderCarry(Job):
    """A leader on a common object: grasp, carry along ``path``, release; stops on a wrong load."""

    def __init__(
        self, arm: TeamArm, grip: Holding | None, gravity: float, report: Report, path: Any
    ) -> None:
        self.path = path
        self._begun = False
        super().__init__(arm, grip, gravity, report)

    def make(self) -> Machine:
        """Ready, gripped, carry, arrived, away, and fault."""
        states = [
            State("ready"),
            State("gripped", enter=self.close),
            self._on_path("carry"),
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
        """Where it stands: an interrupted path does not begin again from its start."""
        if self._begun:
            return "arrived" if self.holds else "away"
        return "gripped" if self.holds else "ready"

    def _on_path(self, name: str) -> State:
        longest = lambda: self.path.duration + 0.5  # noqa: E731
        return State(name, enter=self._follow, timeout=longest, after="arrived")

    def _follow(self) -> None:
        self._begun = True
        self.loaded = self.weight
        self.arm.controller.follow(self.path, self._now_ns)  # type: ignore[attr-defined]

    def _stand(self) -> None:
        # Stay here: on a table, the rest of the way would only press into the table.
        self.arm.controller.begin()
        self.arm.controller.change()


@dataclass
class Press:
    """Force with which a follower keeps in touch."""

    force: float = parameter(0.0, "N", "force with which the follower keeps in touch", 0.0, 1e3)
    rate: float = parameter(5.0, "N/s", "rate at which that is built up", 0.1, 1e4)


class Follow(Job):
    """A follower that only follows the force at its wrist and keeps in touch."""

    def prepare(self) -> None:
        """A force to keep in touch."""
        self.parameters["press"] = self.press = Press()
        self._pressed = 0.0

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
        states = [State("ready"), self._on_path("path"), State("arrived"), State("fault")]
        return Machine(self.arm.name, states, [Transition("ready", "path", event="go")])
