"""The humanoid rig: a haptic pen leads a limb of PHUA, whose servos share one bus of 25 Hz.

The limb's end goes where the pen goes, scaled, from wherever both are. There is no force sensor and no torque input:
what the hand feels is synthetic, made from the limits of the limb's workspace and the sole it stands on, and is
recorded under that name. Values: spec 001 (the published system) where it gives them; ``assumed`` marks the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.arm import Arm
from farhand.bridge import Bridge, DirectBridge
from farhand.control.limb import LimbController
from farhand.control.synthetic import SyntheticController, SyntheticForce
from farhand.control.trajectory import Path
from farhand.coupling import Coupling, law_named
from farhand.learning.button import TeachingButton
from farhand.learning.demonstration import Teaching
from farhand.link.emulation import EmulatedLink
from farhand.link.endpoint import connect
from farhand.link.layers import Layer, make_layer
from farhand.link.packet import Packet, model_hash
from farhand.linked_bridge import LinkedBridge, LinkEnd
from farhand.mapping import WorkspaceMapping
from farhand.mapping.ik import STATUSES
from farhand.mapping.limbs import LegChain
from farhand.mapping.position_only import PositionOnlyMapping
from farhand.parameters import assign_all, parameter
from farhand.plants import Imperfections
from farhand.plants.haptic import HapticPlant, HapticProfile
from farhand.plants.servo_bus.joints import LIMBS
from farhand.rigs.humanoid_limbs import Limb
from farhand.rigs.humanoid_plants import Following, check, following
from farhand.rigs.humanoid_scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.rig import Options, Rig, Scenario, choose, configure, configure_parts, split_settings
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import set_armature
from farhand.safety import Guard, Watchdog
from farhand.safety.watches import Announcer
from farhand.session import Part, Session
from farhand.station import Station
from farhand.world import ImpedanceHand, Placed, World

Array = np.ndarray

DEFAULT_LAW = "unilateral"
PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (-0.1, 0.55, -0.45)}
"""Where pen and robot stand, [m]; assumed, to be seen together."""

DEVICES = ("omni", "phantom_desktop", "virtuose")


@dataclass
class Humanoid:
    """What shapes the rig's parts.

    Attributes:
        rate: of the pen, its forces and the link, [Hz].
        gravity: downward acceleration, [m/s²].
        limb: which limb is led.
        device: which device leads.
        posture: where the limb begins, a posture of the robot or ``home``.
        exact: whether the limits are exact; if not, as the published system approximated them.
        hand_mass: of the hand that holds the pen, [kg].
        hand_inertia: of the hand, about the pen's wrist, [kg·m²].
        rotor: inertia of a servo's motor at its shaft, [kg·m²].
        pen_filter: cut-off of the pen's velocity, made from its positions, [Hz].
        follower_plant: ``simulated``, or ``serial:PATH`` for the robot's bus on a serial port.
    """

    rate: float = parameter(1000.0, "Hz", "rate of pen, forces and link", 200.0, 10_000.0)  # published aim
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    limb: str = parameter("left-arm", "-", "which limb is led", choices=tuple(LIMBS))
    device: str = parameter("omni", "-", "which device leads", choices=DEVICES)
    posture: str = parameter("teach", "-", "where the limb begins", choices=("home", "teach", "stretched"))
    exact: bool = parameter(True, "-", "whether the workspace's limits are exact")
    hand_mass: float = parameter(0.15, "kg", "mass of the hand on the pen", 0.0, 10.0)  # spec 001 §4, assumed there
    hand_inertia: float = parameter(1e-3, "kg·m²", "inertia of the hand on the pen", 0.0, 1.0)  # assumed
    rotor: float = parameter(5e-3, "kg·m²", "inertia of a servo's motor", 1e-4, 1.0)  # assumed
    pen_filter: float = parameter(50.0, "Hz", "cut-off of the pen's velocity", 0.0, 1000.0)  # assumed
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or serial:PATH")


def build(options: Options, law: type[Coupling] | None = None) -> Rig:
    """Assemble the rig, with a law that has no name on the command line if one is given."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shape = Humanoid()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    check(shape.follower_plant, options)
    rng = np.random.default_rng(options.seed)
    law = law or law_named(options.law or DEFAULT_LAW)
    law().require(set())  # neither side measures a force, and the limb's bus hides its dynamics

    limb, device = Limb.named(shape.limb), load_robot(shape.device)
    placements = {name: Placement(place) for name, place in PLACES.items()}
    period_ns = round(1e9 / shape.rate)
    world = _world(limb, device, placements, shape, period_ns)
    parameters = _surroundings(world, scenario, options.seed)
    pen = _pen(world, shape, rng)
    led = following(shape.follower_plant, world, limb, rng.spawn(1)[0], settings)
    follower = _follower(led.plant, limb, placements["follower"], shape, period_ns)
    leader, synthetic = _leader(pen, device, limb, follower, shape, period_ns)
    parameters["link"] = link = EmulatedLink(options.delay, options.jitter, options.loss, rng=rng.spawn(1)[0])
    assign_all({"link": link}, [(path, value) for path, value in settings if path.startswith("link.")])
    layer = make_layer(options.layer, law)
    link.connected = not link.perfect or layer is not None
    bridge = _bridge(law, leader, follower, link, parameters["watchdog"], layer)
    synthetic.mapping = bridge.laws[0].mapping
    parameters |= {"law": tuple(bridge.laws)} | ({} if layer is None else {"layer": layer})
    sides = {"leader": leader, "follower": follower}
    for name, station in sides.items():
        parameters[name] = {"guard": station.guard, **station.controller.parts}
    parameters["leader"] |= {"plant": pen.imperfections, "device": pen.profile}
    parameters["follower"]["bus"] = led.parts

    described = {"rig": "humanoid", "law": law.name, "seed": options.seed, "scenario": scenario.name}
    described["forces"] = "synthetic: made from kinematics, nothing is measured"
    session = Session(sides.values(), [bridge], [led.carried], None, options.clock, None, parameters, described)
    session.worlds.append(TeachingButton(pen, session.commands))
    session.parts.append(_announcer(session, led, follower, period_ns))
    configure_parts(session, shape, settings)
    for command in scenario.commands:
        session.commands.post_text(command)
    return Rig("humanoid", law.name, options, scenario, session, world, Metrics(session, world), shape)


def _world(limb: Limb, device: Robot, placements: dict[str, Placement], shape: Humanoid, period_ns: int) -> World:
    """The device with a hand's mass on it, and the limb with its motors' inertia."""
    ratio = np.array([joint.gear for joint in limb.joints])
    hand = np.repeat([shape.hand_mass, shape.hand_inertia], 3)
    rotors = set_armature(shape.rotor * ratio**2)
    robots = {"leader": device.edited(set_armature(hand)), "follower": limb.robot.edited(rotors)}
    start = limb.robot.postures.get(shape.posture, limb.robot.home)
    postures = {"leader": None, "follower": start}
    return World({n: Placed(robots[n], placements[n], postures[n]) for n in robots}, period_ns, shape.gravity)


def _surroundings(world: World, scenario: Scenario, seed: int) -> dict[str, Any]:
    """The operator's hand on the pen, and the mark of a demonstration."""
    path = Path(scenario.moves_for(seed))
    hand = ImpedanceHand(  # spec 001 §4 [D]: 200 N/m, 4 N·s/m; rotation assumed
        stiffness=200.0, damping=4.0, rotational_stiffness=1.0, rotational_damping=0.05, path=path
    )
    world.touch("leader", "hand", hand)
    return {"hand": hand, "demonstration": Teaching(), "watchdog": Watchdog(silence=0.1)}  # assumed


def _pen(world: World, shape: Humanoid, rng: np.random.Generator) -> HapticPlant:
    """The pen as its driver presents it."""
    profile = HapticProfile.of(world.placed["leader"].robot)
    seen = Imperfections(
        wrench_sensor=False, encoder_step=profile.position_step, velocity_from_position=shape.pen_filter
    )
    return HapticPlant(world, "leader", profile, None, seen, rng.spawn(1)[0])


def _follower(plant: Any, limb: Limb, placement: Placement, shape: Humanoid, period_ns: int) -> Station:
    """The limb: closed-form inverse kinematics behind a dead band, and a guard with slack for its potentiometers."""
    arm, guard, limits = Arm.of(limb.robot, placement, shape.gravity), Guard(stale=1.0), limb.robot.limits
    guard.watch(replace(limits, lower=limits.lower - 0.1, upper=limits.upper + 0.1, velocity=3.0 * limits.velocity))
    controller = LimbController(arm, limb.chain, np.array(placement.position) + limb.base)
    return Station("follower", "follower", plant, arm, guard, "hold", period_ns, controller)


def _announcer(session: Session, led: Following, follower: Station, period_ns: int) -> Part:
    """Says aloud that the battery runs low, and that the limb cannot follow."""
    controller = follower.controller
    assert isinstance(controller, LimbController)

    def lost() -> str:
        return "" if controller.status == "solved" else f"limb: {controller.status}, {STATUSES[controller.status]}"

    return Part(Announcer(session.telemetry.event, led.warning, lost).step, period_ns)


class PlaceOf:
    """Where the limb's end is, in its base, as the pen's side and as the bus know it.

    Args:
        controller: of the limb.
        base: origin of its closed form in world, [m].

    Attributes:
        mapping: of the leader's law, once there is one.
    """

    mapping: WorkspaceMapping

    def __init__(self, controller: LimbController, base: Array) -> None:
        self._controller, self._base = controller, base

    def sent(self) -> Array:
        """The place that belongs to the pen's, [m]: what lies beyond a limit counts."""
        return self.mapping.position - self._base

    def reported(self) -> Array:
        """The place that the bus reported last, [m]."""
        return self._controller.arm.position - self._base


def _leader(
    plant: HapticPlant, device: Robot, limb: Limb, follower: Station, shape: Humanoid, period_ns: int
) -> tuple[Station, PlaceOf]:
    """The pen: free, but for the synthetic force."""
    controller = follower.controller
    assert isinstance(controller, LimbController)
    places = PlaceOf(controller, np.array(PLACES["follower"]) + limb.base)
    synthetic = SyntheticForce(peak=plant.profile.force_peak, gravity=shape.gravity, objects=limb.objects(shape.exact))
    synthetic.tip_mass = 0.0 if plant.profile.holds_weight else synthetic.tip_mass
    if isinstance(limb.chain, LegChain):
        leg = limb.chain
        synthetic.centre = lambda: leg.centre(controller.command.value)
    weightless = Arm.of(device, Placement(PLACES["leader"]), 0.0)
    guard = Guard(force=200.0, moment=30.0)
    guard.watch(replace(device.limits, lower=device.limits.lower - 0.02, upper=device.limits.upper + 0.02))  # assumed
    pen = SyntheticController(weightless, period_ns, synthetic, places.sent, places.reported)
    return Station("leader", "leader", plant, weightless, guard, "free", period_ns, pen), places


def _bridge(
    law: type[Coupling],
    leader: Station,
    follower: Station,
    link: EmulatedLink,
    watchdog: Watchdog,
    layer: Layer | None,
) -> Bridge:
    """The law between the stations: in one process, or two ends with the emulated link between them."""
    if link.perfect and layer is None:
        return DirectBridge(_law(law), leader, follower, leader.period_ns)
    same, ports = model_hash("humanoid", law.name), (None, None) if layer is None else layer.ports()
    packets = [Packet(station.arm.nq, station.arm.nv, same) for station in (leader, follower)]
    to_leader, to_follower = connect(packets[0], packets[1], *link.channels)
    a = LinkEnd(leader, _law(law), to_leader, None, watchdog, ports[0])
    b = LinkEnd(follower, _law(law), to_follower, None, watchdog, ports[1])
    return LinkedBridge(a, b, leader.period_ns)


def _law(law: type[Coupling]) -> Coupling:
    """The law with the published relative, scaled map: twice the hand's motion, axes as they stand face to face."""
    return law(mapping=PositionOnlyMapping(motion_scale=2.0))
