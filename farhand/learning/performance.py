"""Performance: a skill as a law. It pulls the follower's tool along what was learnt and keeps the learnt force."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from farhand.control.controller import Channels
from farhand.control.trajectory.paths import Quintic, Reference
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.learning.skill import Skill
from farhand.parameters import parameter
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

NORMAL_LAG = 0.05
"""Time constant of the contact normal's estimate, [s]."""

RETURN = 1.0
"""Time constant with which the offset fades once there is nothing to press on, [s]."""

SAMPLES = 1001


@dataclass
class Performance(SpringCoupling):
    r"""Impedance about a learnt movement that gives way along the contact normal until the force is the learnt one.

    .. math:: w = K\,(x_s + o - x) + D\,(\dot x_r - \dot x), \qquad
              \dot o = n\,\bigl(v_s \cdot n_s - v_s \cdot n + c\,(f_n - F_s)\bigr)

    x_s, v_s, F_s and n_s are the skill's position, velocity, force and its direction at the present
    phase; n is the direction of the force that is felt, f_n the force along it. The first two terms
    turn the movement into the plane that is there, the last one presses. Where the skill expects a
    contact and there is none, the phase waits and the tool goes looking for it, not further than
    ``reach``. Without force (``force_aware`` off, or a skill without measured force) o stays zero:
    a movement under impedance and nothing else.

    The direction of the force is taken for the surface's normal: friction at the surface would tilt
    it.

    Attributes:
        skill: what is performed.
        spring: K and D.
        phase: how far the skill has got, 0 to 1.
    """

    name = "skill"
    skill: ClassVar[Skill]

    spring: Spring = field(default_factory=lambda: Spring(stiffness=1000.0, damping=100.0))
    force_aware: bool = parameter(True, "-", "whether the learnt force is kept")
    yielding: float = parameter(
        0.006, "m/(s·N)", "speed of giving way per newton too much", 0.0, 1.0
    )
    fastest: float = parameter(0.08, "m/s", "largest speed of looking for contact", 0.0, 1.0)
    reach: float = parameter(0.08, "m", "how far it may leave the learnt movement", 0.0, 1.0)
    approach: float = parameter(1.5, "s", "time to go to the start", 0.1, 60.0)
    pace: float = parameter(1.0, "-", "speed over that of the demonstrations", 0.05, 5.0)
    relative: bool = parameter(False, "-", "whether it begins where the tool is")

    def __post_init__(self) -> None:
        """Work the skill out once."""
        super().__post_init__()
        self.phase = 0.0
        self.target = Reference()
        motion = self.skill.motion(SAMPLES)
        self._table = np.concatenate([motion.position, motion.vector, motion.force], axis=1)
        self._slope = np.gradient(self._table, motion.phase, axis=0)
        self._offset, self._normal, self._origin = np.zeros(3), np.zeros(3), np.zeros(3)
        self._clock, self._wanted, self._given_up = 0.0, 0.0, False
        self._from: tuple[Quintic, Array] | None = None
        self._told = np.zeros(1), np.zeros(1), np.zeros(3)

    def record(self, stream: Channels) -> None:
        """Phase, wanted force and offset."""
        size = (("phase", 1, "-"), ("force_wanted", 1, "N"), ("offset_in_world", 3, "m"))
        phase, wanted, offset = (stream.channel(*one) for one in size)
        self._told = phase, wanted, offset

    def engage(self, a: Side, b: Side) -> None:
        """Begin at the present pose: first to the skill's start, then the skill."""
        super().engage(a, b)
        start = self._table[0].copy()
        self._origin[:] = b.position - start[:3] if self.relative else 0.0
        start[:3] += self._origin
        turn = rotation_vector(
            rotation_from_vector(start[3:6]) @ self.skill.reference @ b.rotation.T
        )
        self._from = (
            Quintic(
                [[*b.position, 0.0], [0.0] * 4, [0.0] * 4],
                [[*start[:3], 1.0], [0.0] * 4, [0.0] * 4],
                self.approach,
            ),
            np.concatenate([turn[None], b.rotation]),
        )
        self.phase, self._clock, self._given_up = 0.0, 0.0, False
        self._offset[:] = self._normal[:] = 0.0

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Nothing on the leader; on the follower the spring to where the skill has got to."""
        self._clock += dt
        if self._clock < self.approach and self._from is not None:
            self._lead_in(*self._from)
        else:
            self._follow(b, dt)
        target = self.target
        np.subtract(target.position, b.position, self._translation)
        self._rotation[:] = rotation_vector(target.rotation @ b.rotation.T)
        np.subtract(target.twist, b.twist, self.rate)
        phase, wanted, offset = self._told
        phase[0], wanted[0], offset[:] = self.phase, self._wanted, self._offset
        return a.effort(), b.effort(self.spring.pull(self.error, self.rate), target)

    def _lead_in(self, curve: Quintic, turning: Array) -> None:
        rows, target = curve.at(self._clock), self.target
        target.position[:], target.twist[:3] = rows[0, :3], rows[1, :3]
        target.rotation[:] = rotation_from_vector(rows[0, 3] * turning[0]) @ turning[1:]
        target.twist[3:] = rows[1, 3] * turning[0]

    def _follow(self, b: Side, dt: float) -> None:
        """Move the phase on, the offset with the force, and the target with both."""
        row, slope = self._at(self.phase)
        force = b.wrench[:3] if b.wrench is not None else None
        if not self.force_aware or self.skill.facts.force_kind != "measured":
            force = None
        self._wanted = float(np.linalg.norm(row[6:]))
        speed = self.pace / self.skill.facts.duration if self.phase < 1.0 else 0.0
        if force is not None and self._searching(force):
            speed = 0.0
        self.phase = min(1.0, self.phase + speed * dt)
        motion = slope[:6] * speed
        drift = np.zeros(3) if force is None else self._drift(row, motion[:3], force, dt)
        self._offset += drift * dt
        target = self.target
        target.position[:] = row[:3] + self._origin + self._offset
        target.rotation[:] = rotation_from_vector(row[3:6]) @ self.skill.reference
        target.twist[:3], target.twist[3:] = motion[:3] + drift, motion[3:]

    def _searching(self, force: Array) -> bool:
        """Whether there should be contact, is none, and the tool may go further to look for it."""
        missing = (
            self._wanted > self.skill.threshold
            and float(np.linalg.norm(force)) < 0.5 * self.skill.threshold
        )
        self._given_up = missing and (
            self._given_up or float(np.linalg.norm(self._offset)) >= self.reach
        )
        return missing and not self._given_up

    def _drift(self, row: Array, velocity: Array, force: Array, dt: float) -> Array:
        """How fast the offset moves, [m/s]."""
        felt, expected = float(np.linalg.norm(force)), self._wanted > self.skill.threshold
        learnt = row[6:] / self._wanted if self._wanted > 0.0 else np.zeros(3)
        touching = felt > 0.5 * self.skill.threshold
        if touching:
            self._estimate(force / felt, dt)
        elif not self._normal.any() or not expected:
            self._normal[:] = learnt if expected else 0.0
        if not expected and not touching:
            return -self._offset / RETURN
        n = self._normal
        along = float(velocity @ learnt) if expected else max(0.0, float(velocity @ n))
        press = self.yielding * (float(force @ n) - self._wanted)
        press = min(max(press, -self.fastest), self.fastest)
        if press < 0.0 and (self._given_up or float(np.linalg.norm(self._offset)) >= self.reach):
            press = 0.0
        return n * (along - float(velocity @ n) + press)

    def _estimate(self, direction: Array, dt: float) -> None:
        """Let the normal follow the direction of the force."""
        if not self._normal.any():
            self._normal[:] = direction
        self._normal += (direction - self._normal) * min(1.0, dt / NORMAL_LAG)
        self._normal /= max(float(np.linalg.norm(self._normal)), 1e-9)

    def _at(self, phase: float) -> tuple[Array, Array]:
        place = phase * (SAMPLES - 1)
        i = min(int(place), SAMPLES - 2)
        share = place - i
        return (
            self._table[i] + share * (self._table[i + 1] - self._table[i]),
            self._slope[i] + share * (self._slope[i + 1] - self._slope[i]),
        )


def performing(skill: Skill) -> type[Performance]:
    """The law that performs this skill."""
    return type("Performing", (Performance,), {"skill": skill})
