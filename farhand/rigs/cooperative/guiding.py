"""Scripted tasks of a follower with a person: SM-1 to SM-4 (sources/cooperative §3.22)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.internal_force import SqueezeBleed
from farhand.control.tool.payload import Payload
from farhand.parameters import parameter
from farhand.rigs.cooperative.jobs import UP, Job
from farhand.safety.machine import Action, Machine, State, Transition
from farhand.sensing import Load
from farhand.sensing.loads import estimate, mass_of

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

    While it weighs, the law ignores the cell and supports what it measures. While it guides, it
    supports the mean and expects as much at the cell: the rest is the person.

    Attributes:
        mass: of the object as weighed last, [kg]; NaN before.
        found: its load as merged into the model, or None.
    """

    def prepare(self) -> None:
        """A script, and nothing weighed."""
        assert isinstance(self.arm.controller, DirectForce)
        self.controller = self.arm.controller
        self.parameters["script"] = self.script = Script()
        self.mass = float("nan")
        self.weighed = np.zeros(6)
        self.found: Load | None = None
        self._rest = 0.0

    def make(self) -> Machine:
        """SM-1: ready, close, measure, guide, empty, and fault."""
        return self.weigh_and_guide(None)

    def closing(self, after: str, enter: Action | None = None, wait: float = 1.0) -> State:
        """The state in which the jaws close and the object settles; ``wait`` in [s]."""
        longest = lambda: self.pace.settle + wait  # noqa: E731
        return State("close", enter or self.close, during=self.bear, timeout=longest, after=after)

    def measuring(self, name: str, leave: Action, after: str) -> State:
        """A state in which the object is weighed."""
        window = lambda: self.pace.window  # noqa: E731
        return State(name, leave=leave, during=self.weigh, timeout=window, after=after)

    def weigh_and_guide(self, during: Action | None) -> Machine:
        """Weigh once, then guide, with something to do meanwhile."""
        states = [
            State("ready"),
            self.closing("measure"),
            self.measuring("measure", self.settle, "guide"),
            State("guide", enter=self.guide, during=during),
            *self.ending(),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("guide", "empty", event="release"),
            Transition("empty", "close", event="grasp"),
        ]
        return Machine(self.arm.name, states, ways)

    def ending(self) -> tuple[State, State]:
        """The last states of every task."""
        return State("empty", enter=self.let_go), State("fault")

    def resumed(self) -> str:
        """Guiding what was weighed, weighing what is held, or with nothing."""
        if self.holds:
            return "guide" if np.isfinite(self.mass) else "close"
        return "empty"

    def bear(self) -> None:
        """Support what the cell measures, and do not give way to it."""
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
        """Give way to everything but the object's weight."""
        controller = self.controller
        controller.change()
        controller.uses_cell = True
        controller.offset[:] = self.weighed
        controller.support[:] = -self.weighed

    def let_go(self) -> None:
        """Open; expect and support nothing any more."""
        self.open()
        self.controller.change()
        self.controller.offset[:] = self.controller.support[:] = self.controller.desired[:] = 0.0

    def settled(self) -> bool | str:
        """Whether the arm has been at rest for a while."""
        speed = float(np.linalg.norm(self.controller.arm.twist[:3]))
        self._rest = self._rest + self._dt if speed < self.script.slow else 0.0
        return self._rest >= self.script.quiet or f"still moving at {speed:.3f} m/s"


class Centred(Guided):
    """SM-2: weigh in two poses, find mass and centre, merge them into the model, guide."""

    def prepare(self) -> None:
        """A payload in the model, and no poses yet."""
        super().prepare()
        self.payload = Payload(self.arm.controller.arm)
        self._forces: list[Array] = []
        self._moments: list[Array] = []
        self._tare = self.arm.cell.conditioner.load

    def make(self) -> Machine:
        """Ready, close, measure-1, reorient, settle, measure-2, merge, guide, empty, and fault."""
        turned = lambda: self.script.turn_time  # noqa: E731
        states = [
            State("ready"),
            self.closing("measure-1"),
            self.measuring("measure-1", self._note_pose, "reorient"),
            State("reorient", None, self._still, self._turn, timeout=turned, after="settle"),
            State("settle", during=self.bear, timeout=8.0),
            self.measuring("measure-2", self._note_pose, "merge"),
            State("merge", enter=self._merge, timeout=0.5, after="guide"),
            State("guide", enter=self.guide),
            *self.ending(),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("settle", "measure-2", guard=self.settled),
            Transition("guide", "empty", event="release"),
        ]
        return Machine(self.arm.name, states, ways)

    def guide(self) -> None:
        """Make the object a part of the tool: there is nothing to offset or support any more."""
        assert self.found is not None
        self.payload.merge(self.found)
        controller = self.controller
        # This tick already carries it.
        controller.arm.compute()
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
        forces, moments = np.array(self._forces[-2:]), np.array(self._moments[-2:])
        load = estimate(forces, moments, gravity=self.gravity)
        self.found = load
        self.mass = load.mass
        # Support it until the filter has settled on the tared cell.
        self.controller.support[:] = -self.wrench
        conditioner = self.arm.cell.conditioner
        mounting = conditioner.mounting
        in_sensor = Load(load.mass, mounting.rotation.T @ (load.com - mounting.position))
        conditioner.mount(self._tare + in_sensor)


class Lifted(Guided):
    """SM-3: close, lift by a virtual force, settle, weigh, wait for the person's trigger, guide."""

    def make(self) -> Machine:
        """Ready, close, lift, settle, record, wait, guide, empty, and fault."""
        quiet = lambda: self.settled() if not self._pull else "force going"  # noqa: E731
        states = [
            State("ready"),
            self.closing("lift", self._begin, 0.5),
            State("lift", during=self._raise, leave=self._lower, timeout=30.0),
            State("settle", during=self._ease, timeout=20.0),
            self.measuring("record", self.settle, "wait"),
            State("wait", enter=self._listen),
            State("guide", enter=self.guide),
            *self.ending(),
        ]
        ways = [
            Transition("ready", "close", event="grasp"),
            Transition("lift", "settle", guard=self._high),
            Transition("settle", "record", guard=quiet),
            Transition("wait", "guide", guard=self._triggered),
            Transition("guide", "empty", event="release"),
        ]
        return Machine(self.arm.name, states, ways)

    def _begin(self) -> None:
        self.close()
        self._pull = 0.0
        self._from = float(self.controller.arm.position[2])

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
        # The force is a triangle over time; this is its way down.
        self.bear()
        self._pull = max(0.0, self._pull - 4.0 * self.script.lift_rate * self._dt)
        self.controller.desired[:] = self._pull * UP

    def _listen(self) -> None:
        # Support the mean from now on: the rest is the person.
        self.controller.support[:] = -self.weighed

    def _triggered(self) -> bool | str:
        beyond = self.wrench - self.weighed
        force = float(np.linalg.norm(beyond[:3]))
        axis = self.controller.arm.rotation[:, 2]
        moment = abs(float(axis @ beyond[3:]))
        if force >= self.script.trigger and moment >= self.script.trigger_moment:
            return True
        return f"{force:.1f} N and {moment:.2f} N·m are no trigger"


class SharedLoad(Guided):
    """SM-4: several arms clamp one object, each weighs its share, then all give way to the person.

    What a share holds beside weight is squeeze, which relaxes, see :class:`SqueezeBleed`.
    """

    quick = 20.0
    """Variance of the force filter while the object is weighed; the default of the source, [-]."""

    def prepare(self) -> None:
        """A squeeze to relax, and the filter's variance to come back to."""
        super().prepare()
        self.parameters["bleed"] = self.bleed = SqueezeBleed()
        self._slow = self.arm.filters.r_wrench

    def make(self) -> Machine:
        """Ready, close, measure, guide, empty, and fault."""
        return self.weigh_and_guide(self._let_squeeze_go)

    def bear(self) -> None:
        """Support what the cell measures, with a filter quick enough to keep up with it."""
        self.arm.filters.r_wrench = self.quick
        super().bear()

    def close(self) -> None:
        """Take hold; the filter is quick until guiding begins."""
        self._slow = self.arm.filters.r_wrench
        super().close()

    def guide(self) -> None:
        """Give way to all but this arm's share, with the filter that a rigid coupling needs."""
        super().guide()
        self.arm.filters.r_wrench = self._slow
        self.bleed.begin(self.weighed, self.weighed[2] * UP)

    def _let_squeeze_go(self) -> None:
        expected = self.weighed[2] * UP + self.bleed.step(self._dt)
        self.controller.offset[:] = expected
        self.controller.support[:] = -expected


GUIDED = {"weigh": Guided, "centre": Centred, "lift": Lifted, "share": SharedLoad}
"""The scripted tasks by job: SM-1 to SM-4."""
