"""A rig, as it stands, seen along one axis: what each tool weighs and rubs there, and what its law answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import mujoco
import numpy as np

from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.sampled_law import (
    Memory,
    SampledLaw,
    probe_law,
    probe_memory,
    sample_law,
)
from farhand.analysis.stability.whole import LoopArm, WholeLoop
from farhand.arm import Arm
from farhand.coupling import Coupling, Side
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.loop.bridges.direct import Bridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.plants import JointTorque
from farhand.robots import q_to_pinocchio
from farhand.world import ImpedanceHand, Wall, World

Array = np.ndarray

AHEAD = np.array([1.0, 0.0, 0.0])
"""Where a wall would be in a rig without one."""


@dataclass(frozen=True)
class Stance:
    """How a robot stands, by the physics itself; nothing in it changes when the robot moves on.

    Attributes:
        q: configuration in MuJoCo's order, [rad] or [m].
        M: mass matrix.
        J: Jacobian of the tool, 6 × n.
        viscous: friction of the joints, [N·m·s/rad].
        dry: friction of the joints, [N·m].
    """

    q: Array
    M: Array
    J: Array
    viscous: Array
    dry: Array


def stances(world: World) -> dict[str, Stance]:
    """How every robot of a world stands now, by name."""
    model, before, found = world.model, 0, {}
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, world.data, M)
    for name, port in world.ports.items():
        joints = slice(before, before + port.nv)
        viscous, dry = model.dof_damping[joints].copy(), model.dof_frictionloss[joints].copy()
        found[name] = Stance(port.q.copy(), M[joints, joints].copy(), port.J.copy(), viscous, dry)
        before += port.nv
    return found


@dataclass(frozen=True)
class Point:
    """An operating point: all that the questions of stability are asked of.

    Attributes:
        loop: at this point along the axis, in contact.
        whole: the same with all joints.
        hand: which hand is assumed, in words.
        axis: into the wall, in world.
        quantum: encoder step as the follower's or the leader's tool sees it, whichever is coarser,
            [m]; 0 for none.
        reflecting: the law's answers, were the hand to feel so many times as much.
    """

    loop: Loop
    whole: WholeLoop
    hand: str
    axis: Array
    quantum: float
    reflecting: Callable[[float], Array]

    def at_wall(self, stiffness: float) -> WholeLoop:
        """All joints with another wall, [N/m]."""
        return replace(self.whole, wall=replace(self.whole.wall, stiffness=stiffness))


def operating_point(
    session: Session,
    world: World,
    hand: str = "rig",
    wall: Contact | None = None,
    delay: float | None = None,
    quantum: float | None = None,
    friction: float | None = None,
    standing: Mapping[str, Stance] | None = None,
) -> Point:
    """Look at a rig where it stands, or where it stood when ``standing`` was taken; nothing of it is changed.

    Parameters count as they are now. A run leaves the arms wherever they were when it ended, in the
    middle of a swing where it shook: :attr:`farhand.rigs.Rig.standing` has where they were before.

    Args:
        session: of the rig.
        world: its simulated physics.
        hand: ``rig`` for the one that the rig simulates, a name of :data:`HANDS`, or ``K,B,M``.
        wall: what the follower touches; the rig's own wall by default.
        delay: of the link, round trip, [s]; the rig's own by default.
        quantum: encoder step of every joint, [rad] or [m]; the plants' own by default.
        friction: dry friction at both tools, [N]; that of the joints by default.
        standing: :func:`stances` of the world at some time; as it stands now by default.

    Raises:
        Mismatch: no coupling, or a side that does not take torques: nothing is predicted.
    """
    bridge = _coupled(session)
    stations = bridge.a.station, bridge.b.station
    for station in stations:
        _refuse_unlike(station)
    met = session.parameters.get("wall")
    plane = met if isinstance(met, Wall) else None
    axis = AHEAD if plane is None else -plane.normal / np.linalg.norm(plane.normal)
    period = bridge.period_ns * 1e-9
    placed = _Placed(world, stances(world) if standing is None else standing)
    view = _View(_fresh(bridge.laws[0]), stations, placed, axis, period)
    wall = _contact(plane) if wall is None else wall
    ticks = int(np.ceil(0.5 * (_delay(session) if delay is None else delay) / period - 1e-9))
    faults = [station.plant.imperfections for station in stations]
    cut_off = max(fault.velocity_from_position if fault else 0.0 for fault in faults)
    simulated = session.parameters.get("hand")
    held, words = _hand(hand, simulated)
    tools, limbs = view.tools(friction), view.limbs(friction)
    leader = _held(limbs[0], held, simulated if isinstance(simulated, ImpedanceHand) else None)
    loop = Loop(view.along(), tools[0], tools[1], held, wall, period, ticks, cut_off)
    observed = [
        0.0 if station.observer is None else float(station.observer.gain.min())
        for station in stations
    ]
    whole = WholeLoop(
        (leader, limbs[1]),
        view.reflecting(1.0),
        wall,
        period,
        ticks,
        cut_off,
        memory=view.memory(),
        observers=(observed[0], observed[1]),
    )
    return Point(loop, whole, words, axis, view.quantum(quantum), view.reflecting)


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
    """Both stations and their law, looked at along one axis.

    Args:
        law: an instance of its own.
        stations: leader and follower.
        placed: where they stand.
        axis: into the wall, in world, at the follower.
        period: between ticks, [s].
    """

    def __init__(
        self,
        law: Coupling,
        stations: tuple[Station, Station],
        placed: _Placed,
        axis: Array,
        period: float,
    ) -> None:
        self._period = period
        if hasattr(law.mapping, "absolute"):
            law.mapping.absolute = (
                False  # begin where the follower is, not on the way to a far first setpoint
            )
        at_leader = law.mapping.matrix[:3, :3].T @ axis
        self._axes = at_leader / np.linalg.norm(at_leader), axis
        self._law, self._stations = law, stations
        self._stances = [placed.standing[station.name] for station in stations]
        self._sides = _side(stations[0], placed), _side(stations[1], placed)
        self._felt = law.mapping.force_scale

    def along(self) -> SampledLaw:
        """The law along the axis."""
        return sample_law(self._law, *self._sides, self._axes[1])

    def reflecting(self, times: float) -> Array:
        """The law in all directions, the hand feeling so many times as much."""
        self._law.mapping.force_scale = times * self._felt
        probed = probe_law(self._law, *self._sides, self._period)
        for number, station in enumerate(self._stations):
            # efforts that a passive joint would have to exert are dropped
            probed[number] *= station.drives[:, None]
        return probed

    def memory(self) -> Memory | None:
        """What the law remembers, the hand feeling as much as it does."""
        self._law.mapping.force_scale = self._felt
        found = probe_memory(self._law, *self._sides, self._period)
        return (
            None if found is None else replace(found, N=found.N * self._stations[0].drives[:, None])
        )

    def tools(self, friction: float | None) -> list[LoopTool]:
        """Both tools along the axis."""
        return [
            _tool(stance, axis, friction)
            for stance, axis in zip(self._stances, self._axes, strict=True)
        ]

    def limbs(self, friction: float | None) -> list[LoopArm]:
        """Both arms."""
        return [
            _limb(stance, axis, friction)
            for stance, axis in zip(self._stances, self._axes, strict=True)
        ]

    def quantum(self, given: float | None) -> float:
        """Encoder steps of all joints as one step of the coarser tool along the axis, [m]."""
        found = []
        for station, side, axis in zip(self._stations, self._sides, self._axes, strict=True):
            faults = station.plant.imperfections
            step = (faults.encoder_step if faults else 0.0) if given is None else given
            assert side.arm is not None
            found.append(float(step * np.linalg.norm(axis @ side.arm.J[:3])))
        return max(found)


def _limb(stance: Stance, axis: Array, friction: float | None) -> LoopArm:
    M, J, dry = stance.M, stance.J, stance.dry
    if friction is not None:  # spread over the joints such that a motion along the axis feels it
        moved = np.linalg.solve(M, J[:3].T @ axis)
        lever = np.abs(moved) / float(axis @ J[:3] @ moved)
        dry = friction * lever / float(lever @ lever)
    return LoopArm(M, J, stance.viscous, dry, axis)


def _held(limb: LoopArm, hand: Contact, turning: ImpedanceHand | None) -> LoopArm:
    """The leader in a hand: alike along all axes; about them as the rig's hand is, where there is one."""
    about = (
        (turning.rotational_stiffness, turning.rotational_damping)
        if turning is not None
        else (0.0, 0.0)
    )
    if hand.stiffness == 0.0 and hand.damping == 0.0:
        about = (0.0, 0.0)
    K, B = (
        np.diag(np.repeat(pair, 3))
        for pair in ((hand.stiffness, about[0]), (hand.damping, about[1]))
    )
    M = limb.M + hand.mass * limb.J[:3].T @ limb.J[:3]
    return replace(limb, M=M, stiffness=K, damping=B)


def _fresh(part: Any) -> Any:
    """A part with the same parameters and nothing of its present state; its work arrays are its own."""
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    parts = {name: _fresh(value) for name, value in values.items() if is_dataclass(value)}
    return replace(part, **parts)


def _coupled(session: Session) -> Bridge:
    if not session.bridges:
        raise Mismatch(
            "no law couples a hand to a follower in this rig, so there is no wall or delay to ask about; how stiffly "
            "followers may hold one object is predicted by farhand reproduce cooperative/F-50"
        )
    return session.bridges[0]


def _contact(plane: Wall | None) -> Contact:
    """What the rig's own wall is to the follower."""
    return (
        Contact(plane.stiffness, plane.damping)
        if plane is not None and plane.present
        else Contact(0.0)
    )


def _delay(session: Session) -> float:
    """Of the rig's own link, round trip, [s]."""
    link = session.parameters.get("link")
    return 1e-3 * link.delay if link is not None else 0.0


def _refuse_unlike(station: Station) -> None:
    commands = station.controller.commands
    if commands is not JointTorque:
        raise Mismatch(
            f"the {station.name} takes {commands.name}, not torques: its drives close a loop of their own, with limits "
            "and delays that are not linear; farhand run --headless --delay tries it and says if it shakes"
        )


def _side(station: Station, placed: _Placed) -> Side:
    """The station's side where the plant stands, on a model of its own."""
    own = station.arm
    arm = Arm(own.model, own.tool, own.viscous)
    arm.springs = own.springs
    arm.update(placed.posture(station.name), np.zeros(arm.nv))
    return Side(station.role, arm)


def _tool(stance: Stance, axis: Array, friction: float | None) -> LoopTool:
    r"""What the tool feels like along the axis, its other directions being free, from the true robot.

    .. math:: m = (n^\top J M^{-1} J^\top n)^{-1}, \qquad \dot q = m\,M^{-1} J^\top n\,\dot x, \qquad
              b\,\dot x^2 = \dot q^\top D\,\dot q, \qquad f\,|\dot x| = \sum_i \tau_i |\dot q_i|
    """
    moved = np.linalg.solve(stance.M, stance.J[:3].T @ axis)
    mass = 1.0 / float(axis @ stance.J[:3] @ moved)
    moved *= mass
    held = float(stance.dry @ np.abs(moved)) if friction is None else friction
    return LoopTool(mass, float(moved @ (stance.viscous * moved)), held)


def _hand(word: str, simulated: object) -> tuple[Contact, str]:
    """The hand and how it is called."""
    if word == "rig":
        if not isinstance(simulated, ImpedanceHand) or simulated.open:
            return HANDS["none"], "no hand (the rig's lets go or only pushes)"
        return Contact(
            simulated.stiffness, simulated.damping
        ), f"the rig's own, {_numbers(simulated)}"
    if word in HANDS:
        return HANDS[word], f"{word}, {_numbers(HANDS[word])}"
    if "," not in word:
        raise UnknownName("hand", word, ["rig", *HANDS, "K,B,M"])
    try:
        stiffness, damping, mass = (float(part) for part in word.split(","))
    except ValueError:
        raise BadValue(
            f"hand {word!r} is not of the form K,B,M in N/m, N·s/m and kg, such as 500,20,0.8"
        ) from None
    held = Contact(stiffness, damping, mass)
    if not all(0.0 <= value <= 1e6 for value in (stiffness, damping, mass)):
        raise BadValue(f"hand {word!r} has a number outside [0, 1e+06]")
    return held, _numbers(held)


def _numbers(hand: Contact | ImpedanceHand) -> str:
    mass = hand.mass if isinstance(hand, Contact) else 0.0
    return f"{hand.stiffness:g} N/m, {hand.damping:g} N·s/m, {mass:g} kg"
