"""A beam carried by a leader and followers without shared data: F-51, F-52, B-01 to B-04, B-06."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.analysis.team import TeamMetrics
from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.feasibility import Feasibility
from farhand.plants.wrappers.wrapped import DrivePlant
from farhand.report.page import Animation
from farhand.report.team_film import film_of
from farhand.rigs import Options, build_rig
from farhand.rigs.cooperative.jobs import FollowerCarry
from farhand.rigs.cooperative.scenarios import orders
from farhand.spatial import Array, rotation_from_quaternion
from farhand.world import Jaws
from farhand_lab.cooperative.machines import grips, tools, trial, trips
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, Mutations
from farhand_lab.trial import Run, refusal, run

WEIGHT, PER_ARM = 20.0 * 9.804, 5.0
"""Weight of the beam [N] and mass per arm [kg]."""
ARMS = ("leader", "follower_1", "follower_2", "follower_3")
CONTACT: tuple[tuple[str, object], ...] = (("rig.grip", "contact"),)
"""Jaws that only touch the beam, by the physics engine's contact."""


def metrics(result: Run) -> TeamMetrics:
    """The metrics of a team."""
    assert isinstance(result.rig.metrics, TeamMetrics)
    return result.rig.metrics


def animation(result: Run) -> Animation:
    """The run as a film."""
    return Animation(film_of(metrics(result), result.rig.construction.size))  # type: ignore[attr-defined]


def squeeze(result: Run) -> tuple[Array, Array]:
    """Times [s] and the largest internal force at a grip [N]; NaN if the beam is not in the air."""
    times = result.times("team")
    inner = grips(result, "internal_wrench_in_world")[:, :, :3]
    size = np.linalg.norm(inner, axis=2).max(axis=1)
    height = np.interp(times, result.times("object"), result.signal("object", "q")[:, 2])
    return times, np.where(height - height[0] > 0.02, size, np.nan)


def decay(result: Run) -> tuple[float, float]:
    """Largest squeeze in the air [N], and the largest share of a leg's peak left at its end [-]."""
    times, size = squeeze(result)
    go = 6.5
    legs = [(go + a, go + b) for a, b in ((4.0, 7.5), (7.5, 11.0), (11.0, 14.5), (14.5, 18.0))]
    shares = []
    for start, end in legs:
        part = size[(times >= start) & (times < end)]
        rest = size[(times >= end - 0.75) & (times < end)]
        # NaN if the beam is not in the air, which fails the criterion
        shares.append(float(rest.mean() / part.max()))
    return float(np.nanmax(np.append(size, 0.0))), float(np.max(shares))


def _or_zeros(shares: Array) -> Array:
    """The shares, or one row of zeros if the beam was never carried steadily."""
    return shares if len(shares) else np.zeros((1, len(ARMS)))


@experiment("B-01")
def beam() -> Finding:
    """Shares in steady carry; squeeze at rest after a leg against the leg's peak.

    Steady carry, fixed before the run: every arm has its full load, the beam is more than 10 mm
    above its table, and its height changes by less than 10 mm in the second before and in the
    second after. Every record (50 per second) is judged; the note adds means of 1 s.
    """
    result = trial("carry")
    means, single = _or_zeros(metrics(result).shares()), _or_zeros(metrics(result).momentary())
    tilt = np.degrees(result.value("tilt_max"))
    worst, mean = (100.0 * float(np.abs(part - 1.0).max()) for part in (single, means))
    most, left = decay(result)
    path = result.signal("object", "q")[:, :3]
    down = float(path[-1, 2] - path[0, 2])
    along = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    up = float(path[:, 2].max() - path[0, 2])
    carried = up > 0.1 and abs(down) < 2e-3 and along > 0.8
    ok = worst <= 20.0 and tilt <= 10.0 and most < 150.0 and left < 0.6
    averages = zip(ARMS, single.mean(axis=0), strict=True)
    note = (
        f"mean shares {', '.join(f'{arm} {100.0 * share:.0f} %' for arm, share in averages)}; "
        f"means of 1 s {mean:.1f} % off at most; tilt {tilt:.2f}°; squeeze at most {most:.0f} N, "
        f"at rest after a leg {100 * left:.0f} % of the leg's peak or less; lifted {up:.3f} m, "
        f"path {along:.2f} m, set down to {1e3 * down:.1f} mm; {trips(result) or 'no trip'}"
    )
    film = Figure("The beam and its four arms at double speed", lambda: animation(trial("carry")))
    figures = (film, Figure("Lift of every arm", draw_loads))
    return Finding(worst, ok and carried and not trips(result), note, figures=figures)


@experiment("B-02")
def killed() -> Finding:
    """Follower 2 dies at 13 s, at full speed; its drives brake after 20 ms of silence."""
    result = trial("kill", seconds=17.0)
    times = result.times("object")
    speed = np.linalg.norm(result.signal("object", "twist_tool_in_world")[:, :3], axis=1)
    height = result.signal("object", "q")[:, 2]
    stopped = float(speed[times > 15.0].max())
    sunk = 1e3 * float(height[np.searchsorted(times, 13.0)] - height[times > 13.0].min())
    wrist = grips(result)[result.times("team") > 13.0]
    force, moment = (
        float(np.linalg.norm(wrist[:, :, part], axis=2).max()) for part in (slice(3), slice(3, 6))
    )
    torque = max(result.value(f"torque_share_max_{arm}") for arm in ARMS)
    reasons = trips(result)
    ok = any("no command" in reason for reason in reasons) and stopped < 0.005 and sunk < 50.0
    ok = ok and force < 660.0 and moment < 60.0 and torque < 1.0
    note = (
        f"at most {force:.0f} N of 660 N and {moment:.0f} N·m of 60 N·m at a wrist, "
        f"{100 * torque:.0f} % of a torque limit; at rest after 2 s ({1e3 * stopped:.2f} mm/s), "
        f"{sunk:.1f} mm lower; {'; '.join(reasons)}"
    )
    film = Figure("Follower 2 dies at 13 s", lambda: animation(trial("kill", seconds=17.0)))
    return Finding(force, ok, note, figures=(film,))


@experiment("B-03")
def switched() -> Finding:
    """Gains, force mode and filters of four arms change one by one while the beam moves."""
    result = trial("switch", seconds=16.0)
    steps = {}
    arms = ("follower_1", "follower_2", "follower_3", "leader", "leader")
    for at, arm in zip((11.0, 12.0, 13.0, 14.0, 15.0), arms, strict=True):
        limit = result.rig.world.placed[arm].robot.limits.torque
        share = result.signal(arm, "torque_commanded") / limit
        row = int(np.searchsorted(result.times(arm), at - 1e-6))
        step = np.abs(np.diff(share[row - 1 : row + 3], axis=0)).max()
        steps[f"{arm} at {at:g} s"] = 100.0 * float(step)
    worst = max(steps.values())
    log = result.rig.session.commands.log
    refusals = [item.outcome for item in log if not item.outcome.done]
    words = ", ".join(f"{name} {step:.2f} %" for name, step in steps.items())
    ok = worst <= 5.0 and not trips(result) and not refusals
    return Finding(worst, ok, f"{words}; {trips(result) or 'no trip'}")


REFUSED = {
    "load beyond payload": (
        ("rig.mass", 100.0),
        ("leader", "joint 5", "limit 29 N·m", "[0, 20] kg", "at (-0.800"),
    ),
    "unreachable via-point": (
        ("rig.travel", "0.2,0.1,1.5"),
        ("way-point 2", "joint 3", "limit at most", "at (-0.800"),
    ),
    "singular path": (
        ("rig.travel", "0.2,0.1,1.0"),
        ("joint 4", "singular", "limit 0.02", "between way-points 1 and 2"),
    ),
}
"""A setting, and the words that its refusal must contain."""


@experiment("B-04")
def refused() -> Finding:
    """100 kg for four arms of 20 kg payload; a lift of 1.5 m; one of 1 m through a singularity."""

    def build(path: str, value: object) -> None:
        build_rig("cooperative", Options(scenario="carry", settings=[(path, value)])).close()

    messages = {name: refusal(build, *setting) for name, (setting, _) in REFUSED.items()}
    right = [all(word in messages[name] for word in words) for name, (_, words) in REFUSED.items()]
    note = "; ".join(f"{name}: {text or 'not refused'}" for name, text in messages.items())
    return Finding(sum(right), all(right), note)


@shared
def lifted(followers: int) -> Run:
    """A leader and a number of followers lift the beam and hold it."""
    mass = PER_ARM * (followers + 1)
    options = Options(scenario="carry", settings=[("rig.followers", followers), ("rig.mass", mass)])
    rig = build_rig("cooperative", options)
    rig.session.commands.clear()
    early = (*orders(0.2, "grasp", followers), *orders(0.8, "lift", followers, leader=False))
    return run(rig, 8.6, *early, "3.4:set leader.job.orders.order=go")


@experiment("F-51")
def any_number() -> Finding:
    """5 kg per arm, lifted by 0.15 m; the sum of all lifts for 1 s, and their range.

    10 kg on one arm are refused: joint 5 would need 32 N·m of its 29 N·m.
    """
    off, swings, stopped, words = [], [], [], []
    for followers in (1, 2, 3, 4):
        result = trial("carry") if followers == 3 else lifted(followers)
        times = result.times("team")
        window = (times > times[-1] - 1.0) if followers != 3 else (times > 10.6) & (times < 11.6)
        lift = grips(result)[window][:, :, 2]
        weight = PER_ARM * (followers + 1) * 9.804
        off.append(100.0 * abs(float(lift.sum(axis=1).mean()) / weight - 1.0))
        swings.append(float(np.ptp(lift, axis=0).max()))
        stopped += trips(result)
        words.append(f"N = {followers}: {off[-1]:.2f} %, swing {swings[-1]:.0f} N")
    ok = max(off) < 2.0 and max(swings) < 49.0 and not stopped
    return Finding(max(off), ok, f"{'; '.join(words)}; trips: {stopped or 'none'}")


COLUMNS = frozenset(
    "position_tool_in_world twist_tool_in_world wrench_raw_in_sensor wrench_measured_in_world "
    "torque_commanded q v".split()
)
"""What every run must export of every arm."""


@experiment("F-52")
def columns() -> Finding:
    """All scenarios of the rig, built and not run."""
    sets: set[frozenset[str]] = set()
    missing: set[str] = set()
    for scenario in ("carry", "pair", "weigh", "centre", "lift", "guide"):
        rig = build_rig("cooperative", Options(scenario=scenario))
        streams = rig.metrics.history.reader.header["streams"]
        for station in rig.session.stations:
            names = frozenset(channel["name"] for channel in streams[station.name]["channels"])
            sets.add(names)
            missing |= COLUMNS - names
        rig.close()
    ok = len(sets) == 1 and not missing
    return Finding(len(sets), ok, f"missing: {sorted(missing) or 'none'}")


def slipped(result: Run, arm: str, start: float, end: float) -> float:
    """How far a tool slid along the beam between two times [s], [mm]."""
    times, position, _ = tools(result, arm)
    places = []
    for time in (start, end):
        x = result.signal("object", "q")[np.searchsorted(result.times("object"), time)]
        R = rotation_from_quaternion(np.array([*x[4:], x[3]]))
        places.append(R.T @ (position[np.searchsorted(times, time)] - x[:3]))
    return 1e3 * float(np.linalg.norm(places[1] - places[0]))


@experiment("B-06")
def in_contact() -> Finding:
    """Means of 1 s are judged; single records stick and slip with the pads and are only noted."""
    result = trial("carry", *CONTACT)
    shares = _or_zeros(metrics(result).shares())
    single = np.abs(metrics(result).momentary() - 1.0)
    worst, tilt = 100.0 * float(np.abs(shares - 1.0).max()), np.degrees(result.value("tilt_max"))
    slip = max(slipped(result, arm, 3.0, 32.5) for arm in ARMS)
    height = result.signal("object", "q")[:, 2] - result.signal("object", "q")[0, 2]
    carried = float(height.max()) > 0.1 and abs(float(height[-1])) < 2e-3
    ok = worst <= 20.0 and tilt <= 10.0 and slip <= 10.0 and carried and not trips(result)
    most, left = decay(result)
    note = (
        f"single records {100.0 * single.max(initial=0.0):.0f} % off at most; tilt {tilt:.2f}°; "
        f"squeeze at most {most:.0f} N, at rest after a leg {100 * left:.0f} % of its peak or "
        f"less; pads slid {slip:.1f} mm; {trips(result) or 'no trip'}"
    )
    return Finding(worst, ok, note)


def draw_loads() -> Any:
    """The lift of every arm over time."""
    from matplotlib.figure import Figure as Canvas

    result = trial("carry")
    figure = Canvas(figsize=(8.0, 5.0))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for arm, lift in zip(ARMS, grips(result)[:, :, 2].T, strict=True):
        upper.plot(result.times("team"), lift, linewidth=1.0, label=arm)
    upper.axhspan(0.8 * WEIGHT / 4, 1.2 * WEIGHT / 4, color="#e8eef5")
    upper.set_ylabel("lift [N]")
    upper.legend(ncols=4, fontsize=8)
    lower.plot(*squeeze(result), color="#c05a12", linewidth=1.0)
    lower.set(xlabel="time [s]", ylabel="squeeze in the air [N]")
    return figure


MUTATIONS = Mutations(
    [
        Mutation("inertia-not-weighted", "the weighted inverse is the plain one", ("B-06",)).change(
            DirectForce, "_SELECT", lambda old: {**old, "least-energy": DirectForce._by_least_norm}
        )
    ]
)


@MUTATIONS.of(FollowerCarry, "_ramp", "B-01")
def no_load_taken_up(ramp, self: FollowerCarry, goal: float) -> None:
    """Followers never take up their share."""
    return self._bleed()


@MUTATIONS.of(DrivePlant, "write", "B-02")
def drives_without_watchdog(write, self: DrivePlant, command: Any, now_ns: int) -> None:
    """The drives of a dead controller go on with its last command."""
    if not self.lifeline.dead:
        write(self, command, now_ns)


@MUTATIONS.of(TaskController, "_begin_fade", "B-03")
def switch_without_fade(begin_fade, self: TaskController, torque: Array) -> None:
    """Changes of gains take effect at once."""


@MUTATIONS.of(Feasibility, "check", "B-04")
def no_check_before_motion(check, self: Feasibility, trajectory: Any, start: Any = None) -> None:
    """Trajectories and loads are not checked before motion."""


@MUTATIONS.of(DirectForce, "effort", "B-01")
def weight_with_wrong_sign(effort, self: DirectForce, request: Any) -> Array:
    """Followers expect their share with the wrong sign."""
    self.offset[2] = abs(self.offset[2])
    return effort(self, request)


@MUTATIONS.of(Jaws, "join", "B-06")
def slippery_pads(join, self: Jaws, *where: Any) -> None:
    """The pads have almost no friction."""
    self.friction = 0.01
    join(self, *where)
