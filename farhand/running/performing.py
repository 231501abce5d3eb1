"""Performing: the rig of the demonstrations again, with a skill that moves the follower and nobody at the leader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue, Mismatch
from farhand.learning.performance import Performance, performing
from farhand.learning.skill import Skill
from farhand.learning.waypoints import Replay, TaughtPoint, replaying
from farhand.rigs import dual_arm, humanoid
from farhand.rigs.rig import Options, Rig
from farhand.spatial import rotation_from_vector

Array = np.ndarray

TOUCHED = 1.0
"""A measured force above this is contact, [N]; six times the sensor's noise."""

SPARE = 3.0
"""How long a run goes on beyond the skill's own time, for looking for the contact, [s]."""


@dataclass(frozen=True)
class PerformanceOutcome:
    """How a performance went, over the time in which the skill wanted contact.

    Attributes:
        phase: how far the skill got, 0 to 1.
        contact_kept: share of that time in contact, [-]; None for a skill without contact.
        force_mean: mean force over all of that time, [N].
        force_rms_error: of the force from the wanted one, [N].
        force_demonstrated: mean force in contact of the demonstrations, [N].
        force_ratio: mean over demonstrated, [-].
        goal_error: distance of the tool from the skill's goal at the end, [m].
        stopped: what stopped it before its end, and when; None if nothing did.
    """

    phase: float
    contact_kept: float | None
    force_mean: float | None
    force_rms_error: float | None
    force_demonstrated: float
    force_ratio: float | None
    goal_error: float
    stopped: str | None = None


def perform_rig(skill: Skill, options: Options, shift: float = 0.0, tilt: float = 0.0) -> Rig:
    """The rig of a skill's demonstrations, ready to perform it.

    Args:
        skill: learnt on one of :data:`RIGS`.
        options: the user's choices; the law and the scenario are the skill's.
        shift: how far the wall of the dual-arm rig stands further away than it did, [m].
        tilt: by how much it is turned about the vertical through the middle of the contact, [rad].

    Raises:
        Mismatch: the skill is of another rig.
    """
    if skill.facts.robot.rig not in RIGS:
        rigs = " and ".join(RIGS)
        raise Mismatch(
            f"skill {skill.facts.name!r} is of the rig {skill.facts.robot.rig!r}; skills run on {rigs}"
        )
    if skill.facts.robot.rig == "humanoid":
        if shift or tilt:
            raise Mismatch(
                f"skill {skill.facts.name!r} touches no wall that could be shifted or tilted"
            )
        return _on_humanoid(skill, options)
    before = [
        (p, v)
        for p, v in skill.facts.settings.items()
        if p.startswith(("rig.", "wall.")) and p != "rig.driven"
    ]
    noise = [
        (f"{side}.plant.{kind}", value) for side in dual_arm.ROLES for kind, value in NOISE.items()
    ]
    settings = [*before, *noise, *_moved(skill, shift, tilt), *options.settings]
    options = replace(options, law=Performance.name, scenario="rest", settings=settings)
    rig = dual_arm.build(options, performing(skill))
    return _titled(rig, _law(rig).approach + skill.facts.duration / _law(rig).pace + SPARE)


def _on_humanoid(skill: Skill, options: Options) -> Rig:
    """By position, from where the limb is: its bus takes nothing else, and nothing measures a force."""
    before = [
        (path, value) for path, value in skill.facts.settings.items() if path.startswith("rig.")
    ]
    settings = [
        *before,
        ("hand.open", True),
        ("law.relative", True),
        ("law.force_aware", False),
        *options.settings,
    ]
    rig = humanoid.build(
        replace(options, law=Performance.name, scenario="rest", settings=settings),
        performing(skill),
    )
    return _titled(rig, _law(rig).approach + skill.facts.duration / _law(rig).pace + 1.0)


def replay_rig(points: Sequence[TaughtPoint], options: Options) -> Rig:
    """The humanoid, ready to go to way-points of one of its limbs from where it begins."""
    settings = [
        ("rig.limb", points[0].chain),
        ("hand.open", True),
        ("follower.dead_band.width", 1e-5),
    ]
    options = replace(
        options, law=Replay.name, scenario="rest", settings=[*settings, *options.settings]
    )
    rig = humanoid.build(options, replaying(points))
    law = rig.session.bridges[0].laws[0]
    assert isinstance(law, Replay)
    places = np.array([(0.0, 0.0, 0.0), *(point.position for point in points)])
    ways = np.maximum(0.1, np.linalg.norm(np.diff(places, axis=0), axis=1) / law.speed)
    return _titled(rig, float((ways + law.patience + law.rest).sum()) + 1.0)


TITLE = "the follower does by itself what it was taught; nobody holds the leader"
"""What the page says of a performance."""

RIGS = ("dual-arm", "humanoid")
"""Where skills can be performed."""

NOISE = {"force_noise": 0.1, "torque_noise": 0.002}
"""The sensors as they were in the demonstrations, which the quiet scenario silences."""


def _titled(rig: Rig, seconds: float) -> Rig:
    """The rig with what happens on it in words, and how long it takes, [s]."""
    rig.scenario = replace(rig.scenario, title=TITLE, seconds=seconds)
    return rig


def _moved(skill: Skill, shift: float, tilt: float) -> list[tuple[str, object]]:
    """The wall shifted and tilted about the middle of the learnt contact."""
    if not (shift or tilt):
        return []
    motion = skill.motion()
    contact = np.linalg.norm(motion.force, axis=1) > skill.threshold
    if not contact.any() or "wall.normal" not in skill.facts.settings:
        raise Mismatch(
            f"skill {skill.facts.name!r} touches no wall that could be shifted or tilted"
        )
    normal = np.array(skill.facts.settings["wall.normal"])
    normal = normal / np.linalg.norm(normal)
    point = motion.position[contact].mean(axis=0)
    point += normal * (normal @ (np.array(skill.facts.settings["wall.point"]) - point))
    turned = rotation_from_vector(np.array([0.0, 0.0, tilt])) @ normal
    return [("wall.point", point - shift * normal), ("wall.normal", turned)]


def _law(rig: Rig) -> Performance:
    law = rig.session.bridges[0].laws[0]
    assert isinstance(law, Performance)
    return law


def check_reach(rig: Rig, place: Array, what: str) -> None:
    """Refuse a place that no posture of the follower's arm can bring its tool to, whatever its joints' limits.

    Args:
        rig: ready to perform a skill.
        place: as the skill has it, [m].
        what: the place in words.

    Raises:
        BadValue: it is further away than the arm is long; from a start not known before, than twice
            its length.
    """
    law, follower = (
        _law(rig),
        next(station for station in rig.session.stations if station.name == "follower"),
    )
    base, length = reach_of(follower.arm)
    away, furthest, whence = float(np.linalg.norm(place - base)), length, "the base of the follower"
    if law.relative:
        start = law.skill.motion(2).position[0]
        away, furthest, whence = (
            float(np.linalg.norm(place - start)),
            2.0 * length,
            "the skill's start",
        )
    if away > furthest:
        raise BadValue(
            f"{what} is out of reach: {away:.2f} m from {whence}, and the follower spans {furthest:.2f} m"
        )


def reach_of(arm: Arm) -> tuple[Array, float]:
    """Where an arm's first joint is in world, and how far from there its tool is with all links in one line, [m]."""
    model = arm.model
    tool = model.frames[model.getFrameId(arm.tool)]
    chain = list(model.supports[tool.parentJoint])[1:]
    length = float(np.linalg.norm(tool.placement.translation))
    for number in chain:
        joint = model.joints[number]
        if joint.shortname().startswith("JointModelP"):  # a slide: as far as it goes
            ends = (model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q])
            length += float(np.abs(ends).max())
        elif joint.nv > 1:
            return np.zeros(3), np.inf
    places = [model.jointPlacements[number].translation for number in chain]
    return places[0], length + sum(float(np.linalg.norm(place)) for place in places[1:])


def outcome_of(rig: Rig) -> PerformanceOutcome:
    """How the performance of a rig went; after its run."""
    skill, history = _law(rig).skill, rig.metrics.history
    wanted = history.signal("coupling", "force_wanted")[:, 0]
    phase = history.signal("coupling", "phase")[:, 0]
    force = np.linalg.norm(history.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    goal = skill.motion().position[-1]
    end = history.signal("follower", "position_tool_in_world")[-1]
    asked = (wanted > skill.threshold) & (phase > 0.0)
    error, demonstrated = float(np.linalg.norm(end - goal)), skill.facts.force_mean
    if not asked.any():
        return PerformanceOutcome(
            float(phase[-1]), None, None, None, demonstrated, None, error, stopped(rig)
        )
    mean = float(force[asked].mean())
    rms = float(np.sqrt(np.square(force[asked] - wanted[asked]).mean()))
    kept = float((force[asked] > TOUCHED).mean())
    return PerformanceOutcome(
        float(phase[-1]),
        kept,
        mean,
        rms,
        demonstrated,
        mean / max(demonstrated, 1e-9),
        error,
        stopped(rig),
    )


def stopped(rig: Rig) -> str | None:
    """What stopped a rig before its end, and when; None if nothing did."""
    trip = next(iter(rig.session.trips), None)
    return (
        None
        if trip is None
        else f"{trip.where} stopped at {1e-9 * trip.trip.time_ns:.3f} s: {trip.trip.reason}"
    )
