"""A run in numbers: as JSON for programs and as a few lines for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from farhand.cli.output import stdout
from farhand.cli.running import Outcome
from farhand.cli.teamsummary import Numbers, is_team, number, team_headline, team_lines
from farhand.cli.timing import show_timing, slow_words, tick_words, timing_result
from farhand.rigs import Rig

Result = dict[str, Any]


def result_of(rig: Rig, outcome: Outcome) -> Result:
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
            {"where": r.where, "time": r.trip.time_ns / 1e9, "kind": r.trip.kind, "reason": r.trip.reason}
            for r in session.trips
        ],
        "events": [{"time": t_ns / 1e9, "text": text} for t_ns, text in rig.metrics.history.events],
        "metrics": rig.metrics.result(),
        "rates": _rates(rig, outcome.seconds),
        "commands": [
            {"time": c.time_ns / 1e9, "tick": c.tick, "command": str(c.request), "outcome": c.outcome}
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
    tried = [command for command in result["commands"] if command["command"] in ("engage", "declutch")]
    if tried:
        return f"never coupled: {tried[-1]['command']} at {tried[-1]['time']:g} s, {tried[-1]['outcome']}"
    return "never coupled: no engage was carried out"


def _rates(rig: Rig, seconds: float) -> dict[str, float]:
    """How often each part really ran, [Hz]; a station senses and acts at one rate."""
    session = rig.session
    names = [station.name for station in session.stations]
    names += ["coupling" if len(session.bridges) == 1 else f"coupling_{i + 1}" for i in range(len(session.bridges))]
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
    behind = f"The follower is at most {number(1e3 * (metrics['tracking_error_max'] or 0.0))} mm off"
    felt, contact = metrics["reflection_in_contact"], metrics["contact_force_max"]
    if felt is not None:
        return f"{behind}, and the hand feels {number(100 * felt)} % of the contact force"
    if contact is None:
        return f"{behind}; no sensor tells what it touches"
    return f"{behind} and touches nothing" if contact < 1.0 else f"{behind} and touches with up to {number(contact)} N"


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
        age, oldest, trip = (1e3 * (m[name] or 0.0) for name in ("link_age_mean", "link_age_max", "link_round_trip"))
        lost = number(100 * (m["link_loss"] or 0.0))
        yield "link", f"{number(age)} ms old, {number(oldest)} ms at most; round trip {number(trip)} ms; {lost} % lost"


def _tracking_words(m: Numbers) -> str:
    error = [number(1e3 * (m[name] or 0.0)) for name in ("tracking_error_max", "tracking_error_rms")]  # [mm]
    turned = m["rotation_error_max"]
    angle = "" if turned is None else f" and {number(math.degrees(turned))}°"
    return f"up to {error[0]} mm{angle}, {error[1]} mm rms"


def _force_words(hand: float | None, contact: float | None) -> str:
    """The largest forces; a rig may measure them at neither end, or at one."""
    if hand is None and contact is None:
        return "measured nowhere: this rig has no force sensor"
    ends = (("at the hand", hand), ("at the contact", contact))
    return "up to " + ", ".join(f"{number(force)} N {end}" for end, force in ends if force is not None)


def _energy_words(result: Result, m: Numbers) -> str:
    given = [v["value"] or 0.0 for name, v in result["metrics"].items() if name.startswith("energy_hand_on_")]
    hand = f"{number(sum(given))} J from the hand, " if given else ""
    cut = m["torque_cut_ticks"]  # the coupling's books are of what it asked for, not of what the arms could do
    asked = f" as asked for, torques were cut in {cut:.0f} ticks" if cut else ""
    words = f"{hand}{number(m['energy_into_coupling'])} J into the coupling{asked}"
    error = m["energy_balance_error"]
    if error is None:
        return words
    return f"{words}; balances to {'0.01' if error < 1e-4 else number(100 * error)} %"


def show(rig: Rig, result: Result, outcome: Outcome) -> None:
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
            yield f"{command['command']} at {command['time']:g} s was {command['outcome']}", "yellow"
    if rig.metrics.history.lost:
        yield f"{rig.metrics.history.lost} telemetry records came too fast for the metrics", "yellow"


def _pace(rig: Rig, outcome: Outcome) -> str:
    ran = f"{outcome.seconds:g} s{' until interrupted' if outcome.interrupted else ''}"
    if rig.session.clock.name == "wall":
        behind = 1e-9 * rig.session.clock.late_ns
        slow = f", {number(behind)} s behind: {slow_words(rig.session)}"
        return f"{ran} in real time{slow if behind > 0.01 * outcome.seconds else ''}"
    return f"{ran} in {number(outcome.wall)} s, {number(outcome.seconds / outcome.wall)} × real time"
