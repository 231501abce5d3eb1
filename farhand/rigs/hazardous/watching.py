"""The operator's panel: what the handle, the gripper and the sensor's thermometer say, recorded beside the arms.

With both sides in one process it is one stream, ``operator``; apart, the leader records the handle
with what it has heard in ``operator``, and the follower the wrist in ``wrist``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from farhand.control.haptic.force_map import VibrationCue
from farhand.loop.bridges.direct import Bridge
from farhand.loop.bridges.linked import LinkedBridge
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.telemetry import Stream, Telemetry
from farhand.mapping.ik import STATUSES
from farhand.plants.wrappers.instrumented import WristPlant
from farhand.rigs.hazardous.gripper import (
    AtFollower,
    AtLeader,
    CueOverLink,
    JawsChannel,
    Ring,
    SameProcess,
    ToFollower,
    ToLeader,
)
from farhand.rigs.hazardous.parts import Follower, Leader, Sides
from farhand.safety.handle import HandleParts
from farhand.safety.retreating import Phase
from farhand.safety.watches import Announcer, GripWatch, OverheatWatch, Report


class PanelReadings(Protocol):
    """Some channels of the panel."""

    def declare(self, stream: Stream) -> None:
        """Declare them."""

    def fill(self) -> None:
        """Write them."""


class HandleReadings:
    """How the handle is held."""

    def __init__(self, parts: HandleParts) -> None:
        self._parts = parts

    def declare(self, stream: Stream) -> None:
        """Grip force, and whether it counts as gripped."""
        self._grip = stream.channel("grip", 1, "N")
        self._gripped = stream.channel("gripped", 1, "-")

    def fill(self) -> None:
        """Look at the handle."""
        self._grip[0], self._gripped[0] = self._parts.handle.grip, self._parts.deadman.enabled


class GripperReadings:
    """The cue in the handle and the jaws, as this process knows them.

    Args:
        buzz: whether the handle buzzes, [-].
        jaws: opening [m] and grip force [N].
    """

    def __init__(self, buzz: Callable[[], float], jaws: Callable[[], tuple[float, float]]) -> None:
        self._known_buzz, self._known_jaws = buzz, jaws

    def declare(self, stream: Stream) -> None:
        """Cue, opening and grip force."""
        self._buzz = stream.channel("cue", 1, "-")
        self._jaws = stream.channel("gripper", 2, "m, N", ("opening", "force"))

    def fill(self) -> None:
        """Write what is known."""
        self._buzz[0] = self._known_buzz()
        self._jaws[0], self._jaws[1] = self._known_jaws()


class WristReadings:
    """The follower's wrist, and the decision on the cue.

    Args:
        wrist: with the force sensor.
        cue: when the handle buzzes.
        period_ns: time between steps, [ns].
    """

    def __init__(self, wrist: WristPlant, cue: VibrationCue, period_ns: int) -> None:
        self._wrist, self._cue, self._dt, self._buzz = wrist, cue, period_ns * 1e-9, 0.0

    def buzz(self) -> float:
        """Whether the handle is to buzz, as last decided, [-]."""
        return self._buzz

    def declare(self, stream: Stream) -> None:
        """Temperature, and the contact wrench before its filter."""
        self._temperature = stream.channel("temperature_of_sensor", 1, "°C")
        self._contact = stream.channel(
            "wrench_contact_raw_in_world", 6, "N, N·m", ("fx", "fy", "fz", "tx", "ty", "tz")
        )

    def fill(self) -> None:
        """Look at the sensor; without a measurement the cue stays as it is."""
        wrist, contact = self._wrist, self._wrist.contact
        if contact is None:
            self._contact[:] = float("nan")
        else:
            self._contact[:] = contact
            self._buzz = float(self._cue.step(contact[:3], wrist.gauges.acceleration, self._dt))
        self._temperature[0] = wrist.gauges.reading


class Panel:
    """Records the readings that this process has.

    Args:
        telemetry: where they are recorded, before it is frozen.
        name: of the stream.
        readings: in the order of their channels; written from the last to the first, for the wrist
            decides on the cue.
        period_ns: time between steps, [ns].
    """

    def __init__(
        self, telemetry: Telemetry, name: str, readings: list[PanelReadings], period_ns: int
    ) -> None:
        self._stream = telemetry.stream(name, 1e9 / period_ns)
        for some in readings:
            some.declare(self._stream)
        self._readings = readings[::-1]

    def step(self, now_ns: int) -> None:
        """Publish this tick."""
        for some in self._readings:
            some.fill()
        self._stream.commit(now_ns)


# What watches over the hazardous-environment rig in every tick, beside its stations.


class Steps(Protocol):
    """What is ticked."""

    def step(self, now_ns: int) -> None:
        """Once per tick; ``now_ns`` [ns]."""


@dataclass
class Watches:
    """What a side, or both, add.

    Attributes:
        parts: what is ticked, in order.
        says: what is announced.
        readings: what is recorded, in the order of the channels.
    """

    parts: list[Steps]
    says: list[Callable[[], str]]
    readings: list[PanelReadings]


def watch(telemetry: Telemetry, sides: Sides, bridge: Bridge) -> list[Callable[[int], None]]:
    """All that is ticked beside the stations of this process; declares the operator's stream, or the wrist's."""
    leader, follower, report = sides.leader, sides.follower, telemetry.event
    if leader is not None and follower is not None:
        watches = _together(leader, follower, bridge, report)
    elif leader is not None:
        watches = _leader_alone(leader, bridge, report)
    else:
        assert follower is not None
        watches = _follower_alone(follower, bridge)
    name, period_ns = "wrist" if leader is None else "operator", bridge.period_ns
    parts = (
        *watches.parts,
        Announcer(report, *watches.says),
        Panel(telemetry, name, watches.readings, period_ns),
    )
    return [part.step for part in parts]


def _together(leader: Leader, follower: Follower, bridge: Bridge, report: Report) -> Watches:
    """Both sides in one process: ring, jaws and cue go over the link if there is one, and are known at once if not."""
    guard, wrist = (
        follower.station.guard,
        WristReadings(follower.wrist, follower.cue, bridge.period_ns),
    )
    to_follower: ToFollower
    to_leader: ToLeader
    to_follower = to_leader = SameProcess()
    buzz, crossing = wrist.buzz, list[Steps]()
    if isinstance(bridge, LinkedBridge):
        to_follower, to_leader = AtLeader(bridge.a), AtFollower(bridge.b)
        buzz, crossing = CueOverLink(bridge.a).buzz, [CueOverLink(bridge.b, wrist.buzz)]
    handle = _handle(leader, bridge, to_follower, buzz, report)
    tool = _tool(follower, bridge, to_leader, lambda: guard.trip is None)
    return Watches(
        [*handle.parts, *tool.parts, *crossing],
        [*tool.says, *handle.says],
        [*handle.readings, wrist],
    )


def _leader_alone(leader: Leader, bridge: Bridge, report: Report) -> Watches:
    """The operator's side: jaws and cue are known as the follower's packets tell them."""
    assert isinstance(bridge, RemoteBridge)
    return _handle(leader, bridge, AtLeader(bridge.end), CueOverLink(bridge.end).buzz, report)


def _follower_alone(follower: Follower, bridge: Bridge) -> Watches:
    """The tool's side: it stands, jaws and all, until it is coupled."""
    assert isinstance(bridge, RemoteBridge)
    end, guard, gripper = bridge.end, follower.station.guard, follower.gripper
    wrist = WristReadings(follower.wrist, follower.cue, bridge.period_ns)
    tool = _tool(
        follower, bridge, AtFollower(end), lambda: guard.trip is None and end.engagement.wanted
    )
    jaws = GripperReadings(wrist.buzz, lambda: (gripper.opening, gripper.force))
    return Watches([*tool.parts, CueOverLink(end, wrist.buzz)], tool.says, [jaws, wrist])


def _handle(
    leader: Leader, bridge: Bridge, carrier: ToFollower, buzz: Callable[[], float], report: Report
) -> Watches:
    """What is ticked at the handle, said of its arm, and recorded for the operator."""
    gripped = GripWatch(
        leader.parts.deadman, bridge, lambda: bridge.b.contribution.gain > 0.0, report
    )
    readings: list[PanelReadings] = [
        HandleReadings(leader.parts),
        GripperReadings(buzz, carrier.jaws),
    ]
    return Watches([Ring(leader.parts.handle, carrier), gripped], [lambda: _wall(leader)], readings)


def _tool(
    follower: Follower, bridge: Bridge, carrier: ToLeader, able: Callable[[], bool]
) -> Watches:
    """What is ticked at the tool, and said of its arm."""
    jaws = JawsChannel(follower.grip, follower.gripper, carrier, able, bridge.period_ns)
    heat = OverheatWatch(follower.overheat, follower.wrist.gauges, follower.station.guard)
    return Watches([jaws, heat], [lambda: _kinematics(follower), lambda: _retreat(follower)], [])


def _kinematics(follower: Follower) -> str:
    status = follower.retreat.status
    return (
        ""
        if status == "solved"
        else f"inverse kinematics of the follower: {status}, {STATUSES[status]}"
    )


def _retreat(follower: Follower) -> str:
    collision = follower.retreat.collision
    said = {Phase.RETREATING: "follower retreats from what it hit"}
    said[Phase.HOLDING] = f"follower holds after its retreat; largest force {collision.peak:.0f} N"
    return said.get(collision.phase, "")


def _wall(leader: Leader) -> str:
    clear, zone = leader.parts.wall.clearance(leader.station.arm.q), leader.parts.wall.zone
    joint = int(clear.argmin())
    return (
        f"joint {joint + 1} of the leader is in the wall before its limit"
        if clear[joint] < zone
        else ""
    )
