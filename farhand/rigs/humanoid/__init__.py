"""The humanoid rig: a haptic pen leads a limb of PHUA, whose servos share one bus of 25 Hz.

The limb's end goes where the pen goes, scaled, from wherever both are. There is no force sensor and
no torque input: what the hand feels is synthetic, made from the limits of the limb's workspace and
the sole it stands on, and is recorded under that name. Values: sources/humanoid (the published
system) where it gives them; ``assumed`` marks the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller
from farhand.control.haptic.synthetic import SyntheticController, SyntheticForce
from farhand.control.joint.limb import LimbController, LimbKinematics
from farhand.control.trajectory.paths import HandPath
from farhand.coupling import Coupling, law_named
from farhand.learning.demonstration import Teaching, TeachingButton
from farhand.link.packet import model_hash
from farhand.loop.bridges.linked import LinkEnd
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.mapping import WorkspaceMapping
from farhand.mapping.ik import STATUSES
from farhand.mapping.limbs import LegChain
from farhand.mapping.workspace import PositionOnlyMapping
from farhand.parameters import describe, parameter
from farhand.plants import Imperfections
from farhand.plants.servo_bus.joints import LIMBS
from farhand.plants.simulated.haptic import HapticPlant, HapticProfile
from farhand.rigs.coupled import CoupledBuild
from farhand.rigs.humanoid.parts import FollowingLimb, Limb, check, following
from farhand.rigs.humanoid.scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.rig import Options, Rig, RigParts, Scenario, configure
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import set_armature
from farhand.safety import Guard, Watchdog
from farhand.safety.watches import Announcer
from farhand.world import ImpedanceHand, Placed, World

Array = np.ndarray

TITLE = "a haptic pen leads an arm or leg of the humanoid PHUA, whose servos share one 25 Hz bus"
DEFAULT_LAW = "unilateral"
PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (-0.1, 0.55, -0.45)}
"""Where pen and robot stand, [m]; assumed, to be seen together."""

OF_ONE_SIDE = ("rig.rate", "rig.follower_plant")
"""What shapes the rig and is compared under a name of its own, or is the follower's alone."""

DEVICES = ("omni", "phantom_desktop", "virtuose")


@dataclass
class Humanoid:
    """What shapes the rig's parts."""

    # published aim
    rate: float = parameter(1000.0, "Hz", "rate of pen, forces and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    limb: str = parameter("left-arm", "-", "which limb is led", choices=tuple(LIMBS))
    device: str = parameter("omni", "-", "which device leads", choices=DEVICES)
    posture: str = parameter(
        "teach", "-", "where the limb begins", choices=("home", "teach", "stretched")
    )
    exact: bool = parameter(True, "-", "whether the workspace's limits are exact")
    # sources/humanoid §4, assumed there
    hand_mass: float = parameter(0.15, "kg", "mass of the hand on the pen", 0.0, 10.0)
    # assumed
    hand_inertia: float = parameter(1e-3, "kg·m²", "inertia of the hand on the pen", 0.0, 1.0)
    rotor: float = parameter(5e-3, "kg·m²", "inertia of a servo's motor", 1e-4, 1.0)  # assumed
    # assumed
    pen_filter: float = parameter(50.0, "Hz", "cut-off of the pen's velocity", 0.0, 1000.0)
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or serial:PATH")


def build(options: Options, law: type[Coupling] | None = None) -> Rig:
    """Assemble the rig, with a law that has no name on the command line if one is given."""
    work = CoupledBuild("humanoid", options, SCENARIOS, DEFAULT_SCENARIO)
    shape = Humanoid()
    configure(shape, work.shaping)
    check(shape.follower_plant, options)
    law = law or law_named(options.law or DEFAULT_LAW)
    # Neither side measures a force, and the limb's bus hides its dynamics.
    law().require(set())

    limb = Limb.named(shape.limb)
    device = load_robot(shape.device)
    placements = {name: Placement(place) for name, place in PLACES.items()}
    period_ns = round(1e9 / shape.rate)
    world = _world(limb, device, placements, shape, period_ns, options.roles)
    parts = _surroundings(world, work.scenario, options.seed)
    sides = _sides(world, limb, device, shape, work.rng, work.settings)
    robots = {"leader": device, "follower": limb.robot}
    shaped = [
        f"{path}={value}" for path, value, *_ in describe({"rig": shape}) if path not in OF_ONE_SIDE
    ]
    bridge = work.couple(
        law,
        lambda role, arms: _law(law),
        sides.stations,
        parts,
        models=lambda: {name: Arm.of(robot) for name, robot in robots.items()},
        identity=model_hash("humanoid", law.name, *shaped),
    )
    if isinstance(bridge, RemoteBridge):
        sides.seen.listen_to(bridge.end, limb.chain)
    else:
        sides.seen.look_at(sides.stations["follower"].controller)
    sides.seen.mapping = bridge.laws[0].mapping
    parameters = {**parts.settable(), "law": tuple(bridge.laws), **sides.parameters}
    physics = world if sides.led is None else sides.led.carried
    forces = "synthetic: made from kinematics, nothing is measured"
    session = work.session(
        law.name, sides.stations.values(), bridge, [physics], parameters, forces=forces
    )
    sides.attach(session)
    work.configure(session, shape)
    return work.rig(law.name, session, world, shape, parts)


def _world(
    limb: Limb,
    device: Robot,
    placements: dict[str, Placement],
    shape: Humanoid,
    period_ns: int,
    roles: tuple[str, ...],
) -> World:
    """The device with a hand's mass on it, and the limb with its motors' inertia; those of the roles given."""
    ratio = np.array([joint.gear for joint in limb.joints])
    hand = np.repeat([shape.hand_mass, shape.hand_inertia], 3)
    rotors = set_armature(shape.rotor * ratio**2)
    robots = {"leader": device.edited(set_armature(hand)), "follower": limb.robot.edited(rotors)}
    start = limb.robot.postures.get(shape.posture, limb.robot.home)
    postures = {"leader": None, "follower": start}
    return World(
        {n: Placed(robots[n], placements[n], postures[n]) for n in roles}, period_ns, shape.gravity
    )


def _surroundings(world: World, scenario: Scenario, seed: int) -> RigParts:
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


def _pen(world: World, shape: Humanoid, rng: np.random.Generator) -> HapticPlant:
    """The pen as its driver presents it."""
    profile = HapticProfile.of(world.placed["leader"].robot)
    seen = Imperfections(
        wrench_sensor=False,
        encoder_step=profile.position_step,
        velocity_from_position=shape.pen_filter,
    )
    return HapticPlant(world, "leader", profile, None, seen, rng)


def _follower(
    plant: Any, limb: Limb, placement: Placement, shape: Humanoid, period_ns: int
) -> Station:
    """The limb: closed-form inverse kinematics behind a dead band, and a guard with slack for its potentiometers."""
    arm, guard, limits = (
        Arm.of(limb.robot, placement, shape.gravity),
        Guard(stale=1.0),
        limb.robot.limits,
    )
    guard.watch(
        replace(
            limits,
            lower=limits.lower - 0.1,
            upper=limits.upper + 0.1,
            velocity=3.0 * limits.velocity,
        )
    )
    controller = LimbController(arm, limb.chain, np.array(placement.position) + limb.base)
    return Station(
        "follower",
        "follower",
        plant,
        arm,
        guard,
        rest="hold",
        period_ns=period_ns,
        controller=controller,
    )


@dataclass
class HumanoidSides:
    """What of the rig is in this process: both sides, or the one whose other runs elsewhere.

    Attributes:
        seen: the limb as the pen's side knows it.
        stations: by role.
        parameters: what a user may set, by role.
        pen: of the leader, or None.
        led: of the follower, or None.
    """

    seen: PlaceOf
    stations: dict[str, Station] = field(default_factory=dict)
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    pen: HapticPlant | None = None
    led: FollowingLimb | None = None

    def add(self, station: Station, **parts: Any) -> None:
        """One more side, with what may be set of its plant."""
        self.stations[station.name] = station
        self.parameters[station.name] = {
            "guard": station.guard,
            **station.controller.parts,
            **parts,
        }

    def attach(self, session: Session) -> None:
        """Have the pen's button looked at, and said aloud what the limb has to say."""
        if self.pen is not None:
            session.add(TeachingButton(self.pen, session.commands).step, after="physics")
        if self.led is not None:
            follower = self.stations["follower"]
            session.add(_announcer(session, self.led, follower), follower.period_ns)


def _sides(
    world: World,
    limb: Limb,
    device: Robot,
    shape: Humanoid,
    rng: np.random.Generator,
    settings: list[tuple[str, object]],
) -> HumanoidSides:
    """The sides that stand in the world; each has the same random numbers with and without the other."""
    sides = HumanoidSides(PlaceOf(np.array(PLACES["follower"]) + limb.base))
    of_pen, of_limb = rng.spawn(1)[0], rng.spawn(1)[0]
    if "leader" in world.ports:
        sides.pen = pen = _pen(world, shape, of_pen)
        leader = _leader(pen, device, limb, sides.seen, shape, world.step_ns)
        sides.add(leader, plant=pen.imperfections, device=pen.profile)
    if "follower" in world.ports:
        sides.led = led = following(shape.follower_plant, world, limb, of_limb, settings)
        place = world.placed["follower"].placement
        sides.add(_follower(led.plant, limb, place, shape, world.step_ns), bus=led.parts)
    return sides


def _announcer(session: Session, led: FollowingLimb, follower: Station) -> Callable[[int], None]:
    """Says aloud that the battery runs low, and that the limb cannot follow."""
    controller = follower.controller
    assert isinstance(controller, LimbController)

    def lost() -> str:
        return (
            ""
            if controller.status == "solved"
            else f"limb: {controller.status}, {STATUSES[controller.status]}"
        )

    return Announcer(session.telemetry.event, led.warning, lost).step


class PlaceOf:
    """Where the limb's end is, in its base, as the pen's side and as the bus know it.

    Args:
        base: origin of the limb's closed form in world, [m].

    Attributes:
        mapping: of the leader's law, once there is one.
        position: of the limb's end in world as last reported, [m], once there is a limb or a link.
        angles: that the limb is sent to, [rad]: its command; for a limb elsewhere solved here,
            without its dead band, for its bus reports them too late to push the hand by.
    """

    mapping: WorkspaceMapping
    position: Callable[[], Array]
    angles: Callable[[], Array]

    def __init__(self, base: Array) -> None:
        self._base = base

    def look_at(self, controller: Controller) -> None:
        """The limb is in this process, with this controller."""
        assert isinstance(controller, LimbController)
        self.position, self.angles = (
            lambda: controller.arm.position,
            lambda: controller.command.value,
        )

    def listen_to(self, end: LinkEnd, chain: LimbKinematics) -> None:
        """The limb is elsewhere, and known by the packets that this end gets and by its closed form."""
        self._near = end.endpoint.incoming.q

        def angles() -> Array:
            self._near = chain.solve(self.sent(), self._near).q
            return self._near

        self.position, self.angles = lambda: end.remote.position, angles

    def sent(self) -> Array:
        """The place that belongs to the pen's, [m]: what lies beyond a limit counts."""
        return self.mapping.position - self._base

    def reported(self) -> Array:
        """The place that the bus reported last, [m]."""
        return self.position() - self._base


def _leader(
    plant: HapticPlant, device: Robot, limb: Limb, places: PlaceOf, shape: Humanoid, period_ns: int
) -> Station:
    """The pen: free, but for the synthetic force."""
    synthetic = SyntheticForce(
        peak=plant.profile.force_peak, gravity=shape.gravity, objects=limb.objects(shape.exact)
    )
    synthetic.tip_mass = 0.0 if plant.profile.holds_weight else synthetic.tip_mass
    if isinstance(limb.chain, LegChain):
        leg = limb.chain
        synthetic.centre = lambda: leg.centre(places.angles())
    weightless = Arm.of(device, Placement(PLACES["leader"]), 0.0)
    guard = Guard(force=200.0, moment=30.0)
    # assumed
    guard.watch(
        replace(device.limits, lower=device.limits.lower - 0.02, upper=device.limits.upper + 0.02)
    )
    pen = SyntheticController(weightless, period_ns, synthetic, places.sent, places.reported)
    return Station(
        "leader",
        "leader",
        plant,
        weightless,
        guard,
        rest="free",
        period_ns=period_ns,
        controller=pen,
    )


def _law(law: type[Coupling]) -> Coupling:
    """The law with the published relative, scaled map: twice the hand's motion, axes as they stand face to face."""
    return law(mapping=PositionOnlyMapping(motion_scale=2.0))
