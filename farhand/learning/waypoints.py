"""Way-points: places taught one by one, kept in a text file, and visited again in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from farhand.control.controller import Channels
from farhand.control.trajectory.paths import Quintic, Reference
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.errors import BadValue, FileError, Mismatch
from farhand.files import write_text
from farhand.learning.demonstration import Demonstration, check_alike
from farhand.parameters import parameter
from farhand.spatial import rotation_vector

Array = np.ndarray


@dataclass(frozen=True)
class TaughtPoint:
    """One taught place of one chain."""

    chain: str  #: which limb or arm
    position: tuple[float, float, float]  #: of its tool from where it was when teaching began, [m]


def points_of(demonstrations: Sequence[Demonstration]) -> list[TaughtPoint]:
    """The end of each demonstration, relative to the start of the first one of its recording.

    Raises:
        Mismatch: they are of different robots or limbs, or of a robot that cannot go to way-points.
        BadValue: two are equal.
    """
    check_alike(demonstrations)
    chain, robot = demonstrations[0].limb, demonstrations[0].robot
    if chain is None or robot.station != "follower":
        source = demonstrations[0].source
        raise Mismatch(f"only the humanoid's limbs go to way-points; {source} is of {robot}")
    starts: dict[Path, Array] = {}
    for one in demonstrations:
        starts.setdefault(one.source, one.position[0])
    return [
        TaughtPoint(chain, tuple((one.position[-1] - starts[one.source]).tolist()))
        for one in demonstrations
    ]


def write_points(path: Path, points: Sequence[TaughtPoint]) -> None:
    """Write one line ``CHAIN X Y Z`` per place, [m]."""
    lines = [f"{point.chain} " + " ".join(f"{x:.6f}" for x in point.position) for point in points]
    write_text(path, "\n".join(lines) + "\n")


def read_points(path: Path) -> list[TaughtPoint]:
    """Read such a file; blank lines and those that begin with # are skipped.

    Raises:
        FileError: the file cannot be read.
        BadValue: a line is not ``CHAIN X Y Z``, there is none, or they are of more than one chain.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not text") from None
    points = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            points.append(_point(path, number, line.split()))
    if not points:
        example = "a line is CHAIN X Y Z, such as left-arm 0.01 0 0.02"
        raise BadValue(f"{path} has no way-point; {example}")
    chains = sorted({point.chain for point in points})
    if len(chains) > 1:
        raise BadValue(f"{path} has way-points of {', '.join(chains)}; use one file per chain")
    return points


def _point(path: Path, number: int, words: list[str]) -> TaughtPoint:
    try:
        chain, x, y, z = words[0], *(float(word) for word in words[1:])
    except ValueError:
        line = " ".join(words)[:60]
        raise BadValue(f"{path} line {number} is not CHAIN X Y Z: {line!r}") from None
    if not all(abs(value) < 10.0 for value in (x, y, z)):
        raise BadValue(f"{path} line {number} is further away than 10 m, or not a number")
    return TaughtPoint(chain, (x, y, z))


@dataclass
class Replay(SpringCoupling):
    """Visit way-points in order; a point is reached when the tool is in a box about it.

    If the tool never reports to be there, because its sensors are off, the point counts as reached
    after ``patience``.

    Attributes:
        reached: number of way-points reached.
    """

    name = "way-points"
    points: ClassVar[Sequence[TaughtPoint]]

    spring: Spring = field(default_factory=Spring)  #: pulls the tool if the arm takes wrenches
    speed: float = parameter(0.05, "m/s", "mean speed along the way", 1e-4, 1.0)
    # Half width: from the published code of the author.
    box: float = parameter(1e-3, "m", "half the width of the box", 1e-5, 0.1)
    patience: float = parameter(1.0, "s", "after which it is believed to be there", 0.0, 60.0)
    rest: float = parameter(0.3, "s", "stay at a way-point", 0.0, 60.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.target = Reference()
        self.reached = 0
        self._places = np.array([point.position for point in self.points])
        self._clock = self._held = 0.0
        self._channel = np.zeros(1)

    def record(self, stream: Channels) -> None:
        """Record the number of way-points reached."""
        self._channel = stream.channel("waypoints_reached", 1, "-")

    def engage(self, a: Side, b: Side) -> None:
        """Begin where the tool is."""
        super().engage(a, b)
        self._origin = b.position.copy()
        self.reached = 0
        self.target.stand(b.position, b.rotation)
        self._depart()

    def _depart(self) -> None:
        goal = self._origin + self._places[self.reached]
        self._length = max(0.1, float(np.linalg.norm(goal - self.target.position)) / self.speed)
        rest = (np.zeros(3), np.zeros(3))
        self._way = Quintic([self.target.position, *rest], [goal, *rest], self._length)
        self._clock = self._held = 0.0

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Nothing on the leader; the follower on its way."""
        self._clock += dt
        position, velocity, _ = self._way.at(min(self._clock, self._length))
        self.target.position[:], self.target.twist[:3] = position, velocity
        np.subtract(self.target.position, b.position, self.error[:3])
        self.error[3:] = rotation_vector(self.target.rotation @ b.rotation.T)
        np.subtract(self.target.twist, b.twist, self.rate)
        late = self._clock - self._length
        inside = float(np.abs(self.error[:3]).max()) <= self.box
        there = late > 0.0 and (inside or late > self.patience)
        self._held = self._held + dt if there else 0.0
        if self._held > self.rest and self.reached < len(self._places):
            self.reached += 1
            if self.reached < len(self._places):
                self._depart()
        self._channel[0] = self.reached
        return a.effort(), b.effort(self.spring.pull(self.error, self.rate), self.target)


def replaying(points: Sequence[TaughtPoint]) -> type[Replay]:
    """The law that goes to these way-points."""
    return type("Replaying", (Replay,), {"points": tuple(points)})
