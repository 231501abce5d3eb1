"""Teaching: the drawing task, recorded demonstrations, messages and way-points: H-32, H-38, H-40, H-41."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from farhand.control.haptic.limit_force import ContactForce
from farhand.learning import button, demonstrations_in, waypoints
from farhand.learning.waypoints import TaughtPoint
from farhand.loop.telemetry import Reader
from farhand.recording.loader import Recording, load
from farhand.recording.recorder import Recorder, record_from
from farhand.recording.scan import scan
from farhand.rigs import Options, Rig, build_rig
from farhand.running import rerun as rerunning
from farhand.running.performing import replay_rig
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation

Array = np.ndarray

RATE = 500.0
"""Rate of the recorded rig: the published haptic rate, [Hz]."""

STEP, SECONDS, OPERATORS = 1e-3, 12.0, 100
MASS, STIFFNESS, DAMPING = 0.195, 200.0, 4.0
"""Hand of 0.15 kg with a tip of 45 g, [kg], [N/m], [N·s/m]; sources/humanoid §4."""

GUESS, DRIFT, DRIFTS = 0.006, 0.003, 2.0
"""How far off an operator without depth cue believes the board, how far [m] and fast [s] the hand
drifts; assumed."""

PRESS, EAGER, REACTION = 3.0, 0.01, 0.15
"""Force he aims at [N], how fast he corrects [m/(s·N)], and his reaction time [s]; assumed."""

GIVE = 0.002
"""What the marker's tip takes before the line breaks or the board bends, [m]; assumed."""


def draw(law: ContactForce | None) -> tuple[float, float, float]:
    """Operators hold a marker on a board they cannot see in depth, feeling it or not.

    Returns:
        Share of the time in which it draws, share in which it touches, and mean depth while it
            touches, [m].
    """
    rng = generator("operators")
    steps, late = round(SECONDS / STEP), round(REACTION / STEP)
    believed = rng.normal(0.0, GUESS, OPERATORS)
    aim, s = 0.02 + believed, np.full(OPERATORS, 0.02)  # he comes from in front
    v, drift = np.zeros(OPERATORS), np.zeros(OPERATORS)
    felt, depth = np.zeros((steps + late, OPERATORS)), np.empty((steps, OPERATORS))
    keep, spread = np.exp(-STEP / DRIFTS), DRIFT * np.sqrt(1.0 - np.exp(-2.0 * STEP / DRIFTS))
    for k in range(steps):
        drift = keep * drift + spread * rng.normal(size=OPERATORS)
        force = np.minimum(law.magnitude(s), 3.3) if law is not None else np.zeros(OPERATORS)
        felt[k + late] = force
        aim = (
            np.maximum(aim - 0.02 * STEP, believed)
            if law is None
            else aim - EAGER * STEP * (PRESS - felt[k])
        )
        v = v + STEP * (STIFFNESS * (aim + drift - s) - DAMPING * v + force) / MASS
        s = s + STEP * v
        depth[k] = -s
    tail = depth[round(3.0 / STEP) :]
    touching = tail >= 0.0
    deep = float(tail[touching].mean()) if touching.any() else 0.0
    return float(((tail >= 0.0) & (tail <= GIVE)).mean()), float(touching.mean()), deep


@experiment("H-32")
def drawing_task() -> Finding:
    """A hundred operators for 12 s each, with the corrected contact force and without any."""
    (drawn, touching, deep), (blind, grazed, blind_deep) = draw(ContactForce()), draw(None)
    note = (
        f"it draws {drawn:.0%} of the time with force, {blind:.0%} without (0 to {1e3 * GIVE:.0f} mm deep); touches "
        f"{touching:.0%} and {grazed:.0%}; mean depth {1e3 * deep:.1f} and {1e3 * blind_deep:.1f} mm"
    )
    return Finding(drawn / blind, drawn >= 2.0 * blind and deep < blind_deep, note)


class Presser:
    """An operator's finger: presses the pen's first button for a tenth of a second at given times [s]."""

    def __init__(self, rig: Rig, *times: float) -> None:
        plant: Any = next(
            station for station in rig.session.stations if station.name == "leader"
        ).plant
        self._plant, self._name, self._times = plant, next(iter(plant.buttons)), times

    def advance(self, to_ns: int) -> None:
        """Press or let go."""
        self._plant.press(self._name, any(0.0 <= to_ns * 1e-9 - t < 0.1 for t in self._times))


def taught(scenario: str, *presses: float) -> Rig:
    """The humanoid rig with a finger on its button."""
    rig = build_rig("humanoid", Options(scenario=scenario, settings=[("rig.rate", RATE)]))
    rig.session.worlds.insert(0, Presser(rig, *presses))
    return rig


@contextmanager
def file() -> Iterator[Path]:
    """A name for a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "taught"


def kept(rig: Rig, path: Path, seconds: float) -> tuple[Recording, dict[str, Array]]:
    """Run and record; the file's content, and what the run itself said of the pen."""
    reader = Reader(rig.session.telemetry.path)
    with Recorder(path, reader.header, rerunning.about(rig, [])) as recorder:

        def pump() -> None:
            record_from(reader, recorder)
            rig.metrics.pull()

        rig.session.run(seconds, pump)
    names = ("q", "position_tool_in_world", "force_synthetic_in_world")
    said = {name: rig.metrics.history.signal("leader", name) for name in names}
    rig.close()
    return load(path), said


@experiment("H-40")
def demonstration_recording() -> Finding:
    """A minute on the rig with a demonstration between two presses of the pen's button."""
    with file() as path:
        recording, said = kept(taught("free", 0.4, 9.0), path, 60.0)
        shown = demonstrations_in(recording)
    stream = recording.streams["leader"]
    rate = 1e9 / float(np.diff(stream.times_ns).max())
    lost = [event for event in recording.happened if event.kind == "lost"]
    same = all(np.array_equal(stream.channels[name], values) for name, values in said.items())
    ok = (
        rate >= 500.0 - 1e-6
        and len(stream.times_ns) == 30_000
        and not lost
        and same
        and len(shown) == 1
    )
    note = f"{len(stream.times_ns)} records, {len(lost)} lost, loaded to the bit: {same}; {len(shown)} demonstration"
    return Finding(rate, ok, note)


@experiment("H-38")
def messages() -> Finding:
    """Topics of a recording, their rates, and a run of the same log again."""
    rig = build_rig("humanoid", Options(scenario="draw", seed=3, settings=[("rig.rate", RATE)]))
    with file() as path:
        recording = load(rerunning.record(rig, path, 2.0))
        topics = {channel.topic for channel in scan(path).channels.values()}
        again = rerunning.rerun(recording)
    stream = recording.streams["leader"]
    wanted = {
        "/tf",
        "/leader/pose_tool_in_world",
        "/follower/pose_tool_in_world",
        "/leader/state",
        "/events",
    }
    channels = {"force_synthetic_in_world", "distances_to_limits"} - set(stream.channels)
    rate = len(stream.times_ns) / 2.0
    ok = wanted <= topics and not channels and rate == RATE and again.exact
    note = f"{len(topics)} topics at {rate:g} Hz, /tf at 50 Hz; {again.values} numbers of the replay equal to the bit"
    return Finding(0.0 if again.exact else 1.0, ok, note, unit="largest difference")


@experiment("H-41")
def way_points() -> Finding:
    """Four places taught with the button, written to a file, read back and gone to; the real tool is judged."""
    presses = (0.4, 2.3, 2.45, 4.3, 4.45, 6.3, 6.45, 8.4)
    rig = taught("free", *presses)
    real: list[Array] = []
    rig.session.worlds.append(Looker(rig.world.ports["follower"].tool, real))
    with file() as path:
        recording, _ = kept(rig, path, 9.0)
        points = waypoints.points_of(demonstrations_in(recording))
        waypoints.write_points(path.with_suffix(".txt"), points)
        points = waypoints.read_points(path.with_suffix(".txt"))
    places = np.array([real[round(t * RATE)] - real[round(0.4 * RATE)] for t in presses[1::2]])
    gone = replayed(points)
    worst = 1e3 * float(np.abs(gone - places).max()) if gone.shape == places.shape else float("inf")
    return Finding(
        worst,
        worst <= 1.0,
        f"{len(points)} way-points; largest of all axes, against where it really was",
    )


class Looker:
    """Notes where a tool really is, before every tick."""

    def __init__(self, tool: Any, seen: list[Array]) -> None:
        self._tool, self._seen = tool, seen

    def advance(self, to_ns: int) -> None:
        """Look."""
        self._seen.append(self._tool.position.copy())


def replayed(points: list[TaughtPoint]) -> Array:
    """Where the tool was when it left each way-point, from where it hung after half a second, [m]."""
    rig = replay_rig(points, Options(settings=[("rig.rate", RATE), ("law.speed", 0.03)]))
    law: Any = rig.session.bridges[0].laws[0]
    real: list[Array] = []
    rig.session.worlds.append(Looker(rig.world.ports["follower"].tool, real))
    left: list[int] = []

    def look() -> None:
        left.extend([len(real) - 1] * (law.reached - len(left)))

    rig.session.run(rig.scenario.seconds, look, 0.01)
    rig.close()
    return np.array([real[at] - real[round(0.2 * RATE)] for at in left])


def _halved(write: Any) -> Any:
    def written(path: Path, points: list[TaughtPoint]) -> None:
        write(path, [TaughtPoint(p.chain, (0.5 * p.position[0], *p.position[1:])) for p in points])

    return written


def _misremembered(whole: Any) -> Any:
    """Recordings that claim another seed than the run had."""

    def said(rig: Rig, arguments: list[str] | None = None) -> Any:
        rig.options.seed += 1
        return whole(rig, arguments)

    return said


def _late(self: ContactForce, s: Array) -> Array:
    return np.maximum(0.0, -1000.0 * (np.asarray(s) + 0.01))


MUTATIONS = [
    Mutation(
        "late-surface", "the board pushes only a centimetre behind its surface", ("H-32",)
    ).patch(ContactForce, "magnitude", _late),
    Mutation("other-seed", "a recording names another seed than its run had", ("H-38",)).change(
        rerunning, "about", _misremembered
    ),
    Mutation("dead-button", "the pen's button marks nothing", ("H-40",)).patch(
        button.TeachingButton, "advance", lambda self, to_ns: self._commands.post("release")
    ),
    Mutation(
        "halved-way-points", "way-points are written at half their distance along x", ("H-41",)
    ).change(waypoints, "write_points", _halved),
]
