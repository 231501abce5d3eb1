"""What all rigs with a leader and a follower share: link, layer, ends, bridge, session, pen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics, SideMetrics
from farhand.arm import Arm
from farhand.coupling import Coupling
from farhand.errors import BadValue, Mismatch
from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import Endpoint
from farhand.link.layers import make_layer
from farhand.link.network import EmulatedLink
from farhand.link.packet import VERSION, Packet
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.bridges.linked import LinkedBridge, LinkEnd
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.session import Physics, Session
from farhand.loop.station import Station
from farhand.loop.telemetry import Telemetry
from farhand.parameters import assign_all, describe
from farhand.plants import Imperfections
from farhand.plants.simulated.haptic import HapticPlant, HapticProfile
from farhand.rigs.rig import (
    Options,
    Rig,
    RigParts,
    Scenario,
    choose,
    configure_parts,
    post_scenario,
    skipped_settings,
    split_settings,
)
from farhand.robots import Robot
from farhand.robots.edits import set_armature
from farhand.robots.limits import Limits
from farhand.safety import Watchdog
from farhand.spatial import Array
from farhand.tasks import NOBODY, Operator, Person, Task, Trial, make_person, make_task
from farhand.tasks.operator import PERIOD_NS
from farhand.world import ImpedanceHand, Placed, Wall, World

ROLES = ("leader", "follower")
OTHER = {"leader": "follower", "follower": "leader"}
ABLE = ("dual-arm", "pair", "hazardous")
"""Rigs whose follower can do tasks."""

MACHINE_PARAMETERS = ("kernel", "offset_position", "offset_rotation")
"""Parameters of a law that may differ between the two sides."""

Arms = Mapping[str, Arm]
LawMaker = Callable[[str | None, Arms], Coupling]
"""Makes the law of one end: its role (None in one process), and the models of both sides."""


class CoupledBuild:
    """One build of a rig: what the user asked for, and the steps that all coupled rigs share.

    Attributes:
        scenario: the one that the user named, or ``default``.
        shaping: settings that shape the parts (``rig.…``).
        settings: settings of the parts.
        rng: the run's random numbers; every part takes one of its own.
    """

    def __init__(
        self, name: str, options: Options, scenarios: dict[str, Scenario], default: str
    ) -> None:
        self.name = name
        self.options = options
        self.task = self._task(scenarios)
        self.scenario = choose(scenarios, options, default)
        if self.task is not None:
            self.scenario = Scenario(self.task.name, self.task.title, self.task.seconds)
        self.shaping, self.settings = split_settings(options, self.scenario)
        self.rng = np.random.default_rng(options.seed)

    def _task(self, scenarios: dict[str, Scenario]) -> Task | None:
        """The task that the user named, for both sides in one process and no other scenario."""
        name, options = self.options.task, self.options
        if name is None:
            return None
        task = make_task(name)
        if options.operator != NOBODY:
            make_person(options.operator)
        if options.scenario is not None:
            raise BadValue(f"--task {name} has its own moves: leave out --scenario")
        if options.side is not None:
            raise Mismatch(f"task {name!r} needs both sides in one process")
        return task

    def world(self, placed: dict[str, Placed], step_ns: int, gravity: float) -> World:
        """The simulated physics: the robots, and the mechanism of a task."""
        if self.task is None:
            return World(placed, step_ns, gravity)
        if "follower" not in placed:
            raise Mismatch(f"rig {self.name!r} has no follower arm for task {self.task.name!r}")
        world = World(self.task.place(placed, self.options.seed), step_ns, gravity)
        self.task.join(world)
        return world

    def _trial(self, session: Session, world: World, parts: RigParts) -> Trial | None:
        """Let an operator do the task, and a referee judge it."""
        task, hand = self.task, parts.hand
        if task is None:
            return None
        if "task" not in world.placed:
            raise Mismatch(f"rig {self.name!r} does no tasks; rigs that do: {', '.join(ABLE)}")
        if not isinstance(hand, ImpedanceHand) or hand.open or world.externally_driven:
            raise Mismatch(f"rig {self.name!r} has no simulated hand that could do a task")
        if parts.operator is not None:
            self._seat(parts.operator, task, session, world, hand, parts.link)
        virtual = session.clock.name == "virtual"
        trial = Trial(task, world, session.finish if virtual else lambda: None)
        session.add(trial.step, after="physics")
        return trial

    def _seat(
        self,
        person: Person,
        task: Task,
        session: Session,
        world: World,
        hand: ImpedanceHand,
        link: EmulatedLink | None,
    ) -> None:
        """Give the hand to an operator, who sees by a camera at the follower."""
        held = next(
            wrench
            for port in world.ports.values()
            for _, touch, wrench in port.touches
            if touch is hand
        )

        def screen() -> float:
            """Delay of the picture: that of the link, one way, [s]."""
            return 0.0 if link is None else 0.5e-3 * link.delay

        def squeeze(closed: bool) -> None:
            at_ns = session.now_ns + round(1e9 * screen())
            session.commands.post("set", "jaws.closed", closed, at_ns)

        operator = Operator(
            person,
            hand,
            task.look,
            task.points,
            held,
            task.plan,
            np.random.default_rng([self.options.seed, 3]),
            screen,
            squeeze,
        )
        session.add(operator.step, PERIOD_NS)

    def couple(
        self,
        law: type[Coupling],
        make_law: LawMaker,
        stations: dict[str, Station],
        parts: RigParts,
        *,
        models: Callable[[], dict[str, Arm]],
        identity: int,
        needs_models: bool = False,
        joint_space: bool = False,
        direct: Callable[[Coupling, Station, Station], Bridge] | None = None,
    ) -> Bridge:
        """The law between the stations: in one process, on an emulated link, or one real end.

        Args:
            law: its class.
            make_law: makes an instance.
            stations: of this process, by role.
            parts: of the rig; link and layer are added.
            models: makes fresh models of both sides, by role.
            identity: hash of what both sides must have alike.
            needs_models: whether an end needs a model of the other side.
            joint_space: whether the law couples joints.
            direct: makes the bridge in one process; :class:`DirectBridge` by default.
        """
        options = self.options
        if self.task is not None and options.operator != NOBODY:
            rng = np.random.default_rng([options.seed, 4])
            parts.operator = make_person(options.operator, rng)
        parts.layer = layer = make_layer(options.layer, law)
        ports = dict(zip(ROLES, (None, None) if layer is None else layer.ports(), strict=True))

        def end(role: str) -> LinkEnd:
            arms = models()
            joints = arms["follower"].nv if joint_space else 0
            axes = max(arm.nv for arm in arms.values()) if joint_space else 6
            packets = {
                name: Packet(arm.nq, arm.nv, identity, joints, axes) for name, arm in arms.items()
            }
            other = arms[OTHER[role]] if needs_models else None
            arms[role] = stations[role].arm
            return LinkEnd(
                stations[role],
                make_law(role, arms),
                endpoint_of(role, packets),
                remote_arm=other,
                watchdog=parts.watchdog,
                port=ports[role],
            )

        if options.side is not None:
            period_ns = stations[options.side].period_ns
            bridge = RemoteBridge(end(options.side), period_ns=period_ns, clock=options.clock)
            parts.lateness = bridge.lateness
            parts.deadman = bridge.end.switch if bridge.end.leads else None
            return bridge
        # A bridge of the rig's own has no link.
        wanted = options.linked and direct is None
        parts.link = link = self._link(wanted=wanted or layer is not None)
        if link.connected:
            return linked_bridge(end, link)
        leader, follower = (stations[role] for role in ROLES)
        made = make_law(None, {role: station.arm for role, station in stations.items()})
        if direct is not None:
            return direct(made, leader, follower)
        return DirectBridge(made, leader, follower, period_ns=leader.period_ns)

    def _link(self, *, wanted: bool) -> EmulatedLink:
        """The emulated link, connected if it is wanted or disturbs anything."""
        options = self.options
        rng = self.rng.spawn(1)[0]
        link = EmulatedLink(options.delay, options.jitter, options.loss, rng=rng)
        own = [(path, value) for path, value in self.settings if path.startswith("link.")]
        assign_all({"link": link}, own)
        link.connected = wanted or not link.perfect
        return link

    def session(
        self,
        law: str,
        stations: Iterable[Station],
        bridge: Bridge,
        worlds: Iterable[Physics],
        parameters: dict[str, Any],
        *,
        telemetry: Telemetry | None = None,
        **description: str,
    ) -> Session:
        """The session of the run, with the description that recordings keep."""
        about = {"rig": self.name, "law": law, "seed": self.options.seed}
        about |= {"scenario": self.scenario.name, **description}
        if self.task is not None and self.task.jaws is not None:
            parameters = {**parameters, "jaws": self.task.jaws}
        return Session(
            stations,
            bridges=[bridge],
            worlds=worlds,
            telemetry=telemetry,
            clock=self.options.clock,
            parameters=parameters,
            description=about,
        )

    def configure(
        self, session: Session, shape: Any, first: Iterable[tuple[str, object]] = ()
    ) -> None:
        """Apply the settings of the parts, those of ``first`` before the user's."""
        if self.task is not None and "wall" in session.parameters:
            first = [*first, ("wall.present", False)]
        configure_parts(session, shape, [*first, *self.settings])

    def rig(
        self,
        law: str,
        session: Session,
        world: World,
        shape: Any,
        parts: RigParts,
        *,
        notes: Iterable[str] = (),
    ) -> Rig:
        """The whole rig, with the scenario's commands posted."""
        post_scenario(session, self.scenario, self.options)
        if skipped := skipped_settings(self.options, self.scenario):
            reason = f"scenario {self.scenario.name} sets them for a simulated plant"
            notes = [*notes, f"left out, because {reason}: {', '.join(skipped)}"]
        trial = self._trial(session, world, parts)
        kind = Metrics if self.options.side is None else SideMetrics
        return Rig(
            name=self.name,
            law=law,
            options=self.options,
            scenario=self.scenario,
            session=session,
            world=world,
            metrics=kind(session, world),
            construction=shape,
            parts=parts,
            notes=tuple(dict.fromkeys(notes)),
            trial=trial,
        )


def hand_and_wall(
    world: World, hand: ImpedanceHand, wall: Wall, watchdog: Watchdog, *, ahead: float
) -> RigParts:
    """The hand on the leader's tool, and the wall ``ahead`` [m] of the follower's, along x."""
    if "leader" in world.ports:
        world.touch("leader", "hand", hand)
    if "follower" in world.ports:
        wall.point = np.array([float(world.ports["follower"].tool.position[0]) + ahead, 0.0, 0.0])
        wall.refresh()
        world.touch("follower", "wall", wall)
    return RigParts(hand=hand, wall=wall, watchdog=watchdog)


def haptic_pen(world: World, cut_off: float, rng: np.random.Generator) -> HapticPlant:
    """A leading pen as its driver presents it: velocity filtered at ``cut_off`` [Hz], no wrench."""
    profile = HapticProfile.of(world.placed["leader"].robot)
    step = profile.position_step
    faults = Imperfections(wrench_sensor=False, encoder_step=step, velocity_from_position=cut_off)
    return HapticPlant(world, "leader", profile, None, faults, rng)


def in_hand(robot: Robot, mass: float, inertia: float) -> Robot:
    """A pen with the mass [kg] and inertia [kg·m²] of the hand that holds it."""
    return robot.edited(set_armature(np.repeat([mass, inertia], 3)))


def with_slack(limits: Limits, slack: float | Array = 0.02) -> Limits:
    """Joint limits as a guard sees them: end stops give a little before they hold; assumed."""
    return replace(limits, lower=limits.lower - slack, upper=limits.upper + slack)


def endpoint_of(role: str, packets: dict[str, Packet]) -> Endpoint:
    """One side's end of a link that is not connected yet; ``packets`` are the layouts by role."""
    outgoing = packets[role].blank()
    incoming = packets[OTHER[role]].blank()
    return Endpoint(outgoing, incoming, MemoryChannel(1), MemoryChannel(1))


def linked_bridge(ends: Callable[[str], LinkEnd], link: EmulatedLink) -> LinkedBridge:
    """Both ends in one process, with an emulated link between them."""
    a = ends("leader")
    b = ends("follower")
    forward, backward = link.channels
    a.endpoint.connect(forward, backward)
    b.endpoint.connect(backward, forward)
    return LinkedBridge(a, b, period_ns=a.station.period_ns)


def terms_of(rig: Rig) -> dict[str, str]:
    """The terms on which two sides of a rig must agree before they couple, by name."""
    bridge = rig.session.bridges[0]
    assert isinstance(bridge, RemoteBridge)
    rows = [row for row in describe(bridge.end.law) if not row[0].endswith(MACHINE_PARAMETERS)]
    law = {f"law.{path}": str(value) for path, value, _, _ in rows}
    return law | {
        "version": str(VERSION),
        "rig": rig.name,
        "law": rig.law,
        "layer": rig.options.layer,
        "rate": f"{1e9 / bridge.period_ns:g} Hz",
        "robots": f"{bridge.end.endpoint.outgoing.model_hash:016x}",
    }
