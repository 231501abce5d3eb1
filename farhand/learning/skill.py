"""Skills: learn a movement with its forces, keep it in a file, adapt it to goals and via-points."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, UnknownName
from farhand.files import write_bytes
from farhand.learning.alignment import MAX_MISSING_SHARE, Aligned, align, rotation_at
from farhand.learning.demonstration import DemonstratedRobot, Demonstration, check_alike
from farhand.learning.primitives import MovementPrimitive, ProbabilisticPrimitive

Array = np.ndarray

METHODS = {
    "dmp": "dynamic movement primitive: a spring to the goal and a forcing term",
    "promp": "probabilistic movement primitive: a Gaussian over movements, conditioned on goal and "
    "via-points",
}
"""How a skill can be learnt."""

MIN_DEMONSTRATIONS = 5

BUMPS_PER_SECOND = 5.0
"""Basis functions per second of a movement; at least twenty, [1/s]."""

FORMAT = 1

CONTACT_SHARE = 0.3
"""A force above this share of the mean contact force counts as contact."""

MIN_CONTACT_FORCE = 1.0
"""No force below this counts as contact, [N]."""

MAX_SPREAD = 0.2
"""Deviation of demonstrations from their mean (rms) over their extent that is worth a note; the
extent is the mean diagonal of the box about a demonstration."""


@dataclass(frozen=True)
class Facts:
    """Where a skill comes from."""

    name: str  #: of the skill
    method: str  #: one of :data:`METHODS`
    robot: DemonstratedRobot  #: whose tool was taught
    duration: float  #: mean of the demonstrations, [s]
    demonstrations: int  #: how many there were
    sources: tuple[str, ...]  #: their files
    force_kind: str  #: ``measured``, ``synthetic`` or ``none``
    force_mean: float  #: mean of the force in contact, over all demonstrations, [N]
    contact_share: float  #: share of the time in contact, [-]
    deviation: float  #: of the demonstrations' positions from their mean, root mean square, [m]
    settings: dict[str, Any]  #: parameters that all demonstrations have in common, by path
    notes: tuple[str, ...] = ()  #: what to know before trusting the skill, one line each


@dataclass(frozen=True)
class SkillMotion:
    """A skill sampled at n equal steps of its phase."""

    phase: Array  #: 0 to 1, [-]
    position: Array  #: shape (n, 3), [m]
    rotation: Array  #: shape (n, 3, 3)
    vector: Array  #: rotation vector from the reference, shape (n, 3), [rad]
    force: Array  #: on the tool in world axes, shape (n, 3), [N]


@dataclass(frozen=True)
class Skill:
    """A learnt movement with its forces."""

    facts: Facts  #: where it comes from
    primitive: MovementPrimitive | ProbabilisticPrimitive  #: of motion and force
    reference: Array  #: orientation that rotation vectors count from
    threshold: float  #: force above which there is contact, [N]

    def motion(self, samples: int = 1001) -> SkillMotion:
        """The skill sampled at equal steps."""
        phase = np.linspace(0.0, 1.0, samples)
        y = self.primitive.movement(phase)
        rotations = np.stack([rotation_at(vector, self.reference) for vector in y[:, 3:6]])
        return SkillMotion(phase, y[:, :3], rotations, y[:, 3:6], y[:, 6:9])

    def towards(self, goal: Array) -> Skill:
        """The skill with another goal position, [m]; orientation and force stay."""
        primitive = self.primitive
        if isinstance(primitive, MovementPrimitive):
            whole = np.concatenate([goal, primitive.goal[3:]])
            return replace(self, primitive=primitive.towards(whole))
        return replace(self, primitive=primitive.conditioned(1.0, _point(goal)))

    def through(self, at: float, position: Array) -> Skill:
        """The skill bent through a position [m] at a phase."""
        primitive = self.primitive
        if isinstance(primitive, ProbabilisticPrimitive):
            return replace(self, primitive=primitive.conditioned(at, _point(position)))
        now = primitive.movement(np.array([at]))[0]
        return replace(self, primitive=primitive.through(at, np.concatenate([position, now[3:]])))

    def save(self, path: Path) -> None:
        """Write the skill's file, whole or not at all."""
        facts = {**vars(self.facts), "robot": vars(self.facts.robot), "format": FORMAT}
        arrays = {f"primitive_{key}": value for key, value in vars(self.primitive).items()}
        text = np.array(json.dumps(facts, ensure_ascii=False))
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer, facts=text, reference=self.reference, threshold=self.threshold, **arrays
        )
        write_bytes(path, buffer.getvalue())


def _point(position: Array) -> Array:
    return np.concatenate([position, np.full(6, np.nan)])


def learn(name: str, demonstrations: Sequence[Demonstration], method: str = "dmp") -> Skill:
    """A skill from demonstrations of one robot.

    Raises:
        BadValue: there are too few, or two are equal.
        Mismatch: they are of different robots.
        UnknownName: no such method.
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if len(demonstrations) < MIN_DEMONSTRATIONS:
        count = len(demonstrations)
        subject = "1 demonstration is" if count == 1 else f"{count} demonstrations are"
        raise BadValue(f"{subject} too few: learning needs at least {MIN_DEMONSTRATIONS}")
    check_alike(demonstrations)
    aligned = align(demonstrations)
    force_kind = _force_kind(demonstrations, aligned)
    if force_kind == "none":
        force, measured = np.zeros_like(aligned.force), np.zeros_like(aligned.measured)
        aligned = replace(aligned, force=force, measured=measured)
    threshold = _threshold(aligned)
    count = max(20, round(BUMPS_PER_SECOND * aligned.duration))
    movements = np.concatenate([aligned.motion, aligned.force], axis=2)
    kind = MovementPrimitive if method == "dmp" else ProbabilisticPrimitive
    primitive = kind.fit(aligned.phase, movements, count)
    facts = _facts(name, method, demonstrations, aligned, threshold, force_kind)
    return Skill(facts, primitive, aligned.reference, threshold)


def _force_kind(demonstrations: Sequence[Demonstration], aligned: Aligned) -> str:
    """The kind of force to learn: none where kinds are mixed or too much is missing."""
    kinds = {d.force_kind for d in demonstrations} - {"none"}
    nobody = float((~aligned.measured.any(axis=0)).mean())
    return kinds.pop() if len(kinds) == 1 and nobody <= MAX_MISSING_SHARE else "none"


def _notes(
    demonstrations: Sequence[Demonstration], force_kind: str, deviation: float
) -> Iterator[str]:
    """Notes on missing forces and on demonstrations that differ too much."""
    missing = [float((~np.isfinite(d.force).all(axis=1)).mean()) for d in demonstrations]
    share, worst = float(np.mean(missing)), demonstrations[int(np.argmax(missing))].source.name
    if force_kind == "none" and share < 1.0:
        kinds = sorted({d.force_kind for d in demonstrations} - {"none"})
        reason = f"more than {MAX_MISSING_SHARE:.0%} of the way has no measured force"
        if len(kinds) > 1:
            reason = f"some of them are {' and some '.join(kinds)}"
        yield f"no force is learnt: {reason}"
    elif MAX_MISSING_SHARE < share < 1.0:
        yield (
            f"{share:.0%} of the force readings are missing, {max(missing):.0%} of those in "
            f"{worst}: the learnt force is the mean of the demonstrations that have one"
        )
    extent = float(np.mean([np.linalg.norm(np.ptp(d.position, axis=0)) for d in demonstrations]))
    if deviation > MAX_SPREAD * extent:
        yield (
            f"the demonstrations differ: they deviate from their mean by {deviation / extent:.0%} "
            f"of their extent of {1e3 * extent:.0f} mm; the skill is a mean that nobody showed"
        )


def _threshold(aligned: Aligned) -> float:
    size = np.linalg.norm(aligned.force, axis=2)
    touching = size > max(MIN_CONTACT_FORCE, 0.1 * float(np.quantile(size, 0.95)))
    if not touching.any():
        return MIN_CONTACT_FORCE
    return max(MIN_CONTACT_FORCE, CONTACT_SHARE * float(size[touching].mean()))


def _facts(
    name: str,
    method: str,
    demonstrations: Sequence[Demonstration],
    aligned: Aligned,
    threshold: float,
    force_kind: str,
) -> Facts:
    size = np.linalg.norm(aligned.force, axis=2)[aligned.measured]
    touching = size > threshold
    spread = aligned.motion[:, :, :3] - aligned.motion[:, :, :3].mean(axis=0)
    deviation = float(np.sqrt(np.square(spread).sum(axis=2).mean()))
    settings = {
        key: value
        for key, value in demonstrations[0].settings.items()
        if all(d.settings.get(key) == value for d in demonstrations)
    }
    return Facts(
        name=name,
        method=method,
        robot=demonstrations[0].robot,
        duration=aligned.duration,
        demonstrations=len(demonstrations),
        sources=tuple(d.source.name for d in demonstrations),
        force_kind=force_kind,
        force_mean=float(size[touching].mean()) if touching.any() else 0.0,
        contact_share=float(touching.mean()) if touching.size else 0.0,
        deviation=deviation,
        settings=settings,
        notes=tuple(_notes(demonstrations, force_kind, deviation)),
    )


def load_skill(path: str | Path) -> Skill:
    """Read a skill's file.

    Raises:
        FileError: the file is missing, damaged, not a skill or of a newer version.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {key: content[key] for key in content.files}
        facts = json.loads(str(arrays.pop("facts")))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (KeyError, ValueError, RecursionError, zipfile.BadZipFile, EOFError):
        raise FileError(f"{path} is not a skill: only farhand learn writes those") from None
    return _skill(path, facts, arrays)


def _skill(path: Path, facts: dict[str, Any], arrays: dict[str, Array]) -> Skill:
    if facts.pop("format", None) != FORMAT:
        raise FileError(f"{path} is a skill of another format; this version reads format {FORMAT}")
    try:
        robot = facts.pop("robot")
        facts["robot"] = DemonstratedRobot(**robot | {"joints": tuple(robot["joints"])})
        facts["sources"] = tuple(facts["sources"])
        facts["notes"] = tuple(facts.get("notes", ()))
        known = Facts(**facts)
        kind = MovementPrimitive if known.method == "dmp" else ProbabilisticPrimitive
        named = [(key.split("_", 1), value) for key, value in arrays.items()]
        own = {key[1]: value for key, value in named if key[0] == "primitive"}
        primitive: MovementPrimitive | ProbabilisticPrimitive = kind(**own)
        skill = Skill(known, primitive, arrays["reference"], float(arrays["threshold"]))
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{path} is not a whole skill: write it again with farhand learn") from None
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise FileError(f"{path} has numbers that are not finite")
    return skill
