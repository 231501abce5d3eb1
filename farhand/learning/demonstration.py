"""Demonstrations: the stretches of a recording in which somebody showed how it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.parameters import parameter
from farhand.recording.loader import Recording
from farhand.spatial import rotation_from_quaternion

Array = np.ndarray

PATH = "demonstration.active"
"""The parameter that begins and ends a demonstration, whoever sets it: a pen's button, the console
or ``--at``."""

LIMB = "rig.limb"
"""The parameter that says which limb is led."""

STILL = 0.05
"""Speed below this share of a demonstration's largest counts as standing still before it begins and
after it ends."""

SHORTEST = 0.5
"""A demonstration lasts at least this long, [s]."""

FORCES = {"wrench_measured_in_world": "measured", "force_synthetic_in_world": "synthetic"}
"""Channels that hold a force, the best first, and what kind of force it is."""

TOOL = ("position_tool_in_world", "quaternion_tool_in_world")
"""Channels of a station that has a tool."""

SENT = "q_sent"
"""Channel with the joint positions that servos were sent to: where they are known better than they
report it."""


@dataclass
class Teaching:
    """The part of a rig that marks demonstrations in its recording; every change of it is an event there."""

    active: bool = parameter(False, "-", "whether a demonstration is going on")


@dataclass(frozen=True)
class DemonstratedRobot:
    """Which robot was taught, as far as its skill depends on it."""

    rig: str  #: the system it belongs to
    station: str  #: its name there
    model: str  #: name of its model
    joints: tuple[str, ...]  #: names of its joints

    def __str__(self) -> str:
        return f"the {self.station} ({self.model}, {len(self.joints)} joints) of {self.rig}"


@dataclass(frozen=True)
class Demonstration:
    """One stretch of motion of a tool with the force on it, n samples."""

    source: Path  #: the file
    robot: DemonstratedRobot  #: whose tool it is
    times: Array  #: since its beginning, shape (n,), [s]
    position: Array  #: of the tool in world, shape (n, 3), [m]
    rotation: Array  #: rotation matrices of the tool in world, shape (n, 3, 3)
    #: on the tool, in world axes, shape (n, 3), [N]; NaN where there was no measurement
    force: Array
    force_kind: str = "measured"  #: ``measured``, ``synthetic`` or ``none``
    settings: dict[str, Any] = field(default_factory=dict)  #: parameters of its run by path

    @property
    def duration(self) -> float:
        """How long it lasts, [s]."""
        return float(self.times[-1])

    @property
    def limb(self) -> str | None:
        """Which limb of its robot it is of, where the robot has several."""
        return self.settings.get(LIMB)

    @property
    def content(self) -> bytes:
        """What tells it from every other demonstration: a digest of its motion and force."""
        parts = (self.times, self.position, self.rotation, self.force)
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()


def demonstrations_in(recording: Recording, station: str = "follower") -> list[Demonstration]:
    """The demonstrations of a recording: between its marks, or the whole of it where nobody set any.

    Args:
        recording: of a run.
        station: whose tool.

    Raises:
        UnknownName: no such station, or one without a tool.
        FileError: the run broke off before the demonstration was over.
        BadValue: a demonstration is too short, or the tool never moved.
    """
    taught = [
        name for name, stream in recording.streams.items() if set(TOOL) <= set(stream.channels)
    ]
    if station not in taught:
        raise UnknownName("station", station, taught)
    found = [_cut(recording, station, *span) for span in spans(recording)]
    if not found:
        raise BadValue(f"{recording.path} has no demonstration that lasts {SHORTEST:g} s")
    return found


def check_alike(demonstrations: Sequence[Demonstration]) -> None:
    """Make sure that demonstrations are of one limb of one robot, and that none counts twice.

    Raises:
        Mismatch: they are of different robots or limbs.
        BadValue: two of them are the same to the last bit: a copied recording, or a run repeated
            with its seed.
    """
    first, seen = demonstrations[0], dict[bytes, Path]()
    for one in demonstrations:
        if one.robot != first.robot:
            of = f"{first.source} is of {first.robot}, {one.source} of {one.robot}"
            raise Mismatch(f"demonstrations of different robots: {of}")
        if one.limb != first.limb:
            raise Mismatch(
                f"demonstrations of different limbs: {first.source} is of {first.limb}, {one.source} of {one.limb}"
            )
        if one.content in seen:
            raise BadValue(
                f"{one.source} holds the same demonstration as {seen[one.content]}: every demonstration counts once"
            )
        seen[one.content] = one.source


def spans(recording: Recording) -> list[tuple[int, int]]:
    """When demonstrations began and ended, [ns]; one that was on from the start begins there."""
    marks = [event for event in recording.happened if event.data.get("path") == PATH]
    marks = [
        event for event in marks if not str(event.data.get("outcome", "")).startswith("refused")
    ]
    initial = any(
        row["path"] == PATH and _is_on(row["value"])
        for row in recording.metadata.get("parameters", [])
    )
    begun: int | None = 0 if initial else None
    found: list[tuple[int, int]] = []
    for event in marks:
        active = _is_on(event.data["value"])
        if active and begun is None:
            begun = event.time_ns
        elif not active and begun is not None:
            found.append((begun, event.time_ns))
            begun = None
    if (begun is not None or not marks) and not recording.complete:
        raise FileError(
            f"{recording.path} broke off before its demonstration was over; record it again"
        )
    ends = [
        int(stream.times_ns[-1]) for stream in recording.streams.values() if stream.times_ns.size
    ]
    if begun is not None and ends:
        found.append((begun, max(ends)))
    return found if marks or not ends else [(0, max(ends))]


def _is_on(value: object) -> bool:
    return str(value).lower() in ("true", "1", "on", "yes")


def _cut(recording: Recording, station: str, begin_ns: int, end_ns: int) -> Demonstration:
    stream = recording.streams[station]
    inside = np.flatnonzero((stream.times_ns >= begin_ns) & (stream.times_ns <= end_ns))
    times = stream.times_ns[inside] * 1e-9
    if not len(times) or times[-1] - times[0] < SHORTEST:
        raise BadValue(f"{recording.path} has a demonstration shorter than {SHORTEST:g} s")
    position = _positions(recording, station, inside)
    kept = _moving(times, position)
    if times[kept][-1] - times[kept][0] < SHORTEST:
        raise BadValue(
            f"{recording.path} has a demonstration in which the {station}'s tool does not move"
        )
    inside = inside[kept]
    quaternions = stream.channels["quaternion_tool_in_world"][inside]
    force, kind = _force(recording, station, inside)
    rotations = np.stack([rotation_from_quaternion(q) for q in quaternions])
    values = (times[kept] - times[kept][0], position[kept], rotations)
    if not all(np.isfinite(value).all() for value in values):
        raise BadValue(f"{recording.path} has poses that are not numbers in its demonstration")
    settings = {row["path"]: row["value"] for row in recording.metadata.get("parameters", [])}
    return Demonstration(recording.path, _robot(recording, station), *values, force, kind, settings)


def _moving(times: Array, position: Array) -> slice:
    """From the first to the last sample at which the tool moves."""
    speed = np.linalg.norm(np.gradient(position, times, axis=0), axis=1)
    moving = np.flatnonzero(speed > max(STILL * float(speed.max()), 1e-3))
    return slice(0, 1) if not len(moving) else slice(int(moving[0]), int(moving[-1]) + 1)


def _positions(recording: Recording, station: str, inside: Array) -> Array:
    """Where the tool was; from the positions sent to servos where the recording has them, and the model."""
    channels = recording.streams[station].channels
    told = channels["position_tool_in_world"][inside]
    text = recording.files.get(f"{station}.xml")
    if SENT not in channels or text is None:
        return told
    import mujoco

    model = mujoco.MjModel.from_xml_string(text.decode())
    data, site = mujoco.MjData(model), model.site("tool").id

    def place(q: Array) -> Array:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        return data.site_xpos[site].copy()

    sent, reported = channels[SENT][inside], channels["q"][inside]
    base = told[0] - place(reported[0])
    changed = np.concatenate([[True], (np.diff(sent, axis=0) != 0.0).any(axis=1)])
    return np.stack([place(q) for q in sent[changed]])[np.cumsum(changed) - 1] + base


def _force(recording: Recording, station: str, inside: Array) -> tuple[Array, str]:
    """The force on the tool, or the one that was made up for the hand that led it."""
    times = recording.streams[station].times_ns
    for name, kind in FORCES.items():
        for stream in (recording.streams[station], recording.streams.get("leader")):
            values = None if stream is None else stream.channels.get(name)
            beside = stream is recording.streams[station] or kind == "synthetic"
            if (
                values is None
                or not beside
                or len(values) != len(times)
                or not np.isfinite(values[inside, :3]).any()
            ):
                continue
            return values[inside, :3], kind
    return np.full((len(inside), 3), np.nan), "none"


def _robot(recording: Recording, station: str) -> DemonstratedRobot:
    """Model and joints, from the model in the file where there is one."""
    joints = tuple(recording.streams[station].labels.get("q", ()))
    model, text = "unnamed", recording.files.get(f"{station}.xml")
    if text is not None:
        try:
            root = ElementTree.fromstring(text)
            model = root.get("model", model)
            joints = joints or tuple(joint.get("name", "") for joint in root.iter("joint"))
        except ElementTree.ParseError:
            raise FileError(
                f"{recording.path} has a model of the {station} that is no XML"
            ) from None
    return DemonstratedRobot(str(recording.metadata.get("rig", "unknown")), station, model, joints)
