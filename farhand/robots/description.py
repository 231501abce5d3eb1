"""The ``robot.toml`` beside a model: limits, home, postures, rates, tool, variants, sources."""

from __future__ import annotations

import tomllib
from numbers import Real
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue, FileError, ModelError, OutOfRange, UnknownName
from farhand.robots.model_file import TOOL, lock, one_line, tool_at_site

_KEYS = set(
    "actuated description gripper home limits locked payload postures rates sources springs tool"
    " variant variants".split()
)
_OVERRIDES = {
    "bodies": {"pos": 3, "quat_xyzw": 4, "mass": 1, "ipos": 3, "fullinertia": 6},
    "joints": {"pos": 3, "axis": 3, "range": 2, "ref": 1, "armature": 1, "frictionloss": 1},
    "sites": {"pos": 3, "quat_xyzw": 4},
    "geoms": {"pos": 3, "quat_xyzw": 4, "size": 3, "fromto": 6},
}
_FINDERS = {"bodies": "body", "joints": "joint", "sites": "site", "geoms": "geom"}


def find_description(model_path: Path) -> Path | None:
    """The toml of a model file: the same stem first, then ``robot.toml`` in the same folder."""
    candidates = (model_path.with_suffix(".toml"), model_path.with_name("robot.toml"))
    return next((path for path in candidates if path.is_file()), None)


def read_description(path: Path | None, variant: str | None, robot: str) -> dict[str, Any]:
    """Read a ``robot.toml`` and merge one variant into it.

    Args:
        path: the file, or None for a model without one.
        variant: which parameter set; None is the one in the model file itself.
        robot: name for error messages.

    Returns:
        The merged table. ``variant`` is the name of the set ("" if there is only one), ``variants``
            all their names.
    """
    table = load_toml(path) if path else {}
    where = str(path or robot)
    known_keys(table, _KEYS | _OVERRIDES.keys(), where)
    variants = section(table.get("variants", {}), f"{where}: variants")
    base = str(table.get("variant", ""))
    chosen = base if variant is None else variant
    names = (base, *variants)
    if chosen not in names:
        raise UnknownName(f"variant of {robot}", chosen, [name for name in names if name])
    override = section(variants.get(chosen, {}), f"{where}: variants.{chosen}")
    allowed = (_KEYS - {"variant", "variants"}) | _OVERRIDES.keys()
    known_keys(override, allowed, f"{where}: variants.{chosen}")
    for key, value in override.items():
        both_tables = isinstance(value, dict) and isinstance(table.get(key), dict)
        table[key] = {**table[key], **value} if both_tables else value
    return {**table, "variant": chosen, "variants": names}


def apply_overrides(spec: mujoco.MjSpec, table: dict[str, Any], where: str) -> None:
    """Write a variant's ``bodies``, ``joints``, ``sites``, ``geoms`` and ``locked``, in place."""
    locked = table.get("locked", [])
    if not isinstance(locked, list):
        raise BadValue(f"{where}: locked must be a list of joints, not {locked!r}")
    lock(spec, [str(name) for name in locked], where)
    for kind, sizes in _OVERRIDES.items():
        for name, values in section(table.get(kind, {}), f"{where}: {kind}").items():
            what = f"{where}: {kind}.{name}"
            element = getattr(spec, _FINDERS[kind])(name)
            if element is None:
                names = [item.name for item in getattr(spec, kind) if item.name]
                raise UnknownName(_FINDERS[kind], name, names)
            known_keys(section(values, what), set(sizes), what)
            for key, value in values.items():
                _assign(element, key, value, sizes[key], f"{what}.{key}")


def place_tool(spec: mujoco.MjSpec, table: dict[str, Any], where: str) -> None:
    """Put the ``tool`` site where ``tool = {site}`` or ``tool = {body, pos, quat_xyzw}`` says."""
    keys = {"site"} if "site" in section(table, f"{where}: tool") else {"body", "pos", "quat_xyzw"}
    known_keys(table, keys, f"{where}: tool")
    if "site" in table:
        site = spec.site(str(table["site"]))
        if site is None:
            names = [item.name for item in spec.sites if item.name]
            raise UnknownName("site", str(table["site"]), names)
        tool_at_site(spec, site, where)
        return
    body = spec.body(str(table.get("body", "")))
    if body is None:
        raise UnknownName("body", str(table.get("body", "")), [item.name for item in spec.bodies])
    position = vector(table.get("pos", [0, 0, 0]), 3, f"{where}: tool.pos")
    quaternion = _quaternion(table.get("quat_xyzw", [0, 0, 0, 1]), f"{where}: tool.quat_xyzw")
    existing = spec.site(TOOL)
    if existing is not None:
        spec.delete(existing)
    body.add_site(name=TOOL, pos=position, quat=quaternion[[3, 0, 1, 2]])


def vector(value: Any, size: int, what: str, infinite: bool = False) -> NDArray[np.float64]:
    """Numbers as an array of the given size; a single number counts as a list of one.

    Raises:
        BadValue: other types, another length, NaN, or infinity where it is not allowed.
    """
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, bool) or not isinstance(item, Real) for item in items):
        raise BadValue(f"{what} must be {size} numbers, not {value!r}")
    numbers = np.array(items, dtype=float)
    if numbers.size != size:
        raise BadValue(f"{what} must have {size} values, not {numbers.size}")
    if np.isnan(numbers).any() or not (infinite or np.isfinite(numbers).all()):
        raise BadValue(f"{what} must be {'numbers' if infinite else 'finite'}, not {value!r}")
    return numbers


def positive(value: Any, what: str, zero: bool = False, infinite: bool = False) -> float:
    """One number > 0, or ≥ 0 with ``zero``."""
    number = float(vector(value, 1, what, infinite)[0])
    if number < 0 or (number == 0 and not zero):
        raise BadValue(f"{what} must be {'≥' if zero else '>'} 0, not {number:g}")
    return number


def ranged(value: Any, low: float, high: float, what: str, unit: str = "") -> float:
    """One number within a range."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise BadValue(f"{what} must be a number, not {value!r}")
    if not low <= value <= high:
        raise OutOfRange(what, value, low, high, unit)
    return float(value)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """One whole number within a range."""
    number = ranged(value, low, high, what)
    if not number.is_integer():
        raise BadValue(f"{what} must be a whole number, not {value!r}")
    return int(number)


def strings(value: Any, what: str) -> dict[str, str]:
    """A table of strings."""
    table = section(value, what)
    for key, text in table.items():
        if not isinstance(text, str):
            raise BadValue(f"{what}.{key} must be a string, not {text!r}")
    return table


def _quaternion(value: Any, what: str) -> NDArray[np.float64]:
    numbers = vector(value, 4, what)
    if np.linalg.norm(numbers) < 1e-6:
        raise BadValue(f"{what} {value} has no direction: [0, 0, 0, 1] is no turn")
    return numbers


def _assign(element: Any, key: str, value: Any, size: int, what: str) -> None:
    if key == "quat_xyzw":
        element.quat = _quaternion(value, what)[[3, 0, 1, 2]]
    else:
        numbers = vector(value, size, what)
        setattr(element, key, float(numbers[0]) if np.ndim(getattr(element, key)) == 0 else numbers)


def load_toml(path: Path) -> dict[str, Any]:
    """A toml file as a table; a file that cannot be read gives a one-line error with its path."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path}: {one_line(error)}") from None


def section(value: Any, what: str) -> dict[str, Any]:
    """A toml table, or :class:`BadValue`."""
    if not isinstance(value, dict):
        raise BadValue(f"{what} must be a table, not {value!r}")
    return value


def beside(path: Path, robot: str) -> str:
    """A robot that a file names: one with a name, or a model file beside it."""
    return str(path.parent / robot) if (path.parent / robot).is_file() else robot


def known_keys(table: dict[str, Any], known: set[str], where: str) -> None:
    """Refuse an unknown key, such as a misspelt one."""
    for key in table:
        if key not in known:
            raise UnknownName(f"key in {where}", key, known)
