"""Fitted friction as a file: written by ``farhand friction fit``, loaded as a model that compensation can use."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.errors import BadValue, FileError
from farhand.friction.models.model import Friction, make

if TYPE_CHECKING:
    from farhand.friction.fit.fit import Estimate, Fit


def to_json(found: Fit) -> dict[str, Any]:
    """What an ``F.json`` holds; torques in N·m, velocities in rad/s.

    ``parameters`` has value, interval (95 %, null where the data do not bound it), unit and whether
    it is identified. ``rms_error`` and ``holdout_error`` are root mean squares over the samples in
    which the joint slides, within ``bandwidth``; ``…_relative`` are shares of ``rms_torque``.
    """
    motion = found.motion
    content: dict[str, Any] = {
        "model": found.model,
        "parameters": {name: _estimate(one) for name, one in found.parameters.items()},
        "inertia": _estimate(found.inertia),
        "offset": _estimate(found.offset),
        "gravity": None
        if found.gravity is None
        else dict(zip(("sine", "cosine"), found.gravity, strict=True)),
        "curve": found.curve.tolist(),
        "rms_error": found.rms_error,
        "holdout_error": found.holdout_error,
        "rms_torque": found.rms_torque,
        "rms_error_relative": found.rms_error / found.rms_torque,
        "holdout_error_relative": found.holdout_error / found.rms_torque,
        "bandwidth": motion.bandwidth,
        "encoder_tick": motion.tick,
        "motion_from": motion.source,
        "share_used": float(found.used.mean()),
        "warnings": list(found.warnings),
    }
    if found.compared:
        content["compared"] = found.compared
    return content


def _estimate(one: Estimate) -> dict[str, Any]:
    content = asdict(one)
    low, high = content.pop("low"), content.pop("high")
    return {**content, "interval": None if low is None or high is None else [low, high]}


def read(path: str | Path) -> dict[str, Any]:
    """The content of an ``F.json``.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is no fitted friction.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadValue(f"{path.name} is not a JSON file: {error}") from None
    if (
        not isinstance(content, dict)
        or not isinstance(content.get("parameters"), dict)
        or "model" not in content
    ):
        raise BadValue(
            f"{path.name} is no fitted friction (need model and parameters; farhand friction fit writes it)"
        )
    return content


def load(path: str | Path) -> Friction:
    """The friction model of an ``F.json``, one joint.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is no fitted friction, or a value in it cannot be.
        UnknownName: it names a model or a parameter that does not exist.
    """
    content = read(path)
    values: dict[str, Any] = {
        name: _value(path, name, entry) for name, entry in content["parameters"].items()
    }
    return make(str(content["model"]), **values)


def _value(path: str | Path, name: str, entry: Any) -> float:
    value = entry.get("value") if isinstance(entry, dict) else entry
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValue(f"{Path(path).name}: parameter {name} = {value!r} is not a number")
    return float(value)
