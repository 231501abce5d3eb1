"""Hints: what a number of a run does not say by itself, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.coupling import VirtualConstraints
from farhand.report.numbers import number
from farhand.rigs import Rig

Result = dict[str, Any]

MIN_FRICTION_ERROR_M = 5e-3
"""Tracking error from which on the dry friction of the joints is named as a cause, [m]."""

MAX_BALANCE_ERROR = 0.05
"""Share of the energy that may be missing before a hint says so, and the least energy [J] for one:
where a simulation stays with the physics, the share is below 0.6 %."""

WHOLE_SHARE = (0.9, 1.1)
"""A share of the contact between these needs no explanation, [-]."""

INTO_THE_WALL = "into the wall"
"""How the labels of moves end that should bring the follower into contact."""


def hints(rig: Rig, result: Result) -> list[str]:
    """What the reader of a run should know; empty where the numbers speak for themselves."""
    found = (balance_hint, virtual_constraints_hint, felt_hint, wall_hint)
    return [hint for hint_for in found for hint in hint_for(rig, result)]


def balance_hint(rig: Rig, result: Result) -> Iterator[str]:
    """That a simulation was lost though all its numbers are finite, and what helps."""
    error = _value(result, "energy_balance_error") or 0.0
    if error < MAX_BALANCE_ERROR or rig.world.energy_exchanged() < MAX_BALANCE_ERROR:
        return
    cause = "a hand, wall or spring is too hard for an arm so light"
    light = "rig.armature" in (path for path, *_ in rig.parameters())
    helps = "; rig.armature=0.1 adds rotor inertia" if light else ""
    yield f"the simulation was lost, its energy balances to {number(100 * error)} %: {cause}{helps}"


def virtual_constraints_hint(rig: Rig, result: Result) -> Iterator[str]:
    """Why virtual constraints leave the tools apart, where joints have dry friction."""
    error, felt = _value(result, "tracking_error_max") or 0.0, _dry(rig)
    if result["law"] != VirtualConstraints.name or error < MIN_FRICTION_ERROR_M or not felt:
        return
    cause = f"dry friction (up to {felt}) is not in the models of {result['law']}"
    remedy = "a larger law.proportional, or rig.friction_offset=true for the leader, brings less"
    yield f"{cause} and keeps the tools apart, here by up to {number(1e3 * error)} mm; {remedy}"


def felt_hint(rig: Rig, result: Result) -> Iterator[str]:
    """Why the hand feels another force than the contact's."""
    share = _value(result, "reflection_in_contact")
    if share is None or WHOLE_SHARE[0] <= share <= WHOLE_SHARE[1]:
        return
    law = rig.session.bridges[0].laws[-1]
    if law.mapping.force_scale != 1.0 or "symmetric" not in law.properties:
        return
    causes = []
    if dry := _dry(rig):
        causes.append(f"dry friction (up to {dry}) is felt as contact")
    if law.port.space == "joints":
        apart = number(np.degrees(_value(result, "joint_error_max") or 0.0))
        levers = f"levers differ, also where like arms stand up to {apart}° apart"
        causes.append(f"coupled joints have equal torques, not forces: {levers}")
    if causes:
        yield f"{number(100 * share)} % felt, not 100 %: {'; '.join(causes)}"


def wall_hint(rig: Rig, result: Result) -> Iterator[str]:
    """Why a run that should have met the wall did not."""
    wall, metrics, end = rig.parts.wall, rig.metrics, result["seconds"]
    aimed = any(
        move.label.endswith(INTO_THE_WALL) and move.end <= end for move in rig.scenario.moves
    )
    if wall is None or not wall.present or not aimed or not isinstance(metrics, Metrics):
        return
    history, follower = metrics.history, metrics.other
    position = history.signal(follower, "position_tool_in_world")
    normal = wall.normal / np.linalg.norm(wall.normal)
    gap = (position - wall.point) @ normal
    nearest = int(np.argmin(gap)) if len(gap) else 0
    if result["trips"] or not len(gap) or gap[nearest] <= 0.0:
        return
    said = f"the wall was not reached: the {follower} stayed {number(1e3 * gap[nearest])} mm away"
    if metrics.joints and (held := _stuck(rig, follower, nearest)):
        said += f"; dry friction holds its joints ({held})"
    yield said


def _stuck(rig: Rig, name: str, record: int) -> str:
    """The joint of most dry friction that the coupling pulls at in vain; empty for none."""
    station = next(one for one in rig.session.stations if one.name == name)
    pull = np.abs(rig.metrics.history.signal(name, "torque_coupled")[record])
    dry = rig.standing[name].dry
    stuck = (pull > 0.3 * dry) & (pull <= 1.05 * dry)
    if not stuck.any():
        return ""
    joint = int(np.argmax(np.where(stuck, dry, 0.0)))
    cause = f"{number(pull[joint])} N·m of the coupling against {number(dry[joint])} N·m"
    return f"{list(station.arm.model.names)[joint + 1]}: {cause}"


def _value(result: Result, name: str) -> float | None:
    found: float | None = result["metrics"].get(name, {}).get("value")
    return found


def _dry(rig: Rig) -> str:
    """The largest dry friction of each arm's joints, in words; empty without any."""
    dry = {name: float(stance.dry.max(initial=0.0)) for name, stance in rig.standing.items()}
    return ", ".join(f"{number(most)} N·m at the {name}" for name, most in dry.items() if most)
