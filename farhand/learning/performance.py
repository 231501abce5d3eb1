"""Perform a skill as a law: follow the learnt movement and keep the learnt force."""

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

NORMAL_LAG_S = 0.05
"""Time constant of the contact normal's estimate."""

RETURN_LAG_S = 1.0
"""Time constant with which the offset fades without contact."""

SAMPLES = 1001


@dataclass
class Performance(SpringCoupling):
    r"""Impedance about a learnt movement that yields along the contact normal to the learnt force.

    .. math:: w = K\,(x_s + o - x) + D\,(\dot x_r - \dot x), \qquad
              \dot o = n\,\bigl(v_s \cdot n_s - v_s \cdot n + c\,(f_n - F_s)\bigr)

    x_s, v_s, F_s and n_s are the skill's position, velocity, force and its direction at the present
    phase; n is the direction of the measured force, f_n the force along it. The first two terms
    turn the movement into the actual plane, the last one presses. Where the skill expects a contact
    and there is none, the phase waits and the tool searches for it, not further than ``reach``.
    Without force (``force_aware`` off, or a skill without measured force) o stays zero.

    The direction of the force counts as the surface's normal: friction would tilt it.

    Attributes:
        phase: of the skill, 0 to 1.
    """

    name = "skill"
    skill: ClassVar[Skill]

    #: K and D
    spring: Spring = field(default_factory=lambda: Spring(stiffness=1000.0, damping=100.0))
    force_aware: bool = parameter(True, "-", "whether the learnt force is kept")
    yielding: float = parameter(0.006, "m/(s·N)", "speed of yielding per excess newton", 0.0, 1.0)
    fastest: float = parameter(0.08, "m/s", "largest speed of looking for contact", 0.0, 1.0)
    reach: float = parameter(0.08, "m", "how far it may leave the learnt movement", 0.0, 1.0)
    approach: float = parameter(1.5, "s", "time to go to the start", 0.1, 60.0)
    pace: float = parameter(1.0, "-", "speed over that of the demonstrations", 0.05, 5.0)
    relative: bool = parameter(False, "-", "whether it begins where the tool is")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.phase = 0.0
        self.target = Reference()
        motion = self.skill.motion(SAMPLES)
        self._table = np.concatenate([motion.position, motion.vector, motion.force], axis=1)
        self._slope = np.gradient(self._table, motion.phase, axis=0)
        self._offset, self._normal, self._origin = (np.zeros(3) for _ in range(3))
        self._clock = 0.0
        self._learnt_force = 0.0  # [N]
        self._given_up = False
        self._from: tuple[Quintic, Array] | None = None
        self._channels = np.zeros(1), np.zeros(1), np.zeros(3)

    def record(self, stream: Channels) -> None:
        """Record phase, learnt force and offset."""
        self._channels = (
            stream.channel("phase", 1, "-"),
            stream.channel("force_wanted", 1, "N"),
            stream.channel("offset_in_world", 3, "m"),
        )

    def engage(self, a: Side, b: Side) -> None:
        """Begin at the present pose: first to the skill's start, then the skill."""
        super().engage(a, b)
        start = self._table[0].copy()
        self._origin[:] = b.position - start[:3] if self.relative else 0.0
        start[:3] += self._origin
        first = rotation_from_vector(start[3:6]) @ self.skill.reference
        turn = rotation_vector(first @ b.rotation.T)
        rest = ([0.0] * 4, [0.0] * 4)
        curve = Quintic([[*b.position, 0.0], *rest], [[*start[:3], 1.0], *rest], self.approach)
        self._from = curve, np.concatenate([turn[None], b.rotation])
        self.phase = self._clock = self._learnt_force = 0.0
        self._given_up = False
        self._offset[:] = self._normal[:] = 0.0

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Nothing on the leader; on the follower the spring to the target of the skill."""
        self._clock += dt
        if self._clock < self.approach and self._from is not None:
            self._lead_in(*self._from)
        else:
            self._follow(b, dt)
        target = self.target
        np.subtract(target.position, b.position, self.error[:3])
        self.error[3:] = rotation_vector(target.rotation @ b.rotation.T)
        np.subtract(target.twist, b.twist, self.rate)
        phase, force, offset = self._channels
        phase[0], force[0], offset[:] = self.phase, self._learnt_force, self._offset
        return a.effort(), b.effort(self.spring.pull(self.error, self.rate), target)

    def _lead_in(self, curve: Quintic, turning: Array) -> None:
        rows, target = curve.at(self._clock), self.target
        target.position[:], target.twist[:3] = rows[0, :3], rows[1, :3]
        target.rotation[:] = rotation_from_vector(rows[0, 3] * turning[0]) @ turning[1:]
        target.twist[3:] = rows[1, 3] * turning[0]

    def _follow(self, b: Side, dt: float) -> None:
        """Advance the phase, the offset by the force, and the target by both."""
        row, slope = self._at(self.phase)
        force = b.wrench[:3] if b.wrench is not None else None
        if not self.force_aware or self.skill.facts.force_kind != "measured":
            force = None
        self._learnt_force = float(np.linalg.norm(row[6:]))
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
        """Whether the expected contact is missing and the tool may search further."""
        threshold = self.skill.threshold
        expected = self._learnt_force > threshold
        missing = expected and float(np.linalg.norm(force)) < 0.5 * threshold
        self._given_up = missing and (self._given_up or self._at_reach())
        return missing and not self._given_up

    def _at_reach(self) -> bool:
        return float(np.linalg.norm(self._offset)) >= self.reach

    def _drift(self, row: Array, velocity: Array, force: Array, dt: float) -> Array:
        felt, expected = float(np.linalg.norm(force)), self._learnt_force > self.skill.threshold
        learnt = row[6:] / self._learnt_force if self._learnt_force > 0.0 else np.zeros(3)
        touching = felt > 0.5 * self.skill.threshold
        if touching:
            self._estimate(force / felt, dt)
        elif not self._normal.any() or not expected:
            self._normal[:] = learnt if expected else 0.0
        if not expected and not touching:
            return -self._offset / RETURN_LAG_S
        n = self._normal
        along = float(velocity @ learnt) if expected else max(0.0, float(velocity @ n))
        press = self.yielding * (float(force @ n) - self._learnt_force)
        press = min(max(press, -self.fastest), self.fastest)
        if press < 0.0 and (self._given_up or self._at_reach()):
            press = 0.0
        return n * (along - float(velocity @ n) + press)

    def _estimate(self, direction: Array, dt: float) -> None:
        if not self._normal.any():
            self._normal[:] = direction
        self._normal += (direction - self._normal) * min(1.0, dt / NORMAL_LAG_S)
        self._normal /= max(float(np.linalg.norm(self._normal)), 1e-9)

    def _at(self, phase: float) -> tuple[Array, Array]:
        place = phase * (SAMPLES - 1)
        i = min(int(place), SAMPLES - 2)
        share = place - i
        row, slope = (t[i] + share * (t[i + 1] - t[i]) for t in (self._table, self._slope))
        return row, slope


def performing(skill: Skill) -> type[Performance]:
    """The law that performs this skill."""
    return type("Performing", (Performance,), {"skill": skill})
