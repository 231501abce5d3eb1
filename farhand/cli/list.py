"""``farhand list``: the names that other commands take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any

from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.errors import BadValue, UnknownName
from farhand.report.output import Bar, check_file, note, say, stdout, two_columns, write_json

LISTINGS = "farhand.listings"
"""Entry-point group of further sections: functions that return rows."""

HEADINGS = {
    "rigs": "Rigs",
    "scenarios": "Scenarios, for --scenario",
    "laws": "Laws, for --law",
    "layers": "Layers, for --layer",
    "tasks": "Tasks, for --task",
    "operators": "Operators, for --operator",
    "friction": "Friction models",
    "plants": "Plants, for --leader and --follower",
    "robots": "Robots",
    "experiments": "Experiments, for farhand reproduce",
}
PARAMETERS = "parameters"
OF_A_RIG = ("scenarios", "experiments", PARAMETERS)
"""Sections that the name of a rig may narrow down."""

Rows = list[dict[str, Any]]
Lines = list[tuple[str, str]]

Section = Annotated[
    str | None, Argument(metavar="[WHAT]", help=f"One of {', '.join([*HEADINGS, PARAMETERS])}.")
]
Rig = Annotated[
    str | None, Argument(metavar="[RIG]", help=f"For {', '.join(OF_A_RIG)}: of which rig.")
]
Search = Annotated[
    str | None, Option(metavar="WORD", help="Only what has this word in its name or description.")
]


def list_names(
    what: Section = None, rig: Rig = None, search: Search = None, json: JsonPath = None
) -> None:
    """List rigs, scenarios, plants, robots, laws, layers, friction models and experiments.

    Without arguments it prints an overview; name a section, or search, for the descriptions.

    Example: [bold]farhand list laws[/bold], [bold]farhand list parameters dual-arm[/bold],
    [bold]farhand list --search wall[/bold]
    """
    check_file(json)
    _check(what, rig)
    if what == PARAMETERS:
        return _list_parameters(rig, search, json)
    with Bar("looking for names"):
        names = _names("rigs" if what == "scenarios" else what)
    write_json(json, names if what is None else {what: _rows(names, what, rig)})
    if what is None and search is None:
        _show_overview(names)
        return None
    chosen = [what] if what else list(HEADINGS) + [name for name in names if name not in HEADINGS]
    sections = {name: _found(_lines(names, name, rig), search) for name in chosen}
    _show({name: rows for name, rows in sections.items() if rows})
    if search is not None and not any(sections.values()):
        say(f"nothing has {search!r} in its name or description")
    return None


def _check(what: str | None, rig: str | None) -> None:
    from farhand.rigs.rig import rig_names

    if what is None:
        return
    known = [*HEADINGS, PARAMETERS, *(point.name for point in entry_points(group=LISTINGS))]
    if what not in known:
        raise UnknownName("section", what, list(dict.fromkeys(known)))
    if what == PARAMETERS and rig is None:
        raise BadValue("parameters belong to a rig, such as: farhand list parameters dual-arm")
    if rig is None:
        return
    if what not in OF_A_RIG:
        raise BadValue(f"{what} are the same for every rig; leave out {rig!r}")
    if what != "experiments" and rig not in rig_names():
        raise UnknownName("rig", rig, rig_names())


def _list_parameters(rig: str | None, search: str | None, json: JsonPath) -> None:
    from farhand.cli.run import list_parameters
    from farhand.rigs import Options, build_rig

    assert rig is not None  # _check looked
    built = build_rig(rig, Options())
    try:
        list_parameters(built, json, search)
    finally:
        built.close()


def _names(section: str | None) -> dict[str, Rows]:
    """The rows of one section, or of all."""
    own = {"rigs": _rigs, "plants": _plants, "robots": _robots}
    own |= {"laws": _laws, "layers": _layers, "friction": _friction, "experiments": list}
    own |= {"tasks": _tasks, "operators": _operators}
    names = {name: rows() for name, rows in own.items() if section in (None, name)}
    return names | _listings(section)


def _listings(section: str | None) -> dict[str, Rows]:
    """The sections that other packages bring."""
    sections: dict[str, Rows] = {}
    for point in entry_points(group=LISTINGS):
        if section not in (None, point.name):
            continue
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


def _tasks() -> Rows:
    from farhand.tasks import TASKS

    return [{"name": name, "title": task.title} for name, task in TASKS.items()]


def _operators() -> Rows:
    from farhand.tasks import named

    return [
        {
            "name": name,
            "title": f"reacts in {numbers['reaction']:g} s, {numbers['stiffness']:g} N/m",
        }
        for name, numbers in named().items()
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


def _rows(names: dict[str, Rows], section: str, rig: str | None) -> Rows:
    """The rows of a section, of one rig or of all."""
    if section == "scenarios":
        return [
            {"rig": row["name"], **scenario}
            for row in names["rigs"]
            for scenario in row["scenarios"]
            if rig in (None, row["name"])
        ]
    return [row for row in names[section] if rig in (None, row.get("rig"))]


def _lines(names: dict[str, Rows], section: str, rig: str | None) -> Lines:
    """Name and description of everything in a section."""
    rows = _rows(names, section, rig)
    if section == "experiments" and rig and not rows:
        raise UnknownName("rig", rig, dict.fromkeys(row["rig"] for row in names[section]))
    if section == "scenarios":
        return [(f"{s['rig']} {s['name']}", f"{s['title']} ({s['seconds']:g} s)") for s in rows]
    if section == "experiments":
        return [(f"{row['rig']}/{row['id']}", row["title"]) for row in rows]
    return [(row["name"], row["title"]) for row in rows]


def _found(rows: Lines, word: str | None) -> Lines:
    return [row for row in rows if word is None or word.lower() in " ".join(row).lower()]


def _show(sections: dict[str, Lines]) -> None:
    console = stdout()
    for name, rows in sections.items():
        console.print(f"\n[bold]{HEADINGS.get(name, name.capitalize())}[/bold]")
        console.print(two_columns(rows))


def _show_overview(names: dict[str, Rows]) -> None:
    """The names of everything, and how to see more; the descriptions of the rigs only."""
    console = stdout()
    _show({"rigs": _lines(names, "rigs", None)})
    for section in ("laws", "layers", "friction", "plants", "robots"):
        console.print(f"\n[bold]{HEADINGS[section]}[/bold]")
        say(f"  {', '.join(row['name'] for row in names[section])}")
    console.print(f"\n[bold]{HEADINGS['scenarios']}[/bold]")
    scenarios = [(r["name"], ", ".join(s["name"] for s in r["scenarios"])) for r in names["rigs"]]
    console.print(two_columns(scenarios))
    counts = list(_counts(names["experiments"]))
    if counts:
        console.print(f"\n[bold]{HEADINGS['experiments']}[/bold]")
        say(f"  {', '.join(counts)}")
    console.print()
    say(
        "More: farhand list laws (or another of these words) for the descriptions, farhand list "
        "scenarios dual-arm, farhand list parameters dual-arm, farhand list --search wall"
    )


def _counts(experiments: Rows) -> Iterator[str]:
    """How many experiments each rig has."""
    for rig in dict.fromkeys(row["rig"] for row in experiments):
        count = sum(row["rig"] == rig for row in experiments)
        yield f"{count} of {rig}"
