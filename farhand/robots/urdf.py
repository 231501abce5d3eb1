"""What a URDF says about its joints and MuJoCo does not keep: speed limits, and limits that make no sense."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from farhand.errors import ModelError
from farhand.robots.model_file import one_line


@dataclass(frozen=True)
class Stated:
    """The ``<limit>`` of one joint as it is written; None where the attribute is missing.

    Attributes:
        lower: smallest position, [rad or m].
        upper: largest position, [rad or m].
        velocity: largest speed, [rad/s or m/s].
        effort: largest effort, [N·m or N].
    """

    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None


def is_urdf(path: Path) -> bool:
    """Whether the file holds a URDF, whatever its name ends in."""
    return _root(path) is not None


def stated_limits(path: Path) -> dict[str, Stated]:
    """The limits in a URDF by joint; empty for any other file.

    Raises:
        ModelError: a limit is a word, not a number.
    """
    root = _root(path)
    joints = (
        [] if root is None else [(joint, joint.find("limit")) for joint in root.findall("joint")]
    )
    found = {}
    for joint, limit in joints:
        name = joint.get("name", "")
        if limit is None:
            continue
        try:
            texts = {key: limit.get(key) for key in ("lower", "upper", "velocity", "effort")}
            found[name] = Stated(
                **{key: None if text is None else float(text) for key, text in texts.items()}
            )
        except ValueError as error:
            raise ModelError(f"{path}: limit of joint {name}: {one_line(error)}") from None
    return found


def _root(path: Path) -> ElementTree.Element | None:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        if path.suffix.lower() != ".urdf":
            return None  # MuJoCo is more lenient about XML
        raise ModelError(f"{path}: {one_line(error)}") from None
    return root if root.tag == "robot" else None
