"""Demonstrations: the marked stretches of a recording, and the button that marks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.loop.commands import Commands
from farhand.parameters import parameter
from farhand.recording.loader import Recording
from farhand.spatial import rotation_from_quaternion

Array = np.ndarray

PATH = "demonstration.active"
"""The parameter that begins and ends a demonstration: set by a button, the console or ``--at``."""

LIMB_PATH = "rig.limb"
"""The parameter that names the limb that is led."""

STILL_SPEED_SHARE = 0.05
"""Speed over a demonstration's largest, below which the tool stands still before or after it."""

MIN_DURATION_S = 0.5
"""Shortest demonstration."""

FORCES = {"wrench_measured_in_world": "measured", "force_synthetic_in_world": "synthetic"}
"""Channels with a force, the best first, and its kind."""

TOOL = ("position_tool_in_world", "quaternion_tool_in_world")
"""Channels of a station that has a tool."""

SENT = "q_sent"
"""Channel of positions sent to servos, which are more accurate than the reported ones."""


@dataclass
class Teaching:
    """The part of a rig that marks demonstrations in its recording; every change is an event."""

    active: bool = parameter(False, "-", "whether a demonstration is going on")


@dataclass(frozen=True)
class DemonstratedRobot:
    """The robot that was taught, as far as its skill depends on it."""

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
    force: Array  #: on the tool, in world axes, shape (n, 3), [N]; NaN without measurement
    force_kind: str = "measured"  #: ``measured``, ``synthetic`` or ``none``
    settings: dict[str, Any] = field(default_factory=dict)  #: parameters of its run by path

    @property
    def duration(self) -> float:
        """How long it lasts, [s]."""
        return float(self.times[-1])

    @property
    def limb(self) -> str | None:
        """The limb of its robot, where the robot has several."""
        return self.settings.get(LIMB_PATH)

    @property
    def content(self) -> bytes:
        """A digest of its motion and force, which identifies it."""
        parts = (self.times, self.position, self.rotation, self.force)
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()


def demonstrations_in(recording: Recording, station: str = "follower") -> list[Demonstration]:
    """The demonstrations of a recording: between its marks, or all of it without any mark.

    Raises:
        UnknownName: no such station, or one without a tool.
        FileError: the recording ends before the demonstration does.
        BadValue: a demonstration is too short, or the tool never moved.
    """
    streams = recording.streams.items()
    stations = [name for name, stream in streams if set(TOOL) <= set(stream.channels)]
    if station not in stations:
        raise UnknownName("station", station, stations)
    demonstrations = [_cut(recording, station, *span) for span in spans(recording)]
    if not demonstrations:
        raise BadValue(f"{recording.path} has no demonstration that lasts {MIN_DURATION_S:g} s")
    return demonstrations


def check_alike(demonstrations: Sequence[Demonstration]) -> None:
    """Refuse demonstrations of different robots or limbs, and copies.

    Raises:
        Mismatch: they are of different robots or limbs.
        BadValue: two are equal to the bit: a copied recording, or a run repeated with its seed.
    """
    first, seen = demonstrations[0], dict[bytes, Path]()
    for one in demonstrations:
        if one.robot != first.robot:
            of = f"{first.source} is of {first.robot}, {one.source} of {one.robot}"
            raise Mismatch(f"demonstrations of different robots: {of}")
        if one.limb != first.limb:
            of = f"{first.source} is of {first.limb}, {one.source} of {one.limb}"
            raise Mismatch(f"demonstrations of different limbs: {of}")
        if one.content in seen:
            copy = f"{one.source} has the same demonstration as {seen[one.content]}"
            raise BadValue(f"{copy}: every demonstration counts once")
        seen[one.content] = one.source


def spans(recording: Recording) -> list[tuple[int, int]]:
    """When demonstrations began and ended, [ns]; one that was on from the start begins there."""
    marks = [
        event
        for event in recording.happened
        if event.data.get("path") == PATH
        and not str(event.data.get("outcome", "")).startswith("refused")
    ]
    initial = _settings(recording).get(PATH, False)
    begun: int | None = 0 if _is_on(initial) else None
    stretches: list[tuple[int, int]] = []
    for event in marks:
        active = _is_on(event.data["value"])
        if active and begun is None:
            begun = event.time_ns
        elif not active and begun is not None:
            stretches.append((begun, event.time_ns))
            begun = None
    if (begun is not None or not marks) and not recording.complete:
        raise FileError(f"{recording.path} ends before its demonstration does; record it again")
    times = [stream.times_ns for stream in recording.streams.values()]
    ends = [int(one[-1]) for one in times if one.size]
    if begun is not None and ends:
        stretches.append((begun, max(ends)))
    return stretches if marks or not ends else [(0, max(ends))]


def _settings(recording: Recording) -> dict[str, Any]:
    return {row["path"]: row["value"] for row in recording.metadata.get("parameters", [])}


def _is_on(value: object) -> bool:
    return str(value).lower() in ("true", "1", "on", "yes")


def _cut(recording: Recording, station: str, begin_ns: int, end_ns: int) -> Demonstration:
    stream = recording.streams[station]
    inside = np.flatnonzero((stream.times_ns >= begin_ns) & (stream.times_ns <= end_ns))
    times = stream.times_ns[inside] * 1e-9
    if not len(times) or times[-1] - times[0] < MIN_DURATION_S:
        raise BadValue(f"{recording.path} has a demonstration shorter than {MIN_DURATION_S:g} s")
    position = _positions(recording, station, inside)
    kept = _moving(times, position)
    if times[kept][-1] - times[kept][0] < MIN_DURATION_S:
        still = f"in which the {station}'s tool does not move"
        raise BadValue(f"{recording.path} has a demonstration {still}")
    inside = inside[kept]
    quaternions = stream.channels["quaternion_tool_in_world"][inside]
    force, kind = _force(recording, station, inside)
    rotations = np.stack([rotation_from_quaternion(q) for q in quaternions])
    values = (times[kept] - times[kept][0], position[kept], rotations)
    if not all(np.isfinite(value).all() for value in values):
        raise BadValue(f"{recording.path} has poses that are not numbers in its demonstration")
    robot, settings = _robot(recording, station), _settings(recording)
    return Demonstration(recording.path, robot, *values, force, kind, settings)


def _moving(times: Array, position: Array) -> slice:
    speed = np.linalg.norm(np.gradient(position, times, axis=0), axis=1)
    moving = np.flatnonzero(speed > max(STILL_SPEED_SHARE * float(speed.max()), 1e-3))
    return slice(0, 1) if not len(moving) else slice(int(moving[0]), int(moving[-1]) + 1)


def _positions(recording: Recording, station: str, inside: Array) -> Array:
    """Positions of the tool; from those sent to servos, where they and the model are recorded."""
    channels = recording.streams[station].channels
    recorded = channels["position_tool_in_world"][inside]
    text = recording.files.get(f"{station}.xml")
    if SENT not in channels or text is None:
        return recorded
    import mujoco

    model = mujoco.MjModel.from_xml_string(text.decode())
    data, site = mujoco.MjData(model), model.site("tool").id

    def place(q: Array) -> Array:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        return data.site_xpos[site].copy()

    sent, reported = channels[SENT][inside], channels["q"][inside]
    base = recorded[0] - place(reported[0])
    changed = np.concatenate([[True], (np.diff(sent, axis=0) != 0.0).any(axis=1)])
    return np.stack([place(q) for q in sent[changed]])[np.cumsum(changed) - 1] + base


def _force(recording: Recording, station: str, inside: Array) -> tuple[Array, str]:
    """The force on the tool, or the synthetic one at the hand that led it."""
    times = recording.streams[station].times_ns
    for name, kind in FORCES.items():
        for stream in (recording.streams[station], recording.streams.get("leader")):
            values = None if stream is None else stream.channels.get(name)
            own = stream is recording.streams[station] or kind == "synthetic"
            if values is None or not own or len(values) != len(times):
                continue
            if np.isfinite(values[inside, :3]).any():
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
            problem = f"has a model of the {station} that is not XML"
            raise FileError(f"{recording.path} {problem}") from None
    return DemonstratedRobot(str(recording.metadata.get("rig", "unknown")), station, model, joints)


class Buttons(Protocol):
    """A device with buttons."""

    buttons: dict[str, bool]  #: which are pressed, by name


class TeachingButton:
    """Reads one button before every tick and posts a command at a press; call :meth:`step`.

    Args:
        device: whose button.
        commands: of the session.
        button: its name; the device's first by default.

    Attributes:
        active: whether a demonstration is going on.
    """

    def __init__(self, device: Buttons, commands: Commands, button: str | None = None) -> None:
        self._device = device
        self._commands = commands
        self._button = button or next(iter(device.buttons), "")
        self._down = self.active = False

    def step(self, now_ns: int) -> None:
        """Toggle at a press."""
        down = self._device.buttons.get(self._button, False)
        if down and not self._down:
            self.active = not self.active
            self._commands.post("set", PATH, str(self.active).lower())
        self._down = down
