"""Scripted tasks of a follower with a person: state machines SM-1 to SM-4 (sources/cooperative §3.22)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.internal_force import SqueezeBleed
from farhand.control.tool.payload import Payload
from farhand.parameters import parameter
from farhand.rigs.cooperative.arms import TeamArm
from farhand.rigs.cooperative.jobs import UP, Job, Report
from farhand.safety.machine import Action, Machine, State, Transition
from farhand.sensing import Load
from farhand.sensing.loads import estimate, mass_of
from farhand.world import Grip

Array = np.ndarray


@dataclass
class Script:
    """Numbers of the scripted tasks; recommended, sources/cooperative §3.22."""

    lift_rate: float = parameter(20.0, "N/s", "rate of the force that lifts", 0.1, 1e4)
    height: float = parameter(0.10, "m", "height at which lifting ends", 0.0, 2.0)
    slow: float = parameter(0.005, "m/s", "speed below which the arm is settled", 0.0, 1.0)
    quiet: float = parameter(0.3, "s", "time for which it must be", 0.0, 10.0)
    trigger: float = parameter(10.0, "N", "force that starts guiding", 0.0, 1e3)
    trigger_moment: float = parameter(1.0, "N·m", "moment that starts guiding", 0.0, 1e2)
    turn: float = parameter(20.0, "N·m", "peak of the moment that turns the object", -100.0, 100.0)
    # stated in the source: 6.3 to 7.7 s
    turn_time: float = parameter(1.4, "s", "how long it acts", 0.1, 10.0)


class Guided(Job):
    """What the scripted tasks share: weigh an object in the jaws, then let a person guide it.

    While it is weighed the law does not listen, and what is measured is held against. In guiding,
    that support goes on at its mean, and as much is expected at the cell: what is left is the
    person.

    Attributes:
        mass: of the object as weighed last, [kg]; NaN before.
        found: its load as merged into the model, or None.
    """

    controller: DirectForce

    def __init__(self, arm: TeamArm, grip: Grip | None, gravity: float, report: Report) -> None:
        assert isinstance(arm.controller, DirectForce)
        self.controller, self.script = arm.controller, Script()
        self.mass, self.weighed = float("nan"), np.zeros(6)
        self.found: Load | None = None
        self._rest = 0.0
        super().__init__(arm, grip, gravity, report)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set."""
        return {**super().parameters, "script": self.script}

    def make(self) -> Machine:
        """SM-1: ready, close, measure, guide, empty, and fault."""
        return self.states_of(None)

    def states_of(self, guiding: Action | None) -> Machine:
        """Weigh once, then guide, with something to do meanwhile."""
        states = [
            State("ready"),
            State(
                "close",
                enter=self.close,
                during=self.bear,
                timeout=lambda: self.pace.settle + 1.0,
                after="measure",
            ),
            State(
                "measure",
                during=self.weigh,
                leave=self.settle,
                timeout=lambda: self.pace.window,
                after="guide",
            ),
            State("guide", enter=self.guide, during=guiding),
            State("empty", enter=self.let_go),
            State("fault"),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("guide", "empty", event="release"),
            Transition("empty", "close", event="grasp"),
        ]
        return Machine(self.arm.name, states, ways)

    def resumed(self) -> str:
        """Guiding what was weighed, weighing what is held, or with nothing."""
        if self.holds:
            return "guide" if np.isfinite(self.mass) else "close"
        return "empty"

    def bear(self) -> None:
        """Hold against what is measured, and do not listen to it."""
        self.controller.uses_cell = False
        self.controller.support[:] = -self.wrench

    def weigh(self) -> None:
        """Bear, and add to the mean."""
        self.bear()
        self.average()

    def settle(self) -> None:
        """The mean is the object's weight."""
        self.weighed = self.mean()
        self.mass = mass_of(self.weighed[:3], self.gravity)

    def guide(self) -> None:
        """Give way to what is beside the object's weight."""
        controller = self.controller
        controller.change()
        controller.uses_cell = True
        controller.offset[:] = self.weighed
        controller.support[:] = -self.weighed

    def let_go(self) -> None:
        """Open; nothing is expected or supported any more."""
        self.open()
        self.controller.change()
        self.controller.offset[:] = self.controller.support[:] = self.controller.desired[:] = 0.0

    def settled(self) -> bool | str:
        """Whether the arm has been at rest for a while."""
        speed = float(np.linalg.norm(self.controller.arm.twist[:3]))
        self._rest = self._rest + self._dt if speed < self.script.slow else 0.0
        return self._rest >= self.script.quiet or f"still moving at {speed:.3f} m/s"


class Centred(Guided):
    """SM-2: weigh in two poses, solve for mass and centre of gravity, merge the object into the model, guide."""

    def __init__(self, arm: TeamArm, grip: Grip | None, gravity: float, report: Report) -> None:
        self.payload = Payload(arm.controller.arm)
        self._forces: list[Array] = []
        self._moments: list[Array] = []
        self._tare = arm.cell.conditioner.load
        super().__init__(arm, grip, gravity, report)

    def make(self) -> Machine:
        """Ready, close, measure-1, reorient, settle, measure-2, merge, guide, empty, and fault."""
        window = lambda: self.pace.window  # noqa: E731
        states = [
            State("ready"),
            State(
                "close",
                enter=self.close,
                during=self.bear,
                timeout=lambda: self.pace.settle + 1.0,
                after="measure-1",
            ),
            State(
                "measure-1",
                during=self.weigh,
                leave=self._note_pose,
                timeout=window,
                after="reorient",
            ),
            State(
                "reorient",
                during=self._turn,
                leave=self._still,
                timeout=lambda: self.script.turn_time,
                after="settle",
            ),
            State("settle", during=self.bear, timeout=8.0),
            State(
                "measure-2", during=self.weigh, leave=self._note_pose, timeout=window, after="merge"
            ),
            State("merge", enter=self._merge, timeout=0.5, after="guide"),
            State("guide", enter=self.guide),
            State("empty", enter=self.let_go),
            State("fault"),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("settle", "measure-2", guard=self.settled),
            Transition("guide", "empty", event="release"),
        ]
        return Machine(self.arm.name, states, ways)

    def guide(self) -> None:
        """The object is part of the tool from now on: nothing to take off, nothing to support."""
        assert self.found is not None
        self.payload.merge(self.found)
        controller = self.controller
        controller.arm.compute()  # this very tick carries it
        controller.change()
        controller.uses_cell = True
        controller.offset[:] = controller.support[:] = controller.desired[:] = 0.0

    def let_go(self) -> None:
        """Open, and take the object out of the model again."""
        super().let_go()
        self.payload.remove()
        self.arm.cell.conditioner.mount(self._tare)

    def _note_pose(self) -> None:
        mean, R = self.mean(), self.controller.arm.rotation
        self._forces.append(R.T @ mean[:3])
        self._moments.append(R.T @ mean[3:])

    def _turn(self) -> None:
        self.bear()
        half = 0.5 * self.script.turn_time
        share = max(0.0, 1.0 - abs(self.machine.elapsed - half) / half)
        self.controller.desired[3:] = self.script.turn * share * self.controller.arm.rotation[:, 2]

    def _still(self) -> None:
        self.controller.desired[:] = 0.0

    def _merge(self) -> None:
        load = estimate(
            np.array(self._forces[-2:]), np.array(self._moments[-2:]), gravity=self.gravity
        )
        self.found, self.mass = load, load.mass
        # goes on until the filter has learned that the cell is tared
        self.controller.support[:] = -self.wrench
        conditioner = self.arm.cell.conditioner
        mounting = conditioner.mounting
        in_sensor = Load(load.mass, mounting.rotation.T @ (load.com - mounting.position))
        conditioner.mount(self._tare + in_sensor)


class Lifted(Guided):
    """SM-3: close, lift by an artificial force, settle, weigh, wait for the person's trigger, guide."""

    def make(self) -> Machine:
        """Ready, close, lift, settle, record, wait, guide, empty, and fault."""
        states = [
            State("ready"),
            State(
                "close",
                enter=self._begin,
                during=self.bear,
                timeout=lambda: self.pace.settle + 0.5,
                after="lift",
            ),
            State("lift", during=self._raise, leave=self._lower, timeout=30.0),
            State("settle", during=self._ease, timeout=20.0),
            State(
                "record",
                during=self.weigh,
                leave=self.settle,
                timeout=lambda: self.pace.window,
                after="wait",
            ),
            State("wait", enter=self._listen),
            State("guide", enter=self.guide),
            State("empty", enter=self.let_go),
            State("fault"),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("lift", "settle", guard=self._high),
            Transition(
                "settle",
                "record",
                guard=lambda: self.settled() if not self._pull else "force going",
            ),
            Transition("wait", "guide", guard=self._triggered),
            Transition("guide", "empty", event="release"),
        ]
        return Machine(self.arm.name, states, ways)

    def _begin(self) -> None:
        self.close()
        self._pull, self._from = 0.0, float(self.controller.arm.position[2])

    def _raise(self) -> None:
        self.bear()
        self._pull += self.script.lift_rate * self._dt
        self.controller.desired[:] = self._pull * UP

    def _high(self) -> bool | str:
        risen = float(self.controller.arm.position[2]) - self._from
        return risen >= self.script.height or f"risen by {risen:.3f} m of {self.script.height:g} m"

    def _lower(self) -> None:
        self._rest = 0.0

    def _ease(self) -> None:
        """The way down of the triangle."""
        self.bear()
        self._pull = max(0.0, self._pull - 4.0 * self.script.lift_rate * self._dt)
        self.controller.desired[:] = self._pull * UP

    def _listen(self) -> None:
        """Hold with the mean from now on; the person is what is beside it."""
        self.controller.support[:] = -self.weighed

    def _triggered(self) -> bool | str:
        beyond = self.wrench - self.weighed
        force, axis = float(np.linalg.norm(beyond[:3])), self.controller.arm.rotation[:, 2]
        moment = abs(float(axis @ beyond[3:]))
        if force >= self.script.trigger and moment >= self.script.trigger_moment:
            return True
        return f"{force:.1f} N and {moment:.2f} N·m are no trigger"


class SharedLoad(Guided):
    """SM-4: several arms clamp one object, each weighs its own share, then all give way to the person, moments too.

    What a share holds beside weight is squeeze: it is not kept as an offset but let go, see
    :class:`SqueezeBleed`.
    """

    quick = 20.0
    """Variance of the force filter while the object is weighed; the default of the source, [-]."""

    def __init__(self, arm: TeamArm, grip: Grip | None, gravity: float, report: Report) -> None:
        self.bleed, self._slow = SqueezeBleed(), arm.filters.r_wrench
        super().__init__(arm, grip, gravity, report)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set."""
        return {**super().parameters, "bleed": self.bleed}

    def make(self) -> Machine:
        """Ready, close, measure, guide, empty, and fault."""
        return self.states_of(self._let_squeeze_go)

    def bear(self) -> None:
        """Hold against what is measured, with a filter quick enough to keep up with it."""
        self.arm.filters.r_wrench = self.quick
        super().bear()

    def close(self) -> None:
        """Take hold; from here on until guiding begins the filter is quick."""
        self._slow = self.arm.filters.r_wrench
        super().close()

    def guide(self) -> None:
        """Give way to what is beside this arm's share, with the filter that a rigid coupling needs."""
        super().guide()
        self.arm.filters.r_wrench = self._slow
        self.bleed.begin(self.weighed, self.weighed[2] * UP)

    def _let_squeeze_go(self) -> None:
        expected = self.weighed[2] * UP + self.bleed.step(self._dt)
        self.controller.offset[:] = expected
        self.controller.support[:] = -expected


GUIDED = {"weigh": Guided, "centre": Centred, "lift": Lifted, "share": SharedLoad}
"""The scripted tasks by job: SM-1 to SM-4."""
