"""The parts of the humanoid rig: its shape, the limb, the pen, and both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller
from farhand.control.haptic.haptic_objects import HapticObject, exact_arm, exact_leg, published_arm
from farhand.control.haptic.synthetic import SyntheticController, SyntheticForce
from farhand.control.joint.limb import LimbController, LimbKinematics
from farhand.control.trajectory.paths import HandPath
from farhand.errors import BadValue, Mismatch
from farhand.learning.demonstration import Teaching, TeachingButton
from farhand.loop.bridges.linked import LinkEnd
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.mapping import WorkspaceMapping
from farhand.mapping.ik import STATUSES
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.parameters import assign_all, parameter
from farhand.plants.servo_bus.joints import LIMBS, BusJoint, joints_named
from farhand.plants.servo_bus.plant import BusParts, ServoBusPlant
from farhand.plants.simulated.haptic import HapticPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs.coupled import haptic_pen, in_hand, with_slack
from farhand.rigs.rig import SIMULATED, Options, RigParts, Scenario, Settings
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import set_armature
from farhand.safety import Guard, Watchdog
from farhand.safety.watches import Announcer
from farhand.world import ImpedanceHand, Placed, World

Array = np.ndarray

SHOULDER = (0.0, 0.085, 0.547)
"""Of the left arm above the floor, in the robot's axes, [m]; assumed, as in the model file."""

PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (-0.1, 0.55, -0.45)}
"""Where pen and robot stand, [m]; assumed, to be seen together."""

DEVICES = ("omni", "phantom_desktop", "virtuose")
POSTURES = ("home", "teach", "stretched")
SERIAL = "serial:"


@dataclass
class Humanoid:
    """What shapes the rig's parts."""

    # published aim
    rate: float = parameter(1000.0, "Hz", "rate of pen, forces and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    limb: str = parameter("left-arm", "-", "which limb is led", choices=tuple(LIMBS))
    device: str = parameter("omni", "-", "which device leads", choices=DEVICES)
    posture: str = parameter("teach", "-", "where the limb begins", choices=POSTURES)
    exact: bool = parameter(True, "-", "whether the workspace's limits are exact")
    # sources/humanoid §4, assumed there
    hand_mass: float = parameter(0.15, "kg", "mass of the hand on the pen", 0.0, 10.0)
    # assumed
    hand_inertia: float = parameter(1e-3, "kg·m²", "inertia of the hand on the pen", 0.0, 1.0)
    # assumed
    rotor: float = parameter(5e-3, "kg·m²", "inertia of a servo's motor", 1e-4, 1.0)
    # assumed
    pen_filter: float = parameter(50.0, "Hz", "cut-off of the pen's velocity", 0.0, 1000.0)
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or serial:PATH")


@dataclass(frozen=True)
class Limb:
    """One limb that a pen can lead."""

    name: str  #: one of :data:`farhand.plants.servo_bus.joints.LIMBS`
    robot: Robot
    chain: ArmChain | LegChain  #: its closed-form kinematics
    base: Array  #: origin of the closed form in the robot's axes, [m]
    joints: list[BusJoint]  #: its servos

    @classmethod
    def named(cls, name: str) -> Limb:
        """A limb by name."""
        side, kind = name.split("-")
        sign = 1 if side == "left" else -1
        joints = joints_named(*LIMBS[name])
        if kind == "arm":
            base = np.array(SHOULDER) * [1.0, sign, 1.0]
            return cls(name, load_robot("phua", name), ArmChain(side=sign), base, joints)
        return cls(name, load_robot("phua_leg", side), LegChain(side=sign), np.zeros(3), joints)

    def objects(self, exact: bool) -> list[HapticObject]:
        """Limits of its workspace: exact, or the published approximation of an arm's."""
        if isinstance(self.chain, ArmChain):
            return exact_arm(self.chain) if exact else published_arm(self.chain)
        if not exact:
            raise Mismatch(f"the {self.name} has no approximate workspace: set rig.exact=true")
        return exact_leg(self.chain)


@dataclass(frozen=True)
class FollowingLimb:
    """The limb as a plant: simulated behind its bus, or the real bus on a serial port."""

    plant: Any  #: of the follower's station
    parts: Any  #: what a user may set
    carried: Any  #: what the session steps in time
    warning: Callable[[], str]  #: what the operator should know about it, or empty


def check(plant: str, options: Options) -> None:
    """Refuse a plant that cannot follow, and a serial port in virtual time."""
    if plant == SIMULATED:
        return
    if not plant.removeprefix(SERIAL) or not plant.startswith(SERIAL):
        raise BadValue(f"{plant!r} cannot be a plant here; there are: {SIMULATED}, {SERIAL}PATH")
    if options.clock is None or options.clock.name != "wall":
        raise Mismatch(f"{plant} runs in real time, not in virtual time: use --clock wall")


def make_limb(
    plant: str, world: World, limb: Limb, rng: np.random.Generator, settings: Settings
) -> FollowingLimb:
    """The plant ``simulated`` or ``serial:PATH``."""
    if plant == SIMULATED:
        parts = BusParts()
        simulated = ServoBusPlant(world, "follower", limb.joints, parts, rng)
        return FollowingLimb(simulated, parts, simulated, lambda: _low_battery(parts))
    from farhand.plants.servo_bus.serial_plant import SerialParts, SerialServoPlant

    serial = SerialParts()
    # The settings of the bus count before the port is opened.
    own = [item for item in settings if item[0].startswith("follower.bus.")]
    assign_all({"follower": {"bus": serial}}, own)
    bus = SerialServoPlant("follower", plant.removeprefix(SERIAL), limb.joints, serial)
    return FollowingLimb(MirroredPlant(bus, world), serial, world, str)


def _low_battery(parts: BusParts) -> str:
    return "" if parts.battery.warning is None else f"battery below {parts.battery.alarm:g} V"


def make_world(
    limb: Limb,
    device: Robot,
    placements: dict[str, Placement],
    shape: Humanoid,
    roles: tuple[str, ...],
) -> World:
    """The device with a hand's mass on it, and the limb with its motors' inertia."""
    ratio = np.array([joint.gear for joint in limb.joints])
    robots = {
        "leader": in_hand(device, shape.hand_mass, shape.hand_inertia),
        "follower": limb.robot.edited(set_armature(shape.rotor * ratio**2)),
    }
    start = limb.robot.postures.get(shape.posture, limb.robot.home)
    postures = {"leader": None, "follower": start}
    placed = {role: Placed(robots[role], placements[role], postures[role]) for role in roles}
    return World(placed, round(1e9 / shape.rate), shape.gravity)


def surroundings(world: World, scenario: Scenario, seed: int) -> RigParts:
    """The operator's hand on the pen, and the mark of a demonstration."""
    # sources/humanoid §4 [D]: 200 N/m, 4 N·s/m; rotation assumed
    hand = ImpedanceHand(
        stiffness=200.0,
        damping=4.0,
        rotational_stiffness=1.0,
        rotational_damping=0.05,
        path=HandPath(scenario.moves_for(seed)),
    )
    if "leader" in world.ports:
        world.touch("leader", "hand", hand)
    # The watchdog is assumed.
    return RigParts(hand=hand, demonstration=Teaching(), watchdog=Watchdog(silence=0.1))


class EndPosition:
    """Where the limb's end is, in the limb's base, as the pen's side and as the bus know it.

    Args:
        base: origin of the limb's closed form in world, [m].
    """

    mapping: WorkspaceMapping  #: of the leader's law, once there is one
    #: of the limb's end in world as last reported, [m], once there is a limb or a link
    position: Callable[[], Array]
    #: that the limb is sent to, [rad]: its command; for a limb elsewhere solved here, without its
    #: dead band, because its bus reports them too late to push the hand by
    angles: Callable[[], Array]

    def __init__(self, base: Array) -> None:
        self._base = base

    def look_at(self, controller: Controller) -> None:
        """Use the limb in this process, with this controller."""
        assert isinstance(controller, LimbController)
        self.position = lambda: controller.arm.position
        self.angles = lambda: controller.command.value

    def listen_to(self, end: LinkEnd, chain: LimbKinematics) -> None:
        """Use the packets of a limb elsewhere, and its closed form."""
        self._near = end.endpoint.incoming.q

        def angles() -> Array:
            self._near = chain.solve(self.sent(), self._near).q
            return self._near

        self.position = lambda: end.remote.position
        self.angles = angles

    def sent(self) -> Array:
        """The place that the pen sends the limb to, even beyond a limit, [m]."""
        return self.mapping.position - self._base

    def reported(self) -> Array:
        """The place that the bus reported last, [m]."""
        return self.position() - self._base


@dataclass
class HumanoidSides:
    """The sides in this process: both, or the one whose other runs elsewhere."""

    end_position: EndPosition  #: the limb as the pen's side knows it
    stations: dict[str, Station] = field(default_factory=dict)  #: by role
    #: what a user may set, by role
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    pen: HapticPlant | None = None  #: of the leader, or None
    follower: FollowingLimb | None = None  #: the limb, or None

    def add(self, station: Station, **parts: Any) -> None:
        """Add a side, with the settable parts of its plant."""
        own = {"guard": station.guard, **station.controller.parts, **parts}
        self.stations[station.name] = station
        self.parameters[station.name] = own

    def attach(self, session: Session) -> None:
        """Watch the pen's button, and announce a low battery or a limb that cannot follow."""
        if self.pen is not None:
            session.add(TeachingButton(self.pen, session.commands).step, after="physics")
        if self.follower is not None:
            station = self.stations["follower"]
            controller = station.controller
            assert isinstance(controller, LimbController)
            announcer = Announcer(
                session.telemetry.event, self.follower.warning, lambda: _unreachable(controller)
            )
            session.add(announcer.step, station.period_ns)


def _unreachable(controller: LimbController) -> str:
    status = controller.status
    return "" if status == "solved" else f"limb: {status}, {STATUSES[status]}"


def make_sides(
    world: World,
    limb: Limb,
    device: Robot,
    shape: Humanoid,
    rng: np.random.Generator,
    settings: Settings,
) -> HumanoidSides:
    """The sides that stand in the world."""
    sides = HumanoidSides(EndPosition(np.array(PLACES["follower"]) + limb.base))
    # Each side has the same random numbers with and without the other.
    pen_rng = rng.spawn(1)[0]
    limb_rng = rng.spawn(1)[0]
    if "leader" in world.ports:
        sides.pen = pen = haptic_pen(world, shape.pen_filter, pen_rng)
        leader = _leader(pen, device, limb, sides.end_position, shape, world.step_ns)
        sides.add(leader, plant=pen.imperfections, device=pen.profile)
    if "follower" in world.ports:
        sides.follower = made = make_limb(shape.follower_plant, world, limb, limb_rng, settings)
        place = world.placed["follower"].placement
        sides.add(_follower(made.plant, limb, place, shape, world.step_ns), bus=made.parts)
    return sides


def _leader(
    plant: HapticPlant, device: Robot, limb: Limb, end: EndPosition, shape: Humanoid, period_ns: int
) -> Station:
    """The pen: free, but for the synthetic force."""
    peak = plant.profile.force_peak
    synthetic = SyntheticForce(peak=peak, gravity=shape.gravity, objects=limb.objects(shape.exact))
    synthetic.tip_mass = 0.0 if plant.profile.holds_weight else synthetic.tip_mass
    if isinstance(limb.chain, LegChain):
        leg = limb.chain
        synthetic.centre = lambda: leg.centre(end.angles())
    arm = Arm.of(device, Placement(PLACES["leader"]), 0.0)
    guard = Guard(force=200.0, moment=30.0)
    guard.watch(with_slack(device.limits))
    pen = SyntheticController(arm, period_ns, synthetic, end.sent, end.reported)
    return Station("leader", "leader", plant, arm, guard, period_ns=period_ns, controller=pen)


def _follower(
    plant: Any, limb: Limb, placement: Placement, shape: Humanoid, period_ns: int
) -> Station:
    """The limb: closed-form inverse kinematics behind a dead band."""
    arm = Arm.of(limb.robot, placement, shape.gravity)
    guard = Guard(stale=1.0)
    # Its potentiometers are coarse: wide slack, and three times the speed.
    limits = with_slack(limb.robot.limits, 0.1)
    guard.watch(replace(limits, velocity=3.0 * limits.velocity))
    control = LimbController(arm, limb.chain, np.array(placement.position) + limb.base)
    return Station(
        "follower", "follower", plant, arm, guard, period_ns=period_ns, controller=control
    )
