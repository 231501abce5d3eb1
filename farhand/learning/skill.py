"""Skill: a movement with its forces, learnt from demonstrations, kept in a file, bent to new goals and via-points."""

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
from farhand.learning.alignment import MISSED, Aligned, align, rotation_at
from farhand.learning.demonstration import DemonstratedRobot, Demonstration, check_alike
from farhand.learning.dmp import MovementPrimitive
from farhand.learning.promp import ProbabilisticPrimitive

Array = np.ndarray

METHODS = {
    "dmp": "dynamic movement primitive: a spring to the goal and a forcing term",
    "promp": "probabilistic movement primitive: a Gaussian over movements, conditioned on goal and via-points",
}
"""How a skill can be learnt."""

LEAST = 5
"""Demonstrations it takes, [-]."""

BUMPS_PER_SECOND = 5.0
"""Basis functions per second of a movement; at least twenty, [1/s]."""

FORMAT = 1
TOUCH = 0.3
"""A force above this share of the mean force of all contact counts as contact."""

LIGHTEST = 1.0
"""No force below this counts as contact, [N]."""

UNLIKE = 0.2
"""Demonstrations that stray from their mean (root mean square) by more than this share of their
extent are worth a
note; the extent is the diagonal of the box about a demonstration, in the mean of all."""


@dataclass(frozen=True)
class Facts:
    """What a skill's file says of where it comes from."""

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
    #: parameters of the demonstrations' rig that all have in common, by path
    settings: dict[str, Any]
    #: what a user should know of the demonstrations before trusting the skill, in words
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkillMotion:
    """A skill worked out at equal steps of its phase, n samples."""

    phase: Array  #: 0 to 1, [-]
    position: Array  #: shape (n, 3), [m]
    rotation: Array  #: shape (n, 3, 3)
    vector: Array  #: rotation vector from the reference, shape (n, 3), [rad]
    force: Array  #: on the tool in world axes, shape (n, 3), [N]


@dataclass(frozen=True)
class Skill:
    """What was learnt."""

    facts: Facts  #: where it comes from
    primitive: MovementPrimitive | ProbabilisticPrimitive  #: of motion and force
    reference: Array  #: orientation that rotation vectors count from
    threshold: float  #: force above which there is contact, [N]

    def motion(self, samples: int = 1001) -> SkillMotion:
        """The skill worked out at so many equal steps."""
        phase = np.linspace(0.0, 1.0, samples)
        y = self.primitive.movement(phase)
        rotations = np.stack([rotation_at(vector, self.reference) for vector in y[:, 3:6]])
        return SkillMotion(phase, y[:, :3], rotations, y[:, 3:6], y[:, 6:9])

    def towards(self, goal: Array) -> Skill:
        """The skill with another goal position, [m]; orientation and force stay."""
        primitive = self.primitive
        if isinstance(primitive, MovementPrimitive):
            return replace(
                self, primitive=primitive.towards(np.concatenate([goal, primitive.goal[3:]]))
            )
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
        BadValue: there are too few, or one is there twice.
        Mismatch: they are of different robots.
        UnknownName: no such method.
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if len(demonstrations) < LEAST:
        count = len(demonstrations)
        found = "1 demonstration is" if count == 1 else f"{count} demonstrations are"
        raise BadValue(f"{found} too few: learning takes at least {LEAST}")
    check_alike(demonstrations)
    aligned = align(demonstrations)
    force_kind = _force_kind(demonstrations, aligned)
    if force_kind == "none":
        nothing = {
            "force": np.zeros_like(aligned.force),
            "measured": np.zeros_like(aligned.measured),
        }
        aligned = replace(aligned, **nothing)
    threshold = _threshold(aligned)
    count = max(20, round(BUMPS_PER_SECOND * aligned.duration))
    movements = np.concatenate([aligned.motion, aligned.force], axis=2)
    kind = MovementPrimitive if method == "dmp" else ProbabilisticPrimitive
    primitive = kind.fit(aligned.phase, movements, count)
    facts = _facts(name, method, demonstrations, aligned, threshold, force_kind)
    return Skill(facts, primitive, aligned.reference, threshold)


def _force_kind(demonstrations: Sequence[Demonstration], aligned: Aligned) -> str:
    """What kind of force there is to learn: none where kinds are mixed or nobody measured much of the way."""
    kinds = {d.force_kind for d in demonstrations} - {"none"}
    nobody = float((~aligned.measured.any(axis=0)).mean())
    return kinds.pop() if len(kinds) == 1 and nobody <= MISSED else "none"


def _notes(
    demonstrations: Sequence[Demonstration], force_kind: str, deviation: float
) -> Iterator[str]:
    """What the user should know: forces that are missing, and demonstrations that do not show the same."""
    missing = [float((~np.isfinite(d.force).all(axis=1)).mean()) for d in demonstrations]
    share, worst = float(np.mean(missing)), demonstrations[int(np.argmax(missing))].source.name
    if force_kind == "none" and share < 1.0:
        kinds = sorted({d.force_kind for d in demonstrations} - {"none"})
        mixed = f"some of them are {' and some '.join(kinds)}"
        nobody = f"over more than {MISSED:.0%} of the way nobody measured one"
        yield f"no force is learnt: {mixed if len(kinds) > 1 else nobody}"
    elif MISSED < share < 1.0:
        yield (
            f"{share:.0%} of the force readings are missing, {max(missing):.0%} of those in {worst}: the force learnt "
            "is the mean of the demonstrations that have one"
        )
    extent = float(np.mean([np.linalg.norm(np.ptp(d.position, axis=0)) for d in demonstrations]))
    if deviation > UNLIKE * extent:
        yield (
            f"the demonstrations are unlike one another: they stray from their mean by {deviation / extent:.0%} of "
            f"their extent of {1e3 * extent:.0f} mm; the skill is a mean that nobody showed"
        )


def _threshold(aligned: Aligned) -> float:
    size = np.linalg.norm(aligned.force, axis=2)
    touching = size > max(LIGHTEST, 0.1 * float(np.quantile(size, 0.95)))
    return max(LIGHTEST, TOUCH * float(size[touching].mean())) if touching.any() else LIGHTEST


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
    common = demonstrations[0].settings.items()
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
        settings={
            key: value
            for key, value in common
            if all(d.settings.get(key) == value for d in demonstrations)
        },
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
    except (KeyError, ValueError, zipfile.BadZipFile, EOFError):
        raise FileError(f"{path} is not a skill: only farhand learn writes those") from None
    return _skill(path, facts, arrays)


def _skill(path: Path, facts: dict[str, Any], arrays: dict[str, Array]) -> Skill:
    if facts.pop("format", None) != FORMAT:
        raise FileError(
            f"{path} is a skill of another format than {FORMAT}, the one this version reads"
        )
    try:
        robot = facts.pop("robot")
        known = DemonstratedRobot(
            robot["rig"], robot["station"], robot["model"], tuple(robot["joints"])
        )
        words = {"sources": tuple(facts["sources"]), "notes": tuple(facts.get("notes", ()))}
        said = Facts(**facts | {"robot": known} | words)
        kind = MovementPrimitive if said.method == "dmp" else ProbabilisticPrimitive
        own = {
            key.removeprefix("primitive_"): value
            for key, value in arrays.items()
            if key.startswith("primitive_")
        }
        primitive: MovementPrimitive | ProbabilisticPrimitive = kind(**own)
        skill = Skill(said, primitive, arrays["reference"], float(arrays["threshold"]))
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{path} is not a whole skill: farhand learn writes it anew") from None
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise FileError(f"{path} has numbers that are not finite")
    return skill
