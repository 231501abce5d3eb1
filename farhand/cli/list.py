"""``farhand list``: the names that other commands take."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from farhand.report.output import JsonPath, check_file, stdout, write_json


def list_names(json: JsonPath = None) -> None:
    """List rigs with their scenarios, robots, coupling laws, layers, friction models and experiments.

    Example: [bold]farhand list[/bold]
    """
    check_file(json)
    found = {
        "rigs": _rigs(),
        "robots": _robots(),
        "laws": _laws(),
        "layers": _layers(),
        "friction": _friction(),
        "experiments": _experiments(),
    }
    write_json(json, found)
    _show(found)


def _rigs() -> list[dict[str, Any]]:
    from farhand.rigs import rig_names, rig_title

    return [
        {"name": name, "title": rig_title(name), "scenarios": _scenarios(name)}
        for name in rig_names()
    ]


def _scenarios(rig: str) -> list[dict[str, Any]]:
    scenarios = importlib.import_module(f"farhand.rigs.{rig.replace('-', '_')}").SCENARIOS.values()
    return [{"name": s.name, "title": s.title, "seconds": s.seconds} for s in scenarios]


def _robots() -> list[dict[str, Any]]:
    from farhand.robots import load_robot, robot_names

    robots = map(load_robot, robot_names())
    return [
        {"name": r.name, "title": r.description, "variants": [v for v in r.variants if v]}
        for r in robots
    ]


def _laws() -> list[dict[str, Any]]:
    from farhand.coupling import LAWS

    return [
        {
            "name": name,
            "title": _headline(law),
            "needs": sorted(law.needs),
            "properties": sorted(law.properties),
        }
        for name, law in LAWS.items()
    ]


def _layers() -> list[dict[str, Any]]:
    from farhand.link.layers import LAYERS

    return [
        {"name": name, "title": _headline(layer), "needs": sorted(layer.needs)}
        for name, layer in LAYERS.items()
    ]


def _friction() -> list[dict[str, Any]]:
    from farhand.friction import FRICTIONS

    titles = {
        name: (model.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        for name, model in FRICTIONS.items()
    }
    return [{"name": name, "title": title} for name, title in titles.items()]


def _headline(law: type) -> str:
    """What follows the name of a law or a layer in the first line of its file."""
    first = (sys.modules[law.__module__].__doc__ or "").strip().partition("\n")[0]
    return first.partition(": ")[2] or first


def _experiments() -> list[dict[str, Any]]:
    from farhand_lab import harness

    return [
        {"rig": group, "id": e.id, "name": e.name, "title": e.title}
        for group in harness.groups()
        for e in harness.experiments_of(group)
    ]


def _show(found: dict[str, list[dict[str, Any]]]) -> None:
    console = stdout()
    scenarios = [
        {"name": s["name"], "title": f"{s['title']} ({s['seconds']:g} s)", "of": rig["name"]}
        for rig in found["rigs"]
        for s in rig["scenarios"]
    ]
    for heading, rows in (
        ("Rigs", [(r["name"], r["title"]) for r in found["rigs"]]),
        ("Scenarios", [(f"{s['of']} --scenario {s['name']}", s["title"]) for s in scenarios]),
        ("Laws", [(law["name"], law["title"]) for law in found["laws"]]),
        ("Layers", [(layer["name"], layer["title"]) for layer in found["layers"]]),
        ("Friction models", [(model["name"], model["title"]) for model in found["friction"]]),
        ("Robots", [(r["name"], r["title"]) for r in found["robots"]]),
        ("Experiments", [(f"{e['rig']}/{e['id']}", e["title"]) for e in found["experiments"]]),
    ):
        if rows:
            console.print(f"\n[bold]{heading}[/bold]")
            console.print(_rows(rows))


def _rows(rows: list[tuple[str, str]]) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, title in rows:
        table.add_row(Text(f"  {name}", style="cyan"), Text(title))
    return table
