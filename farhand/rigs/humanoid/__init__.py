"""The humanoid rig: a haptic pen leads a limb of PHUA, whose servos share one bus of 25 Hz.

The limb's end goes where the pen goes, scaled, from wherever both are. There is no force sensor and
no torque input: what the hand feels is synthetic, made from the limits of the limb's workspace and
the sole it stands on, and is recorded under that name. Values: sources/humanoid (the published
system) where it gives them; ``assumed`` marks the rest. The parts are in
:mod:`farhand.rigs.humanoid.parts`.
"""

from __future__ import annotations

from farhand.arm import Arm
from farhand.coupling import Coupling, law_named
from farhand.link.packet import model_hash
from farhand.loop.bridges.remote import RemoteBridge
from farhand.mapping.workspace import PositionOnlyMapping
from farhand.parameters import describe
from farhand.rigs.coupled import CoupledBuild
from farhand.rigs.humanoid.parts import (
    PLACES,
    Humanoid,
    Limb,
    check,
    make_sides,
    make_world,
    surroundings,
)
from farhand.rigs.humanoid.scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.rig import Options, Rig, configure
from farhand.robots import Placement, load_robot

TITLE = "a haptic pen leads an arm or leg of the humanoid PHUA, whose servos share one 25 Hz bus"
DEFAULT_LAW = "unilateral"
NOT_COMPARED = ("rig.rate", "rig.follower_plant")
"""What two sides do not compare as shape: the rate is compared by itself, the plant is one's."""


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
    robots = {"leader": device, "follower": limb.robot}
    placements = {name: Placement(place) for name, place in PLACES.items()}
    world = make_world(limb, device, placements, shape, options.roles)
    parts = surroundings(world, work.scenario, options.seed)
    sides = make_sides(world, limb, device, shape, work.rng, work.settings)
    rows = [row for row in describe({"rig": shape}) if row[0] not in NOT_COMPARED]
    bridge = work.couple(
        law,
        # The published relative, scaled map: twice the hand's motion, axes face to face.
        lambda role, arms: law(mapping=PositionOnlyMapping(motion_scale=2.0)),
        sides.stations,
        parts,
        models=lambda: {name: Arm.of(robot) for name, robot in robots.items()},
        identity=model_hash("humanoid", law.name, *(f"{path}={value}" for path, value, *_ in rows)),
    )
    if isinstance(bridge, RemoteBridge):
        sides.end_position.listen_to(bridge.end, limb.chain)
    else:
        sides.end_position.look_at(sides.stations["follower"].controller)
    sides.end_position.mapping = bridge.laws[0].mapping
    parameters = {**parts.settable(), "law": tuple(bridge.laws), **sides.parameters}
    physics = world if sides.follower is None else sides.follower.carried
    forces = "synthetic: made from kinematics, nothing is measured"
    session = work.session(
        law.name, sides.stations.values(), bridge, [physics], parameters, forces=forces
    )
    sides.attach(session)
    work.configure(session, shape)
    return work.rig(law.name, session, world, shape, parts)
