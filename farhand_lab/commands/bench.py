"""``farhand bench``: the benchmarks, beside their floors and peers."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from farhand.cli.options import JsonPath, Resume
from farhand.report.output import check_file, counting, show_table, write_json
from farhand.running import fill_cache

if TYPE_CHECKING:
    from rich.table import Table

Name = Annotated[
    str | None,
    Argument(metavar="[NAME]", help="One benchmark, such as tick/dual-arm; all by default."),
]


def bench(name: Name = None, json: JsonPath = None, resume: Resume = False) -> None:
    """Measure how fast this machine runs Farhand.

    Each value stands beside its floor, the cost of the bare library calls that it needs, and beside
    other software that does the same, all measured in the same run. Ctrl-C shows and keeps the
    finished ones, and --resume continues on the same machine with the same code.

    Example: [bold]farhand bench tick/dual-arm --json bench.json[/bold]
    """
    check_file(json)
    fill_cache.at_once()
    from farhand.loop.interrupts import ending_workers
    from farhand.running.resume import resumable

    with resumable("bench", {"machine": platform.node()}, resume, json, None) as finished:
        try:
            with ending_workers(), counting("measuring") as progress:
                from farhand_lab.benchmarks import run as measure

                results = measure(name, progress, finished)
        except KeyboardInterrupt:
            if finished.rows:
                show_table(_table(list(finished.rows.values())))
            raise
    write_json(json, results)
    show_table(_table(results))


def _table(results: list[dict[str, Any]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("benchmark", "value", "floor", "× floor", "peers"):
        table.add_column(header, justify="left" if header in ("benchmark", "peers") else "right")
    for row in results:
        peers = ", ".join(
            f"{peer} {_number(value)}{_share(row, peer)}"
            for peer, value in (row["peers"] or {}).items()
        )
        floor, ratio = _number(row["floor"]), _number(row["ratio_to_floor"])
        value = f"{_number(row['value'])} {row['unit']}{_share(row, 'farhand')}"
        table.add_row(row["name"], value, floor, ratio, peers)
    return table


def _share(row: dict[str, Any], who: str) -> str:
    """What part of its problems it solved, where that is not taken for granted."""
    solved = row.get("meta", {}).get(who, {}).get("solved")
    return "" if solved is None else f" ({100.0 * solved:.2f} %)"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
