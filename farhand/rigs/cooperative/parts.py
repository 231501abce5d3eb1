"""The parts of the cooperative rig: who stands where, what is between them, and their jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce, ForceLoop
from farhand.control.tool.task import PoseLoop, TaskController
from farhand.control.trajectory.feasibility import Feasibility
from farhand.control.trajectory.paths import HandPath, Trajectory, Waypoint
from farhand.errors import BadValue, FarhandError
from farhand.friction import Gears
from farhand.plants.wrappers.filtered import Filters
from farhand.rigs.cooperative.arms import (
    HEIGHT,
    REACH,
    TOOL_MASS,
    Cooperative,
    TeamArm,
    gripping_robot,
    make_arm,
    placement_at,
)
from farhand.rigs.cooperative.guiding import GUIDED
from farhand.rigs.cooperative.jobs import (
    Follow,
    FollowerCarry,
    Holding,
    Job,
    Lead,
    LeaderCarry,
    Report,
)
from farhand.rigs.rig import RigParts, Scenario
from farhand.robots.edits import Edit, add_payload
from farhand.world import (
    ForceHand,
    Grip,
    GuidedSpring,
    ImpedanceHand,
    Jaws,
    Placed,
    ToolSpring,
    World,
    add_pads,
    box,
)

Array = np.ndarray
Points = list[tuple[float, Array]]
"""Times [s] and places or displacements [m]."""

THING = "object"


@dataclass
class Crew:
    """Everybody and everything, ready for a session."""

    world: World  #: the physics
    arms: list[TeamArm]  #: in the order of their places
    jobs: list[Job]  #: one per arm
    thing: str | None  #: name of what is carried; None if there is nothing
    #: of the leader behind its path, [m]; None if there is no leader
    lag: Callable[[], Array] | None
    parameters: dict[str, Any]  #: what a user may set
    parts: RigParts = field(default_factory=RigParts)  #: the hand of a person, if there is one


def make_crew(
    shape: Cooperative, scenario: Scenario, report: Report, rng: np.random.Generator
) -> Crew:
    """Everybody in place."""
    return MAKERS[shape.coupling](shape, scenario, report, rng)


def lead_controller(shape: Cooperative) -> Callable[[Arm, Gears | None], TaskController]:
    """Makes a leader's controller: gains G13m, stated in the source."""
    loop = PoseLoop(kp=500.0, kd=35.0, kpo=600.0, kdo=100.0, kio=100.0, limit_o=2.0)
    return lambda arm, gears: ComputedTorque(arm, loop, gears, shape.period_ns, True)


def soft_lead_controller(shape: Cooperative) -> Callable[[Arm, Gears | None], TaskController]:
    """Makes a leader's controller on a rigid object, which gives way to moments."""
    # G8 with half its integral gain; against three arms its wrist would lose.
    loop = PoseLoop(kp=500.0, kd=35.0, ki=500.0, kpo=200.0, kdo=70.0)

    def make(arm: Arm, gears: Gears | None) -> TaskController:
        controller = ComputedTorque(arm, loop, gears, shape.period_ns, True)
        controller.options.cancel_load = False
        return controller

    return make


def follow_controller(
    shape: Cooperative, force: ForceLoop, loop: PoseLoop, compensate: bool
) -> Callable[[Arm, Gears | None], TaskController]:
    """Makes a follower's controller."""

    def make(arm: Arm, gears: Gears | None) -> TaskController:
        controller = DirectForce(arm, force, loop, gears, shape.period_ns, True)
        controller.compensation.friction = compensate
        return controller

    return make


def _team_on_beam(
    shape: Cooperative, scenario: Scenario, report: Report, rng: np.random.Generator
) -> Crew:
    """One leader and its followers around a beam that lies on a table."""
    names = shape.names
    placed = _around(shape)
    middle = np.array([0.0, 0.0, HEIGHT])
    table = (shape.size[0] + 1.5, shape.size[1] + 0.8)
    off = np.array([shape.off_centre, 0.0, 0.0])
    placed[THING] = Placed(box(shape.size, shape.mass, middle, table, off))
    path = carrying_path(shape, np.zeros(3))
    _refuse_impossible(shape, placed, dict.fromkeys(names, path), shape.mass * shape.shares)
    world = World(placed, shape.plant_ns, shape.gravity)
    # Somebody at the page may push the beam
    hand = ImpedanceHand(stiffness=500.0, damping=50.0, open=True)
    world.touch(THING, "hand", hand)
    arms: list[TeamArm] = []
    jobs: list[Job] = []
    parameters: dict[str, Any] = {"hand": hand}
    for number, name in enumerate(names):
        arm = _beam_arm(world, name, shape, rng)
        grip = HOLDS[shape.grip](world, name, shape)
        job: Job
        if name == "leader":
            tool = world.ports[name].tool
            guide = _guide(carrying_path(shape, tool.position.copy()), tool.rotation.copy())
            job = LeaderCarry(arm, grip, shape.gravity, report, guide)
        else:
            job = FollowerCarry(arm, grip, shape.gravity, report)
        job.pace.share = float(shape.mass * shape.shares[number])
        arms.append(arm)
        jobs.append(job)
        parameters[name] = {**arm.parameters, "job": job.parameters, "grip": grip}
    return Crew(world, arms, jobs, THING, _lag(arms[0]), parameters)


def _by_pads(world: World, name: str, shape: Cooperative) -> Grip:
    """Pads as a tie of the world; a follower's close a little beside where they stand."""
    return _tied_grip(world, name, 0.0 if name == "leader" else shape.misfit)


def _tied_grip(world: World, name: str, misfit: float) -> Grip:
    grip = Grip()
    grip.misfit = misfit * np.array([1.0, -1.0, 0.5])
    world.tie(name, THING, f"grip_{name}", grip)
    return grip


def _by_contact(world: World, name: str, shape: Cooperative) -> Jaws:
    """Pads that touch the beam in the physics engine."""
    jaws = Jaws()
    world.grasp(name, THING, jaws)
    return jaws


HOLDS: dict[str, Callable[[World, str, Cooperative], Holding]] = {
    "pads": _by_pads,
    "contact": _by_contact,
}
"""How an arm holds a beam."""

PADDED: dict[str, Callable[[Cooperative], list[Edit]]] = {
    "pads": lambda shape: [],
    "contact": lambda shape: [add_pads(float(shape.size[2]), Jaws.crush)],
}
"""What that needs on the gripper."""

SELECTED = {"pads": "task", "contact": "least-energy"}
"""How a follower's force and orientation share its joints.

The published selection by joints leaves the wrist out of the force law, so that a force comes with
a moment: 1 N·m moves 5 N from one long side of the beam to the other. Jaws in contact pass on the
full moment; the softest hold keeps joint 5 within its limit when the beam is set down.
"""


def _beam_arm(world: World, name: str, shape: Cooperative, rng: np.random.Generator) -> TeamArm:
    if name == "leader":
        return make_arm(world, name, shape, soft_lead_controller(shape), Filters(), rng.spawn(1)[0])
    # k_pf of G12; k_df by C-5: k_pf M / τ_f for 60 kg
    selection = SELECTED[shape.grip]
    force = ForceLoop(kp=9.0, kd=700.0, kd_moment=100.0, mode="hold", selection=selection)
    # G12, stated in the source
    loop = PoseLoop(kpo=200.0, kdo=70.0)
    # Friction is damping that the rigid coupling needs, so do not compensate it.
    makes = follow_controller(shape, force, loop, False)
    return make_arm(world, name, shape, makes, Filters(r_wrench=5000.0), rng.spawn(1)[0])


def _around(shape: Cooperative) -> dict[str, Placed]:
    """Arms on both long sides of the object, facing it."""
    placed = {}
    for name, (x, y, _) in zip(shape.names, shape.places, strict=True):
        robot = gripping_robot().edited(*PADDED[shape.grip](shape))
        side = float(np.sign(y))
        stand = placement_at(float(x), float(y) + side * REACH, -side * np.pi / 2.0)
        placed[name] = Placed(robot, stand, robot.postures["table"])
    return placed


def carrying_path(shape: Cooperative, start: Array) -> Points:
    """Up, along five points, and down."""
    x, y, z = shape.travel.tolist()
    lifted = [(0, 0, z), (x, 0, z), (x, y, z), (0, y, z), (-0.5 * x, 0, z)]
    points = np.array([(0, 0, 0), *lifted, (-0.5 * x, 0, 0)], dtype=float)
    times = np.array([0.0, 4.0, 7.5, 11.0, 14.5, 18.0, 26.0]) * shape.tempo
    return [(float(t), start + point) for t, point in zip(times, points, strict=True)]


def _guide(points: Points, rotation: Array) -> Trajectory:
    return Trajectory([Waypoint(t, p, rotation) for t, p in points])


def _refuse_impossible(
    shape: Cooperative, placed: dict[str, Placed], paths: dict[str, Points], shares: Array
) -> None:
    """Check every arm's part of the task before anything moves.

    Args:
        shape: of the rig.
        placed: the arms where they stand.
        paths: displacements of each tool.
        shares: of the object's mass that each arm carries, [kg].
    """
    for share, (name, path) in zip(shares.tolist(), paths.items(), strict=True):
        item = placed[name]
        robot = item.robot.edited(add_payload(share, (0.0, 0.0, 0.0))) if share else item.robot
        arm = Arm.of(item.robot, item.placement, shape.gravity)
        q = item.robot.postures["table"]
        arm.update(q, np.zeros(6))
        check = Feasibility(robot, item.placement, shape.gravity, step=0.1 * min(1.0, shape.tempo))
        try:
            check.check_load(share, TOOL_MASS, q)
            check.check(_guide([(t, arm.position + p) for t, p in path], arm.rotation.copy()), q)
        except FarhandError as error:
            raise BadValue(f"{name}: {error}") from None


def _lag(arm: TeamArm) -> Callable[[], Array]:
    controller = arm.controller
    return lambda: controller.reference.position - controller.arm.position


def _pair_on_spring(
    shape: Cooperative, scenario: Scenario, report: Report, rng: np.random.Generator
) -> Crew:
    """A leader and a follower face to face, a spring between their tools."""
    # With a compression spring the tools are just in touch with it.
    gap = 0.18 if shape.spring == "compression" else 0.0
    stands = {
        "leader": placement_at(-REACH - gap / 2.0, 0.0, 0.0),
        "follower_1": placement_at(REACH + gap / 2.0, 0.0, np.pi),
    }
    robot = gripping_robot()
    placed = {name: Placed(robot, at, robot.postures["table"]) for name, at in stands.items()}
    moves = [(0.0, (0, 0, 0)), (5.0, (0.25, 0, 0)), (10.0, (0.05, 0, 0))]
    way = [(t * shape.tempo, np.array(p, dtype=float)) for t, p in moves]
    _refuse_impossible(shape, placed, dict.fromkeys(placed, way), np.zeros(2))
    world = World(placed, shape.plant_ns, shape.gravity)
    spring = GuidedSpring() if shape.spring == "compression" else ToolSpring(stiffness=200.0)
    world.tie("leader", "follower_1", "spring", spring)
    leader = make_arm(world, "leader", shape, lead_controller(shape), Filters(), rng.spawn(1)[0])
    # G13s, stated in the source
    force = ForceLoop(kp=35.0, kd=1250.0, kd_moment=1250.0, mode="hold")
    loop = PoseLoop(kpo=600.0, kdo=50.0, kio=100.0, limit_o=3.0)
    makes = follow_controller(shape, force, loop, True)
    follower = make_arm(world, "follower_1", shape, makes, Filters(r_wrench=500.0), rng.spawn(1)[0])
    tool = world.ports["leader"].tool
    guide = _guide([(t, tool.position + p) for t, p in way], tool.rotation.copy())
    follow = Follow(follower, None, shape.gravity, report)
    # Assumed: a spring that only pushes must be pushed.
    follow.press.force = 20.0 if shape.spring == "compression" else 0.0
    jobs: list[Job] = [Lead(leader, None, shape.gravity, report, guide), follow]
    parameters: dict[str, Any] = {
        job.arm.name: {**job.arm.parameters, "job": job.parameters} for job in jobs
    }
    parameters["spring"] = spring
    return Crew(world, [leader, follower], jobs, None, _lag(leader), parameters)


G11 = (
    ForceLoop(kp=10.0, kd=200.0, kd_moment=20.0, mode="hold"),
    PoseLoop(kpo=600.0, kdo=50.0, kio=100.0, limit_o=3.0),
    20.0,
)
G10 = (ForceLoop(kp=10.0, kd=200.0, kd_moment=20.0), PoseLoop(), 20.0)
G12 = (
    ForceLoop(kp=9.0, kd=700.0, kd_moment=20.0, mode="hold-moment"),
    PoseLoop(kpo=200.0, kdo=70.0),
    5000.0,
)
GAINS = {"weigh": G11, "centre": G10, "lift": G11, "share": G12}
"""Force law, orientation gains and variance of the force filter by job, stated in the source.

But for one arm k_df = 200 N·s/m is ten times the published value: with a grip of some 100 N/m the
loop rings otherwise.
"""


def _person_and_followers(
    shape: Cooperative, scenario: Scenario, report: Report, rng: np.random.Generator
) -> Crew:
    """A person guides an object that one follower holds, or several hold together."""
    # The object is not at the height of the jaws, so one of them would not touch it.
    if shape.grip != "pads":
        only = f"rig.grip = {shape.grip} holds a beam only (rig.coupling = beam)"
        raise BadValue(f"{only}; with a person it is pads")
    placed = _around(shape)
    job = shape.job if shape.job in GUIDED else "share"
    size = shape.size
    at = np.array([0.0, 0.0, HEIGHT])
    # One arm does not grip the object at its centre.
    if shape.followers == 1:
        at[:2] = shape.places[0, :2] + [0.0286, 0.0]
        at[2] -= 0.0087
    table = (size[0] + 0.5, size[1] + 0.5) if job == "lift" else None
    shares = shape.mass * (shape.shares if shape.followers > 1 else np.ones(1))
    misfit = shape.misfit if shape.followers > 1 else 0.0
    _refuse_impossible(shape, placed, dict.fromkeys(shape.names, _guided(scenario)), shares)
    placed[THING] = Placed(box(size, shape.mass, at, table))
    world = World(placed, shape.plant_ns, shape.gravity)
    hand = ImpedanceHand(
        stiffness=5e4,
        damping=1e3,
        rotational_stiffness=100.0,
        rotational_damping=1.0,
        path=HandPath(scenario.moves),
    )
    push = ForceHand(pulses=scenario.pulses)
    world.touch(THING, "hand", hand)
    world.touch(THING, "push", push)
    arms: list[TeamArm] = []
    jobs: list[Job] = []
    parameters: dict[str, Any] = {"hand": hand, "push": push}
    for name in shape.names:
        force, loop, r = GAINS[job]
        makes = follow_controller(shape, replace(force), replace(loop), job in ("weigh", "lift"))
        arm = make_arm(world, name, shape, makes, Filters(r_wrench=r), rng.spawn(1)[0])
        grip = _tied_grip(world, name, misfit)
        arms.append(arm)
        jobs.append(GUIDED[job](arm, grip, shape.gravity, report))
        parameters[name] = {**arm.parameters, "job": jobs[-1].parameters, "grip": grip}
    return Crew(world, arms, jobs, THING, None, parameters, RigParts(hand=hand))


def _guided(scenario: Scenario) -> Points:
    """The planned displacements of the object by a person."""
    way, points = np.zeros(3), [(0.0, np.zeros(3))]
    for move in scenario.moves:
        points.append((move.start, way))
        way = way + np.array(move.translation)
        points.append((move.end, way))
    return [*dict(points).items()] if scenario.moves else [(0.0, way), (1.0, way)]


MAKERS = {"beam": _team_on_beam, "spring": _pair_on_spring, "human": _person_and_followers}
"""Makers of a crew by coupling."""
