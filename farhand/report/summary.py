"""A run of arms that carry together, in words and pictures; and the numbers both kinds of summary are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.history import History
from farhand.link.line import Line
from farhand.loop.session import Session
from farhand.realtime import Grant
from farhand.report.output import show_values, stdout
from farhand.rigs import Rig
from farhand.running.run import RunOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farhand.report.page import Animation
    from farhand.rigs import Rig

Result = dict[str, Any]


class Numbers:
    """Metrics of a result by name; None where a run has none."""

    def __init__(self, result: Result) -> None:
        self._metrics = result["metrics"]

    def __getitem__(self, name: str) -> float | None:
        return self._metrics.get(name, {}).get("value")


def number(value: float | None) -> str:
    """Three digits, without an exponent where a person would not write one."""
    if value is None:
        return "–"
    value = float(f"{value:.3g}")
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.1g}" if digits > 6 else f"{value:.{digits}f}"


def is_team(result: Result) -> bool:
    """Whether arms met in an object or a spring, with no coupling between them."""
    return any(name.startswith("torque_share_max_") for name in result["metrics"])


def arms_of(result: Result) -> list[str]:
    """Names of the arms of a team."""
    start = "force_max_"
    return [name.removeprefix(start) for name in result["metrics"] if name.startswith(start)]


def team_headline(result: Result) -> str:
    """The run in one sentence."""
    m = Numbers(result)
    most = max((m[f"force_max_{arm}"] or 0.0 for arm in arms_of(result)), default=0.0)
    if m["share_error_max"] is None:
        return f"Nothing tripped; at most {number(most)} N at a wrist"
    tilt = number(math.degrees(m["tilt_max"] or 0.0))
    return f"Every share within {number(100.0 * m['share_error_max'])} % of its nominal, tilt at most {tilt}°"


def team_lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know, as (topic, words)."""
    m, arms = Numbers(result), arms_of(result)
    if "leader" in arms:
        # [mm]
        error = [
            number(1e3 * (m[name] or 0.0)) for name in ("tracking_error_max", "tracking_error_rms")
        ]
        yield "leader", f"up to {error[0]} mm off its path, {error[1]} mm rms"
    yield "force", ", ".join(f"{arm} {number(m[f'force_max_{arm}'])} N" for arm in arms)
    torques = {arm: 100.0 * (m[f"torque_share_max_{arm}"] or 0.0) for arm in arms}
    yield (
        "torque",
        ", ".join(f"{arm} {number(share)} %" for arm, share in torques.items()) + " of limits",
    )
    if m["tilt_max"] is not None:
        shares = ", ".join(
            f"{arm} {number(100.0 * s)} %" for arm in arms if (s := m[f"share_{arm}"]) is not None
        )
        if shares:
            off = [
                number(100.0 * (m[f"share_error_{kind}max"] or 0.0)) for kind in ("", "momentary_")
            ]
            yield (
                "shares",
                f"{shares} of nominal; at most {off[0]} % off in means of 1 s, {off[1]} % at a moment",
            )
        inner = f"up to {number(m['internal_force_max'])} N, {number(m['internal_force_final'])} N at the end"
        yield "squeeze", inner
        yield "tilt", f"up to {number(math.degrees(m['tilt_max']))}°"
    yield "energy", f"balances to {number(100.0 * (m['energy_balance_error'] or 0.0))} %"


def moving_picture(rig: Rig) -> Animation | None:
    """The run as a film, twice as fast as it was; None if nothing was recorded."""
    from farhand.analysis.team import TeamMetrics
    from farhand.report.page import Animation
    from farhand.report.team_film import filmed

    metrics, size = rig.metrics, getattr(rig.construction, "size", np.zeros(3))
    if not isinstance(metrics, TeamMetrics) or not len(metrics.history.times("team")):
        return None
    return Animation(filmed(metrics, size))


def draw_loads(ax: Axes, history: History, arms: list[str]) -> None:
    """What every arm lifts with over time."""
    times = history.times("team")
    lifted = history.signal("team", "wrench_of_arms_on_object_in_world").reshape(len(times), -1, 6)[
        :, :, 2
    ]
    for number_, arm in enumerate(arms):
        ax.plot(times, lifted[:, number_], linewidth=1.2, label=arm)
    ax.set_ylabel("lift of each arm [N]")


def draw_squeeze(ax: Axes, history: History) -> None:
    """The largest internal force over time."""
    times = history.times("team")
    inner = history.signal("team", "internal_wrench_in_world").reshape(len(times), -1, 6)
    ax.plot(
        times,
        np.linalg.norm(inner[:, :, :3], axis=2).max(axis=1),
        linewidth=1.2,
        label="largest at a grip",
    )
    ax.set_ylabel("internal force [N]")
    ax.set_ylim(bottom=0.0)


def draw_heights(ax: Axes, history: History, arms: list[str]) -> None:
    """How high every tool is."""
    for arm in arms:
        height = history.signal(arm, "position_tool_in_world")[:, 2]
        ax.plot(history.times(arm), height, linewidth=1.2, label=arm)
    ax.set_ylabel("height of the tool [m]")


# Timing of a run on the wall clock: how late its ticks were, where their time went, and what the
# system granted.

COLUMNS = {"p50": "median", "p99": "p99", "p999": "p99.9", "max": "max"}


def timing_result(session: Session, outcome: RunOutcome) -> dict[str, Any]:
    """What ``--json`` says of it: ``timing`` and ``sections`` (times in s), ``privileges``."""
    timing: dict[str, tuple[float | None, str]] = {
        "wall": (outcome.wall, "s"),
        "ticks": (session.ticks, "-"),
        "overruns": (session.overruns, "-"),
        "skipped": (session.skipped, "-"),
    }
    timing |= {f"tick_{name}": (value, "s") for name, value in _tick(session).items()}
    sections: dict[str, Any] = {}
    if session.cycle is not None:
        timing |= {
            f"lateness_{name}": (value, "s") for name, value in session.cycle.late.summary().items()
        }
        sections = session.cycle.sections()
    return {
        "timing": {name: {"value": value, "unit": unit} for name, (value, unit) in timing.items()},
        "sections": sections,
        "privileges": [
            {"name": g.name, "had": g.had, "what": g.what, "cure": g.cure} for g in outcome.grants
        ],
    }


def tick_words(session: Session) -> str:
    """How long a tick took, for a person."""
    tick = _tick(session)
    return f"{_micro(tick['median'])} µs median, {_micro(tick['p99'])} µs p99"


def slow_words(session: Session) -> str:
    """Why a run on the wall clock is behind, for a person."""
    period_ns = min(part.period_ns for part in session.parts)
    heaviest = None if session.cycle is None else session.cycle.heaviest(period_ns)
    return heaviest or "this computer is too slow or too busy"


def _tick(session: Session) -> dict[str, float | None]:
    """Median, 99th percentile and longest of a tick, [s]."""
    if session.cycle is not None:
        found = session.cycle.tick.summary()
        return {"median": found["p50"], "p99": found["p99"], "max": found["max"]}
    took = session.tick_ns[: session.ticks] * 1e-9
    if not len(took):
        return dict.fromkeys(("median", "p99", "max"))
    return {
        "median": float(np.median(took)),
        "p99": float(np.percentile(took, 99)),
        "max": float(took.max()),
    }


def show_timing(session: Session, grants: Sequence[Grant]) -> None:
    """Print the table of a run on the wall clock."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    assert session.cycle is not None
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("real time [µs]")
    for header in COLUMNS.values():
        table.add_column(header, justify="right")
    rows = {"lateness": session.cycle.late.summary(), "tick": session.cycle.tick.summary()}
    rows |= {
        f"  {name}": values
        for name, values in session.cycle.sections().items()
        if name != "physics"
    }
    rows |= {
        f"{name} (simulated)": v
        for name, v in session.cycle.sections().items()
        if name == "physics"
    }
    for name, values in rows.items():
        table.add_row(name, *(_micro(values[column]) for column in COLUMNS))
    console = stdout()
    console.print(table)
    late = f"{session.overruns} overrun{'' if session.overruns == 1 else 's'}"
    lost = f"{late}, {session.skipped} tick{'' if session.skipped == 1 else 's'} skipped"
    console.print(f"  {session.ticks:,} ticks, {lost}", soft_wrap=True)
    had = ", ".join(f"{grant.name} {grant.what}" for grant in grants if grant.had)
    console.print(Text(f"  had: {had or 'nothing'}", "dim"), soft_wrap=True)
    for grant in grants:
        if not grant.had:
            console.print(
                Text(f"  lost: {grant.name} is {grant.what}; {grant.cure}", "yellow"),
                soft_wrap=True,
            )


def _micro(value: float | None) -> str:
    return "–" if value is None else number(1e6 * value)


# A run in numbers: as JSON for programs and as a few lines for people.


def result_of(rig: Rig, outcome: RunOutcome) -> Result:
    """Everything a run is judged by. In virtual time nothing in it depends on the computer."""
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
                "where": r.where,
                "time": r.trip.time_ns / 1e9,
                "kind": r.trip.kind,
                "reason": r.trip.reason,
            }
            for r in session.trips
        ],
        "events": [{"time": t_ns / 1e9, "text": text} for t_ns, text in rig.metrics.history.events],
        "metrics": rig.metrics.result(),
        "rates": _rates(rig, outcome.seconds),
        "commands": [
            {
                "time": c.time_ns / 1e9,
                "tick": c.tick,
                "command": str(c.request),
                "outcome": str(c.outcome),
            }
            for c in session.commands.log
        ],
    }
    result["never_coupled"] = never_coupled(result)
    if session.clock.name == "wall":
        result |= timing_result(session, outcome)
    return result


def never_coupled(result: Result) -> str | None:
    """Why a leader and a follower were not coupled for a single tick, in words; None if they were, and for a team."""
    if is_team(result) or Numbers(result)["tracking_error_max"] is not None:
        return None
    if result["trips"]:
        trip = result["trips"][0]
        return f"never coupled: {trip['where']} stopped at {trip['time']:.3f} s: {trip['reason']}"
    tried = [
        command for command in result["commands"] if command["command"] in ("engage", "declutch")
    ]
    if tried:
        return f"never coupled: {tried[-1]['command']} at {tried[-1]['time']:g} s, {tried[-1]['outcome']}"
    return "never coupled: no engage was carried out"


def _rates(rig: Rig, seconds: float) -> dict[str, float]:
    """How often each part really ran, [Hz]; a station senses and acts at one rate."""
    session = rig.session
    names = [station.name for station in session.stations]
    names += [
        "coupling" if len(session.bridges) == 1 else f"coupling_{i + 1}"
        for i in range(len(session.bridges))
    ]
    lasted = max(seconds, 1e-9)  # interrupted before its first tick, it has made none
    return {name: part.calls / lasted for name, part in zip(names, session.parts, strict=False)}


def headline(result: Result) -> str:
    """The run in one sentence."""
    metrics = Numbers(result)
    if result["trips"]:
        trip = result["trips"][0]
        return f"{trip['where'].capitalize()} stopped at {trip['time']:.2f} s: {trip['reason']}"
    if is_team(result):
        return team_headline(result)
    if result["never_coupled"]:
        return f"N{result['never_coupled'][1:]}"
    behind = (
        f"The follower is at most {number(1e3 * (metrics['tracking_error_max'] or 0.0))} mm off"
    )
    felt, contact = metrics["reflection_in_contact"], metrics["contact_force_max"]
    if felt is not None:
        return f"{behind}, and the hand feels {number(100 * felt)} % of the contact force"
    if contact is None:
        return f"{behind}; no sensor tells what it touches"
    return (
        f"{behind} and touches nothing"
        if contact < 1.0
        else f"{behind} and touches with up to {number(contact)} N"
    )


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know, as (topic, words)."""
    if is_team(result):
        yield from team_lines(result)
        return
    m = Numbers(result)
    yield "tracking", result["never_coupled"] or _tracking_words(m)
    felt = m["reflection_in_contact"]
    share = f"; {number(100 * felt)} % of it felt" if felt is not None else ""
    yield "force", _force_words(m["hand_force_max"], m["contact_force_max"]) + share
    yield "energy", _energy_words(result, m)
    if m["link_age_mean"] is not None:
        age, oldest, trip = (
            1e3 * (m[name] or 0.0) for name in ("link_age_mean", "link_age_max", "link_round_trip")
        )
        lost = number(100 * (m["link_loss"] or 0.0))
        yield (
            "link",
            f"{number(age)} ms old, {number(oldest)} ms at most; round trip {number(trip)} ms; {lost} % lost",
        )


def _tracking_words(m: Numbers) -> str:
    # [mm]
    error = [
        number(1e3 * (m[name] or 0.0)) for name in ("tracking_error_max", "tracking_error_rms")
    ]
    turned = m["rotation_error_max"]
    angle = "" if turned is None else f" and {number(math.degrees(turned))}°"
    return f"up to {error[0]} mm{angle}, {error[1]} mm rms"


def _force_words(hand: float | None, contact: float | None) -> str:
    """The largest forces; a rig may measure them at neither end, or at one."""
    if hand is None and contact is None:
        return "measured nowhere: this rig has no force sensor"
    ends = (("at the hand", hand), ("at the contact", contact))
    return "up to " + ", ".join(
        f"{number(force)} N {end}" for end, force in ends if force is not None
    )


def _energy_words(result: Result, m: Numbers) -> str:
    given = [
        v["value"] or 0.0
        for name, v in result["metrics"].items()
        if name.startswith("energy_hand_on_")
    ]
    hand = f"{number(sum(given))} J from the hand, " if given else ""
    # the coupling's books are of what it asked for, not of what the arms could do
    cut = m["torque_cut_ticks"]
    asked = f" as asked for, torques were cut in {cut:.0f} ticks" if cut else ""
    words = f"{hand}{number(m['energy_into_coupling'])} J into the coupling{asked}"
    error = m["energy_balance_error"]
    if error is None:
        return words
    return f"{words}; balances to {'0.01' if error < 1e-4 else number(100 * error)} %"


def show(rig: Rig, result: Result, outcome: RunOutcome) -> None:
    """Print a run for a person."""
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    title = Text(f"{result['rig']} · {result['law']} · {result['scenario']}", "bold")
    title.append(f"   {_pace(rig, outcome)}", "not bold dim")
    console.print(title)
    table = Table.grid(padding=(0, 2))
    for topic, words in lines(result):
        table.add_row(Text(f"  {topic}", "cyan"), Text(words))
    table.add_row(Text("  tick", "cyan"), Text(tick_words(rig.session)))
    console.print(table)
    if rig.session.cycle is not None:
        show_timing(rig.session, outcome.grants)
    for words, style in _warnings(rig, result):
        console.print(Text(words, style), soft_wrap=True)


def _warnings(rig: Rig, result: Result) -> Iterator[tuple[str, str]]:
    """What a person should not overlook, each with its colour."""
    for trip in result["trips"]:
        yield f"{trip['where']} stopped at {trip['time']:.3f} s: {trip['reason']}", "bold red"
    for command in result["commands"]:
        if command["outcome"].startswith("refused"):
            yield (
                f"{command['command']} at {command['time']:g} s was {command['outcome']}",
                "yellow",
            )
    if rig.metrics.history.lost:
        yield (
            f"{rig.metrics.history.lost} telemetry records came too fast for the metrics",
            "yellow",
        )


def _pace(rig: Rig, outcome: RunOutcome) -> str:
    ran = f"{outcome.seconds:g} s{' until interrupted' if outcome.interrupted else ''}"
    if rig.session.clock.name == "wall":
        behind = 1e-9 * rig.session.clock.late_ns
        slow = f", {number(behind)} s behind: {slow_words(rig.session)}"
        return f"{ran} in real time{slow if behind > 0.01 * outcome.seconds else ''}"
    return (
        f"{ran} in {number(outcome.wall)} s, {number(outcome.seconds / outcome.wall)} × real time"
    )


# One side's run in numbers: as JSON for programs and as a few lines for people.


def result_of_side(rig: Rig, line: Line, outcome: RunOutcome) -> Result:
    """Everything one side's run is judged by."""
    result = result_of(rig, outcome)
    link = {"agreed": line.agreed, "refusal": line.refusal, "peer_starts": line.generation}
    return {
        **result,
        "side": rig.options.side,
        "link": {**link, "datagrams": asdict(line.seal.counts)},
    }


def side_lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know, as (topic, words)."""
    m, side = Numbers(result), result["side"]
    felt = "hand" if side == "leader" else "contact"
    error, turned = number(1e3 * (m["tracking_error_max"] or 0.0)), m["rotation_error_max"] or 0.0
    known = f"up to {error} mm and {number(math.degrees(turned))}° as this side knows it"
    yield "tracking", result["never_coupled"] or known
    yield "force", f"up to {number(m[f'{felt}_force_max'])} N at the {felt}"
    yield "energy", f"{number(m['energy_into_coupling'])} J into the coupling at this side"
    yield "coupled", f"{number(100 * (m['coupled_share'] or 0.0))} % of the time"
    trip, age = (1e3 * (m[f"link_{name}"] or 0.0) for name in ("round_trip_rms", "age_mean"))
    lost, oldest = number(100 * (m["link_loss"] or 0.0)), m["link_age_max"]
    most = "" if oldest is None else f", {number(1e3 * oldest)} ms at most while coupled"
    yield "link", f"round trip {number(trip)} ms, {lost} % lost, {number(age)} ms old{most}"
    offset = m["clock_offset"]
    yield (
        "clock",
        "not compared"
        if offset is None
        else f"the other side's is {1e3 * offset:+.3f} ms ahead of this one",
    )
    counts = result["link"]["datagrams"]
    refused = ", ".join(
        f"{count} {what}" for what, count in counts.items() if count and what != "opened"
    )
    yield "datagrams", f"{counts['opened']} opened{f', {refused}' if refused else ''}"


def show_side(rig: Rig, result: Result, outcome: RunOutcome) -> None:
    """Print one side's run for a person."""
    ran = f"{outcome.seconds:g} s{' until interrupted' if outcome.interrupted else ''}"
    title = f"{result['rig']} {result['side']} · {result['law']} · layer {result['layer']}   {ran}"
    show_values(title, side_lines(result))
    show_timing(rig.session, outcome.grants)
    console = stdout()
    for trip in result["trips"]:
        words = f"{trip['where']} stopped at {trip['time']:.3f} s: {trip['reason']}"
        console.print(words, style="bold red", soft_wrap=True, markup=False)
    for command in result["commands"]:
        if command["outcome"].startswith("refused"):
            words = f"{command['command']} at {command['time']:g} s was {command['outcome']}"
            console.print(words, style="yellow", soft_wrap=True, markup=False)
