"""Guard: the limits of one station. A broken limit or a bad number trips it until it is reset."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.compiled import bind
from farhand.kernels import scaled_square
from farhand.parameters import parameter
from farhand.plants.plant import Sample
from farhand.robots import Limits
from farhand.spatial import Array

UNBOUNDED = 1e6
"""Stands for the missing limit of a joint that has one on the other side only, [rad or m]."""


@dataclass(frozen=True)
class Trip:
    """Why a station stopped."""

    time_ns: int  #: when, [ns]
    #: ``invalid`` (NaN), ``position``, ``speed``, ``torque``, ``force``, ``workspace``, ``stale``,
    #: ``link``, ``overrun`` or ``stop``
    kind: str
    reason: str  #: in words, with the value and the limit


@dataclass
class Guard:
    """Limits on what a plant measures and on its commands. The first breach latches.

    Torques beyond the limit are cut and trip only with ``torque_trips``: a saturated arm still
    holds.

    Attributes:
        trip: why it tripped, or None.
        wrench_valid: whether the last sample's wrench held numbers.
        clipped: ticks in which torques were cut.
        cut: what the last :meth:`limit` took off, [N·m]; None if nothing.
        bounds: for the cheap test: middle and one over the reach of every value of a sample, and
            two corners of the workspace; without columns where there are no limits.
    """

    speed: float = parameter(1.0, "-", "fraction of the joint speed limits", 0.01, 1.0)
    margin: float = parameter(0.0, "rad", "distance kept from the joint limits", 0.0, 1.0)
    force: float = parameter(300.0, "N", "largest contact force", 0.0, 1e5)
    moment: float = parameter(60.0, "N·m", "largest contact torque", 0.0, 1e4)
    low: Array = parameter((-5.0, -5.0, -5.0), "m", "lower corner of the workspace", -100.0, 100.0)
    high: Array = parameter((5.0, 5.0, 5.0), "m", "upper corner of the workspace", -100.0, 100.0)
    stale: float = parameter(0.1, "s", "oldest sample accepted", 0.0001, 10.0)
    torque_trips: bool = parameter(False, "-", "whether a torque beyond the limit trips")

    def __post_init__(self) -> None:
        self.trip: Trip | None = None
        self.wrench_valid = True
        self.clipped = 0
        self.cut: Array | None = None
        # the array of which _load sums the squares over their limits
        self._torques: Array | None = None
        self.watch(None)

    def watch(self, limits: Limits | None) -> None:
        """Take the joint limits of the robot that is guarded."""
        self._limits = limits
        self.refresh()

    @property
    def limits(self) -> Limits | None:
        """The joint limits of the robot that is guarded; None if they are not known."""
        return self._limits

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        self._low, self._high = self.low.tolist(), self.high.tolist()
        self.stale_ns = int(self.stale * 1e9)
        self.bounds = np.zeros((4, 0))
        if self._limits is None:
            return
        limits = self._limits
        lower, upper = limits.lower + self.margin, limits.upper - self.margin
        self._position = (lower, upper)
        bounded = np.isfinite(lower) | np.isfinite(upper)
        low, high = np.maximum(lower, -UNBOUNDED), np.minimum(upper, UNBOUNDED)
        self._velocity = limits.velocity * self.speed
        self._torque = limits.torque
        middle = np.where(bounded, 0.5 * (low + high), 0.0)
        reach = np.where(bounded, 2.0 / np.maximum(high - low, 1e-9), 0.0)
        self._torques, self._inverse = None, _inverse(limits.torque)
        wrench = np.repeat(_inverse(np.array([self.force, self.moment])), 3)
        self.bounds = np.zeros((4, 2 * len(middle) + 6))
        self.bounds[0, : len(middle)] = middle
        self.bounds[1] = np.concatenate([reach, _inverse(self._velocity), wrench])
        self.bounds[2, :3], self.bounds[3, :3] = self.low, self.high

    def check(self, sample: Sample, now_ns: int) -> bool:
        """Whether the motion can be used: not if stale or NaN. Any broken limit trips.

        The cheap test comes first. All values are scaled by their limits: if the sum of squares is
        at most 1, no limit is broken and nothing is NaN. Otherwise each value is checked.
        """
        if now_ns - sample.time_ns > self.stale_ns:
            age = (now_ns - sample.time_ns) * 1e-9
            reason = f"the plant's last sample is {age:.3f} s old (limit {self.stale:g} s)"
            self._trip(now_ns, "stale", reason)
            return False
        if len(sample.values) == self.bounds.shape[1]:
            off = (sample.values - self.bounds[0]) * self.bounds[1]
            if off.dot(off) <= 1.0:
                self.wrench_valid = True
                return True
        return self._check_each(sample, now_ns)

    def check_tool(self, position: Array, now_ns: int) -> None:
        """Trip when the tool leaves the workspace; position in world, [m]."""
        x, y, z = position.tolist()
        low, high = self._low, self._high
        if not (low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]):
            where = f"({x:.3f}, {y:.3f}, {z:.3f}) m"
            reason = f"tool at {where}, outside the box from {low} to {high}"
            self._trip(now_ns, "workspace", reason)

    def limit(self, torque: Array, now_ns: int) -> bool:
        """Cut torques to their limits in place; False, and a trip, if they are not numbers."""
        self.cut = None
        if self._limits is not None:
            if torque is not self._torques:
                self._torques, self._load = torque, bind(scaled_square, self._inverse, torque)
            # false for NaN too
            if self._load() <= 1.0:
                return True
        if not float(torque.dot(torque)) < math.inf:
            self._trip(now_ns, "invalid", "a commanded torque is not a number")
            return False
        if self._limits is not None and (np.abs(torque) > self._torque).any():
            self.clipped += 1
            if self.torque_trips:
                joint = int(np.argmax(np.abs(torque) - self._torque))
                most, unit = self._torque[joint], self._limits.units(joint)[2]
                needed = f"{self._limits.joint(joint)} needs {torque[joint]:.1f} {unit}"
                self._trip(now_ns, "torque", f"{needed} (limit {most:g} {unit})")
            asked = torque.copy()
            np.minimum(torque, self._torque, out=torque)
            np.maximum(torque, -self._torque, out=torque)
            self.cut = torque - asked
        return True

    def stop(self, now_ns: int, kind: str, reason: str) -> None:
        """Trip for an outside reason: the operator's stop, a law that failed."""
        self._trip(now_ns, kind, reason)

    def reset(self) -> None:
        """Clear the trip."""
        self.trip = None

    def _trip(self, now_ns: int, kind: str, reason: str) -> None:
        if self.trip is None:
            self.trip = Trip(now_ns, kind, reason)

    def _check_each(self, sample: Sample, now_ns: int) -> bool:
        self.wrench_valid = bool(np.isfinite(sample.values[-6:]).all())
        if not np.isfinite(sample.values).all():
            self._trip(now_ns, "invalid", f"{self._name_bad(sample)} is not a number")
            # a bad wrench stops the arm, but in closed loop
            return bool(np.isfinite(sample.motion).all())
        if self._limits is not None:
            self._check_joints(self._limits, sample.q, sample.v, now_ns)
        if sample.wrench is not None:
            force = float(np.linalg.norm(sample.wrench[:3]))
            moment = float(np.linalg.norm(sample.wrench[3:]))
            if force > self.force:
                self._trip(now_ns, "force", f"contact force {force:.1f} N (limit {self.force:g} N)")
            if moment > self.moment:
                reason = f"contact torque {moment:.2f} N·m (limit {self.moment:g} N·m)"
                self._trip(now_ns, "force", reason)
        return True

    def _check_joints(self, limits: Limits, q: Array, v: Array, now_ns: int) -> None:
        fast = np.abs(v) > self._velocity
        if fast.any():
            joint = int(np.argmax(fast))
            limit, unit = self._velocity[joint], limits.units(joint)[1]
            speed = f"{v[joint]:.2f} {unit} (limit {limit:.2f} {unit})"
            self._trip(now_ns, "speed", f"{limits.joint(joint)} at {speed}")
        lower, upper = self._position
        # quaternions have no limits
        if len(q) == len(lower) and (outside := (q < lower) | (q > upper)).any():
            joint = int(np.argmax(outside))
            unit = limits.units(joint)[0]
            allowed = f"limits {lower[joint]:.3f} to {upper[joint]:.3f} {unit}"
            reason = f"{limits.joint(joint)} at {q[joint]:.3f} {unit} ({allowed})"
            self._trip(now_ns, "position", reason)

    def _name_bad(self, sample: Sample) -> str:
        """Which measured value is not finite, in words."""
        measured = {"position": sample.q, "velocity": sample.v, "wrench": sample.values[-6:]}
        for word, values in measured.items():
            wrong = np.flatnonzero(~np.isfinite(values))
            if not len(wrong):
                continue
            names = () if self._limits is None or word == "wrench" else self._limits.names
            # a quaternion has more numbers than its joint has DOF
            if len(names) == len(values) and names[wrong[0]]:
                return f"measured {word} of joint {names[wrong[0]]}"
            return f"measured {word} {wrong[0] + 1}"
        return "the measured state"


def _inverse(limits: Array) -> Array:
    """One over limits; a limit of zero lets nothing but zero pass."""
    return 1.0 / np.maximum(limits, 1e-100)
