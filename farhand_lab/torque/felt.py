"""What an identified model buys: smallest contact detected, and felt inertia, by simulation.

An arm that differs from its data sheet as real ones do (:func:`true_arm`) is logged, checked and
fitted. Then:

- :func:`smallest_contacts`: another run of the same arm with a motion of its own, in MuJoCo. A
  detector, the momentum observer with the model in question, is set so that it is wrong in 1 % of
  free motion. The tool is pushed for 1 s at a time along one direction; a push is detected if the
  estimate exceeds the threshold for half of its second half. The smallest contact is the force that
  best parts pushes that were detected from the others. The floor predicted from the log must be
  within 30 % of it.
- :func:`models` writes the arm as it is, its data sheet and the fitted model as files: ``farhand
  compare pair --laws four-channel-sensorless --leader TRUE.xml --follower TRUE.xml --model FILE``
  then measures the felt inertia with either.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from farhand.robots import Robot, load_robot
from farhand.robots.edits import disable_contacts
from farhand.torque.check import check
from farhand.torque.fit import data_sheet, identified
from farhand.torque.floor import DIRECTIONS, QUANTILE, SETTLE_S, external, noise_floor
from farhand.torque.log import ArmLog
from farhand.torque.overlay import IdentifiedModel
from farhand_lab.torque import held_out_arms as arms

Array = np.ndarray

PUSH_S, PERIOD_S = 1.0, 2.0
"""How long a push lasts, and how often there is one."""

LEVELS = np.geomspace(0.4, 2.5, 19)
"""Forces that are tried, in units of the predicted floor."""

VISCOUS_SPREAD = 0.3
"""Standard deviation of the logarithm of viscous friction over that of the data sheet, [-]."""

RUNS = 2
"""Runs per direction, in which every force comes once."""


def logged(arm: arms.TrueArm, seed: int, push: Any = None) -> dict[str, Array]:
    """Columns of a run of an arm at 500 Hz."""
    rng = np.random.default_rng(seed)
    t, q, v, torque = arms.simulate(arm, arms.sines(arm, rng), rng, push)
    return arms.readings(arm, t, q, v, torque, 500, rng)


def as_log(columns: dict[str, Array], robot: Robot) -> ArmLog:
    """Columns as a log."""
    joints = range(sum(name.startswith("torque") for name in columns))
    q, v, torque = (
        np.column_stack([columns[f"{kind}{k + 1}"] for k in joints])
        for kind in ("q", "v", "torque")
    )
    names = tuple(robot.pinocchio().names)[1 : len(joints) + 1]
    return ArmLog(columns["t"], q, v, torque, "torque", tuple(joints), names)


def smallest_contacts(
    arm: arms.TrueArm, model: IdentifiedModel | None, predicted: Array, seed: int
) -> Array:
    """Smallest detected push per direction, [N]."""
    _, nothing = _estimates(arm, model, seed, None)
    threshold = np.quantile(np.abs(nothing[:, :3]), QUANTILE, axis=0)
    found = np.full(3, np.nan)
    for axis in range(3):
        forces, seen = [], []
        for again in range(RUNS):
            order = np.random.default_rng([seed, axis, again]).permutation(LEVELS)

            def push(now: float, order: Array = order, axis: int = axis) -> Array:
                turn, since = divmod(now, PERIOD_S)
                force = np.zeros(3)
                if since >= PERIOD_S - PUSH_S:
                    force[axis] = order[int(turn) % len(order)] * predicted[axis]
                return force

            time, wrench = _estimates(arm, model, seed + again, push)
            turn, since = np.divmod(time, PERIOD_S)
            late = since > PERIOD_S - 0.5 * PUSH_S
            for k in np.unique(turn[late]):
                above = np.abs(wrench[late & (turn == k), axis]) > threshold[axis]
                forces.append(float(order[int(k) % len(order)]) * predicted[axis])
                seen.append(bool(np.mean(above) >= 0.5))
        found[axis] = _edge(np.array(forces), np.array(seen))
    return found


def _estimates(
    arm: arms.TrueArm, model: IdentifiedModel | None, seed: int, push: Any
) -> tuple[Array, Array]:
    """Time of the run [s] and the wrench that the observer takes for contact, once settled."""
    log = as_log(logged(arm, seed, push), arm.robot)
    time, wrench, _ = external(arm.robot, log, model)
    settled = time > time[0] + SETTLE_S
    # a log begins half a second into its run
    return time[settled] + 0.5, wrench[settled]


def _edge(forces: Array, seen: Array) -> float:
    """The force that best parts pushes that were detected from those that were not, [N]."""
    order = np.argsort(forces)
    forces, seen = forces[order], seen[order]
    wrong = [int(seen[:k].sum() + (~seen[k:]).sum()) for k in range(len(forces) + 1)]
    best = np.flatnonzero(np.array(wrong) == min(wrong))
    edges = np.concatenate([[forces[0]], np.sqrt(forces[1:] * forces[:-1]), [forces[-1]]])
    return float(np.median(edges[best]))


def true_arm(name: str, seed: int) -> arms.TrueArm:
    """An arm off its data sheet; viscous friction that the sheet has is off by 30 %."""
    rng = np.random.default_rng([seed, 7])
    robot = load_robot(name).edited(disable_contacts)
    arm = arms.ordinary_arm(robot, rng)
    sheet = robot.compile().dof_damping[: arm.joints]
    off = np.exp(rng.normal(0.0, VISCOUS_SPREAD, arm.joints))
    arm.viscous = np.where(sheet > 0.0, sheet * off, arm.viscous)
    return arm


def floors(name: str, seed: int) -> dict[str, Any]:
    """Predicted floor and smallest contact of one arm, with data sheet and fitted model."""
    arm = true_arm(name, seed)
    robot = arm.robot
    log = as_log(logged(arm, seed), robot)
    fitted = identified(check(log, robot))
    rows: dict[str, Any] = {"robot": name, "seed": seed}
    for label, model in (("data sheet", None), ("fitted model", fitted)):
        floor = noise_floor(robot, log, model).force
        found = smallest_contacts(arm, model, floor, seed + 1000)
        rows[label] = {
            way: {"predicted": float(a), "detected": float(b), "ratio": float(a / b)}
            for way, a, b in zip(DIRECTIONS, floor, found, strict=True)
        }
    return rows


def true_file(arm: arms.TrueArm, folder: Path) -> Path:
    """A model file of the arm as it is, with its friction, beside its robot's description."""
    spec = arm.true.spec()
    for k, joint in enumerate(spec.joints[: arm.joints]):
        joint.frictionloss = float(arm.coulomb[k])
        joint.damping = np.array([float(arm.viscous[k]), 0.0, 0.0])
    spec.compile()
    path = folder / f"{arm.robot.name}.xml"
    path.write_text(spec.to_xml())
    source = arm.robot.source.with_name("robot.toml")
    if source.is_file():
        text = source.read_text()
        path.with_suffix(".toml").write_text(text)
    return path


def models(name: str, seed: int, folder: Path) -> dict[str, str]:
    """Files of one arm: as it is, and what its data sheet and a fit say of it."""
    arm = true_arm(name, seed)
    robot = arm.robot
    log = as_log(logged(arm, seed), robot)
    fitted = identified(check(log, robot))
    found = {"true": str(true_file(arm, folder))}
    for label, model in (("data sheet", data_sheet(robot)), ("fitted model", fitted)):
        path = folder / f"{name}-{label.replace(' ', '-')}.json"
        path.write_text(json.dumps(model.to_json()))
        found[label] = str(path)
    return found


def main(command: str, name: str, seed: int, folder: str = ".") -> None:
    """``floors`` or ``models`` of one arm; results in FOLDER."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    result = floors(name, seed) if command == "floors" else models(name, seed, place)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
