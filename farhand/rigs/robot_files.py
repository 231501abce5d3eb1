"""Robot files: which ones a rig's robots were read from; a re-run finds them again and knows if they have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from farhand.rigs.rig import Rig
from farhand.robots import Robot
from farhand.robots.description import find_description
from farhand.robots.robot import FOLDER

Files = Mapping[str, Mapping[str, str]]
"""By robot: ``file`` and ``hash``."""

Settings = list[tuple[str, object]]


def files_of(rig: Rig) -> dict[str, dict[str, str]]:
    """The model file of every robot of a rig that has one, and a hash of it and of the toml beside it.

    A user's own file is told with its whole path; one that comes with the package by its name.
    """
    robots = {name: placed.robot for name, placed in rig.world.placed.items() if placed.robot.source.is_file()}
    return {name: {"file": _told(robot), "hash": _hash(robot)} for name, robot in robots.items()}


def changed_files(rig: Rig, recorded: Files) -> list[str]:
    """Robots whose files are not the recorded ones, as ``leader: arm.xml``; what is not recorded is not compared."""
    now = files_of(rig)
    return [f"{n}: {now[n]['file']}" for n, then in recorded.items() if n in now and now[n]["hash"] != then["hash"]]


def find_files(settings: Settings, recorded: Files) -> Settings:
    """Settings with the recorded place of each robot file that is not found from the present folder.

    Args:
        settings: parameter paths and values of a recording.
        recorded: :func:`files_of` its rig.
    """
    return [(path, _found(path, value, recorded)) for path, value in settings]


def _found(path: str, value: object, recorded: Files) -> object:
    there = Path(recorded.get(path.removeprefix("rig.").removesuffix("_robot"), {}).get("file", ""))
    if not path.endswith("_robot") or Path(str(value)).exists() or not there.is_absolute():
        return value
    return str(there) if there.is_file() else value


def _told(robot: Robot) -> str:
    source = robot.source.resolve()
    return robot.name if source.is_relative_to(FOLDER.resolve()) else str(source)


def _hash(robot: Robot) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in (robot.source, find_description(robot.source)):
        if path is not None:
            content = path.read_bytes()
            digest.update(f"{len(content)}:".encode())
            digest.update(content)
    return digest.hexdigest()
