r"""Two arms of any kind: where they stand, how they are coupled, what holds and meets them.

All numbers follow from the models at the arms' homes. With the inertia I and the viscous friction μ
of a joint (or of the tool, along an axis), reduced over both arms, and one frequency ω for all,

.. math:: K = \omega\,(I\,\omega + \mu), \qquad D = 2\,(I\,\omega + \mu)

so that a follower at speed v lags by at most about v/ω, whether it is 0.5 kg or 60 kg. The hand is
held by the inertia of the leader's tool in the same way. Where a wrist is so light, beside its own
friction or the rest of the arm, that steps of the loop could not follow such a damper, both are
weaker: see :func:`steppable`.

Torques that answer a measurement T later allow less: ω ≤ 1/(4T) and I ω + μ ≤ I'/(8T), with the
inertia I' of a joint whose neighbours are free. The fastest mode of coupled joints is below
4 (I ω + μ)/I', so T costs it at most 0.5 rad of phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.assists import FrictionFeedForward
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling import (
    Admittance,
    Coupling,
    FourChannel,
    OpenArm,
    OpenArmFourChannel,
    PositionForce,
    Spring,
    SpringCoupling,
)
from farhand.coupling.port import SPACES
from farhand.coupling.published import published
from farhand.errors import BadValue, Mismatch
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.loop.station import Station
from farhand.mapping.joint_map import GRIPPER, JointMapping
from farhand.parameters import parameter
from farhand.plants import Brake, Plant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import with_slack
from farhand.rigs.pair.scenarios import PRESS, PRESS_TIME, WALL_AHEAD
from farhand.rigs.rig import SIMULATED, configure
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import disable_contacts
from farhand.safety import Guard
from farhand.sensing.observer import MomentumObserver
from farhand.spatial import Array
from farhand.world import ImpedanceHand
from farhand.world.joints import Fingers, HeldObject
from farhand.world.world import Port

ROLES = ("leader", "follower")
NO_MACHINE = (SIMULATED, SIMULATED)
HAND_FREQUENCY = 25.0
"""Frequency of a hand's spring with the tool it holds, [rad/s]: 1000 N/m at 1.6 kg; assumed."""

MAX_DAMPING = 0.75
"""Largest D h / I, damping over inertia times a step of the loop. Dampers of sampled forces are
stable below 2, and hand and law act together; [-]."""

MIN_REACH = 1e-3
"""Arms whose tool moves less than this are refused, [m]."""

MOST_HAND = (1000.0, 30.0)
"""Largest stiffness of a hand, [N/m] and [N·m/rad]."""

BRISK = 0.6
"""Share of its speed limit that a joint may need for the moves; assumed."""

FRICTION_HELP = 0.7
"""Share of a machine's friction that is fed forward: with gears of this kind it ran calmly, and
friction varies from arm to arm by about as much as is left; assumed."""

OBSERVER_SHARE = 0.1
"""Share of an observer's time constant that the delay of a bus may have: the fingers of a Koch pair
under four channels chattered with observers of 50 and 200 1/s, and were calm at 25 1/s."""

END_STOP_SLACK = 0.02
"""How far beyond a joint's limits a guard trips, but at most 2 % of its range; assumed, [rad]."""

LINEAR_ANGULAR = np.repeat((0, 1), 3)
"""Which axes of a tool belong together."""

DIRECTIONS = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
"""Where the wall may be, the best first; it is where both arms have most room to go."""


@dataclass
class Pair:
    """What shapes the rig's parts."""

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    leader_robot: str = parameter("so101-leader", "-", "which robot leads")
    follower_robot: str = parameter("so101", "-", "which robot follows")
    leader_plant: str = parameter(SIMULATED, "-", "what leads: a robot, or NAME:ADDRESS")
    follower_plant: str = parameter(SIMULATED, "-", "what follows: a robot, or NAME:ADDRESS")
    space: str = parameter("joints", "-", "what is coupled", choices=SPACES)
    frequency: float = parameter(20.0, "rad/s", "ω of the gains", 1.0, 200.0)
    observer_gain: float = parameter(200.0, "1/s", "gain of the momentum observers", 1.0, 1000.0)
    wall_ahead: float = parameter(WALL_AHEAD, "-", "to the wall, in reaches", -1.0, 1.0)
    wall_stiffness: float = parameter(6000.0, "N/m", "most stiffness of the wall", 0.0, 1e6)
    loop_delay: float = parameter(
        0.0,
        "s",
        "from measurement to torque, for which gains are; at least that of the machines",
        0.0,
        0.1,
    )


class PairArms:
    """Both robots by role: where they stand, their homes, and their models there."""

    def __init__(self, robots: dict[str, Robot], gravity: float, step: float) -> None:
        self.robots, self.step = robots, step
        self.homes = {role: robot.home.copy() for role, robot in robots.items()}
        models = {role: Arm.of(robot, gravity=gravity) for role, robot in robots.items()}
        for role, model in models.items():
            model.update(self.homes[role], np.zeros(model.nv))
        self.models = models
        self.reach = {role: _reach(model, robots[role]) for role, model in models.items()}
        for role, robot in robots.items():
            if self.reach[role] < MIN_REACH or not models[role].J[:3].any():
                remedy = "put the tool elsewhere: tool = { body = …, pos = […] }"
                raise Mismatch(f"no joint of the {role} {robot.name} moves its tool; {remedy}")
        distance = 1.2 * sum(self.reach.values())
        self.placements = {
            "leader": Placement(),
            "follower": Placement((0.0, round(distance, 3), 0.0)),
        }
        self.notes = [note for robot in robots.values() for note in robot.notes]
        self.way = self._free_way()
        self.delay = 0.0  #: from a measurement to the torque that answers it, [s]

    def model(self, role: str, gravity: float) -> Arm:
        """A fresh model of one arm."""
        return Arm.of(self.robots[role], self.placements[role], gravity)

    def mapping(self, frequency: float) -> JointMapping:
        """The joints of the follower over those of the leader; grippers belong together."""
        names = {role: [*model.model.names][1:] for role, model in self.models.items()}
        for role, robot in self.robots.items():
            if robot.gripper in names[role]:
                # another joint of that name is none
                others = {GRIPPER: f"{GRIPPER} joint", robot.gripper: GRIPPER}
                names[role] = [others.get(name, name) for name in names[role]]
        limits = self.robots["follower"].limits
        slides = [number in limits.slides for number in range(len(limits.lower))]
        signs = self._signs(names)
        joints = JointMapping.alike(
            names["leader"],
            names["follower"],
            signs=signs,
            lower=limits.lower,
            upper=limits.upper,
            slides=slides,
        )
        self._check_kinds(joints)
        weights = self.joint_strength(joints, frequency)
        return replace(joints, weights=weights / weights.max())

    def _check_kinds(self, joints: JointMapping) -> None:
        """Refuse an arm's slide that drives a turning joint, or the other way round."""
        slides = self.robots["leader"].limits.slides
        for number, source in enumerate(joints.source):
            kinds = (source in slides, bool(joints.slides[number]))
            if source >= 0 and joints.names[number] != "gripper" and kinds[0] != kinds[1]:
                kind = [("turns", "slides")[kind] for kind in kinds]
                names = [self.robots[role].name for role in ROLES]
                raise Mismatch(
                    f"joint {source + 1} of {names[0]} {kind[0]}, joint {joints.names[number]!r} "
                    f"of {names[1]} {kind[1]}: couple the tools with --space tool"
                )

    def _signs(self, names: dict[str, list[str]]) -> tuple[float, ...]:
        """Scales of the joints: those of grippers bring one range over the other."""
        signs = [1.0] * len(names["follower"])
        spans = [self.gripper_span(role) for role in ROLES]
        if all(columns[-1] == GRIPPER for columns in names.values()) and all(spans):
            signs[-1] = spans[1] / spans[0]
        return tuple(signs)

    def gripper_span(self, role: str) -> float:
        """From closed to open, [rad] or [m]; 0 without a gripper, or without limits."""
        limits = self.robots[role].limits
        span = float(limits.upper[-1] - limits.lower[-1])
        return span if self.robots[role].gripper is not None and np.isfinite(span) else 0.0

    def joint_strength(self, joints: JointMapping, frequency: float) -> Array:
        """I ω + μ of each joint of the follower, reduced with that of the joint that drives it."""
        strength = {
            role: np.minimum(
                model.M.diagonal() * frequency + model.viscous, self._most_strength(model)
            )
            for role, model in self.models.items()
        }
        felt = np.linalg.pinv(joints.matrix) ** 2 if joints.matrix.size else joints.matrix
        # the leader's joint as the follower's feels it
        other = felt.T @ strength["leader"]
        own = strength["follower"]
        both = np.where(other > 0.0, own * other / np.maximum(own + other, 1e-12), own)
        S, light = joints.matrix, {role: self.inverse_inertia(role) for role in ROLES}
        mobility = S @ light["leader"] @ S.T + light["follower"]
        return both * steppable(2.0 * both, mobility, self.step, np.arange(len(both)))

    def inverse_inertia(self, role: str) -> Array:
        """Of the joints within a step, in which their own friction acts like inertia, [1/kg m²]."""
        model = self.models[role]
        found: Array = np.linalg.inv(model.M + self.step * np.diag(model.viscous))
        return found

    def tool_mobility(self, role: str) -> Array:
        """Of the tool within a step, 6 × 6."""
        J = self.models[role].J
        found: Array = J @ self.inverse_inertia(role) @ J.T
        return found

    def _most_strength(self, arm: Arm) -> Array | float:
        """Largest I ω + μ of the joints that the delay allows."""
        if self.delay == 0.0:
            return np.inf
        most: Array = 0.125 / self.delay / np.linalg.inv(arm.M).diagonal()
        return most

    def lightness(self, shape: Pair) -> float:
        """Smallest I ω + μ of the leader over that of the follower, at most 1, [-].

        A lag that pulls the follower with ω would pull a lighter leader faster by the inverse, too
        fast for the delay of a bus.
        """
        pairs = [self.models["leader"], self.models["follower"]]
        if shape.space == "tool":
            inertia = np.array([tool_inertia(model) for model in pairs])
            own, other = inertia * shape.frequency + [_tool_viscous(model) for model in pairs]
            return float(min(1.0, np.min(own[other > 0.0] / other[other > 0.0])))
        leader, follower = (m.M.diagonal() * shape.frequency + m.viscous for m in pairs)
        matrix = self.mapping(shape.frequency).matrix
        felt = np.square(matrix).T @ follower
        return float(min(1.0, np.min(leader[felt > 0.0] / felt[felt > 0.0])))

    def allows(self, damping: Array) -> bool:
        """Whether joints of both arms with this damping between them are calm for the delay.

        At π/2 rad of phase they are not; at 1 rad there is still some room.
        """
        return all(
            bool((2.0 * damping <= self._most_strength(model) / 0.125).all())
            for model in self.models.values()
        )

    def strongest(self, frequency: float) -> float:
        """Largest I ω + μ of the joints."""
        joints = self.mapping(frequency)
        return float(self.joint_strength(joints, frequency).max())

    def tool_strength(self, frequency: float) -> tuple[float, float]:
        """I ω + μ of the tools, reduced over both arms: translation and rotation."""
        inertia = [tool_inertia(model) for model in self.models.values()]
        viscous = [_tool_viscous(model) for model in self.models.values()]
        limits = [(np.inf, np.inf)] * 2
        if self.delay > 0.0:
            limits = [_lightest(model, 0.125 / self.delay) for model in self.models.values()]
        found = []
        for axis in range(2):
            a, b = (
                min(i[axis] * frequency + mu[axis], most[axis])
                for i, mu, most in zip(inertia, viscous, limits, strict=True)
            )
            found.append(a * b / (a + b) if a + b > 0.0 else 0.0)
        mobility = self.tool_mobility("leader") + self.tool_mobility("follower")
        shares = steppable(2.0 * np.repeat(found, 3), mobility, self.step, LINEAR_ANGULAR)
        return float(found[0] * shares[0]), float(found[1] * shares[3])

    def travel(self, space: str) -> float:
        """Length of which the moves and the way to the wall are shares, [m].

        The leader's reach, where joints are coupled; tools go equally far, so the shorter reach.
        Less, if a joint would come too close to its speed limit.
        """
        length = self.reach["leader"] if space == "joints" else min(self.reach.values())
        leader = _path(self.models["leader"], self.robots["leader"], PRESS * length * self.way)
        paths = {"leader": leader, "follower": self._follow(leader, space, PRESS * length)}
        hurry = 0.0
        for role, path in paths.items():
            # a smooth move is 15/8 as fast in its middle as on average
            steps = np.abs(np.diff(path, axis=0)).max(axis=0, initial=0.0)
            fastest = 1.875 * steps * len(path) / PRESS_TIME
            hurry = max(hurry, float(np.max(fastest / self.robots[role].limits.velocity)))
        return length * min(1.0, BRISK / max(hurry, 1e-9))

    def carried(self, space: str, length: float) -> Array:
        """Where the follower's tool goes when the leader's goes ``length`` to the wall, [m]."""
        if space == "tool" or length <= 0.0:
            return length * self.way
        leader = _path(self.models["leader"], self.robots["leader"], length * self.way)
        arm, home = self.models["follower"], self.homes["follower"]
        start, still = arm.position.copy(), np.zeros(arm.nv)
        arm.update(self._follow(leader, space, length)[-1], still)
        offset = arm.position - start
        arm.update(home, still)
        return offset

    def _follow(self, leader: Array, space: str, length: float) -> Array:
        """The follower's joints while the leader's go along a path, one row each."""
        if space == "tool":
            return _path(self.models["follower"], self.robots["follower"], length * self.way)
        matrix = self.mapping(1.0).matrix
        return self.homes["follower"] + (leader - self.homes["leader"]) @ matrix.T

    def wall_limit(self, shape: Pair) -> float:
        """Stiffness of a wall that a step of the world can still integrate, [N/m].

        A quarter of 4 m/h², the limit of a mass on a spring in explicit steps.
        """
        return _lightest(self.models["follower"])[0] * shape.rate**2 / 25.0

    def _free_way(self) -> Array:
        """The direction in which both arms have room for their tools."""
        room = [
            min(
                _room(model, self.robots[role], np.array(way), self.reach[role])
                for role, model in self.models.items()
            )
            for way in DIRECTIONS
        ]
        if max(room) <= 0.0:
            cause = "one of the arms has no room for its tool at its home"
            self.notes.append(f"{cause}: the ends of its joints stop a scenario's moves")
        enough = next((k for k, found in enumerate(room) if found >= 1.0), int(np.argmax(room)))
        return np.array(DIRECTIONS[enough])


def shaped(settings: Sequence[tuple[str, object]]) -> tuple[Pair, PairArms]:
    """The rig's shape from ``rig.…`` settings, and its two arms."""
    shape = Pair()
    configure(shape, list(settings))
    for role in ROLES:
        plant = getattr(shape, f"{role}_plant")
        # a robot named where a machine may be is simulated; what is neither is an unknown robot
        if plant != SIMULATED and not external_plants.is_machine(plant):
            setattr(shape, f"{role}_robot", plant)
            setattr(shape, f"{role}_plant", SIMULATED)
        elif not any(path == f"rig.{role}_robot" for path, _ in settings):
            name = external_plants.robot_for(plant, role, getattr(shape, f"{role}_robot"))
            setattr(shape, f"{role}_robot", name)
    leads = shape.leader_plant
    if leads == shape.follower_plant and external_plants.is_machine(leads):
        raise BadValue(f"leader and follower are both {leads}: name two arms")
    rates = [external_plants.tick_rate(getattr(shape, f"{role}_plant")) for role in ROLES]
    if not any(path == "rig.rate" for path, _ in settings):
        shape.rate = min([shape.rate, *(rate for rate in rates if rate is not None)])
    names = {"leader": shape.leader_robot, "follower": shape.follower_robot}
    robots = {role: load_robot(name).edited(disable_contacts) for role, name in names.items()}
    for role, robot in robots.items():
        model = robot.compile()
        if model.nq != model.nv:
            raise Mismatch(f"the {role} {robot.name} has a floating base; a pair is of fixed arms")
    return shape, PairArms(robots, shape.gravity, 1.0 / shape.rate)


def allow_for_delay(shape: Pair, arms: PairArms, plants: Mapping[str, Plant]) -> None:
    """Let the gains suit the machines' delays, and say so.

    Args:
        shape: of the rig; its frequency may become lower.
        arms: both of them.
        plants: of this process, by role.
    """
    slow = max(plants, key=lambda role: plants[role].loop_delay)
    found = plants[slow].loop_delay
    if found > shape.loop_delay and len(plants) < len(ROLES):
        # both machines must have the same law
        arms.notes.append(
            f"the {slow} takes {1e3 * found:.1f} ms from a measurement to the torque that answers: "
            f"set rig.loop_delay={found:.2g} on both machines, or it may shake"
        )
        found = 0.0
    before = _stiffness(shape, arms)
    arms.delay = max(found, shape.loop_delay)
    if arms.delay == 0.0:
        return
    shape.frequency = min(shape.frequency, 0.25 / arms.delay)
    shares = (_stiffness(shape, arms) / np.where(before > 0.0, before, np.inf))[before > 0.0]
    if shares.min() < 0.99:
        least, most = (f"{100 * share:.0f}" for share in (shares.min(), shares.max()))
        arms.notes.append(
            f"{1e3 * arms.delay:.1f} ms from a measurement to the torque that answers: "
            f"stiffness is {least} to {most} % of what a fast bus would allow"
        )


def _stiffness(shape: Pair, arms: PairArms) -> Array:
    """Of the joints, or of the tool along and about its axes."""
    omega = shape.frequency
    if shape.space == "joints":
        return omega * arms.joint_strength(arms.mapping(omega), omega)
    return omega * np.array(arms.tool_strength(omega))


def law_for(law: type[Coupling], shape: Pair, arms: PairArms) -> Coupling:
    """An instance of the law with gains that suit both arms."""
    omega = shape.frequency
    more: dict[str, Any] = {}
    if shape.space == "joints":
        more["mapping"] = arms.mapping(omega)
        linear = angular = arms.strongest(omega)
    else:
        linear, angular = arms.tool_strength(omega)
    if issubclass(law, SpringCoupling):
        more["spring"] = Spring(omega * linear, 2.0 * linear, omega * angular, 2.0 * angular)
    if issubclass(law, PositionForce):
        more |= {"leader_damping": 0.2 * linear, "leader_rotational_damping": 0.2 * angular}
    if issubclass(law, Admittance):
        more |= {"mass": linear / omega, "inertia": angular / omega}
        more |= {"damping": 0.2 * linear, "rotational_damping": 0.2 * angular}
    if issubclass(law, FourChannel) and (shape.leader_plant, shape.follower_plant) != NO_MACHINE:
        more["lag_share"] = arms.lightness(shape)
    if issubclass(law, OpenArm | OpenArmFourChannel):
        names = {robot.name for robot in arms.robots.values()}
        fits = names == {"openarm"} and shape.space == "joints"
        more["published"] = fits and arms.allows(published(law.name, 8, 8)["damping"])
        text = f"the published gains of {law.name} would shake so: the rig's own are used"
        if fits and not more["published"] and text not in arms.notes:
            arms.notes.append(text)
    return law(**more)


def layer_scale(shape: Pair, arms: PairArms) -> tuple[float, float]:
    """Stiffness and damping of the strongest joint over those of a default spring of tools, [-].

    A layer's energies and dampers suit that spring; a radian counts as a metre.
    """
    strongest, usual = arms.strongest(shape.frequency), Spring()
    return shape.frequency * strongest / usual.stiffness, 2.0 * strongest / usual.damping


def station(
    role: str,
    plant: Plant,
    arms: PairArms,
    shape: Pair,
    period_ns: int,
    law: type[Coupling],
    name: str | None = None,
) -> Station:
    """One arm with its controller and guard; its name is its role by default."""
    robot = arms.robots[role]
    guard = Guard(force=400.0, moment=80.0)
    # the arms stand the farther apart the larger they are
    base, room = np.array(arms.placements[role].position), 2.0 * arms.reach[role]
    guard.low, guard.high = np.minimum(guard.low, base - room), np.maximum(guard.high, base + room)
    # an end stop gives a little before it holds, and leaning on it is no fault
    slack = np.minimum(END_STOP_SLACK, 0.02 * (robot.limits.upper - robot.limits.lower))
    guard.watch(with_slack(robot.limits, slack))
    arm = arms.model(role, shape.gravity)
    rest = "free" if role == "leader" else "hold"
    machine = isinstance(plant, MirroredPlant)
    # a law with models compensates the friction itself, and twice would drive the arm
    helped = machine and not plant.compensates_friction and "models" not in law.needs
    controller = TorqueController(
        arm,
        rest,
        period_ns,
        can_brake=Brake in plant.accepts,
        assist=friction_help(robot, period_ns) if helped else None,
        brakes_on_trip=machine,
    )
    if plant.loop_delay > 0.0:
        still = controller.still
        still.bandwidth = min(still.bandwidth, 0.25 / plant.loop_delay)
    # without torque sensors, what touches the joints is what explains the arm's momentum
    by_momentum = shape.space == "joints" or "observers" in law.needs
    gain = shape.observer_gain
    if plant.acted is not None:
        # commands and samples are a cycle of the bus late each
        gain = min(gain, OBSERVER_SHARE / (2e-9 * plant.period_ns))
    observer = MomentumObserver(arm, gain) if by_momentum else None
    return Station(
        name or role,
        role,
        plant,
        arm,
        guard,
        period_ns=period_ns,
        controller=controller,
        observer=observer,
    )


def friction_help(robot: Robot, period_ns: int) -> FrictionFeedForward | None:
    """Help against the friction that the robot's model has, for a machine; None without any."""
    model = robot.compile()
    if not model.dof_frictionloss.any():
        return None
    dry, viscous = model.dof_frictionloss.copy(), model.dof_damping.copy()
    friction = make("coulomb-viscous", model.nv, coulomb=dry, viscous=viscous)
    compensation = FrictionCompensation(friction, gain=FRICTION_HELP)
    return FrictionFeedForward(compensation, period_ns * 1e-9)


def hand_for(arms: PairArms, shape: Pair, moves: tuple[Move, ...]) -> ImpedanceHand:
    """A hand that suits the leader it holds."""
    leader, omega = arms.models["leader"], HAND_FREQUENCY
    strengths = zip(MOST_HAND, tool_inertia(leader), _tool_viscous(leader), strict=True)
    gains = np.array([min(most, omega * (mass * omega + mu)) for most, mass, mu in strengths])
    dampers = np.repeat(1.4 * gains / omega, 3)
    shares = steppable(dampers, arms.tool_mobility("leader"), arms.step, LINEAR_ANGULAR)
    gains *= shares[[0, 3]]
    dampers = 1.4 * gains / omega
    return ImpedanceHand(
        stiffness=float(gains[0]),
        damping=float(dampers[0]),
        rotational_stiffness=float(gains[1]),
        rotational_damping=float(dampers[1]),
        path=HandPath(moves),
    )


def gripped(
    port: Port, role: str, arms: PairArms, shape: Pair, hand: ImpedanceHand | None
) -> Fingers | HeldObject:
    """The operator's fingers on the leader's gripper, or an object in the follower's."""
    robot, model = arms.robots[role], arms.models[role]
    strength = float(model.M[-1, -1]) * shape.frequency + float(model.viscous[-1])
    lower, upper, start = (
        float(value[-1]) for value in (robot.limits.lower, robot.limits.upper, port.q)
    )
    # larger positions open a gripper, as in all robots here
    shut = lower + 0.05 * (upper - lower)
    if role == "leader":
        return Fingers(port, shape.frequency * strength, 2.0 * strength, shut, hand)
    size = lower + 0.5 * (start - lower)
    return HeldObject(port, size=size, stiffness=2.0 * shape.frequency * strength)


def steppable(damping: Array, mobility: Array, step: float, parts: Array) -> Array:
    r"""Shares of dampers that steps of the loop can follow, 1 where they can follow all of it.

    Damped forces that are held for a step h are stable while the largest eigenvalue of
    :math:`h\sqrt{D}\,\Gamma\sqrt{D}` is below 2. If it is above :data:`MAX_DAMPING`, the parts
    that alone come to more than half of that are weakened, and then all if need be.

    Args:
        damping: D, one number per axis.
        mobility: Γ, inverse inertia of what is damped.
        step: h, [s].
        parts: number of the part to which each axis belongs.
    """
    shares = np.ones(len(damping))

    def load(of: Array) -> float:
        root = np.sqrt(damping * shares)[of]
        return step * float(np.linalg.eigvalsh(root[:, None] * mobility[np.ix_(of, of)] * root)[-1])

    every = np.arange(len(damping))
    if load(every) > MAX_DAMPING:
        for part in np.unique(parts):
            mine = every[parts == part]
            shares[mine] *= min(1.0, 0.5 * MAX_DAMPING / max(load(mine), 1e-12))
        shares *= min(1.0, MAX_DAMPING / max(load(every), 1e-12))
    return shares


def tool_inertia(arm: Arm) -> tuple[float, float]:
    """Mass and inertia that a tool shows, means over its axes, [kg] and [kg·m²]."""
    return _resistance(arm.J @ np.linalg.solve(arm.M, arm.J.T))


def _tool_viscous(arm: Arm) -> tuple[float, float]:
    """Damping of the tool by the friction of the joints, [N·s/m] and [N·m·s/rad]."""
    if not (arm.viscous > 0.0).all():
        return 0.0, 0.0
    return _resistance(arm.J @ (arm.J / arm.viscous).T)


def _resistance(mobility: Array) -> tuple[float, float]:
    """Geometric mean of what resists along the axes of a tool that can move: along, and about.

    Zero for what the arm cannot do at all: a pen on three joints does not turn by itself.
    """
    found = []
    for block in (mobility[:3, :3], mobility[3:, 3:]):
        easy = np.linalg.eigvalsh(block)
        easy = easy[easy > 1e-9 * max(float(easy[-1]), 1e-9)]
        found.append(float(np.exp(-np.log(easy).mean())) if len(easy) else 0.0)
    return found[0], found[1]


def _lightest(arm: Arm, factor: float = 1.0) -> tuple[float, float]:
    """Smallest mass and inertia that a tool shows along and about any axis, [kg] and [kg·m²]."""
    mobility = arm.J @ np.linalg.solve(arm.M, arm.J.T)
    blocks = mobility[:3, :3], mobility[3:, 3:]
    easiest = [max(float(np.linalg.eigvalsh(block)[-1]), 1e-9) for block in blocks]
    return factor / easiest[0], factor / easiest[1]


def _reach(arm: Arm, robot: Robot) -> float:
    """How far the tool is from the axis of the first joint when the arm is stretched, about, [m].

    The sum of the distances between one joint and the next, and on to the tool; of slides, half of
    their range.
    """
    lengths = [np.linalg.norm(place.translation) for place in list(arm.model.jointPlacements)[2:]]
    frame = arm.model.frames[arm.model.getFrameId(arm.tool)]
    parent = frame.parentJoint
    limits = robot.limits
    slides = [number for number in limits.slides if number < parent]
    ranges = [0.5 * float(limits.upper[k] - limits.lower[k]) for k in slides]
    slid = max((length for length in ranges if np.isfinite(length)), default=0.0)
    links = float(sum(lengths[: max(parent - 1, 0)]))
    return links + slid + float(np.linalg.norm(frame.placement.translation))


def _agility(arm: Arm) -> float:
    """Smallest speed of the tool in any direction at a joint speed of one, [m/rad]."""
    return float(np.linalg.svd(arm.J[:3], compute_uv=False)[-1])


def _path(arm: Arm, robot: Robot, way: Array, steps: int = 20) -> Array:
    """Joints while the tool goes along ``way`` [m] and keeps its orientation where it can.

    One row per step, until a joint meets its limit or the arm is nearly stretched.
    """
    q, limits, still = arm.q.copy(), robot.limits, np.zeros(arm.nv)
    start, length, path = arm.position.copy(), float(np.linalg.norm(way)), [arm.q.copy()]
    wanted = np.concatenate([way / steps, np.zeros(3)])
    least = 0.6 * _agility(arm)
    for _ in range(steps):
        J = arm.J * np.repeat((1.0, 2.0 * length), 3)[:, None]
        step = J.T @ np.linalg.solve(J @ J.T + 1e-4 * np.eye(6), wanted)
        arm.update(arm.q + step, still)
        inside = (arm.q > limits.lower + 0.05) & (arm.q < limits.upper - 0.05)
        progress = float(way @ (arm.position - start)) / length
        aside = float(np.linalg.norm(arm.position - start - progress / length * way))
        strays = aside > 0.3 * max(progress, 1e-6)
        if strays or _agility(arm) < least or not inside[np.abs(step) > 1e-9].all():
            break
        path.append(arm.q.copy())
    arm.update(q, still)
    return np.array(path)


def _room(arm: Arm, robot: Robot, way: Array, reach: float, share: float = 0.25) -> float:
    """How much of a ``share`` of its reach a tool can go along ``way`` inside the joint limits."""
    path, start, still = _path(arm, robot, share * reach * way), arm.q.copy(), np.zeros(arm.nv)
    before = arm.position.copy()
    arm.update(path[-1], still)
    moved = float(way @ (arm.position - before))
    arm.update(start, still)
    return moved / (0.9 * share * reach)
