"""The check against the forty held-out arms: causes named, false alarms, coverage of intervals."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from farhand.friction.fit.data import write_columns
from farhand.friction.fit.sliding import Estimate
from farhand.robots import load_robot
from farhand.torque.check import TorqueCheck, check
from farhand.torque.log import read_log
from farhand_lab.torque.held_out_arms import JUDGED, HeldOut, held_out

PER_JOINT = ("scale", "offset", "coulomb", "viscous", "delay")


def write_log(arm: HeldOut, path: Path) -> Path:
    """The arm's CSV file."""
    columns: dict[str, Any] = dict(arm.columns)
    if arm.decimals is not None:
        columns = {
            name: [f"{value:.{arm.decimals if name != 't' else 6}f}" for value in values]
            for name, values in columns.items()
        }
    write_columns(path, columns)
    return path


def judge(arm: HeldOut) -> dict[str, Any]:
    """How the check did on one arm, by the rule in :mod:`farhand_lab.torque.held_out_arms`."""
    robot = load_robot(arm.robot)
    with tempfile.TemporaryDirectory() as folder:
        log = read_log(write_log(arm, Path(folder) / "log.csv"), robot)
    found = check(log, robot)
    return {
        "name": arm.name,
        "cause": arm.cause,
        **verdict(arm, found),
        "covered": covered(arm, found),
    }


def verdict(arm: HeldOut, found: TorqueCheck) -> dict[str, Any]:
    """Named, unidentifiable or missed, and what was named beside it."""
    named = {(one.kind, joint) for one in found.findings for joint in one.joints or (0,)}
    unclear = {(one.kind, joint) for one in found.unclear for joint in one.joints or (0,)}
    wanted = {(arm.cause, joint) for joint in arm.joints or (0,)} if arm.cause != "none" else set()
    missed = wanted - named
    answer = "named"
    if not wanted:
        answer = "nothing to name"
    elif missed:
        answer = "unidentifiable" if missed <= unclear else "missed"
    alarms = sorted({f"{kind} {joint or ''}".strip() for kind, joint in named - wanted})
    return {"answer": answer, "alarms": alarms, "texts": [one.text for one in found.findings]}


def covered(arm: HeldOut, found: TorqueCheck) -> list[tuple[str, float]]:
    """Each quantity with a truth and an interval: its name, and by how many halves it is off."""
    rows: list[tuple[str, Estimate, float]] = []
    for j, joint in enumerate(found.joints):
        rows += [(key, getattr(joint, key), float(arm.truth[key][j])) for key in PER_JOINT]
    rows.append(("tool_mass", found.tool_mass, float(arm.truth["tool_mass"])))
    rows += [("tilt", one, float(t)) for one, t in zip(found.tilt, arm.truth["tilt"], strict=True)]
    return [
        (key, (one.value - truth) / max(0.5 * (one.high - one.low), 1e-30))
        for key, one, truth in rows
        if one.identified and one.low is not None and one.high is not None and np.isfinite(truth)
    ]


def summary(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Counts over all arms."""
    rows = list(rows)
    inside = [(key, abs(off) <= 1.0) for row in rows for key, off in row["covered"]]
    kinds = sorted({key for key, _ in inside})
    share = {key: float(np.mean([ok for name, ok in inside if name == key])) for key in kinds}
    return {
        "arms": len(rows),
        "answers": dict(Counter(row["answer"] for row in rows)),
        "missed": [row["name"] for row in rows if row["answer"] == "missed"],
        "unidentifiable": [row["name"] for row in rows if row["answer"] == "unidentifiable"],
        "logs with false alarms": sum(bool(row["alarms"]) for row in rows),
        "false alarms": {row["name"]: row["alarms"] for row in rows if row["alarms"]},
        "intervals": len(inside),
        "coverage": float(np.mean([ok for _, ok in inside])),
        "coverage by kind": share,
    }


def main(first: int = 0, last: int = 40, series: int = JUDGED) -> None:
    """Judge arms ``first`` to ``last``; one line each, then the summary."""
    rows = []
    for number, arm in enumerate(held_out(series, last)):
        if number >= first:
            row = judge(arm)
            rows.append(row)
            print(row["name"], row["answer"], row["alarms"] or "", flush=True)
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
