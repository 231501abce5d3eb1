"""Targets of a program, such as a policy: where a station goes instead of following the leader."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import Reference
from farhand.control.trajectory.playout import BoundedPlayout
from farhand.coupling.engagement import Engagement
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.errors import Mismatch
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.parameters import parameter
from farhand.spatial import (
    Array,
    damped_inverse,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

MAX_INTERVAL_S = 0.25
"""Targets that come within this time of each other are a stream, and joined by straight lines."""

UNKNOWN_SPEED = 1.0
"""For joints whose speed limit is not known; assumed, [rad/s] or [m/s]."""

MIN_DAMPING = 1e-3
"""Of the inverse kinematics at a target that is reached, [-]."""

KEPT_FROM_LIMIT = 0.05
"""How far the joints stay from where the guard trips, but at most a tenth of their range; assumed,
[rad] or [m]."""


@dataclass
class StationTarget:
    r"""A station on its way to the last target, by a spring to a reference that stays in bounds.

    A target may jump: the reference gets there within shares of the joint speed limits, along a
    straight line of the joints, or of the tool. It stays clear of the joints' ends. The spring
    pulls with ``force`` and ``moment`` at most, and there the reference waits, so that nothing
    jumps when an obstacle gives way. When no more targets come, it stands at the last one.

    The first target releases the station's couplings. Engaging them again takes the station back;
    further targets are then refused until the coupling is released.

    Args:
        station: that is driven; with hinges and slides only.
        session: that it belongs to.

    Attributes:
        reference: where the tool should be now.
    """

    station: InitVar[Station]
    session: InitVar[Session]
    joints: Array = parameter((0.0,), "rad or m", "where the joints should go", -1e3, 1e3)
    tool: Array = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), "m, quaternion", "where the tool should go", -100, 100
    )
    speed: float = parameter(0.5, "-", "share of the joint speed limits", 0.01, 0.9)
    rise: float = parameter(0.3, "s", "time from rest to that speed", 0.05, 10.0)
    force: float = parameter(50.0, "N", "largest pull", 1.0, 1e4)
    moment: float = parameter(10.0, "N·m", "largest moment", 0.1, 1e3)

    def __post_init__(self, station: Station, session: Session) -> None:
        arm, limits = station.arm, station.guard.limits
        self._station, self._session = station, session
        self._bridges = [bridge for bridge in session.bridges if station in bridge.stations]
        self._contribution, self._engagement = station.join(), Engagement()
        self._arm, self.reference = Arm(arm.model, arm.tool), Reference()
        most = np.full(arm.nv, np.inf) if limits is None else limits.velocity
        self._speed = np.where(np.isfinite(most), most, UNKNOWN_SPEED)
        laws = [bridge.laws[-1] for bridge in self._bridges]
        springs = [law.spring for law in laws if isinstance(law, SpringCoupling)]
        self._spring = springs[0] if springs else Spring()
        self._error, self._rate, self._wrench = np.zeros(6), np.zeros(6), np.zeros(6)
        self._dt, self._pull = station.period_ns * 1e-9, 0.0
        self._driving, self._taken_back = False, False
        self._given_ns, self._interval = -(10**18), 0.0
        self.joints = np.zeros(arm.nv)
        self._goal: Array | None = None  # joints; None while the tool has one
        self._from = self.joints
        self._tool_goal, self._tool_from = (Reference() for _ in range(2))
        self._seen = self.joints, self.tool
        self._playout = BoundedPlayout(self._speed, self._speed)
        self.refresh()

    def refresh(self) -> None:
        """Take new limits, and a new target if there is one; refused while stopped or coupled."""
        guard, limits = self._station.guard, self._station.guard.limits
        self._playout.speed = self.speed * guard.speed * self._speed
        self._playout.acceleration = self._playout.speed / self.rise
        ends = (-np.inf, np.inf) if limits is None else (limits.lower, limits.upper)
        kept = np.minimum(guard.margin + KEPT_FROM_LIMIT, 0.1 * (ends[1] - ends[0]))
        self._lower, self._upper = ends[0] + kept, ends[1] - kept
        before = self._seen
        if self.joints is before[0] and self.tool is before[1]:
            return
        self._check()
        self._seen = self.joints, self.tool
        if not self._engagement.wanted:
            self._begin()
        now_ns = self._session.now_ns
        since = (now_ns - self._given_ns) * 1e-9
        share = self._share()
        self._given_ns = now_ns
        if self.joints is not before[0]:
            goal = np.clip(self.joints, self._lower, self._upper)
            old = self._playout.q if self._goal is None else self._at(share)
            self._from, self._goal = old.copy(), goal
        else:
            here = self._tool_at(share) if self._goal is None else self.reference
            self._tool_from.stand(here.position, here.rotation)
            rotation = rotation_from_quaternion(self.tool[3:])
            self._tool_goal.stand(self.tool[:3], rotation)
            self._goal = None
        self._interval = since if since < MAX_INTERVAL_S else 0.0

    def _check(self) -> None:
        """Refuse a target that cannot be gone to now."""
        station = self._station
        trip = station.guard.trip
        if trip is not None:
            raise Mismatch(f"{station.name} is stopped ({trip.reason}); reset first")
        if self._taken_back:
            raise Mismatch(f"the coupling has taken {station.name} back; release it first")
        if self.tool is not self._seen[1] and not np.linalg.norm(self.tool[3:]) > 0.1:
            raise Mismatch("the last four numbers of a tool target must be a quaternion")

    def _begin(self) -> None:
        """Take the station over as it stands and moves."""
        station = self._station
        station.rearm()
        for bridge in self._bridges:
            bridge.release()
        self._playout.begin(station.arm.q, station.arm.v)
        self._arm.update(self._playout.q, self._playout.v)
        self.reference.stand(self._arm.position, self._arm.rotation)
        self._goal, self._pull = None, 0.0
        self._tool_goal.stand(self._arm.position, self._arm.rotation)
        self._engagement.engage()
        self._driving = True

    def release(self) -> None:
        """Let the station rest until the next target."""
        self._engagement.release()
        self._taken_back = False

    def give_back(self) -> None:
        """Leave the station to its couplings until they are released, if it is being driven."""
        self._taken_back |= self._engagement.wanted
        self._engagement.release()

    def step(self, now_ns: int) -> None:
        """Pull the station to where the reference is now."""
        if not self._driving:
            return
        engagement, contribution = self._engagement, self._contribution
        if self._station.guard.trip is not None:
            engagement.release()
        if engagement.wanted and self._station.valid:
            self._advance()
        own = engagement.step(self._dt)
        np.multiply(self._wrench, own, out=contribution.wrench)
        contribution.gain = own
        contribution.target = self.reference if engagement.wanted else None
        self._driving = engagement.wanted or own > 0.0

    def _advance(self) -> None:
        """Move the reference by one tick, and the spring with it."""
        arm, playout, target, side = self._arm, self._playout, self.reference, self._station.side
        share, error, spring = self._share(), self._error, self._spring
        if self._goal is not None:
            way = self._at(share) - playout.q
        else:
            goal = self._tool_at(share)
            error[:3] = goal.position - arm.position
            error[3:] = rotation_vector(goal.rotation @ arm.rotation.T)
            # Damped by the error: out of reach it comes to rest as near as the arm gets
            damping = math.sqrt(0.5 * float(error.dot(error))) + MIN_DAMPING
            step = damped_inverse(arm.J, damping) @ error
            joints = np.clip(playout.q + step, self._lower, self._upper)
            way = joints - playout.q
        # It does not run ahead of an arm that is only being taken over, and slows down from half
        # the largest pull on
        pace = self._engagement.gain * min(1.0, max(0.0, 2.0 - 2.0 * self._pull))
        playout.step(way, self._dt, pace)
        arm.update(playout.q, playout.v)
        target.stand(arm.position, arm.rotation)
        target.twist[:] = arm.twist
        np.subtract(target.position, side.position, out=error[:3])
        error[3:] = rotation_vector(target.rotation @ side.rotation.T)
        force = spring.stiffness * float(np.linalg.norm(error[:3]))
        moment = spring.rotational_stiffness * float(np.linalg.norm(error[3:]))
        self._pull = max(force / self.force, moment / self.moment)
        np.subtract(target.twist, side.twist, out=self._rate)
        self._wrench[:] = spring.pull(error, self._rate)
        for part, most in ((self._wrench[:3], self.force), (self._wrench[3:], self.moment)):
            part *= min(1.0, most / max(float(np.linalg.norm(part)), 1e-9))
        controller = self._station.controller
        if isinstance(controller, TorqueController) and controller.null_space is not None:
            controller.null_space.begin(arm)

    def _share(self) -> float:
        """How far the line from the last target to the present one has been gone, 0 to 1."""
        if self._interval <= 0.0:
            return 1.0
        return min(1.0, (self._session.now_ns - self._given_ns) * 1e-9 / self._interval)

    def _at(self, share: float) -> Array:
        """The joints a share of the way from the last goal to the present one."""
        assert self._goal is not None
        at: Array = self._from + share * (self._goal - self._from)
        return at

    def _tool_at(self, share: float) -> Reference:
        """The tool's pose a share of the way."""
        if share >= 1.0:
            return self._tool_goal
        first, last, pose = self._tool_from, self._tool_goal, Reference()
        turn = share * rotation_vector(last.rotation @ first.rotation.T)
        pose.position[:] = first.position + share * (last.position - first.position)
        pose.rotation[:] = rotation_from_vector(turn) @ first.rotation
        return pose


def accept_targets(session: Session) -> None:
    """Let programs send the session's followers somewhere: ``set follower.target.joints=…``."""
    for station in session.stations:
        own = session.parameters.get(station.name)
        arm = station.arm
        if station.role == "follower" and isinstance(own, dict) and arm.nq == arm.nv:
            own["target"] = target = StationTarget(station, session)
            session.targets.append(target)
            session.add(target.step, station.period_ns, after="law")
