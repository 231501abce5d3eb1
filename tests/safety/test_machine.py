"""State machine: order, guards, timeouts, interlocks and latched faults, without a rig."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue, UnknownName
from farhand.loop.telemetry import Reader, Telemetry
from farhand.safety.machine import ANY, Interlock, Machine, State, Transition

MS = 1_000_000


class Lift:
    """A small machine: ready → grip → lift → ready, with a sensor that can fail."""

    def __init__(self, **changes) -> None:
        self.calls: list[str] = []
        self.gripped, self.height, self.sensor = False, 0.0, True
        self.reports: list[tuple[int, str]] = []
        states = [
            State("ready", enter=self.call("+ready"), leave=self.call("-ready")),
            State("grip", enter=self.call("+grip"), leave=self.call("-grip"), timeout=0.1),
            State(
                "lift",
                enter=self.call("+lift"),
                during=self.call("up"),
                timeout=0.05,
                after="ready",
            ),
            State("fault", enter=self.call("brake")),
        ]
        transitions = [
            Transition("ready", "grip", event="go", guard=lambda: self.sensor or "no sensor"),
            Transition(
                "grip",
                "lift",
                guard=lambda: self.gripped or "nothing is gripped",
                action=self.call("tare"),
            ),
            Transition("lift", "ready", guard=lambda: self.height > 0.1),
            Transition(ANY, "ready", event="abort"),
        ]
        locks = [
            Interlock(
                "sensor",
                lambda: None if self.sensor else "the sensor is silent",
                frozenset({"lift"}),
            )
        ]
        self.machine = Machine(
            "lift", states, transitions, locks, report=lambda *r: self.reports.append(r), **changes
        )
        self.now = 0

    def call(self, name: str):
        """An action that notes its name."""
        return lambda: self.calls.append(name)

    def step(self, ticks: int = 1) -> str:
        """So many milliseconds on."""
        for _ in range(ticks):
            self.now += MS
            self.machine.step(self.now)
        return self.machine.state

    def lifting(self) -> Lift:
        """In the state lift."""
        self.machine.start(0)
        self.machine.post("go")
        self.step()
        self.gripped = True
        assert self.step() == "lift"
        return self


def test_actions_run_in_the_order_leave_action_enter_during():
    """So that a state never sees the equipment of the one before."""
    lift = Lift().lifting()
    assert lift.calls == ["+ready", "-ready", "+grip", "-grip", "tare", "+lift", "up"]
    assert [event.cause for event in lift.machine.history] == ["started", "go", "condition met"]


def test_nothing_happens_before_the_start():
    """A machine that was not started stays where it is."""
    lift = Lift()
    lift.machine.post("go")
    assert lift.step(5) == "ready" and lift.calls == []


def test_one_step_takes_one_transition_by_itself():
    """Even if the next guard holds already, so that every state is seen by a recording."""
    lift = Lift()
    lift.gripped, lift.height = True, 1.0
    lift.machine.start(0)
    lift.machine.post("go")
    assert [lift.step() for _ in range(3)] == ["grip", "lift", "ready"]


def test_a_guard_says_why_an_event_is_refused():
    """The reason is in the report, and the state stays."""
    lift = Lift()
    lift.sensor = False
    lift.machine.start(0)
    lift.machine.post("go")
    assert lift.step() == "ready"
    assert lift.reports[-1] == (MS, "lift: ready (go ignored: no sensor)")


def test_an_event_at_the_wrong_time_is_ignored_and_noted():
    """Illegal events change nothing."""
    lift = Lift().lifting()
    lift.machine.post("go")
    assert lift.step() == "lift" and lift.machine.history[-1].cause == "go ignored"


def test_an_event_nobody_ever_waits_for_is_an_error():
    """A misspelt event must not pass for an untimely one."""
    with pytest.raises(UnknownName, match="abort, go"):
        Lift().machine.post("goo")


def test_a_timeout_without_a_way_out_latches_a_fault_that_says_what_it_waited_for():
    """Grip may take 0.1 s."""
    lift = Lift()
    lift.machine.start(0)
    lift.machine.post("go")
    lift.step()
    assert lift.step(99) == "grip" and lift.step() == "fault"
    assert lift.machine.trip is not None and lift.machine.trip.kind == "timeout"
    assert lift.machine.trip.reason == "grip took longer than 0.1 s, waiting: nothing is gripped"
    assert lift.calls[-2:] == ["-grip", "brake"]


def test_a_timeout_with_a_way_out_takes_it():
    """Lift gives up after 0.05 s and is ready again."""
    lift = Lift().lifting()
    assert lift.step(49) == "lift" and lift.machine.elapsed == pytest.approx(0.049)
    assert lift.step() == "ready" and lift.machine.trip is None and lift.machine.elapsed == 0.0


def test_a_broken_interlock_latches_until_it_holds_again_and_is_reset():
    """The first reason stays; events and steps do not lead out."""
    lift = Lift().lifting()
    lift.sensor = False
    assert lift.step() == "fault"
    lift.machine.fail(lift.now, "other", "something else")
    assert lift.machine.trip is not None and lift.machine.trip.reason == "the sensor is silent"
    lift.machine.post("abort")
    assert lift.step(10) == "fault"
    with pytest.raises(BadValue, match="the sensor is silent"):
        lift.machine.reset(lift.now)
    lift.sensor = True
    lift.machine.reset(lift.now)
    assert lift.step() == "ready" and lift.machine.trip is None


def test_an_interlock_is_watched_only_in_its_states():
    """A silent sensor does not matter before the lift."""
    lift = Lift()
    lift.machine.start(0)
    lift.sensor = False
    assert lift.step(5) == "ready"


def test_a_machine_refuses_to_start_with_every_reason_named():
    """Both missing things stand in one line."""
    locks = [
        Interlock("a", lambda: "no port"),
        Interlock("b", lambda: "no peer"),
        Interlock("c", lambda: None),
    ]
    machine = Machine("m", [State("off"), State("fault")], [], locks)
    with pytest.raises(BadValue, match="no port; no peer"):
        machine.start(0)
    assert not machine.running


def test_an_action_that_fails_ends_in_the_fault_with_its_message():
    """And what fails on the way there does not keep it out."""

    def jammed() -> None:
        raise BadValue("the gripper is jammed")

    states = [State("a", leave=jammed), State("b"), State("fault", enter=jammed)]
    machine = Machine("m", states, [Transition("a", "b")])
    machine.start(0)
    assert machine.step(MS) == "fault"
    assert machine.trip is not None and machine.trip.reason == "the gripper is jammed"
    failed = machine.history[-1]
    assert failed.cause == "while failing: the gripper is jammed" and failed.target == "fault"


def test_stopping_enters_the_first_state_and_stays():
    """Its entry action is where the motors are switched off."""
    lift = Lift().lifting()
    lift.machine.stop(lift.now)
    assert lift.calls[-1] == "+ready" and lift.step(3) == "ready" and not lift.machine.running
    calls = list(lift.calls)
    lift.machine.stop(lift.now)
    assert lift.calls == calls


def test_stopping_does_not_lead_out_of_the_fault():
    """Nor does it call anything."""
    lift = Lift().lifting()
    lift.machine.fail(lift.now, "stop", "pressed")
    calls = list(lift.calls)
    lift.machine.stop(lift.now)
    assert lift.machine.state == "fault" and lift.machine.running and lift.calls == calls


def test_an_event_and_a_condition_do_not_both_move_it_in_one_step():
    """The event comes first; a timeout waits as well."""
    lift = Lift().lifting()
    lift.height = 1.0
    lift.machine.post("abort")
    assert lift.step() == "ready" and lift.calls[-1] == "+ready"
    late = Lift()
    late.machine.start(0)
    late.machine.post("go")
    late.step(100)
    late.gripped = True
    assert late.step() == "lift"


def test_a_started_machine_and_one_in_the_fault_cannot_be_started():
    """One says it runs, the other that it must be reset."""
    lift = Lift().lifting()
    with pytest.raises(BadValue, match="runs already"):
        lift.machine.start(lift.now)
    fresh = Lift()
    fresh.machine.fail(0, "stop", "pressed")
    with pytest.raises(BadValue, match="reset first"):
        fresh.machine.start(0)


@pytest.mark.parametrize(
    ("states", "transitions", "message"),
    [
        ([], [], "names of their own"),
        ([State("a"), State("a"), State("fault")], [], "names of their own"),
        ([State("a"), State("b"), State("fault")], [], "nothing leads to b"),
        ([State("a"), State("fault")], [Transition("a", "c")], "'c'"),
        ([State("a")], [], "'fault'"),
        ([State("a", after="z", timeout=1.0), State("fault")], [], "'z'"),
    ],
)
def test_a_machine_that_cannot_be_right_is_refused(states, transitions, message):
    """When it is made, not when it runs."""
    with pytest.raises((BadValue, UnknownName), match=message):
        Machine("m", states, transitions)


def test_the_state_is_recorded_as_its_index():
    """A channel of the telemetry, written at every step."""

    class Stream:
        def channel(self, name, size, unit):
            self.array = np.full(size, np.nan)
            return self.array

    lift, stream = Lift(), Stream()
    lift.machine.record(stream)
    lift.lifting()
    assert stream.array.shape == (1,)
    assert lift.machine.states[int(stream.array[0])] == "lift"


@given(st.lists(st.sampled_from(["go", "abort", "grip", "drop", "sensor", "step"]), max_size=60))
def test_the_same_calls_give_the_same_history(script):
    """Deterministic: two machines fed alike do alike, and a fault is never left without a reset."""

    def played() -> tuple[list, list]:
        lift = Lift()
        lift.machine.start(0)
        faulty = False
        for word in script:
            if word in ("go", "abort"):
                lift.machine.post(word)
            elif word in ("grip", "drop"):
                lift.gripped = word == "grip"
            elif word == "sensor":
                lift.sensor = not lift.sensor
            lift.step(7)
            assert not faulty or lift.machine.state == "fault"
            faulty = lift.machine.trip is not None
        return lift.calls, list(lift.machine.history)

    assert played() == played()


def test_what_happens_goes_to_the_telemetry_as_events(tmp_path):
    """The report takes what an event of a recording takes."""
    telemetry = Telemetry(tmp_path / "ring")
    lift = Lift()
    lift.machine.record(telemetry.stream("rig", 1000.0))
    telemetry.freeze()
    lift.machine.report = telemetry.event
    reader = Reader(telemetry.path)
    lift.lifting()
    time_ns, text = reader.events()[-1]
    assert time_ns == 2 * MS and "lift: grip → lift" in text
    telemetry.close()
