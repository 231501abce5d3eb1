"""Skill: a movement with its forces, learnt from demonstrations, kept in a file, bent to new goals and via-points."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.files import write_bytes
from farhand.learning.alignment import Aligned, align, rotation_at
from farhand.learning.demonstration import Demonstration, Robot
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


@dataclass(frozen=True)
class Facts:
    """What a skill's file says of where it comes from.

    Attributes:
        name: of the skill.
        method: one of :data:`METHODS`.
        robot: whose tool was taught.
        duration: mean of the demonstrations, [s].
        demonstrations: how many there were.
        sources: their files.
        force_kind: ``measured``, ``synthetic`` or ``none``.
        force_mean: mean of the force in contact, over all demonstrations, [N].
        contact_share: share of the time in contact, [-].
        deviation: of the demonstrations' positions from their mean, root mean square, [m].
        settings: parameters of the demonstrations' rig that all have in common, by path.
    """

    name: str
    method: str
    robot: Robot
    duration: float
    demonstrations: int
    sources: tuple[str, ...]
    force_kind: str
    force_mean: float
    contact_share: float
    deviation: float
    settings: dict[str, Any]


@dataclass(frozen=True)
class Motion:
    """A skill worked out at equal steps of its phase, n samples.

    Attributes:
        phase: 0 to 1, [-].
        position: shape (n, 3), [m].
        rotation: shape (n, 3, 3).
        vector: rotation vector from the reference, shape (n, 3), [rad].
        force: on the tool in world axes, shape (n, 3), [N].
    """

    phase: Array
    position: Array
    rotation: Array
    vector: Array
    force: Array


@dataclass(frozen=True)
class Skill:
    """What was learnt.

    Attributes:
        facts: where it comes from.
        primitive: of motion and force.
        reference: orientation that rotation vectors count from.
        threshold: force above which there is contact, [N].
    """

    facts: Facts
    primitive: MovementPrimitive | ProbabilisticPrimitive
    reference: Array
    threshold: float

    def motion(self, samples: int = 1001) -> Motion:
        """The skill worked out at so many equal steps."""
        phase = np.linspace(0.0, 1.0, samples)
        y = self.primitive.movement(phase)
        rotations = np.stack([rotation_at(vector, self.reference) for vector in y[:, 3:6]])
        return Motion(phase, y[:, :3], rotations, y[:, 3:6], y[:, 6:9])

    def towards(self, goal: Array) -> Skill:
        """The skill with another goal position, [m]; orientation and force stay."""
        primitive = self.primitive
        if isinstance(primitive, MovementPrimitive):
            return replace(self, primitive=primitive.towards(np.concatenate([goal, primitive.goal[3:]])))
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
        np.savez_compressed(buffer, facts=text, reference=self.reference, threshold=self.threshold, **arrays)
        write_bytes(path, buffer.getvalue())


def _point(position: Array) -> Array:
    return np.concatenate([position, np.full(6, np.nan)])


def learn(name: str, demonstrations: Sequence[Demonstration], method: str = "dmp") -> Skill:
    """A skill from demonstrations of one robot.

    Raises:
        BadValue: there are too few.
        Mismatch: they are of different robots.
        UnknownName: no such method.
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if len(demonstrations) < LEAST:
        count = len(demonstrations)
        found = "1 demonstration is" if count == 1 else f"{count} demonstrations are"
        raise BadValue(f"{found} too few: learning takes at least {LEAST}")
    first = demonstrations[0]
    for other in demonstrations[1:]:
        if other.robot != first.robot:
            raise Mismatch(
                f"demonstrations of different robots: {first.source} is of {first.robot}, "
                f"{other.source} of {other.robot}"
            )
    aligned = align(demonstrations)
    threshold = _threshold(aligned)
    count = max(20, round(BUMPS_PER_SECOND * aligned.duration))
    movements = np.concatenate([aligned.motion, aligned.force], axis=2)
    kind = MovementPrimitive if method == "dmp" else ProbabilisticPrimitive
    primitive = kind.fit(aligned.phase, movements, count)
    facts = _facts(name, method, demonstrations, aligned, threshold)
    return Skill(facts, primitive, aligned.reference, threshold)


def _threshold(aligned: Aligned) -> float:
    size = np.linalg.norm(aligned.force, axis=2)
    touching = size > max(LIGHTEST, 0.1 * float(np.quantile(size, 0.95)))
    return max(LIGHTEST, TOUCH * float(size[touching].mean())) if touching.any() else LIGHTEST


def _facts(
    name: str, method: str, demonstrations: Sequence[Demonstration], aligned: Aligned, threshold: float
) -> Facts:
    size = np.linalg.norm(aligned.force, axis=2)
    touching = size > threshold
    kinds = {d.force_kind for d in demonstrations}
    spread = aligned.motion[:, :, :3] - aligned.motion[:, :, :3].mean(axis=0)
    common = demonstrations[0].settings.items()
    return Facts(
        name=name,
        method=method,
        robot=demonstrations[0].robot,
        duration=aligned.duration,
        demonstrations=len(demonstrations),
        sources=tuple(d.source.name for d in demonstrations),
        force_kind=kinds.pop() if len(kinds) == 1 else "none",
        force_mean=float(size[touching].mean()) if touching.any() else 0.0,
        contact_share=float(touching.mean()),
        deviation=float(np.sqrt(np.square(spread).sum(axis=2).mean())),
        settings={key: value for key, value in common if all(d.settings.get(key) == value for d in demonstrations)},
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
        raise FileError(f"{path} is a skill of another format than {FORMAT}, the one this version reads")
    try:
        robot = facts.pop("robot")
        known = Robot(robot["rig"], robot["station"], robot["model"], tuple(robot["joints"]))
        said = Facts(**facts | {"robot": known, "sources": tuple(facts["sources"])})
        kind = MovementPrimitive if said.method == "dmp" else ProbabilisticPrimitive
        own = {key.removeprefix("primitive_"): value for key, value in arrays.items() if key.startswith("primitive_")}
        primitive: MovementPrimitive | ProbabilisticPrimitive = kind(**own)
        skill = Skill(said, primitive, arrays["reference"], float(arrays["threshold"]))
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{path} is not a whole skill: farhand learn writes it anew") from None
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise FileError(f"{path} has numbers that are not finite")
    return skill
