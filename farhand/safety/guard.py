"""Guard: the limits of one station. A broken limit or a bad number trips it, and it stays tripped until reset."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.parameters import parameter
from farhand.plants.plant import Sample
from farhand.robots import Limits

Array = np.ndarray


@dataclass(frozen=True)
class Trip:
    """Why a station stopped.

    Attributes:
        time_ns: when, [ns].
        kind: ``invalid`` (NaN), ``position``, ``speed``, ``force``, ``workspace``, ``stale``, ``link`` or ``stop``.
        reason: in plain words, with the value and the limit.
    """

    time_ns: int
    kind: str
    reason: str


@dataclass
class Guard:
    """Limits on what a plant measures and on what it is told. The first breach latches.

    Torques beyond the limit are cut, not tripped on: a saturated arm still holds. The cheap test comes first: a vector
    whose norm is below the smallest limit cannot break any.

    Attributes:
        speed: fraction of the robot's joint speed limits, [-].
        margin: distance kept from the joint limits, [rad].
        force: largest contact force, [N].
        moment: largest contact torque, [N·m].
        low: lower corner of the tool's workspace in world, [m].
        high: upper corner, [m].
        stale: oldest sample accepted, [s].
    """

    speed: float = parameter(1.0, "-", "fraction of the joint speed limits", 0.01, 1.0)
    margin: float = parameter(0.0, "rad", "distance kept from the joint limits", 0.0, 1.0)
    force: float = parameter(300.0, "N", "largest contact force", 0.0, 1e5)
    moment: float = parameter(60.0, "N·m", "largest contact torque", 0.0, 1e4)
    low: Array = parameter((-5.0, -5.0, -5.0), "m", "lower corner of the workspace", -100.0, 100.0)
    high: Array = parameter((5.0, 5.0, 5.0), "m", "upper corner of the workspace", -100.0, 100.0)
    stale: float = parameter(0.1, "s", "oldest sample accepted", 0.0001, 10.0)

    def __post_init__(self) -> None:
        """No limits of a robot yet, not tripped."""
        self.trip: Trip | None = None
        self.clipped = 0
        self.watch(None)

    def watch(self, limits: Limits | None) -> None:
        """Take the joint limits of the robot that is guarded."""
        self._limits = limits
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        self._low, self._high = self.low.tolist(), self.high.tolist()
        self._stale_ns = int(self.stale * 1e9)
        if self._limits is None:
            return
        limits = self._limits
        self._bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        lower, upper = limits.lower + self.margin, limits.upper - self.margin
        self._centre = np.where(self._bounded, 0.5 * (lower + upper), 0.0)
        self._scale = np.where(self._bounded, 2.0 / np.maximum(upper - lower, 1e-9), 0.0)
        self._velocity = limits.velocity * self.speed
        self._slowest_squared = float(self._velocity.min()) ** 2
        self._torque, self._inverse_torque = limits.torque, 1.0 / limits.torque
        self._off = np.zeros(len(self._centre))

    def check(self, sample: Sample, now_ns: int) -> bool:
        """Whether the sample is fit for use. NaN or a stale sample is not; either trips."""
        size = float(sample.q.dot(sample.q) + sample.v.dot(sample.v))
        if not size < math.inf:
            self._trip(now_ns, "invalid", f"{_bad(sample)} is not a number")
            return False
        if now_ns - sample.time_ns > self._stale_ns:
            age = (now_ns - sample.time_ns) * 1e-9
            self._trip(now_ns, "stale", f"the plant's last sample is {age:.3f} s old (limit {self.stale:g} s)")
            return False
        wrench = sample.wrench
        if wrench is not None:
            fx, fy, fz, mx, my, mz = wrench.tolist()
            force, moment = fx * fx + fy * fy + fz * fz, mx * mx + my * my + mz * mz
            if not (force <= self.force * self.force and moment <= self.moment * self.moment):
                self._trip_wrench(math.sqrt(force), math.sqrt(moment), now_ns)
                return force + moment < math.inf
        return True

    def check_motion(self, arm: Arm, now_ns: int) -> None:
        """Trip on joint limits, joint speed or workspace at the arm's state."""
        if self._limits is not None:
            v, off = arm.v, self._off
            if v.dot(v) > self._slowest_squared and (np.abs(v) > self._velocity).any():
                self._trip_speed(v, now_ns)
            if len(arm.q) == len(off):  # joints with quaternions have no position limits
                np.subtract(arm.q, self._centre, out=off)
                off *= self._scale
                if off.dot(off) > 1.0 and (np.abs(off) > 1.0).any():
                    self._trip_position(arm.q, now_ns)
        x, y, z = arm.position.tolist()
        low, high = self._low, self._high
        if not (low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]):
            where = f"({x:.3f}, {y:.3f}, {z:.3f}) m"
            self._trip(now_ns, "workspace", f"tool at {where}, outside the box from {low} to {high}")

    def limit(self, torque: Array, now_ns: int) -> bool:
        """Cut the torques to the robot's limits in place; False, and a trip, if they are not numbers."""
        if self._limits is not None:
            share = np.multiply(torque, self._inverse_torque, out=self._off)
            if share.dot(share) <= 1.0:  # false for NaN too
                return True
        if not float(torque.dot(torque)) < math.inf:
            self._trip(now_ns, "invalid", "a commanded torque is not a number")
            return False
        if self._limits is not None and (np.abs(torque) > self._torque).any():
            self.clipped += 1
            np.minimum(torque, self._torque, out=torque)
            np.maximum(torque, -self._torque, out=torque)
        return True

    def stop(self, now_ns: int, kind: str, reason: str) -> None:
        """Trip for a reason found elsewhere: the operator's stop, a law that failed."""
        self._trip(now_ns, kind, reason)

    def reset(self) -> None:
        """Forget the trip."""
        self.trip = None

    def _trip(self, now_ns: int, kind: str, reason: str) -> None:
        if self.trip is None:
            self.trip = Trip(now_ns, kind, reason)

    def _trip_speed(self, v: Array, now_ns: int) -> None:
        joint = int(np.argmax(np.abs(v) / self._velocity))
        self._trip(now_ns, "speed", f"joint {joint + 1} at {v[joint]:.2f} rad/s (limit {self._velocity[joint]:.2f})")

    def _trip_position(self, q: Array, now_ns: int) -> None:
        joint = int(np.argmax(np.abs(self._off)))
        centre, half = self._centre[joint], 1.0 / self._scale[joint]
        limits = f"limits {centre - half:.3f} to {centre + half:.3f}"
        self._trip(now_ns, "position", f"joint {joint + 1} at {q[joint]:.3f} rad ({limits})")

    def _trip_wrench(self, force: float, moment: float, now_ns: int) -> None:
        if not force + moment < math.inf:
            self._trip(now_ns, "invalid", "the measured wrench is not a number")
        elif force > self.force:
            self._trip(now_ns, "force", f"contact force {force:.1f} N (limit {self.force:g} N)")
        else:
            self._trip(now_ns, "force", f"contact torque {moment:.2f} N·m (limit {self.moment:g} N·m)")


def _bad(sample: Sample) -> str:
    """Which joint value is not finite, in words."""
    for word, values in (("position", sample.q), ("velocity", sample.v)):
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            return f"measured {word} {wrong[0] + 1}"
    return "the measured state"
