"""Teaching and learning from demonstrations: H-32, H-38, H-40, H-41, H-44 and H-44b."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from farhand.control.haptic.haptic_objects import ContactForce, HalfSpace
from farhand.control.haptic.synthetic import SyntheticController
from farhand.learning import Skill, demonstrations_in, learn, waypoints
from farhand.learning import skill as skill_module
from farhand.learning.alignment import Aligned
from farhand.learning.demonstration import Demonstration, TeachingButton
from farhand.learning.performance import Performance
from farhand.learning.waypoints import TaughtPoint
from farhand.loop.telemetry import Reader
from farhand.plants.simulated.haptic import HapticPlant
from farhand.recording.loader import Recording, load
from farhand.recording.recorder import Recorder, record_from
from farhand.recording.scan import scan
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.humanoid import PLACES
from farhand.rigs.humanoid.parts import SHOULDER
from farhand.running import rerun as rerunning
from farhand.running.performing import PerformanceOutcome, outcome_of, perform_rig, replay_rig
from farhand.world import ImpedanceHand
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

RATE = 500.0  # the published haptic rate, [Hz]; half the work of the aim
HAPTIC_RATE = ("rig.rate", RATE)
# how the plane has moved that is wiped
SHIFT = 0.020  # [m]
TILT = np.radians(5.0)

SECONDS = 8.0
MEASURED_FROM = 3.0  # [s]
OPERATORS = 6
# all below is assumed
BOARD_AHEAD = 0.02  # from where the arm begins, [m]
APPROACH = 0.02  # of an operator who feels nothing, [m/s]
BOARD_GUESS = 0.006  # error of an operator without depth cue about the board, [m]
HAND_DRIFT, DRIFT_TIME = 0.003, 2.0  # [m], [s]
FORCE_TARGET = 3.0  # [N]
CORRECTION = 0.01  # how fast the operator corrects the force, [m/(s·N)]
REACTION_S = 0.15


class BoardRun(NamedTuple):
    """An operator at the board, one value per tick."""

    depth: Array  #: of the true wrist behind the board, [m]
    force: Array  #: that the motors of the pen give towards the operator, [N]


def operate(feels: bool, guess: float) -> BoardRun:
    """An operator holds the pen of the rig so that its arm stays on a board without depth cue.

    Args:
        feels: whether the rig pushes back at the board.
        guess: where the operator believes the board to be, in front of it, [m].
    """
    rig = build_rig("humanoid", Options(scenario="rest", settings=[HAPTIC_RATE]))
    hand, tool = rig.parts.hand, rig.world.ports["follower"].tool
    assert isinstance(hand, ImpedanceHand)
    station = rig.session.stations[0]
    assert isinstance(station.controller, SyntheticController)
    assert isinstance(station.plant, HapticPlant)
    synthetic, device = station.controller.synthetic, station.plant
    mapping = rig.session.bridges[0].laws[0].mapping
    scale = float(mapping.motion_scale)
    rng, dt = generator("operators"), 1.0 / RATE
    keep, spread = np.exp(-dt / DRIFT_TIME), np.sqrt(1.0 - np.exp(-2.0 * dt / DRIFT_TIME))
    rig.session.run(0.5)
    start = tool.position.copy()
    if feels:
        # as three touches would find it: in the places that the pen sends
        sent = mapping.position - np.array(PLACES["follower"]) - np.array(SHOULDER)
        corner = sent - [BOARD_AHEAD, 0.0, 0.0]
        aside, above = corner + [0.0, 0.05, 0.0], corner + [0.0, 0.0, 0.05]
        synthetic.board.surface = HalfSpace.through(corner, aside, above, free=sent)
    felt, depths, forces = [0.0] * round(REACTION_S * RATE), list[float](), list[float]()
    aim, drift = BOARD_AHEAD, 0.0

    def lead(now_ns: int) -> None:
        nonlocal aim, drift
        drift = keep * drift + HAND_DRIFT * spread * float(rng.normal())
        # what the motors give, along the device's third axis: they weaken as they warm up
        felt.append(float(device.port.torque[2]))
        forces.append(felt[-1])
        step = CORRECTION * (FORCE_TARGET - felt.pop(0)) if feels else APPROACH
        aim = aim - step * dt if feels else max(aim - step * dt, guess)
        # the first guess is where one looks for the board
        hand.drag = np.array([(aim + drift - BOARD_AHEAD) / scale, 0.0, 0.0])
        hand.refresh()
        depths.append(start[0] - BOARD_AHEAD - tool.position[0])

    rig.session.add(lead)
    rig.session.run(SECONDS)
    rig.close()
    first = round(MEASURED_FROM * RATE)
    return BoardRun(np.array(depths[first:]), np.array(forces[first:]))


@experiment("H-32")
def drawing_task() -> Finding:
    """Operators on the rig, their guesses spread evenly, with the rig's contact force and not."""
    shares = (np.arange(OPERATORS) + 0.5) / OPERATORS
    guesses = [BOARD_GUESS * NormalDist().inv_cdf(float(share)) for share in shares]
    felt, blind = ([operate(feels, guess) for guess in guesses] for feels in (True, False))
    (touching, deep), (grazed, blind_deep) = (_contact(runs) for runs in (felt, blind))
    ratio = touching / grazed
    pushes = np.array([one.force for one in felt])
    note = (
        f"touches {touching:.0%} of the time with force and {grazed:.0%} without, mean depth there "
        f"{1e3 * deep:.1f} and {1e3 * blind_deep:.1f} mm. The operators seek {FORCE_TARGET:g} N: "
        f"the Omni's motors give up to {pushes.max():.2f} N, but {pushes[:, -1].mean():.2f} N in "
        f"the end, because they warm up, and then the board gives way; {OPERATORS} operators"
    )
    return Finding(ratio, ratio >= 2.0 and deep < blind_deep, note)


def _contact(runs: list[BoardRun]) -> tuple[float, float]:
    """Share of the time in which operators touch the board, and mean depth there, [m]."""
    depth = np.array([one.depth for one in runs])
    return float((depth >= 0.0).mean()), float(depth[depth >= 0.0].mean())


class Presser:
    """An operator's finger that presses the pen's first button for 0.1 s at given times [s]."""

    # a session advances it like physics, so that the press comes before the tick
    unstable = ""

    def __init__(self, rig: Rig, *times: float) -> None:
        leader = next(station for station in rig.session.stations if station.name == "leader")
        plant: Any = leader.plant
        self._plant = plant
        self._name = next(iter(plant.buttons))
        self._times = times

    def advance(self, to_ns: int) -> None:
        """Press or let go."""
        self._plant.press(self._name, any(0.0 <= to_ns * 1e-9 - t < 0.1 for t in self._times))


def taught(scenario: str, *presses: float) -> Rig:
    """The humanoid rig with a finger on its button."""
    rig = build_rig("humanoid", Options(scenario=scenario, settings=[HAPTIC_RATE]))
    rig.session.worlds.insert(0, Presser(rig, *presses))
    return rig


def true_positions(rig: Rig) -> list[Array]:
    """True positions of the follower's tool, one more before every tick, [m]."""
    tool, positions = rig.world.ports["follower"].tool, list[Array]()
    rig.session.add(lambda now_ns: positions.append(tool.position.copy()), after="physics")
    return positions


@contextmanager
def temporary_path() -> Iterator[Path]:
    """A path in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "taught"


def run_and_record(rig: Rig, path: Path, seconds: float) -> tuple[Recording, dict[str, Array]]:
    """The recording that was loaded from the file, and the pen's signals during the run."""
    reader = Reader(rig.session.telemetry.path)
    with Recorder(path, reader.header, rerunning.about(rig, [])) as recorder:

        def pump() -> None:
            record_from(reader, recorder)
            rig.metrics.pull()

        rig.session.run(seconds, pump)
    names = ("q", "position_tool_in_world", "force_synthetic_in_world")
    signals = {name: rig.metrics.history.signal("leader", name) for name in names}
    rig.close()
    return load(path), signals


@experiment("H-40")
def demonstration_recording() -> Finding:
    """A minute on the rig with a demonstration between two presses of the pen's button."""
    with temporary_path() as path:
        recording, signals = run_and_record(taught("free", 0.4, 9.0), path, 60.0)
        demonstrations = len(demonstrations_in(recording))
    stream = recording.streams["leader"]
    records = len(stream.times_ns)
    rate = 1e9 / float(np.diff(stream.times_ns).max())
    lost = len([event for event in recording.happened if event.kind == "lost"])
    same = all(np.array_equal(stream.channels[name], values) for name, values in signals.items())
    ok = rate >= 500.0 - 1e-6 and records == 30_000 and not lost and same and demonstrations == 1
    note = (
        f"{records} records, {lost} lost, loaded to the bit: {same}; {demonstrations} demonstration"
    )
    return Finding(rate, ok, note)


@experiment("H-38")
def messages() -> Finding:
    """Topics of a recording, their rates, and a run of the same log again."""
    rig = build_rig("humanoid", Options(scenario="draw", seed=3, settings=[HAPTIC_RATE]))
    with temporary_path() as path:
        recording = load(rerunning.record(rig, path, 2.0))
        topics = {channel.topic for channel in scan(path).channels.values()}
        again = rerunning.rerun(recording)
    stream = recording.streams["leader"]
    poses = {f"/{side}/pose_tool_in_world" for side in ("leader", "follower")}
    expected = poses | {"/tf", "/leader/state", "/events"}
    missing = {"force_synthetic_in_world", "distances_to_limits"} - set(stream.channels)
    rate = len(stream.times_ns) / 2.0
    ok = expected <= topics and not missing and rate == RATE and again.exact
    note = (
        f"{len(topics)} topics at {rate:g} Hz, /tf at 50 Hz; {again.values} numbers of the replay "
        "equal to the bit"
    )
    return Finding(0.0 if again.exact else 1.0, ok, note, unit="largest difference")


@experiment("H-41")
def way_points() -> Finding:
    """Four places taught with the button, written to a file, read back; the true tool is judged."""
    presses = (0.4, 2.3, 2.45, 4.3, 4.45, 6.3, 6.45, 8.4)
    rig = taught("free", *presses)
    real = true_positions(rig)
    with temporary_path() as path:
        recording, _ = run_and_record(rig, path, 9.0)
        points = waypoints.points_of(demonstrations_in(recording))
        waypoints.write_points(path.with_suffix(".txt"), points)
        points = waypoints.read_points(path.with_suffix(".txt"))
    places = np.array([real[round(t * RATE)] - real[round(0.4 * RATE)] for t in presses[1::2]])
    reached = replayed(points)
    same = reached.shape == places.shape
    worst = 1e3 * float(np.abs(reached - places).max()) if same else float("inf")
    note = f"{len(points)} way-points; largest of all axes, against where it really was"
    return Finding(worst, worst <= 1.0, note)


def replayed(points: list[TaughtPoint]) -> Array:
    """Where the tool was when it left each way-point, relative to where it hung first, [m]."""
    rig = replay_rig(points, Options(settings=[HAPTIC_RATE, ("law.speed", 0.03)]))
    law: Any = rig.session.bridges[0].laws[0]
    real = true_positions(rig)
    left: list[int] = []

    def look() -> None:
        left.extend([len(real) - 1] * (law.reached - len(left)))

    rig.session.run(rig.scenario.seconds, look, 0.01)
    rig.close()
    return np.array([real[at] - real[round(0.2 * RATE)] for at in left])


def skill_from(
    rig: str, scenario: str, seeds: range, *settings: tuple[str, object]
) -> tuple[Skill, list[Demonstration]]:
    """Record a scenario once per seed and learn from the files alone."""
    with tempfile.TemporaryDirectory() as folder:
        demonstrations = []
        for seed in seeds:
            built = build_rig(rig, Options(scenario=scenario, seed=seed, settings=list(settings)))
            demonstrations += demonstrations_in(
                load(rerunning.record(built, Path(folder) / f"{seed}.mcap"))
            )
    return learn(scenario, demonstrations), demonstrations


@shared
def drawn() -> tuple[Skill, list[Demonstration]]:
    """From five triangles drawn with the pen."""
    return skill_from("humanoid", "draw", range(1, 6), HAPTIC_RATE)


@shared
def wiped() -> Skill:
    """From six wipes."""
    return skill_from("dual-arm", "wipe", range(1, 7))[0]


def shown(demonstrations: list[Demonstration]) -> tuple[Array, float]:
    """Mean of the demonstrated paths by share of their time, and their rms deviation from it, [m].

    By the recordings alone, so that what was learnt can be judged by it.
    """
    share = np.linspace(0.0, 1.0, 501)
    paths = []
    for one in demonstrations:
        columns = (one.position - one.position[0]).T
        paths.append(
            np.stack([np.interp(share, one.times / one.duration, column) for column in columns], 1)
        )
    mean = np.mean(paths, axis=0)
    return mean, float(np.sqrt(np.mean(np.sum((np.array(paths) - mean) ** 2, axis=2))))


def apart(path: Array, other: Array) -> float:
    """Root mean square distance between two paths, from each to the other, [m]."""
    away = np.linalg.norm(path[:, None] - other[None], axis=2)
    nearest = np.concatenate([away.min(axis=1), away.min(axis=0)])
    return float(np.sqrt(np.mean(nearest**2)))


@experiment("H-44")
def drawing_skill() -> Finding:
    """Five recorded triangles, learnt and performed; the true tool against the demonstrations."""
    skill, demonstrations = drawn()
    rig = perform_rig(skill, Options(seed=11, settings=[HAPTIC_RATE]))
    tool, positions = rig.world.ports["follower"].tool, []
    rig.session.run(rig.scenario.seconds, lambda: positions.append(tool.position.copy()), 0.02)
    rig.close()
    # after half a second the arm hangs in its servos
    path = np.array(positions[25:]) - positions[25]
    mean, spread = shown(demonstrations)
    end = 1e3 * float(np.linalg.norm(path[-1] - mean[-1]))
    error = apart(path, mean)
    note = (
        f"path {1e3 * error:.2f} mm rms from the mean of the demonstrations, demonstrators "
        f"{1e3 * spread:.2f} mm; {len(demonstrations)} recordings, forces {skill.facts.force_kind}"
    )
    return Finding(end, end < 5.0 and error < spread and len(demonstrations) >= 5, note)


@shared
def performed(aware: bool) -> tuple[PerformanceOutcome, Array, Array]:
    """The wipe on the moved plane: how it went, times [s] and force [N]."""
    rig = perform_rig(wiped(), Options(seed=9, settings=[("law.force_aware", aware)]), SHIFT, TILT)
    rig.session.run(rig.scenario.seconds, rig.metrics.pull)
    history = rig.metrics.history
    force = np.linalg.norm(history.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    result = outcome_of(rig), history.times("follower")[::20], force[::20]
    rig.close()
    return result


@experiment("H-44b")
def wiping_skill() -> Finding:
    """Both ways of performing the same skill on the same moved plane."""
    aware, blind = performed(True)[0], performed(False)[0]
    assert aware.contact_kept is not None and aware.force_ratio is not None
    ok = aware.contact_kept >= 0.9 and abs(aware.force_ratio - 1.0) <= 0.2
    ok = ok and wiped().facts.demonstrations == 6
    note = (
        f"force {aware.force_mean:.1f} N of {aware.force_demonstrated:.1f} N demonstrated, rms "
        f"error {aware.force_rms_error:.1f} N; position-only: contact {blind.contact_kept:.0%}, "
        f"{blind.force_mean:.1f} N"
    )
    plot = Figure("Force on a plane that has moved", _wipe_figure)
    return Finding(aware.contact_kept, ok, note, figures=(plot,))


def _wipe_figure() -> Any:
    figure, axes = canvas("time [s]", "force [N]")
    for aware, label in ((True, "force-aware"), (False, "position only")):
        _, times, force = performed(aware)
        axes.plot(times, force, label=label)
    axes.axhline(wiped().facts.force_mean, color="0.6", linestyle="--", label="demonstrated mean")
    axes.legend(fontsize="small")
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(ContactForce, "magnitude", "H-31")
def late_surface(magnitude, self, s):
    """The board pushes only a centimetre behind its surface."""
    return np.maximum(0.0, -1000.0 * (np.asarray(s) + 0.01))


@MUTATIONS.of(rerunning, "about", "H-38")
def other_seed(about, rig, arguments=None):
    """A recording names another seed than its run had."""
    rig.options.seed += 1
    return about(rig, arguments)


@MUTATIONS.of(TeachingButton, "step", "H-40")
def dead_button(step, self, now_ns):
    """The pen's button marks nothing."""
    self._commands.post("release")


@MUTATIONS.of(waypoints, "write_points", "H-41")
def halved_way_points(write, path, points):
    """Way-points are written at half their distance along x."""
    write(path, [TaughtPoint(p.chain, (0.5 * p.position[0], *p.position[1:])) for p in points])


@MUTATIONS.of(Performance, "_at", "H-44")
def cut_short(at, self, phase):
    """A performance ends after seven tenths of its skill."""
    return at(self, 0.7 * phase)


@MUTATIONS.of(skill_module, "align", "H-44")
def squashed(align, *demonstrations):
    """Learning squashes an axis to six tenths."""
    aligned: Aligned = align(*demonstrations)
    aligned.motion[..., 1] = 0.6 * aligned.motion[..., 1] + 0.4 * aligned.motion[:, :1, 1]
    return aligned


@MUTATIONS.of(Performance, "_drift", "H-44b")
def no_search_for_contact(drift, self, row, velocity, force, dt):
    """The performance never looks for contact."""
    return np.zeros(3)
