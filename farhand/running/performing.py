"""The rig of the demonstrations, with a skill that moves the follower."""

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

MIN_CONTACT_N = 1.0
"""A larger measured force is contact; six times the sensor's noise."""

SPARE_S = 3.0
"""How long a run may exceed the skill's own time, to find the contact."""

TITLE = "the follower does by itself what it was taught; nobody holds the leader"
"""What the page says about a performance."""

RIGS = ("dual-arm", "humanoid")
"""Where skills can be performed."""

NOISE = {"force_noise": 0.1, "torque_noise": 0.002}
"""The sensors as they were in the demonstrations, which the quiet scenario silences."""


@dataclass(frozen=True)
class PerformanceOutcome:
    """How a performance went, over the time in which the skill commands contact."""

    phase: float  # how far the skill got, 0 to 1
    # share of that time in contact, [-]; None for a skill without contact
    contact_kept: float | None
    force_mean: float | None  # mean force over all of that time, [N]
    force_rms_error: float | None  # from the commanded force, [N]
    force_demonstrated: float  # mean force in contact of the demonstrations, [N]
    force_ratio: float | None  # mean over demonstrated, [-]
    goal_error: float  # distance of the tool from the skill's goal at the end, [m]
    stopped: str | None = None  # what stopped it early, and when; None if nothing did


def perform_rig(skill: Skill, options: Options, shift: float = 0.0, tilt: float = 0.0) -> Rig:
    """The rig of a skill's demonstrations, ready to perform it.

    Args:
        skill: learnt on one of :data:`RIGS`.
        options: the user's choices; the law and the scenario are the skill's.
        shift: how much further away the wall of the dual-arm rig is, [m].
        tilt: its rotation about the vertical through the middle of the contact, [rad].

    Raises:
        Mismatch: the skill is of another rig, or touches no wall that could be moved.
    """
    facts = skill.facts
    if facts.robot.rig not in RIGS:
        rigs = " and ".join(RIGS)
        raise Mismatch(f"skill {facts.name!r} is of rig {facts.robot.rig!r}; skills run on {rigs}")
    if facts.robot.rig == "humanoid":
        if shift or tilt:
            raise _no_wall(skill)
        return _on_humanoid(skill, options)
    before = [(path, v) for path, v in facts.settings.items() if path.startswith(("rig.", "wall."))]
    before = [(path, value) for path, value in before if path != "rig.driven"]
    noise = [(f"{side}.plant.{kind}", v) for side in dual_arm.ROLES for kind, v in NOISE.items()]
    settings = [*before, *noise, *_moved(skill, shift, tilt), *options.settings]
    rig = dual_arm.build(_quiet(options, Performance.name, settings), performing(skill))
    return _titled(rig, _law(rig).approach + facts.duration / _law(rig).pace + SPARE_S)


def _quiet(options: Options, law: str, settings: list[tuple[str, object]]) -> Options:
    return replace(options, law=law, scenario="rest", settings=settings)


def _no_wall(skill: Skill) -> Mismatch:
    return Mismatch(f"skill {skill.facts.name!r} touches no wall that could be shifted or tilted")


def _on_humanoid(skill: Skill, options: Options) -> Rig:
    """Relative and by position: the limb's bus takes nothing else and measures no force."""
    facts = skill.facts
    before = [(path, value) for path, value in facts.settings.items() if path.startswith("rig.")]
    law = [("hand.open", True), ("law.relative", True), ("law.force_aware", False)]
    chosen = _quiet(options, Performance.name, [*before, *law, *options.settings])
    rig = humanoid.build(chosen, performing(skill))
    return _titled(rig, _law(rig).approach + facts.duration / _law(rig).pace + 1.0)


def replay_rig(points: Sequence[TaughtPoint], options: Options) -> Rig:
    """The humanoid, ready to go to way-points of one of its limbs from where it begins."""
    limb = [("rig.limb", points[0].chain), ("hand.open", True), ("follower.dead_band.width", 1e-5)]
    chosen = _quiet(options, Replay.name, [*limb, *options.settings])
    rig = humanoid.build(chosen, replaying(points))
    law = rig.session.bridges[0].laws[0]
    assert isinstance(law, Replay)
    places = np.array([(0.0, 0.0, 0.0), *(point.position for point in points)])
    ways = np.maximum(0.1, np.linalg.norm(np.diff(places, axis=0), axis=1) / law.speed)
    return _titled(rig, float((ways + law.patience + law.rest).sum()) + 1.0)


def _titled(rig: Rig, seconds: float) -> Rig:
    """The rig with its title, and how long it takes, [s]."""
    rig.scenario = replace(rig.scenario, title=TITLE, seconds=seconds)
    return rig


def _moved(skill: Skill, shift: float, tilt: float) -> list[tuple[str, object]]:
    """The wall shifted and tilted about the middle of the learnt contact."""
    if not (shift or tilt):
        return []
    motion = skill.motion()
    contact = np.linalg.norm(motion.force, axis=1) > skill.threshold
    if not contact.any() or "wall.normal" not in skill.facts.settings:
        raise _no_wall(skill)
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
    """Refuse a place that is out of reach of the follower in any posture.

    Args:
        rig: ready to perform a skill.
        place: as the skill has it, [m].
        what: name of the place.

    Raises:
        BadValue: it is further away than the arm is long; if the start is not known before, than
            twice its length.
    """
    law = _law(rig)
    follower = next(station for station in rig.session.stations if station.name == "follower")
    origin, reach = reach_of(follower.arm)
    name = "the base of the follower"
    if law.relative:
        origin, reach, name = law.skill.motion(2).position[0], 2.0 * reach, "the skill's start"
    distance = float(np.linalg.norm(place - origin))
    if distance > reach:
        span = f"{distance:.2f} m from {name}, and the follower spans {reach:.2f} m"
        raise BadValue(f"{what} is out of reach: {span}")


def reach_of(arm: Arm) -> tuple[Array, float]:
    """Where an arm's first joint is in world, and the length of all its links in one line, [m]."""
    model = arm.model
    tool = model.frames[model.getFrameId(arm.tool)]
    chain = list(model.supports[tool.parentJoint])[1:]
    length = float(np.linalg.norm(tool.placement.translation))
    for number in chain:
        joint = model.joints[number]
        # A slide: as far as it goes
        if joint.shortname().startswith("JointModelP"):
            ends = (model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q])
            length += float(np.abs(ends).max())
        elif joint.nv > 1:
            return np.zeros(3), np.inf
    places = [model.jointPlacements[number].translation for number in chain]
    return places[0], length + sum(float(np.linalg.norm(place)) for place in places[1:])


def outcome_of(rig: Rig) -> PerformanceOutcome:
    """How the performance of a rig went; after its run."""
    skill, history = _law(rig).skill, rig.metrics.history
    commanded = history.signal("coupling", "force_wanted")[:, 0]
    phase = history.signal("coupling", "phase")[:, 0]
    force = np.linalg.norm(history.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    goal = skill.motion().position[-1]
    end = history.signal("follower", "position_tool_in_world")[-1]
    demonstrated = skill.facts.force_mean
    outcome = PerformanceOutcome(
        phase=float(phase[-1]),
        contact_kept=None,
        force_mean=None,
        force_rms_error=None,
        force_demonstrated=demonstrated,
        force_ratio=None,
        goal_error=float(np.linalg.norm(end - goal)),
        stopped=stopped(rig),
    )
    pressing = (commanded > skill.threshold) & (phase > 0.0)
    if not pressing.any():
        return outcome
    mean = float(force[pressing].mean())
    return replace(
        outcome,
        contact_kept=float((force[pressing] > MIN_CONTACT_N).mean()),
        force_mean=mean,
        force_rms_error=float(np.sqrt(np.square(force[pressing] - commanded[pressing]).mean())),
        force_ratio=mean / max(demonstrated, 1e-9),
    )


def stopped(rig: Rig) -> str | None:
    """What stopped a rig before its end, and when; None if nothing did."""
    if not rig.session.trips:
        return None
    where, trip = rig.session.trips[0].where, rig.session.trips[0].trip
    return f"{where} stopped at {1e-9 * trip.time_ns:.3f} s: {trip.reason}"
