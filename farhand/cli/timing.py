"""Timing of a run on the wall clock: how late its ticks were, where their time went, and what the system granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from farhand.cli.output import stdout
from farhand.cli.running import Outcome
from farhand.cli.teamsummary import number
from farhand.realtime import Grant
from farhand.session import Session

COLUMNS = {"p50": "median", "p99": "p99", "p999": "p99.9", "max": "max"}


def timing_result(session: Session, outcome: Outcome) -> dict[str, Any]:
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
        timing |= {f"lateness_{name}": (value, "s") for name, value in session.cycle.late.summary().items()}
        sections = session.cycle.sections()
    return {
        "timing": {name: {"value": value, "unit": unit} for name, (value, unit) in timing.items()},
        "sections": sections,
        "privileges": [{"name": g.name, "had": g.had, "what": g.what, "cure": g.cure} for g in outcome.grants],
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
    return {"median": float(np.median(took)), "p99": float(np.percentile(took, 99)), "max": float(took.max())}


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
    rows |= {f"  {name}": values for name, values in session.cycle.sections().items() if name != "physics"}
    rows |= {f"{name} (simulated)": v for name, v in session.cycle.sections().items() if name == "physics"}
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
            console.print(Text(f"  lost: {grant.name} is {grant.what}; {grant.cure}", "yellow"), soft_wrap=True)


def _micro(value: float | None) -> str:
    return "–" if value is None else number(1e6 * value)
