"""One side's run in numbers: as JSON for programs and as a few lines for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from farhand.cli.output import show_values, stdout
from farhand.cli.running import Outcome
from farhand.cli.summary import result_of
from farhand.cli.teamsummary import Numbers, number
from farhand.cli.timing import show_timing
from farhand.link.line import Line
from farhand.rigs import Rig

Result = dict[str, Any]


def result_of_side(rig: Rig, line: Line, outcome: Outcome) -> Result:
    """Everything one side's run is judged by."""
    result = result_of(rig, outcome)
    link = {"agreed": line.agreed, "refusal": line.refusal, "peer_starts": line.generation}
    return {**result, "side": rig.options.side, "link": {**link, "datagrams": asdict(line.seal.counts)}}


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
    yield "clock", "not compared" if offset is None else f"the other side's is {1e3 * offset:+.3f} ms ahead of this one"
    counts = result["link"]["datagrams"]
    refused = ", ".join(f"{count} {what}" for what, count in counts.items() if count and what != "opened")
    yield "datagrams", f"{counts['opened']} opened{f', {refused}' if refused else ''}"


def show_side(rig: Rig, result: Result, outcome: Outcome) -> None:
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
