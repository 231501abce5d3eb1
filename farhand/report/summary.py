"""A run in numbers for programs, and in a few lines for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.link.line import Line
from farhand.loop.session import Session
from farhand.realtime import Grant
from farhand.report.hints import hints
from farhand.report.numbers import number
from farhand.report.output import say, show_values, stdout
from farhand.rigs import Rig

if TYPE_CHECKING:
    from farhand.running.run import RunOutcome

Result = dict[str, Any]

PERCENTILES = {"p50": "median", "p99": "p99", "p999": "p99.9", "max": "max"}
"""Columns of the timing table: name in the numbers, heading."""


class Numbers:
    """Metrics of a result by name; None where a run has none."""

    def __init__(self, result: Result) -> None:
        self._metrics = result["metrics"]

    def __getitem__(self, name: str) -> float | None:
        return self._metrics.get(name, {}).get("value")

    def text(self, name: str, factor: float = 1.0) -> str:
        """A metric times a factor, to three digits; 0 where a run has none."""
        return number(factor * (self[name] or 0.0))

    def degrees(self, name: str) -> str:
        """A metric in radians as degrees; 0 where a run has none."""
        return number(math.degrees(self[name] or 0.0))


def result_of(rig: Rig, outcome: RunOutcome) -> Result:
    """Everything a run is judged by. In virtual time it does not depend on the computer."""
    session, options = rig.session, rig.options
    result: Result = {
        "rig": rig.name,
        "law": rig.law,
        "layer": options.layer,
        "scenario": rig.scenario.name,
        "seed": options.seed,
        "seconds": outcome.seconds,
        "trips": [
            {
                "where": record.where,
                "time": record.trip.time_ns / 1e9,
                "kind": record.trip.kind,
                "reason": record.trip.reason,
            }
            for record in session.trips
        ],
        "events": [{"time": t_ns / 1e9, "text": text} for t_ns, text in rig.metrics.history.events],
        "metrics": rig.metrics.result(),
        "rates": _rates(session, outcome.seconds),
        "commands": [
            {
                "time": logged.time_ns / 1e9,
                "tick": logged.tick,
                "command": str(logged.request),
                "outcome": str(logged.outcome),
            }
            for logged in session.commands.log
        ],
    }
    if rig.trial is not None:
        result["task"] = {**rig.trial.result(), "operator": options.operator}
    result["never_coupled"] = never_coupled(result)
    result["hints"] = hints(rig, result)
    if session.clock.name == "wall":
        result |= timing_result(session, outcome)
    return result


def result_of_side(rig: Rig, line: Line, outcome: RunOutcome) -> Result:
    """Everything the run of one side is judged by."""
    link = {
        "agreed": line.agreed,
        "refusal": line.refusal,
        "peer_starts": line.generation,
        "datagrams": asdict(line.seal.counts),
    }
    return {**result_of(rig, outcome), "side": rig.options.side, "link": link}


def never_coupled(result: Result) -> str | None:
    """Why leader and follower were never coupled; None if they were, and for a team."""
    m = Numbers(result)
    tracked = m["tracking_error_max"] is not None or m["joint_error_max"] is not None
    if is_team(result) or tracked:
        return None
    if result["trips"]:
        return f"never coupled: {_trip_line(result['trips'][0])}"
    tried = [c for c in result["commands"] if c["command"] in ("engage", "declutch")]
    if tried:
        last = tried[-1]
        return f"never coupled: {last['command']} at {last['time']:g} s, {last['outcome']}"
    return "never coupled: no engage was carried out"


def _trip_line(trip: dict[str, Any]) -> str:
    return f"{trip['where']} stopped at {trip['time']:.3f} s: {trip['reason']}"


def _rates(session: Session, seconds: float) -> dict[str, float]:
    """How often each part really ran, [Hz]; a station senses and acts at one rate."""
    names = [station.name for station in session.stations]
    count = len(session.bridges)
    names += ["coupling"] if count == 1 else [f"coupling_{i + 1}" for i in range(count)]
    # A run that is interrupted before its first tick has no length
    lasted = max(seconds, 1e-9)
    return {name: part.calls / lasted for name, part in zip(names, session.parts, strict=False)}


# Timing on the wall clock: how late ticks were, where their time went, what the system granted


def timing_result(session: Session, outcome: RunOutcome) -> dict[str, Any]:
    """``timing`` and ``sections`` (times in s) and ``privileges``, for ``--json``."""
    timing: dict[str, tuple[float | None, str]] = {
        "wall": (outcome.wall, "s"),
        "ticks": (session.ticks, "-"),
        "overruns": (session.overruns, "-"),
        "skipped": (session.skipped, "-"),
    }
    timing |= {f"tick_{name}": (value, "s") for name, value in _tick(session).items()}
    sections: dict[str, Any] = {}
    if session.cycle is not None:
        late = session.cycle.late.summary()
        timing |= {f"lateness_{name}": (value, "s") for name, value in late.items()}
        sections = session.cycle.sections()
        timing["holds"] = (session.cycle.holds(), "Hz")
    return {
        "timing": {name: {"value": value, "unit": unit} for name, (value, unit) in timing.items()},
        "sections": sections,
        "privileges": [asdict(grant) for grant in outcome.grants],
    }


def _tick(session: Session) -> dict[str, float | None]:
    """Median, 99th percentile and longest of a tick, [s]."""
    if session.cycle is not None:
        summary = session.cycle.tick.summary()
        return {"median": summary["p50"], "p99": summary["p99"], "max": summary["max"]}
    took = session.tick_ns[: session.ticks] * 1e-9
    if not len(took):
        return dict.fromkeys(("median", "p99", "max"))
    p99 = float(np.percentile(took, 99))
    return {"median": float(np.median(took)), "p99": p99, "max": float(took.max())}


def _tick_text(session: Session) -> str:
    tick = _tick(session)
    return f"{_micro(tick['median'])} µs median, {_micro(tick['p99'])} µs p99"


def _micro(value: float | None) -> str:
    return "–" if value is None else number(1e6 * value)


def show_timing(session: Session, grants: Sequence[Grant]) -> None:
    """Print the table of a run on the wall clock."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    assert session.cycle is not None
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("real time [µs]")
    for header in PERCENTILES.values():
        table.add_column(header, justify="right")
    sections = session.cycle.sections()
    # Simulated physics is no part of the tick
    physics = sections.pop("physics", None)
    rows = {"lateness": session.cycle.late.summary(), "tick": session.cycle.tick.summary()}
    rows |= {f"  {name}": values for name, values in sections.items()}
    if physics is not None:
        rows["physics (simulated)"] = physics
    for name, values in rows.items():
        table.add_row(name, *(_micro(values[column]) for column in PERCENTILES))
    console = stdout()
    console.print(table)
    overruns, skipped = (
        f"{count} {name}{'' if count == 1 else 's'}"
        for count, name in ((session.overruns, "overrun"), (session.skipped, "tick"))
    )
    say(f"  {session.ticks:,} ticks, {overruns}, {skipped} skipped")
    if session.ticks:
        rate = session.cycle.holds()
        held = "no rate" if rate is None else f"{rate:,} Hz"
        fits = "99.9 % of tick, physics and lateness fit in a period"
        say(f"  this machine holds {held} here: {fits}")
    granted = ", ".join(f"{grant.name} {grant.what}" for grant in grants if grant.had)
    say(Text(f"  granted: {granted or 'nothing'}", "dim"))
    for grant in (grant for grant in grants if not grant.had):
        line = f"  not granted: {grant.name} is {grant.what}; {grant.cure}"
        say(Text(line, "yellow"))


# A run in words


def headline(result: Result) -> str:
    """The run in one sentence."""
    m = Numbers(result)
    if result["trips"]:
        trip = result["trips"][0]
        return f"{trip['where'].capitalize()} stopped at {trip['time']:.2f} s: {trip['reason']}"
    if is_team(result):
        return team_headline(result)
    if result["never_coupled"]:
        return f"N{result['never_coupled'][1:]}"
    behind = f"The follower is at most {m.text('tracking_error_max', 1e3)} mm off"
    felt, contact = m["reflection_in_contact"], m["contact_force_max"]
    if felt is not None:
        return f"{behind}, and the hand feels {number(100 * felt)} % of the contact force"
    if m["grip_reflection"] is not None:
        return f"{behind}, and the fingers feel {m.text('grip_reflection', 100)} % of the grip"
    if contact is None:
        return f"{behind}; no sensor tells what it touches"
    if contact < 1.0 and not m["energy_wall_on_follower"]:
        return f"{behind} and touches nothing"
    return f"{behind} and touches with up to {number(contact)} N"


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know, as (topic, text)."""
    if is_team(result):
        yield from _team_lines(result)
        return
    m = Numbers(result)
    yield "tracking", result["never_coupled"] or _tracking(result, m)
    if m["gripper_error_max"] is not None:
        yield "gripper", _gripper(result, m)
    felt = m["reflection_in_contact"]
    share = f"; {number(100 * felt)} % of it felt" if felt is not None else ""
    yield "force", _force(m) + share
    yield "energy", _energy(result, m)
    yield from _pair_lines(result, m)
    if m["link_age_mean"] is not None:
        age = f"{m.text('link_age_mean', 1e3)} ms old, {m.text('link_age_max', 1e3)} ms at most"
        trip, lost = m.text("link_round_trip", 1e3), m.text("link_loss", 100)
        yield "link", f"{age}; round trip {trip} ms; {lost} % lost"


def pairs_of(result: Result) -> list[str]:
    """Names of the pairs in a run with several couplings."""
    start = "energy_into_coupling_"
    return [name.removeprefix(start) for name in result["metrics"] if name.startswith(start)]


def _pair_lines(result: Result, m: Numbers) -> Iterator[tuple[str, str]]:
    """One line for each pair, where there are several."""
    for name in pairs_of(result):
        if m[f"tracking_error_max_{name}"] is None:
            yield name, "never coupled"
            continue
        most = m.text(f"tracking_error_max_{name}", 1e3)
        force = _force(m, f"_{name}")
        yield name, f"up to {most} mm; {force.removeprefix('up to ')}"


def _tracking(result: Result, m: Numbers) -> str:
    angle = "" if m["rotation_error_max"] is None else f" and {m.degrees('rotation_error_max')}°"
    most, rms = m.text("tracking_error_max", 1e3), m.text("tracking_error_rms", 1e3)
    worst = m.degrees("joint_error_max")
    joints = "" if m["joint_error_max"] is None else f"; joints up to {worst}°"
    text = f"up to {most} mm{angle}, {rms} mm rms{joints}"
    share = m["coupled_share"]
    # after a trip it tells of the time before
    if not result["trips"] or share is None:
        return text
    return f"{text}; coupled for {number(share * result['seconds'])} of {result['seconds']:g} s"


def _gripper(result: Result, m: Numbers) -> str:
    turns = result["metrics"]["gripper_error_max"]["unit"] == "rad"
    name = "gripper_error_max"
    error = f"up to {m.degrees(name)}°" if turns else f"up to {m.text(name, 1e3)} mm"
    if m["grip_reflection"] is None:
        return f"{error} off, holds nothing"
    unit = result["metrics"]["grip_effort_max"]["unit"]
    held = f"holds with up to {m.text('grip_effort_max')} {unit}"
    return f"{error} off; {held}, {m.text('grip_reflection', 100)} % of it felt"


def _force(m: Numbers, of: str = "") -> str:
    """The largest forces; a rig may measure them at neither end, or at one."""
    hand, contact = m[f"hand_force_max{of}"], m[f"contact_force_max{of}"]
    if hand is None and contact is None:
        if m["hand_torque_max"] is None or m["contact_torque_max"] is None:
            return "measured nowhere: this rig has no force sensor"
        leader, follower = m.text("hand_torque_max"), m.text("contact_torque_max")
        joints = f"{leader} N·m at a joint of the leader, {follower} N·m at one of the follower"
        return f"no sensor; observers estimate up to {joints}"
    ends = (("at the hand", hand), ("at the contact", contact))
    forces = (f"{number(force)} N {end}" for end, force in ends if force is not None)
    return "up to " + ", ".join(forces)


def _energy(result: Result, m: Numbers) -> str:
    names = [name for name in result["metrics"] if name.startswith("energy_hand_on_")]
    hand = f"{number(sum(m[name] or 0.0 for name in names))} J from the hand, " if names else ""
    # The coupling counts the efforts it asked for, not those the arms could exert
    cut = m["torque_cut_ticks"]
    asked = f" as asked for, torques were cut in {cut:.0f} ticks" if cut else ""
    text = f"{hand}{number(m['energy_into_coupling'])} J into the coupling{asked}"
    error = m["energy_balance_error"]
    if error is None:
        return text
    return f"{text}; balances to {'0.01' if error < 1e-4 else number(100 * error)} %"


def side_lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know about one side, as (topic, text)."""
    m, side = Numbers(result), result["side"]
    end = "hand" if side == "leader" else "contact"
    error = f"{m.text('tracking_error_max', 1e3)} mm and {m.degrees('rotation_error_max')}°"
    if m["joint_error_max"] is not None:
        error = f"{m.degrees('joint_error_max')}° at a joint"
    yield "tracking", result["never_coupled"] or f"up to {error} as this side knows it"
    yield "force", f"up to {number(m[f'{end}_force_max'])} N at the {end}"
    yield "energy", f"{number(m['energy_into_coupling'])} J into the coupling at this side"
    yield "coupled", f"{m.text('coupled_share', 100)} % of the time"
    trip, age = m.text("link_round_trip_rms", 1e3), m.text("link_age_mean", 1e3)
    oldest = m["link_age_max"]
    most = "" if oldest is None else f", {number(1e3 * oldest)} ms at most while coupled"
    lost = m.text("link_loss", 100)
    yield "link", f"round trip {trip} ms, {lost} % lost, {age} ms old{most}"
    offset = m["clock_offset"]
    ahead = (
        "" if offset is None else f"the other side's is {1e3 * offset:+.3f} ms ahead of this one"
    )
    yield "clock", ahead or "not compared"
    counts = dict(result["link"]["datagrams"])
    opened = f"{counts.pop('opened')} opened"
    refused = [f"{count} {reason}" for reason, count in counts.items() if count]
    yield "datagrams", ", ".join([opened, *refused])


def task_lines(result: Result) -> list[tuple[str, str]]:
    """How a task went; nothing for a run without one."""
    task = result.get("task")
    if task is None:
        return []
    ending = "done" if task["success"] else "damaged" if task["damaged"] else "not done"
    forces = [f"{number(task[name])} N" for name in ("peak_force", "mean_force", "damage_limit")]
    return [
        ("task", f"{ending} after {task['time']:.1f} s by the {task['operator']} operator"),
        ("force", f"peak {forces[0]}, mean in contact {forces[1]}, damage above {forces[2]}"),
        ("path", f"{number(task['path'])} m of the tool's tip"),
    ]


def show(rig: Rig, result: Result, outcome: RunOutcome) -> None:
    """Print a run for a person."""
    title = f"{result['rig']} · {result['law']} · {result['scenario']}"
    rows = [*task_lines(result), *lines(result), ("tick", _tick_text(rig.session))]
    show_values(title, rows, beside=_pace(rig, outcome))
    if rig.session.cycle is not None:
        show_timing(rig.session, outcome.grants)
    _show_warnings(rig, result)


def show_side(rig: Rig, result: Result, outcome: RunOutcome) -> None:
    """Print the run of one side for a person."""
    title = f"{result['rig']} {result['side']} · {result['law']} · layer {result['layer']}"
    show_values(title, side_lines(result), beside=_length(outcome))
    show_timing(rig.session, outcome.grants)
    _show_warnings(rig, result)


def _show_warnings(rig: Rig, result: Result) -> None:
    from rich.text import Text

    warnings = [(_trip_line(trip), "bold red") for trip in result["trips"]]
    warnings += [
        (f"{logged.request} at {logged.time_ns / 1e9:g} s was {logged.outcome}", "yellow")
        for logged in rig.session.commands.log
        if not logged.outcome.done
    ]
    warnings += [(hint, "yellow") for hint in result["hints"]]
    lost = rig.metrics.history.lost
    if lost:
        warnings.append((f"{lost} telemetry records came too fast for the metrics", "yellow"))
    for line, style in warnings:
        say(Text(line, style))


def _length(outcome: RunOutcome) -> str:
    return f"{outcome.seconds:g} s{' until interrupted' if outcome.interrupted else ''}"


def _pace(rig: Rig, outcome: RunOutcome) -> str:
    ran, session = _length(outcome), rig.session
    if session.clock.name != "wall":
        speed = number(outcome.seconds / outcome.wall)
        return f"{ran} in {number(outcome.wall)} s, {speed} × real time"
    behind = 1e-9 * session.clock.late_ns
    if behind <= 0.01 * outcome.seconds:
        return f"{ran} in real time"
    period_ns = min(part.period_ns for part in session.parts)
    heaviest = None if session.cycle is None else session.cycle.heaviest(period_ns)
    reason = heaviest or "this computer is too slow or too busy"
    return f"{ran} in real time, {number(behind)} s behind: {reason}"


# A team: arms that carry together, with no coupling between them


def is_team(result: Result) -> bool:
    """Whether arms met in an object or a spring, with no coupling between them."""
    return any(name.startswith("torque_share_max_") for name in result["metrics"])


def arms_of(result: Result) -> list[str]:
    """Names of the arms of a team."""
    start = "force_max_"
    return [name.removeprefix(start) for name in result["metrics"] if name.startswith(start)]


def team_headline(result: Result) -> str:
    """The run of a team in one sentence."""
    m = Numbers(result)
    if m["share_error_max"] is None:
        most = max((m[f"force_max_{arm}"] or 0.0 for arm in arms_of(result)), default=0.0)
        return f"Nothing tripped; at most {number(most)} N at a wrist"
    share = f"Every share within {m.text('share_error_max', 100.0)} % of its nominal"
    return f"{share}, tilt at most {m.degrees('tilt_max')}°"


def _team_lines(result: Result) -> Iterator[tuple[str, str]]:
    m, arms = Numbers(result), arms_of(result)
    if "leader" in arms:
        most, rms = m.text("tracking_error_max", 1e3), m.text("tracking_error_rms", 1e3)
        yield "leader", f"up to {most} mm off its path, {rms} mm rms"
    yield "force", ", ".join(f"{arm} {number(m[f'force_max_{arm}'])} N" for arm in arms)
    torques = (f"{arm} {m.text(f'torque_share_max_{arm}', 100.0)} %" for arm in arms)
    yield "torque", f"{', '.join(torques)} of limits"
    if m["tilt_max"] is not None:
        shares = ", ".join(
            f"{arm} {m.text(f'share_{arm}', 100.0)} %"
            for arm in arms
            if m[f"share_{arm}"] is not None
        )
        if shares:
            mean = m.text("share_error_max", 100.0)
            momentary = m.text("share_error_momentary_max", 100.0)
            off = f"at most {mean} % off in means of 1 s, {momentary} % at a moment"
            yield "shares", f"{shares} of nominal; {off}"
        most, final = number(m["internal_force_max"]), number(m["internal_force_final"])
        yield "squeeze", f"up to {most} N, {final} N at the end"
        yield "tilt", f"up to {m.degrees('tilt_max')}°"
    yield "energy", f"balances to {m.text('energy_balance_error', 100.0)} %"
