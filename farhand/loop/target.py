"""Targets of a program, such as a policy: where a station goes instead of following the leader."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import Reference
from farhand.control.trajectory.playout import BoundedPlayout
from farhand.coupling import FourChannel, Side
from farhand.coupling.engagement import Engagement
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.errors import Mismatch
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.session import Session
from farhand.loop.station import Contribution, Station
from farhand.mapping import WorkspaceMapping
from farhand.mapping.joint_map import JointMapping
from farhand.parameters import parameter
from farhand.safety import Trip
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

FADE_S = 0.2
"""Time in which the pull fades in, and out where nobody takes over, [s]."""

HANDOVER_S = 0.6
"""Time in which the pull fades for a person: 50 N then change by 1.3 N in 10 ms at most, [s]."""

GIVE_S = 1.0
"""Time in which the pull fades in for a person, who needs about as long to let go; assumed, [s]."""

PUSH_S = 0.02
"""How long a push must last to count, [s]."""

LEADER_DAMPING = 0.02
"""Of the inverse of the leader's Jacobian, for how fast its joints follow a tool and for what
pushes it, [-] or [m]."""

JOINT_FREQUENCY = 20.0
"""ω of the spring at each joint, K = ω (I ω + μ) and D = 2 (I ω + μ) as of rig pair, [rad/s]."""


@dataclass
class StationTarget:
    r"""A station on its way to the last target, by a spring to a reference that stays in bounds.

    A target may jump: the reference gets there within shares of the joint speed limits, along a
    straight line of the joints, or of the tool. It stays clear of the joints' ends. The spring
    pulls at the tool, or at each joint where the coupling is one of joints. It pulls with
    ``force`` and ``moment``, or ``effort``, at most, and there the reference waits, so that nothing
    jumps when an obstacle gives way. When no more targets come, it stands at the last one.

    The first target releases the station's couplings. Engaging them again takes the station back;
    further targets are then refused until the coupling is released.

    After :meth:`give` the couplings stay: the leader follows the station, and a hand on it is felt.
    It is then kept clear of its own ends and below its own speed limits too. A push of the hand
    takes the station: the reference comes to rest, and its spring fades from beside the coupling.

    Args:
        station: that is driven; with hinges and slides only.
        session: that it belongs to.

    Attributes:
        reference: where the tool should be now.
        given: whether a program may drive it while the leader follows.
        taken: whether a person has taken it, so that targets are refused.
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
    effort: float = parameter(
        0.3, "-", "largest pull of coupled joints, as a share of the torque limits", 0.01, 1.0
    )
    push: float = parameter(5.0, "N", "push of the hand that takes the arm", 0.1, 1e6)
    twist: float = parameter(0.5, "N·m", "moment of the hand that takes the arm", 0.01, 1e6)
    # a person has a hand on it: the reduced speed of ISO 10218-1
    leader_speed: float = parameter(
        0.25, "m/s", "largest speed of the tool of a leader that follows", 0.01, 10.0
    )

    def __post_init__(self, station: Station, session: Session) -> None:
        arm, limits = station.arm, station.guard.limits
        self._station, self._session = station, session
        self._bridges = [bridge for bridge in session.bridges if station in bridge.stations]
        self._leading = [
            LeaderFollowing(bridge) for bridge in self._bridges if bridge.a is not bridge.b
        ]
        laws = [bridge.laws[-1] for bridge in self._bridges]
        self._of_joints = bool(laws) and all(law.port.space == "joints" for law in laws)
        # Only while it drives: others do not pay for it in every tick
        self._contribution: Contribution | None = None
        self._engagement = Engagement()
        self._arm, self.reference = Arm(arm.model, arm.tool), Reference()
        most = np.full(arm.nv, np.inf) if limits is None else limits.velocity
        self._speed = np.where(np.isfinite(most), most, UNKNOWN_SPEED)
        springs = [law.spring for law in laws if isinstance(law, SpringCoupling)]
        self._spring = springs[0] if springs else Spring()
        self._error, self._rate, self._wrench = np.zeros(6), np.zeros(6), np.zeros(6)
        self._torque = np.zeros(arm.nv)
        self._torque_limit = np.full(arm.nv, np.inf) if limits is None else limits.torque
        self._dt, self._pull = station.period_ns * 1e-9, 0.0
        self.given, self.taken, self._pushed = False, False, 0.0
        # whether the reference comes to rest while a person takes over
        self._lets_go = False
        self._given_ns, self._interval = -(10**18), 0.0
        self.joints = np.zeros(arm.nv)
        self._goal: Array | None = None  # joints; None while the tool has one
        self._from = self.joints
        self._tool_goal, self._tool_from = (Reference() for _ in range(2))
        self._seen = self.joints, self.tool
        self._playout = BoundedPlayout(self._speed, self._speed)
        self._bound()
        self.refresh()

    def refresh(self) -> None:
        """Take new limits, and a new target if there is one; refused while stopped or coupled."""
        self._bound()
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
            old = self._playout.q if self._goal is None else self._at(share)
            self._from, self._goal = old.copy(), self.joints
        else:
            here = self._tool_at(share) if self._goal is None else self.reference
            self._tool_from.stand(here.position, here.rotation)
            rotation = rotation_from_quaternion(self.tool[3:])
            self._tool_goal.stand(self.tool[:3], rotation)
            self._goal = None
        self._interval = since if since < MAX_INTERVAL_S else 0.0

    def _bound(self) -> None:
        """Find speeds and range of the joints: the station's, and the leader's if it follows."""
        guard = self._station.guard
        speed = self._speed.copy()
        self._lower, self._upper = kept_range(self._station)
        for leading in self._leading if self.given else ():
            leading.narrow(self._lower, self._upper, speed)
        self._playout.speed = self.speed * guard.speed * speed
        self._playout.acceleration = self._playout.speed / self.rise

    def _check(self) -> None:
        """Refuse a target that cannot be gone to now."""
        station = self._station
        trip = station.guard.trip
        if trip is not None:
            raise Mismatch(f"{station.name} is stopped ({trip.reason}); reset first")
        if self.taken:
            raise Mismatch(f"the person has taken {station.name}; give or release it first")
        if self.tool is not self._seen[1] and not np.linalg.norm(self.tool[3:]) > 0.1:
            raise Mismatch("the last four numbers of a tool target must be a quaternion")

    def _begin(self) -> None:
        """Take the station over as it stands and moves."""
        station = self._station
        station.rearm()
        for bridge in self._bridges if not self.given else ():
            bridge.release()
        self._playout.begin(station.arm.q, station.arm.v)
        self._arm.update(self._playout.q, self._playout.v)
        self.reference.stand(self._arm.position, self._arm.rotation)
        self._goal, self._pull, self._pushed = None, 0.0, 0.0
        self._tool_goal.stand(self._arm.position, self._arm.rotation)
        self._lets_go, self._engagement.ramp = False, GIVE_S if self.given else FADE_S
        self._engagement.engage()
        self._contribution = self._contribution or station.join()

    def release(self) -> None:
        """Let the station rest until the next target."""
        self._lets_go = False
        self._engagement.release()
        self.given = self.taken = False

    def give_back(self, taken: bool = False) -> None:
        """Leave the station to its couplings, for good if it is being driven or ``taken``."""
        self.taken |= taken or self._engagement.wanted
        self._lets_go = self._engagement.wanted and self.given
        self._engagement.ramp = HANDOVER_S if self._lets_go else FADE_S
        self._engagement.release()
        self.given = False

    def objection(self) -> str:
        """Why the leader cannot follow the station; empty if it can."""
        if not self._leading:
            return f"nothing in this process leads {self._station.name}"
        return next(filter(None, (leading.objection() for leading in self._leading)), "")

    def give(self) -> None:
        """Let programs drive the station, with its couplings engaged."""
        if not self.given:
            # a target from before is not gone to any more
            self._engagement.release()
        self.given, self.taken = True, False

    def step(self, now_ns: int) -> None:
        """Pull the station to where the reference is now."""
        engagement, contribution = self._engagement, self._contribution
        if contribution is None:
            return
        if self._station.guard.trip is not None:
            self._lets_go = False
            engagement.release()
        if self.given and engagement.wanted:
            self._watch_leaders(now_ns)
        if self._station.valid and (engagement.wanted or self._lets_go):
            self._advance()
        own = engagement.step(self._dt)
        if self._of_joints:
            contribution.torque = self._torque * own
        else:
            np.multiply(self._wrench, own, out=contribution.wrench)
        for leading in self._leading:
            leading.step(own if self.given or self.taken else 0.0)
        contribution.gain = own
        contribution.target = self.reference if engagement.wanted else None
        if not (engagement.wanted or own > 0.0):
            self._station.leave(contribution)
            self._contribution = None
            for leading in self._leading:
                leading.leave()

    def _watch_leaders(self, now_ns: int) -> None:
        """Give the station to a person who pushes; hold still if the leader cannot follow."""
        name = self._station.name
        for leading in self._leading:
            if leading.trip is not None:
                self._engagement.release()
                return
        pushed = any(leading.is_pushed(self.push, self.twist) for leading in self._leading)
        self._pushed = self._pushed + self._dt if pushed else 0.0
        if self._pushed >= PUSH_S:
            self.give_back()
            data = {"kind": "handover", "where": name}
            self._session.telemetry.event(now_ns, f"the hand took {name} by a push", data)

    def _advance(self) -> None:
        """Move the reference by one tick, and the spring with it."""
        arm, playout, target, side = self._arm, self._playout, self.reference, self._station.side
        share, error = self._share(), self._error
        if self._goal is not None:
            joints = np.clip(self._at(share), self._lower, self._upper)
        else:
            goal = self._tool_at(share)
            error[:3] = goal.position - arm.position
            error[3:] = rotation_vector(goal.rotation @ arm.rotation.T)
            # Damped by the error: out of reach it comes to rest as near as the arm gets
            damping = math.sqrt(0.5 * float(error.dot(error))) + MIN_DAMPING
            step = damped_inverse(arm.J, damping) @ error
            joints = np.clip(playout.q + step, self._lower, self._upper)
        way = joints - playout.q if self._engagement.wanted else np.zeros(len(joints))
        # It does not run ahead of an arm that is only being taken over, and slows down from half
        # the largest pull on
        pace = self._engagement.gain * min(1.0, max(0.0, 2.0 - 2.0 * self._pull))
        for leading in self._leading if self.given else ():
            if leading.was_engaged_again():
                self._bound()
            fastest = playout.along(way)
            pace *= leading.pace(arm.J, fastest, self.speed, self.rise, self.leader_speed)
        playout.step(way, self._dt, pace)
        arm.update(playout.q, playout.v)
        target.stand(arm.position, arm.rotation)
        target.twist[:] = arm.twist
        if self._of_joints:
            self._pull_joints()
        else:
            self._pull_tool(side)
        controller = self._station.controller
        if isinstance(controller, TorqueController) and controller.null_space is not None:
            controller.null_space.begin(arm)

    def _pull_tool(self, side: Side) -> None:
        """The spring at the tool."""
        target, error, spring = self.reference, self._error, self._spring
        np.subtract(target.position, side.position, out=error[:3])
        error[3:] = rotation_vector(target.rotation @ side.rotation.T)
        force = spring.stiffness * float(np.linalg.norm(error[:3]))
        moment = spring.rotational_stiffness * float(np.linalg.norm(error[3:]))
        self._pull = max(force / self.force, moment / self.moment)
        np.subtract(target.twist, side.twist, out=self._rate)
        self._wrench[:] = spring.pull(error, self._rate)
        for part, most in ((self._wrench[:3], self.force), (self._wrench[3:], self.moment)):
            part *= min(1.0, most / max(float(np.linalg.norm(part)), 1e-9))

    def _pull_joints(self) -> None:
        """A spring at each joint, as strong as its inertia and friction ask for."""
        arm, playout, most = self._station.arm, self._playout, self.effort * self._torque_limit
        strength = JOINT_FREQUENCY * arm.M.diagonal() + arm.viscous
        pull = JOINT_FREQUENCY * strength * (playout.q - arm.q)
        self._pull = float(np.max(np.abs(pull) / most))
        damping = 2.0 * strength * (playout.v - arm.v)
        np.clip(pull + damping, -most, most, out=self._torque)
        # the friction that the model knows need not be pulled against
        self._torque += arm.viscous * playout.v

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


class LeaderFollowing:
    """A leader that follows the station at the other end of a bridge.

    Symmetric laws, and four channels, pull it along by themselves. Beside a law with a spring on
    the follower alone, the same spring pulls back at the leader.

    Args:
        bridge: between the two.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge, self._law, self._station = bridge, bridge.laws[0], bridge.a.station
        law, station = self._law, self._station
        pulls = "symmetric" in law.properties or isinstance(law, FourChannel)
        self._spring = None if pulls or not isinstance(law, SpringCoupling) else law.spring
        self._able = station.controller.exerts_effort and bool(station.plant.actuated.any())
        two_way = type(law.mapping) in (WorkspaceMapping, JointMapping)
        self._follows = two_way and (pulls or self._spring is not None)
        self._of_joints = law.port.space == "joints"
        self._felt = np.zeros(law.port.leader_size)
        self._contribution: Contribution | None = None
        limits, unknown = station.guard.limits, np.full(station.arm.nv, np.inf)
        self._speed = unknown if limits is None else limits.velocity
        slides = frozenset() if limits is None else limits.slides
        self._slides = np.isin(np.arange(station.arm.nv), list(slides))
        self._revision = -1

    @property
    def trip(self) -> Trip | None:
        """Why the leader has stopped, or None."""
        return self._station.guard.trip

    def objection(self) -> str:
        """Why the leader cannot follow; empty if it can."""
        name, law = self._station.name, self._law.name
        if not self._able:
            return f"the {name} cannot be moved, so it cannot follow"
        remedy = "with position-position it does"
        return "" if self._follows else f"law {law!r} does not bring the {name} along; {remedy}"

    def is_pushed(self, force: float, moment: float) -> bool:
        """Whether the hand pushes the leader's tool, or its gripper, harder than this.

        Without a force sensor the push is the smallest one that explains the torque on the joints.
        Of that the dry friction, which a joint is known to have, and what pushes a joint away from
        its end stop are left out.

        Args:
            force: [N].
            moment: [N·m].
        """
        station, side = self._station, self._station.side
        if station.observer is None:
            wrench = side.known_wrench
            return _length(wrench[:3]) > force or _length(wrench[3:]) > moment
        if side.torque is None and side.wrench is None:
            return False
        arm, (low, high) = station.arm, kept_range(station)
        torque = station.observer.torque
        dry = arm.model.upperDryFrictionLimit
        torque = np.sign(torque) * np.maximum(np.abs(torque) - dry, 0.0)
        torque[np.where(torque > 0.0, arm.q < low, arm.q > high)] = 0.0
        # moments over a lever, so that both parts are forces
        scaled = arm.J.copy()
        scaled[3:] *= moment / force
        push = damped_inverse(scaled.T, LEADER_DAMPING) @ torque
        if max(_length(push[:3]), _length(push[3:])) > force:
            return True
        fixed = ~arm.J.any(axis=0)
        most = np.where(self._slides, force, moment)
        return bool((np.abs(torque) > most)[fixed].any())

    def step(self, gain: float) -> None:
        """Pull the leader back by the law's spring, as far as a program drives the follower."""
        if self._spring is None or not self._able:
            return
        self._contribution = self._contribution or self._station.join()
        law, contribution = self._law, self._contribution
        gain *= self._bridge.a.contribution.gain
        law.mapping.back(self._spring.pull(law.error, law.rate), self._felt)
        contribution.gain = gain
        if self._of_joints:
            contribution.torque = -gain * self._felt
        else:
            np.multiply(self._felt, -gain, out=contribution.wrench)

    def leave(self) -> None:
        """Pull no more until the next step."""
        if self._contribution is not None:
            self._station.leave(self._contribution)
            self._contribution = None

    def was_engaged_again(self) -> bool:
        """Whether the map has changed since the last call."""
        before, self._revision = self._revision, self._law.mapping.revision
        return before != self._revision

    def pace(
        self, jacobian: Array, velocity: Array, share: float, rise: float, tool_speed: float
    ) -> float:
        """How much of a velocity of the follower's joints the leader can follow, 0 to 1.

        Not more than its joint speed limits and that of its tool allow, and than lets it stop
        before its ends.

        Args:
            jacobian: of the follower's tool.
            velocity: of its joints at full pace, [rad/s].
            share: of the speed limits.
            rise: time from that velocity to rest, [s].
            tool_speed: largest of the leader's tool, [m/s].
        """
        station, mapping = self._station, self._law.mapping
        engaged = self._bridge.a.contribution.gain
        if self._of_joints:
            # their speeds and ends are within what narrow() allows
            # each joint drives one other, so that the inverse of their scales is the way back
            scales = np.square(mapping.matrix).sum(axis=1)
            moved = (velocity / np.where(scales > 0.0, scales, 1.0)) @ mapping.matrix
            return engaged * min(1.0, tool_speed / max(_length(station.arm.J[:3] @ moved), 1e-9))
        twist = np.linalg.solve(mapping.matrix, jacobian @ velocity)
        moves = damped_inverse(station.arm.J, LEADER_DAMPING) @ twist
        size = np.maximum(np.abs(moves), 1e-9)
        low, high = kept_range(station)
        left = np.maximum(np.where(moves > 0.0, high - station.arm.q, station.arm.q - low), 0.0)
        stops = np.sqrt(2.0 * left / (rise * size))
        follows = min(1.0, float(stops.min()), float((share * self._speed / size).min()))
        follows = min(follows, tool_speed / max(_length(twist[:3]), 1e-9))
        # where it is faster than predicted, as near a singular posture, the other waits
        fast = float(np.max(np.abs(station.arm.v) / self._speed))
        return engaged * follows * min(1.0, max(0.0, 3.0 * (0.9 - fast)))

    def narrow(self, lower: Array, upper: Array, speed: Array) -> None:
        """Keep the follower's joints where the leader can follow them; for coupled joints."""
        if not self._of_joints:
            return
        mapping, (low, high) = self._law.mapping, kept_range(self._station)
        for row, column in zip(*np.nonzero(mapping.matrix), strict=True):
            scale, offset = mapping.matrix[row, column], mapping.offsets[row]
            ends = sorted((scale * low[column] + offset, scale * high[column] + offset))
            lower[row], upper[row] = max(lower[row], ends[0]), min(upper[row], ends[1])
            speed[row] = min(speed[row], abs(scale) * self._speed[column])


def _length(vector: Array) -> float:
    return math.sqrt(float(vector.dot(vector)))


def kept_range(station: Station) -> tuple[Array, Array]:
    """Where a station's joints stay clear of where its guard trips, [rad] or [m]."""
    guard, limits, n = station.guard, station.guard.limits, station.arm.nv
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if limits is not None:
        low, high = limits.lower, limits.upper
    kept = np.minimum(guard.margin + KEPT_FROM_LIMIT, 0.1 * (high - low))
    return low + kept, high - kept


def accept_targets(session: Session) -> None:
    """Let programs send the session's followers somewhere: ``set follower.target.joints=…``."""
    for station in session.stations:
        own = session.parameters.get(station.name)
        arm = station.arm
        if station.role == "follower" and isinstance(own, dict) and arm.nq == arm.nv:
            own["target"] = target = StationTarget(station, session)
            session.targets.append(target)
            session.add(target.step, station.period_ns, after="law")
