"""A thing that was used and then reset behaves like a fresh one, to the bit."""

from __future__ import annotations

import importlib
import inspect
import itertools
import multiprocessing
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.haptic.engage import EngageGate
from farhand.control.haptic.haptic_objects import Ball, LimitForce, ObjectForce, VirtualWorkspace
from farhand.control.joint.limb import MotionDeadBand
from farhand.control.joint.loops import JointMove, LimitedPD, Still
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce, ForceLoop
from farhand.control.tool.internal_force import SqueezeBleed
from farhand.control.tool.task import PoseLoop
from farhand.control.tool.torque import NULL_SPACE_STORE_J, NullSpaceHold, TorqueController
from farhand.control.tool.tracking import ArmOnBase, MobileController, TrackingController
from farhand.control.trajectory.paths import Reference
from farhand.control.trajectory.playout import BoundedPlayout
from farhand.coupling import LAWS, PositionForce, PositionPosition, Side
from farhand.coupling.engagement import Engagement
from farhand.coupling.port import TOOL
from farhand.friction import FRICTIONS
from farhand.friction import make as make_friction
from farhand.friction.compensation import FrictionCompensation
from farhand.friction.velocity import StateVariableFilter
from farhand.learning.performance import performing
from farhand.learning.waypoints import TaughtPoint, replaying
from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import connect
from farhand.link.layers import LAYERS, FollowerPort, LayerPort, Playout
from farhand.link.packet import Packet
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.bridges.linked import LinkEnd
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.commands import NAMES, Commands
from farhand.loop.latch import Latch
from farhand.loop.station import Station
from farhand.mapping.ik import STATUS_INDEX, Solution
from farhand.mapping.pen import PenMapping, PoseLimiter
from farhand.mapping.vehicle import RateMode, Vehicle, VehicleMapping
from farhand.plants import Brake, JointPosition, JointTorque, JointVelocity, Plant, Sample
from farhand.plants.servo_bus.driver import ServoDriver
from farhand.plants.servo_bus.plant import BusParts, ServoBusPlant, ServoOrders
from farhand.plants.simulated.velocity import Drives, VelocityPlant
from farhand.plants.wrappers.filtered import FilteredPlant, SmoothedPlant, Smoothing
from farhand.plants.wrappers.instrumented import WristPlant
from farhand.plants.wrappers.wrapped import DrivePlant
from farhand.robots import Placement, load_robot
from farhand.safety import Guard
from farhand.safety.machine import ANY, Machine, State, Transition
from farhand.safety.retreating import CollisionRetreat
from farhand.safety.watches import OverheatStop
from farhand.sensing import Conditioner, load_sensor
from farhand.sensing.observer import MomentumObserver
from farhand.spatial import quaternion_from_rotation, rotation_from_vector
from farhand.world import Placed, World
from farhand_lab.humanoid.bus_bench import ARM as SERVOS
from tests.learning.test_performance_law import line

PACKAGES = "friction sensing control coupling link safety loop learning plants mapping".split()
METHODS = {"reset", "restart", "forget", "clear", "begin", "engage"}
DT, MS = 1e-3, 1_000_000
CLOCK = itertools.count(10 * MS, 10 * MS)  # the time of things that need one, [ns]

Rows = list[np.ndarray]
Draw = Callable[..., Any]
ROBOT = cache(load_robot)


def draws(seed: int) -> Draw:
    """Normal numbers: ``draw()`` is one, ``draw(3)`` three."""
    rng = np.random.default_rng(seed)
    return lambda *size: rng.normal(size=size)


def nothing(*_: Any) -> None: ...


@dataclass(frozen=True)
class Case:
    """A thing, what it does under random inputs, and how it is reset or begun again."""

    name: str
    make: Callable[[], Any]
    feed: Callable[[Any, Draw], Rows]  #: what comes out for random inputs
    again: str | Callable[[Any], Any] = ""  #: the reset, if it is not ``reset`` or ``begin``
    begin: Callable[[Any, Draw], Any] = nothing  #: engages it, or starts it
    mishap: Callable[[Any, Draw], Any] = nothing  #: what happens to it before the reset
    kept: str = ""  #: what stays on purpose, and is left out
    empty: str = ""  #: why there is nothing to clear

    def run(self, used: bool, reset: bool = True) -> Rows:
        """What a used or a fresh one does under the same inputs."""
        x, draw = self.make(), draws(1)
        if used:
            for part in (self.begin, self.feed, self.mishap):
                part(x, draw)
        if used and reset:
            again = self.again or ("reset" if self.begin is nothing else nothing)
            getattr(x, again)() if isinstance(again, str) else again(x)
        if reset:
            self.begin(x, draws(2))
        return self.feed(x, draws(3))


def row(*values: Any) -> np.ndarray:
    """Numbers side by side, as they are now; NaN for None."""
    return np.concatenate([np.ravel(np.nan if v is None else v).astype(float) for v in values])


def steps(step: Callable[[Any, Draw], Any], count: int = 60) -> Callable[[Any, Draw], Rows]:
    """A number of steps, each of which answers with a number, an array or a tuple of them."""

    def feed(x: Any, draw: Draw) -> Rows:
        answers = (step(x, draw) for _ in range(count))
        return [row(*one) if isinstance(one, tuple) else row(one) for one in answers]

    return feed


@cache
def arm(robot: str, place: float = 0.0) -> Arm:
    """A model that all cases share: each sets its state before it looks at it."""
    return Arm.of(ROBOT(robot), Placement((0.0, place, 0.0)))


def moved(draw: Draw, robot: str = "ur5e", *place: float) -> Arm:
    """The arm near its home, moving."""
    model = arm(robot, *place)
    model.update(ROBOT(robot).home + 0.2 * draw(model.nv), draw(model.nv))
    return model


def turned(draw: Draw, scale: float = 1.0) -> np.ndarray:
    return rotation_from_vector(scale * draw(3))


# Control


def set_off(x: JointMove, draw: Draw) -> None:
    x.begin(moved(draw))
    x.target = draw(6)


def keep_posture(x: NullSpaceHold, draw: Draw) -> None:
    x.begin(moved(draw, "iiwa14"))
    x.store = NULL_SPACE_STORE_J


def chase(x: PoseLoop, draw: Draw) -> tuple:
    reference, model = Reference(), moved(draw)
    reference.stand(draw(3), turned(draw))
    return x.position(model, reference, DT), x.orientation(model, reference, DT)


def ask(x: Any, draw: Draw, robot: str = "ur5e", **asks: Any) -> Any:
    """One tick of a controller: its command, or what it follows."""
    request = ControlRequest()
    request.effort[:], request.wrench, request.valid, request.gain = draw(6), 20 * draw(6), True, 1
    request.target = SimpleNamespace(position=draw(3), rotation=turned(draw), twist=draw(6))
    for name, value in asks.items():
        setattr(request, name, value)
    moved(draw, robot)
    commanded, follows = x.step(request, next(CLOCK)).value, getattr(x, "tracking", x)
    is_tracking = isinstance(follows, TrackingController)
    return (follows.reference, STATUS_INDEX[x.status]) if is_tracking else commanded


def trip(x: Any, draw: Draw) -> None:
    steps(partial(ask, tripped=True, gain=0.0, target=None), 9)(x, draw)


def follow_path(x: ComputedTorque, draw: Draw) -> None:
    """On a path, whose beginning still fades in."""

    def at(t: float, reference: Reference) -> None:
        reference.position[:], reference.acceleration[:] = draw(3), draw(6)

    x.follow(SimpleNamespace(at=at), 0)
    steps(ask)(x, draw)


class Nearby:
    """Inverse kinematics that depend on where they start."""

    def solve(self, pose: Any, q_start: np.ndarray) -> Solution:
        status = "solved" if pose.position[0] > 0.0 else "unreachable"
        return Solution(0.9 * q_start + 0.1 * pose.position[1], status, 0.0, 0.0, 0)


def tracking(joints: Any) -> TrackingController:
    return TrackingController(joints, Nearby(), Placement(), np.ones(6), LimitedPD())


def mobile() -> MobileController:
    joints, vehicle = ArmOnBase(arm("cernbot")), Vehicle(arm("cernbot"), Placement(), np.ones(3))
    return MobileController(tracking(joints), vehicle, RateMode(), 0.01)


# Laws, mappings and the link


class Tape(list):
    """Keeps what a part records."""

    def channel(self, name: str, size: int, unit: str, labels: Any = ()) -> np.ndarray:
        self.append(np.zeros(size))
        return self[-1]


def taped(x: Any) -> Any:
    """The same part, with a tape on which it records."""
    x.tape = Tape()
    x.record(x.tape)
    return x


def sides(draw: Draw) -> tuple[Side, Side]:
    return Side("leader", moved(draw)), Side("follower", moved(draw, "ur5e", 0.75))


def couple(x: Any, draw: Draw) -> Rows:
    """A law step by step; at first nothing is measured."""
    rows = []
    for k in range(60):
        a, b = sides(draw)
        a.wrench, b.wrench = 20.0 * draw(2, 6) if k > 20 else (None, None)
        on_a, on_b = x.step(a, b, 0.02)
        rows.append(row(on_a.wrench, on_b.wrench, x.error, x.rate, *x.tape))
    return rows


def law_case(name: str, make: Callable[[], Any]) -> Case:
    return Case(name, lambda: taped(make()), couple, begin=lambda x, draw: x.engage(*sides(draw)))


POINTS = [TaughtPoint("arm", (0.1, 0.0, 0.1)), TaughtPoint("arm", (0.0, 0.0, 0.0))]


def capture(x: Any, draw: Draw) -> None:
    moved(draw, "cernbot")
    x.capture(0.01 * draw(3), turned(draw), draw(3), turned(draw))


def map_on(x: Any, draw: Draw, place: float = 0.03) -> tuple:
    """The leader moves, and so does the vehicle."""
    moved(draw, "cernbot")
    x.forward(place * draw(3), turned(draw), draw(6))
    x.back(draw(6), force := np.zeros(6))
    return x.position, x.rotation, x.twist, force, getattr(x, "offset", 0.0)


def limit_pose(x: PoseLimiter, draw: Draw) -> tuple:
    x.step(draw(3), quaternion_from_rotation(turned(draw)), DT)
    return x.position, x.quaternion, x.limited


def part_and_engage(x: Engagement, draw: Draw) -> None:
    x.release()
    steps(lambda x, draw: x.step(DT), 300)(x, draw)
    x.engage()


def port(layer: str, end: int) -> LayerPort:
    made = LAYERS[layer]().ports()[end]
    made.attach(PositionPosition(), np.array([True] * 5 + [False]))
    return made


def pass_energy(x: LayerPort, draw: Draw) -> Rows:
    """Packets come in, the leader moves, the arm is pushed; now and then the two sides part."""
    rows, remote, sums = [], Side("leader"), np.zeros((2, 6))
    for k in range(200):
        sums += 1e-3 * np.abs(draw(2, 6))
        x.measure(0.05 * abs(draw()))
        if k > 2:
            x.hear(*sums)
        if k > 5:
            x.arrive(draw(6), 10.0 * draw(6))
        heard = TOOL.handle()
        heard.position[:], heard.rotation[:] = 0.01 * draw(3), turned(draw, 0.01)
        heard.twist[:], force = draw(6), draw(6)
        x.lead(remote, heard, force, DT)
        pushed = x.push(10.0 * draw(6), draw(6), DT, min(1.0, abs(draw())))
        if k % 10 == 9:
            x.part(force, DT)
        led = remote.position, remote.rotation, remote.twist
        rows.append(row(pushed, *led, x.given, x.taken, x.heard_taken, x.behind, x.round_trip))
    return rows


def forget(x: LayerPort) -> None:
    x.forget()
    x.begin()
    if isinstance(x, FollowerPort):
        x.inside = 0.0


def play(x: Playout, draw: Draw) -> Rows:
    """Packets that come unevenly, of a sender with its own clock; some have no wrench."""
    rows, sent, apart_ns = [], Packet(1, 1, 0), int(1e12 * draw())
    for k in range(90):
        now_ns = next(CLOCK)
        if k == 0 or draw() > -0.5:
            sent.time_ns = now_ns - apart_ns - int(9 * MS * abs(draw()))
            sent.q, sent.v, sent.tool_position, sent.tool_twist = draw(1), draw(1), draw(3), draw(6)
            sent.tool_quaternion = quaternion_from_rotation(turned(draw))
            sent.measured_wrench, sent.engagement_id = draw(6) if k > 20 else None, k
            x.take(sent, now_ns)
        x.play(now_ns)
        state = x.q, x.v, x.tool_position, x.tool_quaternion, x.tool_twist, x.measured_wrench
        rows.append(row(*state, x.age_ns, x.behind_ns, x.waits_ns, x.engagement_id, x.map))
    return rows


# Safety and the loop


def guard() -> Guard:
    made = Guard()
    made.watch(ROBOT("point3").limits)
    return made


def check(x: Guard, draw: Draw, scale: float = 1e-3) -> tuple:
    sample = Sample(3, 3)
    sample.values[:] = scale * draw(12)
    sample.set_wrench(draw(6) * scale)
    good = x.check(sample, 0), x.limit(1e4 * draw(3), 0)
    return *good, x.wrench_valid, x.trip is None


def collide(x: CollisionRetreat, draw: Draw) -> Rows:
    """A stuck tool retreats until the force is gone."""
    rows = []
    for push in [100.0] * 99 + [0.0] * 99:
        rows.append(row(x.step(draw(3), 0.0, 0.1, push + draw(3), 0.01), x.direction, x.peak))
    return rows


def machine() -> Machine:
    states = [State("ready"), State("lift", timeout=0.2), State("down"), State("fault")]
    high = Transition("lift", "down", guard=lambda: "not yet")
    ways = [Transition("ready", "lift", "go"), high, Transition(ANY, "down", "drop")]
    made = Machine("lift", states, ways)
    made.start(next(CLOCK))
    return made


def lift(x: Machine, draw: Draw) -> Rows:
    """Ready for a while; then a lift that takes too long."""
    rows = []
    for k in range(60):
        if k == 20:
            x.post("go")
        at = x.states.index(x.step(next(CLOCK)))
        rows.append(row(at, bool(x.waiting), x.trip is None, 0.0 if x.trip else x.elapsed))
    return rows


def post(x: Commands, draw: Draw) -> tuple:
    for at_ns in (None, int(abs(1e9 * draw()))):
        x.post(NAMES[int(abs(draw()))], at_ns=at_ns)
    return *(NAMES.index(request.name) for request in x.due(int(abs(1e9 * draw())))), -1


def latch(x: Latch, draw: Draw) -> tuple:
    before = x.word, x.wait(0.0)
    x.set(7)
    return *before, x.word, x.wait(0.0)


class Puppet(Plant):
    """A plant that is where it is put, and keeps what it is commanded."""

    name, accepts = "puppet", frozenset({JointTorque, Brake})

    def __init__(self, nv: int = 3) -> None:
        self.actuated, self.sample, self.commanded = (
            np.ones(nv, bool),
            Sample(nv, nv),
            np.zeros(nv + 1),
        )

    def read(self, now_ns: int) -> Sample:
        self.sample.time_ns = now_ns
        return self.sample

    def write(self, command: Any, now_ns: int) -> None:
        self.commanded = row(command.value, isinstance(command, Brake))

    def move(self, draw: Draw, force: float = 1.0) -> int:
        """Put it anywhere, touched; the time of the next tick, [ns]."""
        self.sample.motion[:] = 0.1 * draw(2 * len(self.actuated))
        self.sample.set_wrench(force * draw(6))
        return self.sample.time_ns + MS


def puppet_of(plant: Any) -> Puppet:
    return plant if isinstance(plant, Puppet) else puppet_of(plant._plant)


def station(role: str, plant: Plant | None = None) -> Station:
    model = Arm.of(ROBOT("point3"))
    return Station(role, role, plant or Puppet(), model, Guard(), rest="free")


def tick(x: Station, draw: Draw) -> tuple:
    puppet = puppet_of(x.plant)
    now_ns = puppet.move(draw)
    x.sense(now_ns)
    x.act(now_ns)
    return puppet.commanded, x.arm.position, x.side.wrench, x.valid, x.guard.trip is None


def stop_station(x: Station, draw: Draw) -> None:
    """The guard trips, and the drives close their brakes."""
    x.guard.stop(0, "stop", "pressed")
    for x.plant.lifeline.dead in (True, False):
        steps(tick)(x, draw)


def remote() -> RemoteBridge:
    """The leader's end of a link; the follower's is its ``peer``."""
    points = connect(Packet(3, 3, 1), Packet(3, 3, 1), MemoryChannel(), MemoryChannel())
    made, peer = (
        RemoteBridge(LinkEnd(station(role), PositionPosition(), point))
        for role, point in zip(("leader", "follower"), points, strict=True)
    )
    made.peer = peer
    return made


def across(x: Any, draw: Draw) -> tuple:
    """One tick of both stations and what is between them."""
    bridges = (x, x.peer) if hasattr(x, "peer") else (x,)
    stations = [one for bridge in bridges for one in bridge.stations]
    now_ns = [puppet_of(one.plant).move(draw) for one in stations][0]
    for verb in [one.sense for one in stations] + [bridge.step for bridge in bridges]:
        verb(now_ns)
    for one in stations:
        one.act(now_ns)
    felt = [end.contribution for bridge in bridges for end in (bridge.a, bridge.b)]
    return *(puppet_of(one.plant).commanded for one in stations), *(one.wrench for one in felt)


def couple_and_part(x: Any, draw: Draw) -> Rows:
    rows = steps(across, 100)(x, draw)
    x.release()
    return rows + steps(across, 100)(x, draw)


def engage(x: Any, draw: Draw) -> None:
    """Part, wait until nothing is felt, and couple."""
    x.release()
    steps(across, 300)(x, draw)
    x.engage()


def stop_bridge(x: Any, draw: Draw) -> None:
    """Engaged, and stopped before it has faded in."""
    engage(x, draw)
    steps(across, 50)(x, draw)
    x.stations[0].guard.stop(0, "stop", "pressed")
    steps(across, 5)(x, draw)
    x.stations[0].guard.reset()


# Plants


class Script(World):
    """A world without physics: robots are where the test puts them."""

    def advance(self, to_ns: int) -> None:
        self.now_ns = max(self.now_ns, to_ns)


def drive(x: VelocityPlant, draw: Draw) -> tuple:
    command, home = JointVelocity(6), ROBOT("lwa4p").home
    command.value[:] = 0.05 * draw(6)
    x.port.q[:], x.port.v[:] = home + 1e-3 * draw(6), 0.01 * draw(6)
    x.write(command, x.world.now_ns)
    x.advance(x.world.now_ns + MS)
    return x.port.torque, x.port.braking, x.fault is None


def overdrive(x: VelocityPlant, draw: Draw) -> None:
    """A command that switches the arm off, for a while."""
    x.write(SimpleNamespace(value=np.full(6, 99.0)), 0)
    x.advance(x.world.now_ns + 100 * MS)
    x.port.q[:], x.port.v[:] = ROBOT("lwa4p").home, 0.0


def exchange(x: ServoDriver, draw: Draw) -> tuple:
    """Positions are sent; some answers are lost."""
    frames, asked, answer = 0, x.refresh(1500.0 + 100.0 * draw(3)), None
    while True:
        try:
            asked.send(answer)
        except StopIteration:
            return frames, x.fault is None
        frames += 1
        answer = int(1500 + 100 * draw()).to_bytes(2, "big") if draw() > 0.5 else None


def servo_plant() -> ServoBusPlant:
    world, slow = Script({"arm": Placed(ROBOT("phua", "left-arm"))}), ServoOrders(speed=1)
    return ServoBusPlant(world, "arm", SERVOS, BusParts(orders=slow))


def serve(x: ServoBusPlant, draw: Draw) -> tuple:
    """An order, for long enough that the bus has served it."""
    command = JointPosition(3)
    x.port.q[:] = 0.5 + 0.1 * draw(3)
    command.value[:] = x.port.q + 0.05
    for _ in range(200):
        x.write(command, x.world.now_ns)
        motion = x.read(x.world.now_ns + MS).motion
    return x.driver.sent, x.servos.target, motion, x.fault is None


def serve_until_empty(x: ServoBusPlant, draw: Draw) -> Rows:
    """Then the battery stops the slow servos on their way; its voltage comes back."""
    rows = steps(serve, 5)(x, draw)
    x.parts.battery.stop = 50.0
    serve(x, draw)
    x.parts.battery.stop = 6.4
    return [*rows, row(x.servos.target == x.servos.reference, x.fault is None)]


def sample(x: Any, draw: Draw, force: float = 1.0) -> tuple:
    """One sample of a wrapped plant, and what it records."""
    puppet = puppet_of(x)
    now_ns = puppet.move(draw, force)
    x.write(JointTorque(len(puppet.actuated)), now_ns)
    seen = x.read(now_ns)
    rest = () if isinstance(x, FilteredPlant) else (seen.v, seen.wrench, *x.tape)
    return seen.q, puppet.commanded, x.fault is None, *rest


def cut_off(x: Any, draw: Draw) -> None:
    """The controller is gone for a while."""
    drives = x if isinstance(x, DrivePlant) else x._plant
    for drives.lifeline.dead in (True, False):
        steps(sample)(x, draw)


def switch_off(x: SmoothedPlant, draw: Draw) -> None:
    x.smoothing.active = False
    steps(sample, 20)(x, draw)


def wrist() -> WristPlant:
    model, rng = Arm.of(ROBOT("lwa4p")), np.random.default_rng(0)
    plant = WristPlant(Puppet(6), load_sensor("schunk-ftm115"), model, 30.0, 9.81, rng)
    plant.faults.noisy = plant.faults.shaken = plant.faults.warming = False
    plant.faults.refresh()
    plant.compensation.heat = False
    return taped(plant)


SPEED = "the speed of the loop, so that nothing jumps"
INSIDE = "what the law at this end took in, in which the other end has no part"
FRICTION_CASES = [
    Case(
        f"friction {name}",
        partial(make_friction, name, 3),
        steps(lambda x, draw: (x.step(draw(3) * 10 ** draw(), DT, draw(3)), x.stored), 200),
        empty="" if make_friction(name).state.size else "a static model has no state",
    )
    for name in sorted(FRICTIONS)
]
LAW_CASES = [
    *(law_case(f"law {name}", law) for name, law in LAWS.items()),
    law_case("skill", lambda: performing(line())(approach=0.1)),
    law_case("way-points", lambda: replaying(POINTS)(speed=1.0, rest=0.0, patience=0.1)),
]
PORT_CASES = [
    Case(
        f"{layer} {end}",
        partial(port, layer, number),
        pass_energy,
        forget,
        kept=INSIDE if isinstance(port(layer, number), FollowerPort) else "",
    )
    for layer in LAYERS
    for number, end in enumerate(("leader", "follower"))
]
CASES = [
    *FRICTION_CASES,
    Case(
        "playout of targets",
        lambda: BoundedPlayout(np.ones(3), 2.0 * np.ones(3)),
        steps(lambda x, draw: (x.step(draw(3), DT), x.q, x.v)[1:]),
        begin=lambda x, draw: x.begin(draw(3), draw(3)),
    ),
    Case("velocity filter", StateVariableFilter, steps(lambda x, draw: x.step(draw(3), DT))),
    Case(
        "compensation",
        lambda: FrictionCompensation(make_friction("stribeck", 3)),
        steps(lambda x, draw: x.measured(1e-3 * draw(3), DT, 1e-3 * draw(3))),
    ),
    Case(
        "momentum observer",
        lambda: MomentumObserver(arm("ur5e")),
        steps(lambda x, draw: (x.update(draw(moved(draw).nv), DT), x.wrench())),
    ),
    Case(
        "bias of a sensor",
        lambda: Conditioner(load_sensor("schunk-ftm115"), samples=10),
        steps(lambda x, draw: x.update(100.0 * draw(6), turned(draw))),
        "tare",
        mishap=lambda x, draw: x.update(1e9 * draw(6), turned(draw)),
    ),
    Case(
        "still",
        Still,
        steps(lambda x, draw: (x.step(moved(draw), DT), x.q, x.v)),
        begin=lambda x, draw: x.begin(moved(draw)),
    ),
    Case(
        "joint move",
        JointMove,
        steps(lambda x, draw: (x.step(moved(draw), DT), x.q, x.v)),
        begin=set_off,
    ),
    Case(
        "limited loop",
        lambda: LimitedPD(smoothing=0.05),
        steps(lambda x, draw: (x.step(0.1 * draw(6), 0.1 * draw(6), DT), x.limited)),
    ),
    Case(
        "dead band",
        MotionDeadBand,
        steps(lambda x, draw: x.step(1e-3 * draw(3))),
        mishap=lambda x, draw: x.step(1e-3 * draws(3)(3)),
        kept="how many places passed: a count",
    ),
    Case("pose loop", lambda: PoseLoop(ki=50.0, kio=20.0), steps(chase)),
    Case(
        "null space",
        NullSpaceHold,
        steps(lambda x, draw: x.torque(moved(draw, "iiwa14"), DT)),
        begin=keep_posture,
        kept="its store: energy that was spent is not lent again with each engagement",
    ),
    Case(
        "squeeze",
        SqueezeBleed,
        steps(lambda x, draw: x.step(0.1)),
        begin=lambda x, draw: x.begin(draw(6), draw(6)),
    ),
    Case(
        "virtual workspace",
        lambda: VirtualWorkspace(ObjectForce([Ball("ball", (0.0, 0.0, 0.0), 0.1)], LimitForce())),
        steps(lambda x, draw: (x.place(place := 0.1 * draw(3)), x.force(place))),
        begin=lambda x, draw: x.begin(0.1 * draw(3), 0.1 * draw(3)),
    ),
    Case("engage gate", EngageGate, steps(lambda x, draw: x.step(0.01 * draw(3), 0.01)), "close"),
    Case("torque", lambda: TorqueController(arm("ur5e")), steps(ask), begin=trip),
    Case(
        "computed torque",
        lambda: ComputedTorque(arm("ur5e"), PoseLoop(ki=50.0, kio=20.0)),
        steps(ask),
        begin=trip,
        mishap=follow_path,
    ),
    Case(
        "direct force",
        lambda: DirectForce(arm("ur5e"), ForceLoop(ki=5.0, mode="hold")),
        steps(ask),
        begin=trip,
    ),
    Case("tracking", lambda: tracking(arm("ur5e")), steps(ask), "forget", kept=SPEED),
    Case("mobile", mobile, steps(partial(ask, robot="cernbot")), "forget", kept=SPEED),
    *LAW_CASES,
    Case(
        "engagement",
        Engagement,
        steps(lambda x, draw: x.step(DT), 100),
        begin=part_and_engage,
        kept="its number: a count",
    ),
    Case(
        "pen",
        lambda: PenMapping(absolute=False),
        steps(map_on),
        begin=capture,
        mishap=partial(map_on, place=1.0),
        kept="that it was engaged before: then it begins where the tool is, as here",
    ),
    Case(
        "vehicle",
        lambda: VehicleMapping(vehicle=Vehicle(arm("cernbot"), Placement(), np.ones(3))),
        steps(map_on),
        begin=capture,
    ),
    Case(
        "pose limiter",
        PoseLimiter,
        steps(limit_pose),
        lambda x: x.reset(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])),
    ),
    *PORT_CASES,
    Case("playout", lambda: Playout(1, 1), play, "begin"),
    Case(
        "overheat",
        OverheatStop,
        steps(lambda x, draw: (x.check(60.0 + draw(), False, 0), x.trip is None)),
        mishap=lambda x, draw: [x.check(t, False, 0) for t in (130.0, 60.0)],
    ),
    Case(
        "guard",
        guard,
        steps(check),
        mishap=lambda x, draw: check(x, draw, np.nan),
        kept="in how many ticks torques were cut: a count",
    ),
    Case("collision", lambda: CollisionRetreat(reach=0.01), collide, "engage"),
    Case(
        "machine",
        machine,
        lift,
        lambda x: x.reset(next(CLOCK)),
        mishap=lambda x, draw: [x.post(event) for event in ("go", "drop")],
        kept="its history",
    ),
    Case("commands", Commands, steps(post), "clear", kept="the log"),
    Case("latch", lambda: Latch(multiprocessing.get_context()), steps(latch, 1), "clear"),
    Case(
        "station",
        lambda: station("leader", DrivePlant(Puppet(), 3)),
        steps(tick),
        "reset",
        begin=steps(tick, 300),
        mishap=stop_station,
        kept="the torque that held the arm, while it fades",
    ),
    Case(
        "direct bridge",
        lambda: DirectBridge(PositionForce(), station("leader"), station("follower")),
        couple_and_part,
        begin=engage,
        mishap=stop_bridge,
        kept="the energy that has passed",
    ),
    Case(
        "remote bridge",
        remote,
        couple_and_part,
        begin=engage,
        mishap=stop_bridge,
        kept="the energy that has passed",
    ),
    Case(
        "velocity plant",
        lambda: VelocityPlant(Script({"arm": Placed(ROBOT("lwa4p"))}), "arm", Drives()),
        steps(drive),
        "restart",
        mishap=overdrive,
    ),
    Case(
        "servo driver",
        lambda: ServoDriver(SERVOS, np.full(3, 1500.0), patience=5),
        steps(exchange),
        "restart",
        kept="what was sent and heard, and the counts of answers",
    ),
    Case(
        "servo plant",
        servo_plant,
        serve_until_empty,
        "restart",
        mishap=lambda x, draw: serve(x, draws(3)),
        kept="the pace of the bus, the battery's charge and where the servos are",
    ),
    Case(
        "drives", lambda: taped(DrivePlant(Puppet(), 3)), steps(sample), "restart", mishap=cut_off
    ),
    Case(
        "filtered plant",
        lambda: FilteredPlant(DrivePlant(Puppet(), 3), 3, 3),
        steps(sample),
        "restart",
        mishap=cut_off,
        kept="its filters: the arm was measured all the while",
    ),
    Case(
        "smoothed plant",
        lambda: taped(SmoothedPlant(Puppet(), 3, 3, Smoothing())),
        steps(sample),
        lambda x: setattr(x.smoothing, "active", True),
        mishap=switch_off,
    ),
    Case("wrist", wrist, steps(sample), "rearm", mishap=steps(partial(sample, force=1e4))),
]

EXCEPTIONS = {
    "BridgeSwitch": "a protocol: the bridges are what is engaged",
    "DamiaoPlant": "a thread in wall time: tests/plants/damiao/test_plant.py",
    "FrankaPlant": "a process in wall time: tests/plants/franka/test_plant.py",
    "ServoBus": "begin sends a cycle's packets: tests/plants/servo_arm/test_plant.py",
    "VirtualServoBus": "the same, in virtual time",
    "ServoArmPlant": "a thread in wall time: tests/plants/servo_arm/test_plant.py",
    "SimulatedServo": "a reboot keeps what is in its EEPROM: test_simulated_servo.py",
    "SimulatedServoBus": "half a packet: tests/plants/servo_arm/test_simulated_arm.py",
    "PacketSplitter": "whole packets come out: tests/plants/servo_arm/test_packets.py",
    "SerialServoPlant": "a thread in wall time: tests/plants/servo_bus/test_serial_plant.py",
    "UrPlant": "a thread and a controller in wall time: tests/plants/drivers/test_ur.py",
}
"""Classes without a case, and why."""

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def differing(a: Rows, b: Rows) -> list[int]:
    """Steps at which two outputs are not the same, to the bit."""
    pairs = enumerate(zip(a, b, strict=True))
    return [k for k, (x, y) in pairs if not np.array_equal(x, y, equal_nan=True)]


@every_case
def test_used_and_reset_is_as_good_as_new(case):
    """The same further inputs give the same outputs, to the bit."""
    assert differing(case.run(used=True), case.run(used=False)) == []


@every_case
def test_without_the_reset_it_would_differ(case):
    """So the case can fail; where there is nothing to clear it says so, and is right."""
    found = differing(case.run(used=True, reset=False), case.run(used=False))
    assert bool(found) != bool(case.empty)


def resettable() -> dict[str, type]:
    """Every class of the packages that defines one of the methods, by name."""
    found = {}
    for package in PACKAGES:
        top = importlib.import_module(f"farhand.{package}")
        inside = pkgutil.walk_packages(top.__path__, f"{top.__name__}.")
        for module in (top, *(importlib.import_module(entry.name) for entry in inside)):
            for name, item in inspect.getmembers(module, inspect.isclass):
                if item.__module__ == module.__name__ and METHODS & vars(item).keys():
                    found[name] = item
    return found


def test_every_class_that_can_be_reset_has_a_case():
    """Or a reason; and no reason is left over."""
    covered = {parent for case in CASES for parent in type(case.make()).__mro__}
    missing = [name for name, item in resettable().items() if item not in covered]
    assert sorted(missing) == sorted(EXCEPTIONS)
