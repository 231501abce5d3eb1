"""Running a recording again, and the proof that the repeat is equal to the bit."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import farhand
from farhand.compiled import enabled
from farhand.errors import BadValue, Mismatch
from farhand.learning.performance import Performance
from farhand.learning.waypoints import Replay
from farhand.loop.target import accept_targets
from farhand.loop.telemetry import Reader
from farhand.recording.loader import RecordedEvent, Recording
from farhand.recording.recorder import About, Recorder, record_from
from farhand.recording.topics import Steady, quaternions, rotations
from farhand.rigs.believed import MODEL
from farhand.rigs.external_plants import is_device, is_machine
from farhand.rigs.pairs.layout import PairSpec, from_text, to_text
from farhand.rigs.rig import SIMULATED, Options, Rig, build_rig, configure_parts
from farhand.robots import Robot, robot_names
from farhand.robots.description import find_description
from farhand.robots.robot import FOLDER

Files = Mapping[str, Mapping[str, str]]
"""By robot: ``file`` and ``hash``."""

Settings = list[tuple[str, object]]
Array = np.ndarray


def files_of(rig: Rig) -> dict[str, dict[str, str]]:
    """File and hash of every robot of a rig that has a model file.

    A user's own file has its whole path, one of the package its name.
    """
    robots = {name: placed.robot for name, placed in rig.world.placed.items()}
    return {
        name: {"file": _name(robot), "hash": _hash(robot)}
        for name, robot in robots.items()
        if robot.source.is_file()
    }


def changed_files(rig: Rig, recorded: Files) -> list[str]:
    """Robots whose files differ from the recorded ones, as ``leader: arm.xml``."""
    now = files_of(rig)
    both = [name for name in recorded if name in now]
    changed = [name for name in both if now[name]["hash"] != recorded[name]["hash"]]
    return [f"{name}: {now[name]['file']}" for name in changed]


def find_files(settings: Settings, recorded: Files) -> Settings:
    """Settings with the recorded path of each robot file that this folder does not have.

    Args:
        settings: parameter paths and values of a recording.
        recorded: :func:`files_of` its rig.
    """
    return [(path, _found(path, value, recorded)) for path, value in settings]


def _found(path: str, value: object, recorded: Files) -> object:
    there = Path(recorded.get(path.removeprefix("rig.").removesuffix("_robot"), {}).get("file", ""))
    if not path.endswith("_robot") or Path(str(value)).exists() or not there.is_absolute():
        return value
    return str(there) if there.is_file() else value


def _name(robot: Robot) -> str:
    source = robot.source.resolve()
    return robot.name if source.is_relative_to(FOLDER.resolve()) else str(source)


def _hash(robot: Robot) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in (robot.source, find_description(robot.source)):
        if path is not None:
            content = path.read_bytes()
            digest.update(f"{len(content)}:".encode())
            digest.update(content)
    return digest.hexdigest()


LIBRARIES = ("numpy", "mujoco", "pin", "numba")
"""Libraries whose version may show in the last bits."""

PERFORMED = (Performance.name, Replay.name)
"""Laws of a performance; the skill or the way-points themselves are not in the recording."""

PLANTS = ("rig.leader_plant", "rig.follower_plant")
"""Settings that replace a simulated plant."""

TRACE = "link.trace"
"""Setting that names a file."""

LAYOUT = "rig.layout"
"""Setting that names the arms and laws of several pairs."""


def about(rig: Rig, arguments: list[str] | None = None) -> About:
    """Everything a rig was set up with, for its recording.

    Args:
        rig: ready to run.
        arguments: of the command line that started it.
    """
    keys = ("path", "value", "unit", "meaning")
    content: dict[str, Any] = {
        "options": asdict(rig.options) | {"clock": None},
        "parameters": [dict(zip(keys, row, strict=True)) for row in rig.parameters()],
        "clock": rig.session.clock.name,
        "version": farhand.__version__,
        "libraries": libraries(),
        "robots": files_of(rig),
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "processor": platform.machine(),
        },
        "arguments": sys.argv[1:] if arguments is None else arguments,
    }
    texts = {k: json.dumps(v, ensure_ascii=False, default=_plain) for k, v in content.items()}
    placed = rig.world.placed.items()
    return About(texts, {f"{name}.xml": _model(robot) for name, robot in placed})


def libraries() -> dict[str, str]:
    """Versions of the libraries that compute."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    if not enabled():
        versions["numba"] = "not used"
    return versions


def _model(placed: Any) -> bytes:
    """The robot's MJCF, with the changes the rig made to it."""
    spec = placed.robot.spec()
    spec.compile()
    return spec.to_xml().encode()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def record(rig: Rig, path: Path, seconds: float | None = None) -> Path:
    """Run a rig in virtual time and record it in this process, between the ticks; closes the rig.

    Args:
        rig: ready to run.
        path: the recording.
        seconds: how long; the scenario's length by default.
    """
    reader = Reader(rig.session.telemetry.path)
    try:
        with Recorder(path, reader.header, about(rig, [])) as recorder:

            def pump() -> None:
                record_from(reader, recorder)

            rig.session.run(seconds or rig.scenario.seconds, pump)
    finally:
        rig.close()
    return path


@dataclass(frozen=True)
class Difference:
    """Where a repeat first differs from its recording, in one signal."""

    signal: str  # such as ``leader/q``
    time: float  # [s]
    recorded: list[float]  # the values then
    again: list[float]  # the values of the repeat


@dataclass
class Rerun:
    """How a repeat compares with its recording."""

    seconds: float = 0.0  # how long it ran, [s]
    records: int = 0  # how many were compared
    values: int = 0  # how many numbers were compared
    missing: int = 0  # records of the repeat that the recording had lost
    commands: int = 0  # how many commands were given again
    late: int = 0  # commands after the last record, of a run that broke off; they are left out
    # where they are not equal to the bit
    differences: list[Difference] = field(default_factory=list)
    # libraries whose version has changed, as ``name: then, now``
    versions: list[str] = field(default_factory=list)
    # those whose files have changed, as ``leader: arm.xml``
    robots: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every number is equal to the bit, and there was something to compare."""
        return not self.differences and self.records > 0


def rig_of(recording: Recording, drawn: bool = False, allowed: Collection[str] = ()) -> Rig:
    """The rig of a recording as it was before its first tick, with the recorded commands waiting.

    A recording may come from anywhere, so what it names is built only if it belongs to the library
    or to an installed package.

    Args:
        recording: what was recorded.
        allowed: classes (``module:Class``) and files that may be loaded all the same.
        drawn: the rig is only drawn and never runs; simulated plants and a law of the rig then
            replace what is not in the recording.

    Raises:
        Mismatch: the recording does not say how its rig was set up, lacks a command, or depends on
            something that is not in it.
        UnknownName: this version has no such rig.
    """
    path, about = recording.path, recording.metadata
    if "options" not in about or "rig" not in about:
        reason = "only farhand run --record writes that"
        raise Mismatch(f"{path} does not say how its rig was set up: {reason}")
    options = _drawable(about) if drawn else about["options"]
    external = _external(options)
    if external is not None and not drawn:
        hint = "farhand replay without --rerun shows it"
        raise Mismatch(f"{path} cannot be run again: {external}; {hint}")
    settings = [(name, value) for name, value in options["settings"]]
    options = {**options, "settings": find_files(settings, about.get("robots", {}))}
    for kind, name in _outside(recording, options):
        if name not in allowed:
            reason = f"names the {kind} {name!r}, which is of no installed package"
            raise Mismatch(f"{path} {reason}: if you trust it, add --allow {shlex.quote(name)}")
    try:
        rig = build_rig(about["rig"], Options(**options))
    except TypeError as error:
        raise BadValue(f"{path} has options that this version does not know: {error}") from None
    values = {row["path"]: row["value"] for row in about.get("parameters", [])}
    if any(".target." in path for path in values):
        accept_targets(rig.session)
    _restore(rig, values)
    commands = rig.session.commands
    commands.clear()
    for event in _commands(recording):
        command = event.data
        if command.get("cut"):
            why = command.get("why", "too long to record")
            raise Mismatch(f"{path} lacks the command at {event.time_ns * 1e-9:g} s, {why}")
        commands.post(command["name"], command["path"], command["value"], event.time_ns)
    return rig


def _outside(recording: Recording, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a recording names that is neither of the library nor of an installed package."""
    laws = [("law", pair.law) for pair in _pairs(options)]
    for kind, name in [*((kind, options.get(kind)) for kind in ("law", "layer")), *laws]:
        if ":" in str(name):
            yield kind, str(name)
    restored = [(row["path"], row["value"]) for row in recording.metadata.get("parameters", [])]
    commands = [event.data for event in _commands(recording)]
    given = [(command.get("path"), command.get("value")) for command in commands]
    for path, value in [*options["settings"], *restored, *given]:
        if path == TRACE and value:
            yield "trace", str(value)
    for path, value in options["settings"]:
        if path == MODEL:
            yield "model", str(value)
    for name in _arms(options):
        if name not in (SIMULATED, *robot_names()) and not is_machine(name):
            yield "robot", name


def _pairs(options: dict[str, Any]) -> list[PairSpec]:
    """The pairs of a layout; none where no setting has one."""
    layouts = [str(value) for path, value in options["settings"] if path == LAYOUT]
    return [pair for layout in layouts for pair in from_text(layout)]


def _arms(options: dict[str, Any]) -> Iterator[str]:
    """The robots, model files and machines that the settings name."""
    for path, value in options["settings"]:
        if path in PLANTS or path.endswith("_robot"):
            yield str(value)
    for pair in _pairs(options):
        yield from (pair.leader, *pair.follower)


def _commands(recording: Recording) -> list[RecordedEvent]:
    return [event for event in recording.happened if event.kind == "command"]


def _external(options: dict[str, Any]) -> str | None:
    """What a run depended on and its recording lacks; None if nothing."""
    if options.get("law") in PERFORMED:
        return "it is a performance, and the skill is not in the file"
    if options.get("side") is not None:
        return f"it is the {options['side']}'s side alone, without the data of the other side"
    machines = [name for name in _arms(options) if is_machine(name)]
    if not machines:
        return None
    return f"{' and '.join(machines)} took part, whose motion cannot be computed"


def _drawable(about: dict[str, Any]) -> dict[str, Any]:
    """The options of a rig that looks the same and needs nothing else.

    The robots that machines were taken for are in the recording: no machine is asked.
    """
    options: dict[str, Any] = about["options"]
    rows = {row["path"]: row["value"] for row in about.get("parameters", [])}
    files = {name: robot["file"] for name, robot in about.get("robots", {}).items()}
    driven = any(is_machine(name) for name in _arms(options))
    settings = []
    for path, value in options["settings"]:
        robot = path.replace("_plant", "_robot")
        # a simulated plant has other settings than a machine
        if driven and ".plant." in path:
            continue
        if path == LAYOUT:
            pairs = [_simulated(pair, files) for pair in from_text(str(value))]
            settings.append((path, to_text(pairs)))
        elif path not in PLANTS or not is_machine(str(value)):
            settings.append((path, value))
        elif robot in rows:
            settings.append((robot, rows[robot]))
        elif is_device(str(value)):
            reason = "its handle does not look like what it replaces"
            raise Mismatch(
                f"the recording cannot be shown: {value} led rig {about['rig']}; {reason}"
            )
    if options.get("law") not in PERFORMED:
        return options | {"settings": settings}
    settings = [(path, value) for path, value in settings if not path.startswith("law.")]
    return options | {"settings": settings, "law": "unilateral"}


def _simulated(pair: PairSpec, files: dict[str, str]) -> PairSpec:
    """A pair with the recorded robots in the place of machines."""
    names = [pair.leader_name, *(pair.follower_name(k) for k in range(len(pair.follower)))]
    arms = [
        files.get(name, arm) if is_machine(arm) else arm
        for name, arm in zip(names, (pair.leader, *pair.follower), strict=True)
    ]
    return replace(pair, leader=arms[0], follower=tuple(arms[1:]))


def _restore(rig: Rig, values: dict[str, Any]) -> None:
    """Give every parameter its recorded value, if building the rig gave it another."""
    now = {p: json.loads(json.dumps(v, default=_plain)) for p, v, _, _ in rig.parameters()}
    live = {path: value for path, value in values.items() if not path.startswith("rig.")}
    changed = [(path, v) for path, v in live.items() if path in now and now[path] != v]
    configure_parts(rig.session, rig.construction, changed)


def rerun(recording: Recording, allowed: Collection[str] = ()) -> Rerun:
    """Run the recording's rig again in virtual time, and compare every number.

    Classes and files outside the installed packages must be ``allowed``, see :func:`rig_of`.
    """
    rig = rig_of(recording, allowed=allowed)
    result = Rerun()
    then, now = recording.metadata.get("libraries", {}), libraries()
    result.versions = [f"{k}: {then[k]}, {v}" for k, v in now.items() if then.get(k, v) != v]
    result.robots = changed_files(rig, recording.metadata.get("robots", {}))
    streams = [stream for stream in recording.streams.values() if stream.times_ns.size]
    end_ns = max((int(stream.times_ns[-1]) for stream in streams), default=-1)
    result.seconds = (end_ns + 1) * 1e-9
    commands = _commands(recording)
    given = [event for event in commands if event.time_ns <= end_ns]
    result.commands, result.late = len(given), len(commands) - len(given)
    try:
        comparison = _Comparison(recording, Reader(rig.session.telemetry.path), result)
        if streams:
            rig.session.run(result.seconds, comparison.pull)
        _compare_commands(given, rig, result)
    finally:
        rig.close()
    return result


class _Comparison:
    """Compares what a repeat publishes with a recording as it goes."""

    def __init__(self, recording: Recording, reader: Reader, result: Rerun) -> None:
        self._recording, self._reader, self._result = recording, reader, result
        self._steady: defaultdict[str, Steady] = defaultdict(Steady)

    def pull(self) -> None:
        for name, recorded in self._recording.streams.items():
            times, rows, _ = self._reader.drain(name)
            places = np.searchsorted(recorded.times_ns, times)
            known = places < len(recorded.times_ns)
            known[known] = recorded.times_ns[places[known]] == times[known]
            self._result.missing += int((~known).sum())
            self._result.records += int(known.sum())
            self._compare(name, times[known], rows, known, places[known])

    def _compare(self, name: str, times: Array, rows: Array, known: Array, places: Array) -> None:
        # The sign of a quaternion follows from all rows, also those that are not compared
        recorded, columns = self._recording.streams[name], self._reader.columns(name)
        for channel, values in recorded.channels.items():
            again = _channel(channel, rows, columns)
            if channel not in columns:
                again = self._steady[f"{name}/{channel}"](again)
            again, then = again[known], values[places]
            self._result.values += then.size
            same = (then.view(np.int64) == np.ascontiguousarray(again).view(np.int64)).all(axis=1)
            signal, differences = f"{name}/{channel}", self._result.differences
            if not same.all() and all(earlier.signal != signal for earlier in differences):
                at = int(np.argmin(same))
                values_then, values_now = then[at].tolist(), again[at].tolist()
                time = float(times[at]) * 1e-9
                differences.append(Difference(signal, time, values_then, values_now))


def _channel(name: str, rows: Array, columns: dict[str, slice]) -> Array:
    """A channel as a recording has it: orientations are quaternions there."""
    if name in columns:
        return rows[:, columns[name]]
    return quaternions(rotations(rows[:, columns[name.replace("quaternion_", "rotation_", 1)]]))


def _compare_commands(given: list[RecordedEvent], rig: Rig, result: Rerun) -> None:
    """The same commands at the same ticks with the same outcome."""
    then = [(e.time_ns, e.data["name"], e.data["outcome"], e.data["tick"]) for e in given]
    log = rig.session.commands.log
    again = [(one.time_ns, one.request.name, str(one.outcome), one.tick) for one in log]
    for old, new in zip(then, again, strict=False):
        if old != new:
            change = f"{old[2]} at tick {old[3]} then, {new[2]} at tick {new[3]} now"
            difference = Difference(f"command {old[1]}: {change}", old[0] * 1e-9, [], [])
            result.differences.append(difference)
            return
    if len(then) != len(again):
        counts = f"{len(then)} commands then, {len(again)} now"
        result.differences.append(Difference(counts, 0.0, [], []))
