"""Which arms there are, and which follows which: a small TOML file, or the command line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from farhand.coupling.port import SPACES
from farhand.errors import BadValue, FileError, UnknownName

Base = tuple[float, float, float]
"""Where a robot stands, [m]."""

MOST_ARMS = 16
FOLLOWERS = ("follower", "followers")
KEYS = ("name", "leader", "follower", "law", "space", "leader_base", "follower_base")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True)
class PairSpec:
    """A leader and its followers."""

    name: str = ""  #: before the names of its arms; empty where there is only one pair
    leader: str = "so101-leader"  #: a robot, or NAME:ADDRESS
    follower: tuple[str, ...] = ("so101",)  #: likewise
    law: str | None = None  #: that couples them; the run's own by default
    space: str = "joints"  #: what is coupled
    leader_base: Base | None = None  #: where it stands; beside the pair before by default
    follower_base: tuple[Base, ...] = ()  #: likewise, one for each

    @property
    def leader_name(self) -> str:
        """Of the leader's station."""
        return f"{self.name}-leader" if self.name else "leader"

    def follower_name(self, number: int) -> str:
        """Of a follower's station, from 0."""
        name = f"{self.name}-follower" if self.name else "follower"
        return f"{name}-{number + 1}" if number else name


def like_pairs(
    count: int, leader: str | None, followers: Sequence[str], space: str | None
) -> tuple[PairSpec, ...]:
    """A number of pairs of the same arms; two are named left and right."""
    names = {1: [""], 2: ["left", "right"]}.get(count) or [f"pair{k + 1}" for k in range(count)]
    chosen: dict[str, Any] = {"leader": leader, "follower": tuple(followers), "space": space}
    chosen = {key: value for key, value in chosen.items() if value}
    return check([PairSpec(name, **chosen) for name in names], "--pairs")


def read(path: Path) -> tuple[PairSpec, ...]:
    """The pairs that a TOML file describes.

    Raises:
        FileError: it cannot be read.
        BadValue: it does not say what it must; the message names file and key.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadValue(f"{path} is not TOML: {' '.join(str(error).split())}") from None
    return specs_of(table, str(path))


def to_text(pairs: Sequence[PairSpec]) -> str:
    """The pairs as one line, for a setting that recordings keep."""
    return json.dumps({"pair": [_given(pair) for pair in pairs]})


def from_text(text: str) -> tuple[PairSpec, ...]:
    """The pairs of :func:`to_text`; two of the default arms for no text."""
    if not text:
        return like_pairs(2, None, (), None)
    try:
        table = json.loads(text)
    except ValueError:
        raise BadValue("rig.layout is not JSON; name a TOML file instead") from None
    return specs_of(table, "rig.layout")


def specs_of(table: Any, where: str) -> tuple[PairSpec, ...]:
    """The pairs of a parsed file."""
    rows = table.get("pair") if isinstance(table, dict) else None
    for key in table if isinstance(table, dict) else ():
        if key != "pair":
            raise UnknownName(f"key of {where}", key, ["pair"])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or not rows:
        raise BadValue(f"{where} has no pairs: begin each with a line [[pair]]")
    return check([_spec(row, f"{where}: pair {k + 1}") for k, row in enumerate(rows)], where)


def check(pairs: Sequence[PairSpec], where: str) -> tuple[PairSpec, ...]:
    """Refuse pairs whose arms would have no names of their own, and too many."""
    names = [pair.name for pair in pairs]
    if len(pairs) > 1 and "" in names:
        raise BadValue(f"{where}: pair {names.index('') + 1} has no name, and there are several")
    for name in names:
        if names.count(name) > 1:
            raise BadValue(f"{where}: two pairs are named {name!r}")
    arms = sum(1 + len(pair.follower) for pair in pairs)
    if arms > MOST_ARMS:
        raise BadValue(f"{where}: {arms} arms; a session has at most {MOST_ARMS}")
    return tuple(pairs)


def _given(pair: PairSpec) -> dict[str, Any]:
    """What differs from the defaults."""
    plain = {field.name: field.default for field in fields(PairSpec)}
    return {key: value for key, value in asdict(pair).items() if value != plain[key]}


def _spec(row: dict[str, Any], where: str) -> PairSpec:
    for key in row:
        if key not in KEYS:
            raise UnknownName(f"key of {where}", key, KEYS)
    found: dict[str, Any] = {}
    for key in ("name", "leader", "law", "space"):
        if key in row:
            found[key] = _text(row[key], f"{where}: {key}")
    if "name" in found and not _NAME.fullmatch(found["name"]):
        raise BadValue(f"{where}: name {found['name']!r} must be a letter, then letters or digits")
    if found.get("space", SPACES[0]) not in SPACES:
        raise UnknownName(f"space of {where}", found["space"], SPACES)
    if "follower" in row:
        names = row["follower"] if isinstance(row["follower"], list) else [row["follower"]]
        if not names:
            raise BadValue(f"{where}: follower names no arm")
        found["follower"] = tuple(_text(name, f"{where}: follower") for name in names)
    if "leader_base" in row:
        found["leader_base"] = _base(row["leader_base"], f"{where}: leader_base")
    if "follower_base" in row:
        count = len(found.get("follower", PairSpec.follower))
        bases = row["follower_base"]
        nested = isinstance(bases, list) and bases and isinstance(bases[0], list)
        bases = bases if nested else [bases]
        if len(bases) != count:
            raise BadValue(f"{where}: {len(bases)} follower_base for {count} followers")
        found["follower_base"] = tuple(_base(one, f"{where}: follower_base") for one in bases)
    return PairSpec(**found)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadValue(f"{where} = {value!r} must be a text")
    return value


def _base(value: Any, where: str) -> Base:
    numbers = isinstance(value, list) and len(value) == 3
    if not numbers or not all(type(one) in (int, float) and abs(one) < 100.0 for one in value):
        raise BadValue(f"{where} = {value!r} must be three numbers in m, such as [0.0, 0.5, 0.0]")
    return (float(value[0]), float(value[1]), float(value[2]))
