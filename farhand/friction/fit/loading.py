"""Fitted friction as a file: ``farhand friction fit`` writes it, compensation loads it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.errors import BadValue, FileError
from farhand.friction.models.model import Friction, make

if TYPE_CHECKING:
    from farhand.friction.fit.fit import Fit
    from farhand.friction.fit.sliding import Estimate


def to_json(result: Fit) -> dict[str, Any]:
    """Content of an ``F.json``; torques in N·m, velocities in rad/s.

    ``parameters`` has value, interval (95 %, null where the data do not bound it), unit and whether
    it is identified. ``rms_error`` and ``holdout_error`` are root mean squares over the samples in
    which the joint slides, within ``bandwidth``; ``…_relative`` are shares of ``rms_torque``.
    """
    motion, gravity = result.motion, None
    if result.gravity is not None:
        gravity = dict(zip(("sine", "cosine"), result.gravity, strict=True))
    content: dict[str, Any] = {
        "model": result.model,
        "parameters": {name: _estimate(one) for name, one in result.parameters.items()},
        "inertia": _estimate(result.inertia),
        "offset": _estimate(result.offset),
        "gravity": gravity,
        "curve": result.curve.tolist(),
        "rms_error": result.rms_error,
        "holdout_error": result.holdout_error,
        "rms_torque": result.rms_torque,
        "rms_error_relative": result.rms_error / result.rms_torque,
        "holdout_error_relative": result.holdout_error / result.rms_torque,
        "bandwidth": motion.bandwidth,
        "encoder_tick": motion.tick,
        "motion_from": motion.source,
        "share_used": float(result.used.mean()),
        "warnings": list(result.warnings),
    }
    if result.compared:
        content["compared"] = result.compared
    return content


def _estimate(one: Estimate) -> dict[str, Any]:
    content = asdict(one)
    low, high = content.pop("low"), content.pop("high")
    return {**content, "interval": None if low is None or high is None else [low, high]}


def read(path: str | Path) -> dict[str, Any]:
    """Read the content of an ``F.json``.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is not fitted friction.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadValue(f"{path.name} is not a JSON file: {error}") from None
    parameters = content.get("parameters") if isinstance(content, dict) else None
    if not isinstance(parameters, dict) or "model" not in content:
        raise BadValue(
            f"{path.name} is not fitted friction: it needs model and parameters, "
            "as farhand friction fit writes them"
        )
    return content


def load(path: str | Path) -> Friction:
    """Load the friction model of an ``F.json``, one joint.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is not fitted friction, or a value in it is not allowed.
        UnknownName: it names a model or a parameter that does not exist.
    """
    content = read(path)
    values: dict[str, Any] = {}
    for name, entry in content["parameters"].items():
        value = entry.get("value") if isinstance(entry, dict) else entry
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValue(f"{Path(path).name}: parameter {name} = {value!r} is not a number")
        values[name] = float(value)
    return make(str(content["model"]), **values)
