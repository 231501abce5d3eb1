"""Robot files: which ones a rig's robots were read from; a re-run finds them again and knows if they have changed."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import farhand
from farhand.errors import BadValue, Mismatch
from farhand.learning.performance import Performance
from farhand.learning.waypoints import Replay
from farhand.loop.telemetry import Reader
from farhand.recording.loader import RecordedEvent, Recording
from farhand.recording.recorder import About, Recorder, record_from
from farhand.recording.topics import Steady, quaternions, rotations
from farhand.rigs.rig import Options, Rig, build_rig, configure_parts
from farhand.robots import Robot
from farhand.robots.description import find_description
from farhand.robots.robot import FOLDER

Files = Mapping[str, Mapping[str, str]]
"""By robot: ``file`` and ``hash``."""

Settings = list[tuple[str, object]]


def files_of(rig: Rig) -> dict[str, dict[str, str]]:
    """The model file of every robot of a rig that has one, and a hash of it and of the toml beside it.

    A user's own file is told with its whole path; one that comes with the package by its name.
    """
    robots = {
        name: placed.robot
        for name, placed in rig.world.placed.items()
        if placed.robot.source.is_file()
    }
    return {name: {"file": _told(robot), "hash": _hash(robot)} for name, robot in robots.items()}


def changed_files(rig: Rig, recorded: Files) -> list[str]:
    """Robots whose files are not the recorded ones, as ``leader: arm.xml``; what is not recorded is not compared."""
    now = files_of(rig)
    return [
        f"{n}: {now[n]['file']}"
        for n, then in recorded.items()
        if n in now and now[n]["hash"] != then["hash"]
    ]


def find_files(settings: Settings, recorded: Files) -> Settings:
    """Settings with the recorded place of each robot file that is not found from the present folder.

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


def _told(robot: Robot) -> str:
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


# Re-run: what a recording must say for its run to be repeated, and the proof that the repeat is
# equal to the bit.

Array = np.ndarray

LIBRARIES = ("numpy", "mujoco", "pin", "numba")
"""Libraries whose version may show in the last bits."""

PERFORMED = (Performance.name, Replay.name)
"""What moves a follower without a hand; the skill or the way-points themselves are in no
recording."""

PLANTS = ("rig.leader_plant", "rig.follower_plant")
"""Where something outside takes the place of a simulated plant."""

ALIKE = ("ur:", "serial:")
"""Plants that look like the simulated ones in whose place they are."""


def about(rig: Rig, arguments: list[str] | None = None) -> About:
    """Everything a rig was set up with, for its recording.

    Args:
        rig: ready to run.
        arguments: of the command line that started it.
    """
    options = asdict(rig.options) | {"clock": None}
    parameters = [
        {"path": path, "value": value, "unit": unit, "meaning": meaning}
        for path, value, unit, meaning in rig.parameters()
    ]
    content: dict[str, Any] = {
        "options": options,
        "parameters": parameters,
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
    texts = {
        name: json.dumps(value, ensure_ascii=False, default=_plain)
        for name, value in content.items()
    }
    return About(
        texts, {f"{name}.xml": _model(placed) for name, placed in rig.world.placed.items()}
    )


def libraries() -> dict[str, str]:
    """Versions of the libraries that compute."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


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
    """Where a repeat left its recording: the first time in one signal.

    Attributes:
        signal: such as ``leader/q``.
        time: [s].
        recorded: the values then.
        again: the values of the repeat.
    """

    signal: str
    time: float
    recorded: list[float]
    again: list[float]


@dataclass
class Rerun:
    """How a repeat compares with its recording.

    Attributes:
        seconds: how long it ran, [s].
        records: how many were compared.
        values: how many numbers were compared.
        missing: records of the repeat that the recording does not have, because they were lost
            then.
        commands: how many commands were given again.
        late: commands after the last record, of a run that broke off; they are left out.
        differences: where they are not equal to the bit.
        versions: libraries that have another version than in the recording, as ``name: then, now``.
        robots: those whose files have changed since, as ``leader: arm.xml``.
    """

    seconds: float = 0.0
    records: int = 0
    values: int = 0
    missing: int = 0
    commands: int = 0
    late: int = 0
    differences: list[Difference] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every number is equal to the bit, and there was something to compare."""
        return not self.differences and self.records > 0


def rig_of(recording: Recording, drawn: bool = False) -> Rig:
    """The rig of a recording as it was before its first tick, with the recorded commands waiting.

    Args:
        recording: what was recorded.
        drawn: the rig is only to be looked at and never runs; simulated plants and a law of the rig
            then stand for what is not in the recording.

    Raises:
        Mismatch: the recording does not say how its rig was set up, lacks a command, or something
            outside took part.
        UnknownName: this version has no such rig.
    """
    said = recording.metadata
    if "options" not in said or "rig" not in said:
        raise Mismatch(
            f"{recording.path} does not say how its rig was set up: only farhand run --record writes that"
        )
    options = {**said["options"], "settings": [tuple(pair) for pair in said["options"]["settings"]]}
    options["settings"] = find_files(options["settings"], said.get("robots", {}))
    outside = _outside(options)
    if outside is not None and not drawn:
        raise Mismatch(
            f"{recording.path} cannot be run again: {outside}; farhand replay without --rerun shows it"
        )
    if drawn:
        options = _drawable(options)
    try:
        rig = build_rig(said["rig"], Options(**options))
    except TypeError as error:
        raise BadValue(
            f"{recording.path} has options that this version does not know: {error}"
        ) from None
    _restore(rig, {row["path"]: row["value"] for row in said.get("parameters", [])})
    commands = rig.session.commands
    commands.clear()
    for event in recording.happened:
        if event.kind == "command":
            given = event.data
            if given.get("cut"):
                why = given.get("why", "too long to record")
                raise Mismatch(
                    f"{recording.path} lacks the command at {event.time_ns * 1e-9:g} s, {why}"
                )
            commands.post(given["name"], given["path"], given["value"], event.time_ns)
    return rig


def _outside(options: dict[str, Any]) -> str | None:
    """What took part in a run and is not in its recording, in words; None if nothing did."""
    if options.get("law") in PERFORMED:
        return "it is of a performance, and what was performed is not in the file"
    if options.get("side") is not None:
        return f"it is of the {options['side']}'s side alone, and what the other side said is not in the file"
    plants = [
        str(value) for path, value in options["settings"] if path in PLANTS and value != "simulated"
    ]
    return f"{' and '.join(plants)} took part, whose motion cannot be computed" if plants else None


def _drawable(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a rig that looks the same and needs nothing from outside."""
    performed = options.get("law") in PERFORMED
    kept = [
        (path, value)
        for path, value in options["settings"]
        if not (performed and path.startswith("law."))
        and not (path in PLANTS and str(value).startswith(ALIKE))
    ]
    return options | {"settings": kept} | ({"law": "unilateral"} if performed else {})


def _restore(rig: Rig, values: dict[str, Any]) -> None:
    """Give every parameter its recorded value where building the rig gave it another, as the clock may have done."""
    now = {
        path: json.loads(json.dumps(value, default=_plain))
        for path, value, _, _ in rig.parameters()
    }
    changed = [
        (path, value) for path, value in values.items() if path in now and now[path] != value
    ]
    configure_parts(
        rig.session, rig.construction, [pair for pair in changed if not pair[0].startswith("rig.")]
    )


def rerun(recording: Recording) -> Rerun:
    """Run the recording's rig again in virtual time, with its seed, parameters and commands; compare every number."""
    rig = rig_of(recording)
    result = Rerun()
    then = recording.metadata.get("libraries", {})
    result.versions = [
        f"{k}: {then[k]}, {v}" for k, v in libraries().items() if k in then and then[k] != v
    ]
    result.robots = changed_files(rig, recording.metadata.get("robots", {}))
    ends = [
        int(stream.times_ns[-1]) for stream in recording.streams.values() if stream.times_ns.size
    ]
    result.seconds = (max(ends, default=-1) + 1) * 1e-9
    given = [event for event in recording.happened if event.kind == "command"]
    told = [event for event in given if event.time_ns <= max(ends, default=-1)]
    result.commands, result.late = len(told), len(given) - len(told)
    try:
        comparison = _Comparison(recording, Reader(rig.session.telemetry.path), result)
        if ends:
            rig.session.run(result.seconds, comparison.pull)
        _compare_commands(told, rig, result)
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
        """Compare the rows that are known; a quaternion's sign follows from all that were there."""
        recorded, columns = self._recording.streams[name], self._reader.columns(name)
        for channel, values in recorded.channels.items():
            again = _channel(channel, rows, columns)
            if channel not in columns:
                again = self._steady[f"{name}/{channel}"](again)
            again = again[known]
            then = values[places]
            self._result.values += then.size
            same = (then.view(np.int64) == np.ascontiguousarray(again).view(np.int64)).all(axis=1)
            signal = f"{name}/{channel}"
            if not same.all() and all(known.signal != signal for known in self._result.differences):
                at = int(np.argmin(same))
                found = Difference(
                    signal, float(times[at]) * 1e-9, then[at].tolist(), again[at].tolist()
                )
                self._result.differences.append(found)


def _channel(name: str, rows: Array, columns: dict[str, slice]) -> Array:
    """A channel as a recording has it: orientations are quaternions there."""
    if name in columns:
        return rows[:, columns[name]]
    return quaternions(rotations(rows[:, columns[name.replace("quaternion_", "rotation_", 1)]]))


def _compare_commands(given: list[RecordedEvent], rig: Rig, result: Rerun) -> None:
    """The same commands at the same ticks with the same outcome."""
    then = [(e.time_ns, e.data["name"], e.data["outcome"], e.data["tick"]) for e in given]
    again = [
        (logged.time_ns, logged.request.name, str(logged.outcome), logged.tick)
        for logged in rig.session.commands.log
    ]
    for old, new in zip(then, again, strict=False):
        if old != new:
            words = (
                f"command {old[1]}: {old[2]} at tick {old[3]} then, {new[2]} at tick {new[3]} now"
            )
            result.differences.append(Difference(words, old[0] * 1e-9, [], []))
            return
    if len(then) != len(again):
        result.differences.append(
            Difference(f"{len(then)} commands then, {len(again)} now", 0.0, [], [])
        )
