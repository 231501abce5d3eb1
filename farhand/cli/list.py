"""``farhand list``: the names that other commands take."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import Any

from farhand.cli.options import JsonPath
from farhand.report.output import check_file, note, stdout, write_json

LISTINGS = "farhand.listings"
"""Entry-point group of further sections: functions that return rows."""

Rows = list[dict[str, Any]]


def list_names(json: JsonPath = None) -> None:
    """List rigs, scenarios, plants, robots, laws, layers, friction models and experiments.

    Example: [bold]farhand list[/bold]
    """
    check_file(json)
    names = {
        "rigs": _rigs(),
        "plants": _plants(),
        "robots": _robots(),
        "laws": _laws(),
        "layers": _layers(),
        "friction": _friction(),
        "experiments": [],
        **_listings(),
    }
    write_json(json, names)
    _show(names)


def _listings() -> dict[str, Rows]:
    """The sections that other packages bring."""
    sections: dict[str, Rows] = {}
    for point in entry_points(group=LISTINGS):
        try:
            sections[point.name] = point.load()()
        except ImportError as error:
            note(f"{point.name} cannot be listed: {error}")
    return sections


def _rigs() -> Rows:
    from farhand.rigs.rig import rig_names, rig_title, scenarios_of

    return [
        {
            "name": name,
            "title": rig_title(name),
            "scenarios": [
                {"name": s.name, "title": s.title, "seconds": s.seconds}
                for s in scenarios_of(name).values()
            ],
        }
        for name in rig_names()
    ]


def _plants() -> Rows:
    from farhand.rigs.external_plants import plants

    return [{"name": name, "title": _summary(kind)} for name, kind in plants()]


def _robots() -> Rows:
    from farhand.robots import load_robot, robot_names

    return [
        {"name": r.name, "title": r.description, "variants": [v for v in r.variants if v]}
        for r in map(load_robot, robot_names())
    ]


def _laws() -> Rows:
    from farhand.coupling import every_law

    return [
        {
            "name": name,
            "title": _headline(law),
            "needs": sorted(law.needs),
            "properties": sorted(law.properties),
        }
        for name, law in every_law().items()
    ]


def _layers() -> Rows:
    from farhand.link.layers import every_layer

    return [
        {"name": name, "title": _summary(layer), "needs": sorted(layer.needs)}
        for name, layer in every_layer().items()
    ]


def _friction() -> Rows:
    from farhand.friction import FRICTIONS

    return [{"name": name, "title": _summary(model)} for name, model in FRICTIONS.items()]


def _summary(part: type) -> str:
    """The first line of a class."""
    return (part.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def _headline(part: type) -> str:
    """What follows the name of a law in the first line of its file."""
    first = (sys.modules[part.__module__].__doc__ or "").strip().partition("\n")[0]
    return first.partition(": ")[2] or first


def _show(names: dict[str, Rows]) -> None:
    console = stdout()
    scenarios = [
        (f"{rig['name']} --scenario {s['name']}", f"{s['title']} ({s['seconds']:g} s)")
        for rig in names["rigs"]
        for s in rig["scenarios"]
    ]
    experiments = [(f"{e['rig']}/{e['id']}", e["title"]) for e in names["experiments"]]
    for heading, rows in (
        ("Rigs", _titles(names["rigs"])),
        ("Scenarios", scenarios),
        ("Laws", _titles(names["laws"])),
        ("Layers", _titles(names["layers"])),
        ("Friction models", _titles(names["friction"])),
        ("Plants, for --leader and --follower", _titles(names["plants"])),
        ("Robots", _titles(names["robots"])),
        ("Experiments", experiments),
    ):
        if rows:
            console.print(f"\n[bold]{heading}[/bold]")
            console.print(_table(rows))


def _titles(rows: Rows) -> list[tuple[str, str]]:
    return [(row["name"], row["title"]) for row in rows]


def _table(rows: list[tuple[str, str]]) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, title in rows:
        table.add_row(Text(f"  {name}", style="cyan"), Text(title))
    return table
