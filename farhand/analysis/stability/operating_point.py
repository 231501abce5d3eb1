"""The operating point of a rig: mass and friction of both tools along one axis, and its law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import mujoco
import numpy as np

from farhand.analysis.stability.loop import (
    HANDS,
    Contact,
    Loop,
    LoopArm,
    LoopDrive,
    LoopTool,
    WholeLoop,
)
from farhand.analysis.stability.sampled_law import (
    LawTable,
    Memory,
    SampledLaw,
    is_linear,
    probe_law,
    probe_memory,
    probe_target,
    sample_law,
)
from farhand.arm import Arm
from farhand.control.joint.loops import LimitedPD
from farhand.coupling import Coupling, Side
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.link.network import EmulatedLink
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.mapping.joint_map import JointMapping
from farhand.mapping.pen import PenMapping
from farhand.plants import JointTorque, JointVelocity
from farhand.plants.plant import InnerLoop
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.robots import q_to_pinocchio
from farhand.world import ForceHand, ImpedanceHand, Wall, World
from farhand.world.joints import Fingers

Array = np.ndarray

DEFAULT_AXIS = np.array([1.0, 0.0, 0.0])
"""Towards the wall in a rig without one."""

MIN_MOBILITY = 1e-6
"""Share of a tool's mobility below which it counts as unable to move along an axis, [-]."""


@dataclass(frozen=True)
class Stance:
    """A robot's posture and dynamics in the simulated physics, as copies."""

    q: Array  #: configuration in MuJoCo's order, [rad] or [m]
    M: Array  #: mass matrix
    J: Array  #: Jacobian of the tool, 6 × n
    viscous: Array  #: friction of the joints, [N·m·s/rad]
    dry: Array  #: friction of the joints, [N·m]


def stances(world: World) -> dict[str, Stance]:
    """The present stance of every robot of a world, by name."""
    model, before, stances = world.model, 0, {}
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, world.data, M)
    for name, port in world.ports.items():
        joints = slice(before, before + port.nv)
        viscous, dry = model.dof_damping[joints].copy(), model.dof_frictionloss[joints].copy()
        stances[name] = Stance(port.q.copy(), M[joints, joints].copy(), port.J.copy(), viscous, dry)
        before += port.nv
    return stances


class LoopParts(Protocol):
    """The parts of a rig that close its loop; None where it has no such part."""

    hand: ImpedanceHand | ForceHand | None
    wall: Wall | None
    link: EmulatedLink | None


@dataclass(frozen=True)
class Point:
    """An operating point of a rig, for stability limits."""

    loop: Loop  #: along the axis, in contact
    whole: WholeLoop  #: the same with all joints
    hand: str  #: the assumed hand, in words
    axis: Array  #: into the wall, in world
    quantum: float  #: encoder step at the coarser of the two tools, [m]; 0 for none
    #: the law and its memory with a multiple of the force at the hand
    reflecting: Callable[[float], tuple[LawTable, Memory | None]]
    linear: bool = True  #: whether the law is; otherwise this holds for small motions only

    def at_force(self, times: float) -> WholeLoop:
        """All joints with a multiple of the force at the hand."""
        law, memory = self.reflecting(times)
        return replace(self.whole, law=law, memory=memory)

    def at_wall(self, stiffness: float) -> WholeLoop:
        """All joints with another wall, [N/m]."""
        return replace(self.whole, wall=replace(self.whole.wall, stiffness=stiffness))


def operating_point(
    session: Session,
    world: World,
    parts: LoopParts,
    hand: str = "rig",
    wall: Contact | None = None,
    delay: float | None = None,
    quantum: float | None = None,
    friction: float | None = None,
    standing: Mapping[str, Stance] | None = None,
) -> Point:
    """Analyse a rig where it stands, or where it stood at ``standing``; changes nothing.

    Parameters count as they are now. A run leaves the arms where they were when it ended, possibly
    in the middle of a swing: :attr:`farhand.rigs.Rig.standing` has where they were before.

    Args:
        session: of the rig.
        world: its simulated physics.
        parts: its hand, wall and link.
        hand: ``rig`` for the one that the rig simulates, a name of :data:`HANDS`, or ``K,B,M``.
        wall: at the follower; the rig's own by default.
        delay: of the link, round trip, [s]; the rig's own by default.
        quantum: encoder step of every joint, [rad] or [m]; the plants' own by default.
        friction: dry friction at both tools, [N]; that of the joints by default.
        standing: :func:`stances` of the world at some time; now by default.

    Raises:
        Mismatch: there is no coupling, a side does not take torques, or a tool cannot move along
            the axis where it stands.
    """
    bridge = _coupled(session)
    stations = bridge.a.station, bridge.b.station
    inner = _inner_loop(stations[0]) or _inner_loop(stations[1])
    plane = parts.wall
    axis = DEFAULT_AXIS if plane is None else -plane.normal / np.linalg.norm(plane.normal)
    period = bridge.period_ns * 1e-9
    placed = _Placed(world, stances(world) if standing is None else standing)
    law: Coupling = _fresh(bridge.laws[0])
    view = _View(law, stations, placed, axis, period, led=inner is not None)
    wall = _contact(plane) if wall is None else wall
    ticks = int(np.ceil(0.5 * (_delay(parts.link) if delay is None else delay) / period - 1e-9))
    # A packet is read one tick after it is sent, or later.
    if delay is None and parts.link is not None and parts.link.connected:
        ticks = max(ticks, 1)
    mirrored = any(isinstance(station.plant, MirroredPlant) for station in stations)
    step = 0.0 if mirrored else world.step_ns * 1e-9
    faults = [station.plant.imperfections for station in stations]
    cut_off = max(fault.velocity_from_position if fault else 0.0 for fault in faults)
    view.require_motion()
    simulated = parts.hand
    held, words = _hand(hand, simulated)
    tools, limbs = view.tools(friction), view.limbs(friction)
    leader = _held(limbs[0], held, simulated if isinstance(simulated, ImpedanceHand) else None)
    fingers = world.ports[stations[0].name].push
    if isinstance(fingers, Fingers):
        leader = replace(leader, grip=(fingers.stiffness, fingers.damping))
    loop = Loop(view.along(), tools[0], tools[1], held, wall, period, ticks, cut_off)
    observers = [station.observer for station in stations]
    rates = [0.0 if one is None else float(one.gain.min()) for one in observers]
    drive, follower = None, limbs[1]
    if inner is not None:
        axes = (
            (1.0,) * 6 if stations[1].controller.controls_orientation else (1.0,) * 3 + (0.0,) * 3
        )
        follower, rates[1] = replace(follower, led=axes), inner.wrench_rate
        speed = world.placed[stations[1].name].robot.limits.velocity
        drive = _drive(stations[1], follower, inner, speed)
    law_table, memory = view.reflecting(1.0)
    whole = WholeLoop(
        (leader, follower),
        law_table,
        wall,
        period,
        ticks,
        cut_off,
        memory=memory,
        observers=(rates[0], rates[1]),
        step=step,
        drives=(None, drive),
    )
    linear = view.linear()
    return Point(loop, whole, words, axis, view.quantum(quantum), view.reflecting, linear)


def force_back(session: Session, world: World, axis: Array) -> Array:
    """How a unit force on the follower's tool along an axis comes back to the leader's, in world.

    Where the arms stand, at a force scale of 1. Its length is how far the follower goes for a way
    of the leader along it.
    """
    bridge, placed = _coupled(session), _Placed(world, stances(world))
    law: Coupling = _fresh(bridge.laws[0])
    a, b = (_side(end.station, placed) for end in (bridge.a, bridge.b))
    return law.port.direction(law.mapping, a, b, axis)


@dataclass(frozen=True)
class _Placed:
    """The robots of a world and how they stand or stood."""

    world: World
    standing: Mapping[str, Stance]

    def posture(self, name: str) -> Array:
        """Configuration of a robot in Pinocchio's order."""
        compiled, q = self.world.placed[name].robot.compile(), self.standing[name].q
        return q.copy() if compiled.nq == compiled.nv else q_to_pinocchio(compiled, q)


class _View:
    """Both stations and a copy of their law, along one axis into the wall at the follower."""

    def __init__(
        self,
        law: Coupling,
        stations: tuple[Station, Station],
        placed: _Placed,
        axis: Array,
        period: float,
        led: bool,
    ) -> None:
        self._period, self._led = period, led
        # Begin where the follower is, not on the way to a far first setpoint.
        if isinstance(law.mapping, PenMapping):
            law.mapping.absolute = False
        # A joint that stands at its limit moves on one side only.
        if isinstance(law.mapping, JointMapping):
            law.mapping.lower[:], law.mapping.upper[:] = -np.inf, np.inf
        self._law = law
        self._joints = law.port.space == "joints"
        self._stations = stations
        self._drives = [
            station.plant.actuated if self._joints else station.drives for station in stations
        ]
        self._stances = [placed.standing[station.name] for station in stations]
        self._sides = _side(stations[0], placed), _side(stations[1], placed)
        at_leader = law.port.direction(law.mapping, *self._sides, axis)
        size = float(np.linalg.norm(at_leader))
        self._axes = at_leader / size if size > MIN_MOBILITY else axis, axis
        self._felt = law.mapping.force_scale

    def require_motion(self) -> None:
        """Refuse a tool that its joints cannot move along the axis: it would weigh infinitely."""
        for station, stance, axis in zip(self._stations, self._stances, self._axes, strict=True):
            if np.linalg.norm(axis @ stance.J[:3]) < MIN_MOBILITY * np.linalg.norm(stance.J[:3]):
                towards = ", ".join(f"{number:.2g}" for number in axis + 0.0)
                raise Mismatch(
                    f"the {station.name}'s joints cannot move its tool along ({towards}), towards "
                    "the wall, where it stands; start it in another posture, or turn wall.normal"
                )

    def along(self) -> SampledLaw:
        """The law along the axis."""
        return sample_law(self._law, *self._sides, self._axes[1])

    def reflecting(self, times: float) -> tuple[LawTable, Memory | None]:
        """The law in all directions and its memory, with a multiple of the force at the hand."""
        self._law.mapping.force_scale = times * self._felt
        probed = probe_law(self._law, *self._sides, self._period)
        # Drop efforts that a passive joint would have to exert.
        table = [
            [effort * drives[:, None] for effort in efforts]
            for efforts, drives in zip(probed, self._drives, strict=True)
        ]
        if self._led:
            wanted = probe_target(self._law, *self._sides, self._period)
            table[1] = [np.hstack([wanted, np.zeros((6, 12))]), np.zeros((6, 18))]
        memory = probe_memory(self._law, *self._sides, self._period)
        if memory is not None:
            memory = replace(memory, N=memory.N * self._drives[0][:, None])
        return table, memory

    def linear(self) -> bool:
        """Whether the law is linear within a centimetre."""
        # A pen's limiter remembers, so that a jump tells nothing about the law.
        if isinstance(self._law.mapping, PenMapping):
            return True
        self._law.mapping.force_scale = self._felt
        return is_linear(self._law, *self._sides, self._period, forces=self._led)

    def tools(self, friction: float | None) -> list[LoopTool]:
        """Both tools along the axis."""
        pairs = zip(self._stances, self._axes, strict=True)
        return [_tool(stance, axis, friction) for stance, axis in pairs]

    def limbs(self, friction: float | None) -> list[LoopArm]:
        """Both arms."""
        pairs = zip(self._stances, self._axes, strict=True)
        limbs = [_limb(stance, axis, friction) for stance, axis in pairs]
        return [replace(limb, joints=self._joints) for limb in limbs]

    def quantum(self, given: float | None) -> float:
        """Encoder steps of all joints as one step of the coarser tool along the axis, [m]."""
        quanta = []
        for station, side, axis in zip(self._stations, self._sides, self._axes, strict=True):
            faults = station.plant.imperfections
            step = (faults.encoder_step if faults else 0.0) if given is None else given
            assert side.arm is not None
            quanta.append(float(step * np.linalg.norm(axis @ side.arm.J[:3])))
        return max(quanta)


def _limb(stance: Stance, axis: Array, friction: float | None) -> LoopArm:
    M, J, dry = stance.M, stance.J, stance.dry
    # Spread it over the joints such that a motion along the axis feels it.
    if friction is not None:
        moved = np.linalg.solve(M, J[:3].T @ axis)
        lever = np.abs(moved) / float(axis @ J[:3] @ moved)
        dry = friction * lever / float(lever @ lever)
    return LoopArm(M, J, stance.viscous, dry, axis)


def _held(limb: LoopArm, hand: Contact, turning: ImpedanceHand | None) -> LoopArm:
    """The leader in a hand: the same along all axes; about them like the rig's hand, if any."""
    about = (0.0, 0.0)
    if turning is not None and (hand.stiffness != 0.0 or hand.damping != 0.0):
        about = turning.rotational_stiffness, turning.rotational_damping
    K = np.diag(np.repeat((hand.stiffness, about[0]), 3))
    B = np.diag(np.repeat((hand.damping, about[1]), 3))
    M = limb.M + hand.mass * limb.J[:3].T @ limb.J[:3]
    return replace(limb, M=M, stiffness=K, damping=B)


def _fresh(part: Any) -> Any:
    """A part with the same parameters, without its present state, and with its own work arrays."""
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    parts = {name: _fresh(value) for name, value in values.items() if is_dataclass(value)}
    return replace(part, **parts)


def _coupled(session: Session) -> Bridge:
    if not session.bridges:
        raise Mismatch(
            "no law couples a hand to a follower in this rig, so there are no limits of wall or "
            "delay; farhand reproduce cooperative/F-50 predicts how stiffly followers may hold an "
            "object"
        )
    return session.bridges[0]


def _contact(plane: Wall | None) -> Contact:
    if plane is None or not plane.present:
        return Contact(0.0)
    return Contact(plane.stiffness, plane.damping)


def _delay(link: EmulatedLink | None) -> float:
    """Of the rig's own link, round trip, [s]."""
    return 1e-3 * link.delay if link is not None else 0.0


def _inner_loop(station: Station) -> InnerLoop | None:
    """The loop inside a station's drives; None of one that takes torques."""
    commands, inner = station.controller.commands, station.plant.inner_loop
    if commands is JointTorque:
        return None
    if inner is None or station.role == "leader" or not 0.0 < inner.late < np.inf:
        raise Mismatch(
            f"the {station.name} takes {commands.name}, and what its drives do with them is not "
            "known; try farhand run --headless --delay, which tells you whether it shakes"
        )
    return inner


def _drive(station: Station, limb: LoopArm, inner: InnerLoop, speed: Array) -> LoopDrive:
    """The drives of a follower that takes targets, as they are near rest."""
    K, D = np.diag(inner.stiffness), np.diag(inner.damping)
    if inner.per_inertia:
        # The drives cancel the joints' friction too.
        K, D = limb.M @ K, limb.M @ D - np.diag(limb.viscous)
    follows, smoothing = None, 0.0
    loop = station.controller.parts.get("pd")
    if isinstance(loop, LimitedPD):
        follows = speed * loop.proportional, speed * loop.derivative
        # A difference over the time between two commands is half of it late.
        smoothing = loop.smoothing + 0.5 * inner.command_period
    elif station.controller.commands is JointVelocity:
        raise Mismatch(f"how the {station.name} makes velocities of targets is not known")
    return LoopDrive(K, D, inner.period, 0.0, inner.late, follows, smoothing)


def _side(station: Station, placed: _Placed) -> Side:
    """The station's side where the plant stands, with its own arm model."""
    own = station.arm
    arm = Arm(own.model, own.tool, own.viscous)
    arm.springs = own.springs
    arm.update(placed.posture(station.name), np.zeros(arm.nv))
    return Side(station.role, arm)


def _tool(stance: Stance, axis: Array, friction: float | None) -> LoopTool:
    r"""Mass and friction of the true robot's tool along the axis, other directions free.

    .. math:: m = (n^\top J M^{-1} J^\top n)^{-1}, \qquad
              \dot q = m\,M^{-1} J^\top n\,\dot x, \qquad
              b\,\dot x^2 = \dot q^\top D\,\dot q, \qquad f\,|\dot x| = \sum_i \tau_i |\dot q_i|
    """
    moved = np.linalg.solve(stance.M, stance.J[:3].T @ axis)
    mass = 1.0 / float(axis @ stance.J[:3] @ moved)
    moved *= mass
    held = float(stance.dry @ np.abs(moved)) if friction is None else friction
    return LoopTool(mass, float(moved @ (stance.viscous * moved)), held)


def _hand(word: str, simulated: object) -> tuple[Contact, str]:
    if word == "rig":
        if not isinstance(simulated, ImpedanceHand) or simulated.open:
            return HANDS["none"], "no hand (the rig's lets go or only pushes)"
        held = Contact(simulated.stiffness, simulated.damping)
        return held, f"the rig's own, {_numbers(simulated)}"
    if word in HANDS:
        return HANDS[word], f"{word}, {_numbers(HANDS[word])}"
    if "," not in word:
        raise UnknownName("hand", word, ["rig", *HANDS, "K,B,M"])
    try:
        stiffness, damping, mass = (float(part) for part in word.split(","))
    except ValueError:
        raise BadValue(
            f"hand {word!r} does not have the form K,B,M in N/m, N·s/m and kg, such as 500,20,0.8"
        ) from None
    held = Contact(stiffness, damping, mass)
    if not all(0.0 <= value <= 1e6 for value in (stiffness, damping, mass)):
        raise BadValue(f"hand {word!r} has a number outside [0, 1e+06]")
    return held, _numbers(held)


def _numbers(hand: Contact | ImpedanceHand) -> str:
    mass = hand.mass if isinstance(hand, Contact) else 0.0
    return f"{hand.stiffness:g} N/m, {hand.damping:g} N·s/m, {mass:g} kg"
