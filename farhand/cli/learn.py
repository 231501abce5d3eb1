"""``farhand learn``: a skill from recorded demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.errors import BadValue, UnknownName
from farhand.report.output import check_files, counting, say, stdout, write_json

if TYPE_CHECKING:
    from farhand.learning.demonstration import Demonstration
    from farhand.learning.skill import Skill

Name = Annotated[
    str, Argument(metavar="SKILL", help="Its name; dmp, promp or way-points set the method.")
]
Demonstrations = Annotated[
    list[Path],
    Argument(metavar="DEMOS…", help="Recordings with demonstrations, at least five in all."),
]
Out = Annotated[Path, Option("--out", metavar="SKILL.npz", help="Where the skill goes.")]
Method = Annotated[
    str | None,
    Option("--method", metavar="dmp|promp|way-points", help="How to learn; default: dmp."),
]
WAY_POINTS = "way-points"
Station = Annotated[str, Option("--station", metavar="NAME", help="Whose tool was taught.")]


def learn(
    skill: Name,
    demonstrations: Demonstrations,
    out: Out,
    method: Method = None,
    station: Station = "follower",
    json: JsonPath = None,
) -> None:
    """Learn a skill from recordings: its movement, its forces and how they vary.

    Demonstrations are what lies between demonstration.active=true and =false in a recording, or all
    of it. With the method way-points only the place where each one ends is kept, in a text file.

    Example: [bold]farhand learn wipe wipe-*.mcap --out wipe.npz[/bold]
    """
    check_files(out, json, read=demonstrations)
    from farhand.learning import METHODS, demonstrations_in
    from farhand.learning import learn as learn_from
    from farhand.recording.loader import load

    known = (*METHODS, WAY_POINTS)
    chosen = method or (skill if skill in known else "dmp")
    if chosen not in known:
        raise UnknownName("method", chosen, known)
    _check_once(demonstrations)
    taught: list[Demonstration] = []
    with counting("reading") as progress:
        for done, path in enumerate(demonstrations):
            progress(done, len(demonstrations), path.name)
            taught += demonstrations_in(load(path), station)
    if chosen == WAY_POINTS:
        _write_points(taught, out, json)
        return
    learnt = learn_from(skill, taught, chosen)
    learnt.save(out)
    write_json(json, summary(learnt))
    _show(learnt, out)


def _check_once(paths: list[Path]) -> None:
    """Refuse a recording that is given twice: its demonstrations would count twice."""
    seen: set[Path] = set()
    for path in (path.resolve() for path in paths):
        if path in seen:
            raise BadValue(f"{path.name} is given twice: every demonstration counts once")
        seen.add(path)


def _write_points(taught: list[Demonstration], out: Path, json: Path | None) -> None:
    from farhand.learning.waypoints import points_of, write_points

    points = points_of(taught)
    write_points(out, points)
    write_json(json, [{"chain": point.chain, "position": list(point.position)} for point in points])
    say(f"{len(points)} way-points of {taught[0].robot}: {out}")


def summary(skill: Skill) -> dict[str, object]:
    """A skill in facts, for JSON."""
    facts = skill.facts
    robot = {**vars(facts.robot), "joints": list(facts.robot.joints)}
    known = {key: value for key, value in vars(facts).items() if key != "settings"}
    return {**known, "robot": robot, "sources": list(facts.sources), "threshold": skill.threshold}


def _show(skill: Skill, out: Path) -> None:
    facts, console = skill.facts, stdout()
    source = f"{facts.demonstrations} demonstrations of {facts.robot}"
    console.print(f"{facts.name} ({facts.method}) from {source}")
    spread = f"demonstrations differ by {1e3 * facts.deviation:.1f} mm from their mean"
    console.print(f"takes {facts.duration:.2f} s; {spread}")
    if facts.force_kind == "none":
        console.print("no force: the skill is a movement alone")
    elif facts.contact_share:
        force = f"{facts.force_mean:.1f} N ({facts.force_kind})"
        console.print(f"in contact {facts.contact_share:.0%} of the time with {force}")
    for note in facts.notes:
        say(f"note: {note}", style="yellow")
    say(f"skill: {out}")
