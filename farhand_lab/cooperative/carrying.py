"""A beam carried by one leader and three followers that share no data: F-51, F-52 and the tasks B-01 to B-04."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from farhand.analysis.team import TeamMetrics
from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.feasibility import Feasibility
from farhand.errors import FarhandError
from farhand.plants.simulated.drive import DrivePlant
from farhand.report.page import Animation
from farhand.report.team_film import filmed
from farhand.rigs import Options, build_rig
from farhand.rigs.cooperative.jobs import FollowerCarry
from farhand.rigs.cooperative.scenarios import orders
from farhand_lab.cooperative.machines import trial, trips
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed, patched
from farhand_lab.trial import Run

if TYPE_CHECKING:
    import matplotlib.figure

Array = np.ndarray


WEIGHT, PER_ARM = 20.0 * 9.804, 5.0
ARMS = ("leader", "follower_1", "follower_2", "follower_3")


def metrics(found: Run) -> TeamMetrics:
    """Of a team."""
    assert isinstance(found.rig.metrics, TeamMetrics)
    return found.rig.metrics


def moving(found: Run) -> Animation:
    """The run as a film."""
    return Animation(filmed(metrics(found), found.rig.construction.size))  # type: ignore[attr-defined]


def squeeze(found: Run) -> tuple[Array, Array]:
    """Times [s], and the largest internal force at a grip while the beam is in the air, [N]; NaN elsewhere."""
    times = found.times("team")
    inner = found.signal("team", "internal_wrench_in_world").reshape(len(times), -1, 6)[:, :, :3]
    size = np.linalg.norm(inner, axis=2).max(axis=1)
    height = np.interp(times, found.times("object"), found.signal("object", "q")[:, 2])
    return times, np.where(height - height[0] > 0.02, size, np.nan)


def decay(found: Run) -> tuple[float, float]:
    """Largest squeeze while carried, and the largest share of a leg's peak that is left at its end, [N] and [-]."""
    times, size = squeeze(found)
    go = 6.5
    legs = [(go + a, go + b) for a, b in ((4.0, 7.5), (7.5, 11.0), (11.0, 14.5), (14.5, 18.0))]
    shares = []
    for start, end in legs:
        part = size[(times >= start) & (times < end)]
        rest = size[(times >= end - 0.75) & (times < end)]
        # not a number where the beam is not in the air
        shares.append(float(rest.mean() / part.max()))
    return float(np.nanmax(np.append(size, 0.0))), float(np.max(shares))


@experiment("B-01")
def beam() -> Finding:
    """Shares in steady carry, squeeze at rest after a leg against the leg's peak.

    Steady carry, fixed before the run: every arm is at its full load, the beam is more than 10 mm
    above its table and gains or loses less than 10 mm of height in the second before and in the
    second after. Every record of it judges (50 per second); means of 1 s are told beside it.
    """
    found = trial("carry")
    means, single = metrics(found).shares(), metrics(found).momentary()
    tilt = np.degrees(found.value("tilt_max"))
    # never carried
    means, single = (part if len(part) else np.zeros((1, len(ARMS))) for part in (means, single))
    worst, mean = (100.0 * float(np.abs(part - 1.0).max()) for part in (single, means))
    most, left = decay(found)
    way = found.signal("object", "q")[:, :3]
    down, along = (
        float(way[-1, 2] - way[0, 2]),
        float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum()),
    )
    up = float(way[:, 2].max() - way[0, 2])
    carried = up > 0.1 and abs(down) < 2e-3 and along > 0.8
    ok = (
        worst <= 20.0
        and tilt <= 10.0
        and not trips(found)
        and most < 150.0
        and left < 0.6
        and carried
    )
    arms = ", ".join(
        f"{arm} {100.0 * share:.0f} %" for arm, share in zip(ARMS, single.mean(axis=0), strict=True)
    )
    note = (
        f"mean shares {arms}; means of 1 s {mean:.1f} % off at most; tilt {tilt:.2f}°; squeeze at most {most:.0f} N, "
        f"at rest after a leg {100 * left:.0f} % of the leg's peak or less; lifted {up:.3f} m, path {along:.2f} m, set "
        f"down to {1e3 * down:.1f} mm; {trips(found) or 'no trip'}"
    )
    pictures = (
        Figure(
            "The beam and its four arms, twice as fast as they were", lambda: moving(trial("carry"))
        ),
        Figure("What every arm lifts with", draw_loads),
    )
    return Finding(worst, ok, note, figures=pictures)


@experiment("B-02")
def killed() -> Finding:
    """At 13 s, at full speed of the first leg; the drives of the dead arm close their brakes after 20 ms of silence."""
    found = trial("kill", seconds=17.0)
    times = found.times("object")
    speed = np.linalg.norm(found.signal("object", "twist_tool_in_world")[:, :3], axis=1)
    height = found.signal("object", "q")[:, 2]
    stopped = float(speed[times > 15.0].max())
    sunk = 1e3 * float(height[np.searchsorted(times, 13.0)] - height[times > 13.0].min())
    after = found.times("team") > 13.0
    wrist = found.signal("team", "wrench_of_arms_on_object_in_world").reshape(len(after), -1, 6)[
        after
    ]
    force, moment = (
        float(np.linalg.norm(wrist[:, :, part], axis=2).max()) for part in (slice(3), slice(3, 6))
    )
    torque = max(found.value(f"torque_share_max_{arm}") for arm in ARMS)
    reasons = trips(found)
    told = any("no command" in reason for reason in reasons)
    ok = (
        told
        and stopped < 0.005
        and sunk < 50.0
        and force < 660.0
        and moment < 60.0
        and torque < 1.0
    )
    note = (
        f"at most {force:.0f} N of 660 N and {moment:.0f} N·m of 60 N·m at a wrist, {100 * torque:.0f} % of a torque "
        f"limit; at rest after 2 s ({1e3 * stopped:.2f} mm/s), {sunk:.1f} mm lower; {'; '.join(reasons)}"
    )
    picture = Figure("Follower 2 dies at 13 s", lambda: moving(trial("kill", seconds=17.0)))
    return Finding(force, ok, note, figures=(picture,))


@experiment("B-03")
def switched() -> Finding:
    """Force gain, force mode, force filter, position gain and velocity filter, one at a time, while the beam moves."""
    found = trial("switch", seconds=16.0)
    steps = {}
    for at, arm in (
        (11.0, "follower_1"),
        (12.0, "follower_2"),
        (13.0, "follower_3"),
        (14.0, "leader"),
        (15.0, "leader"),
    ):
        times, torque = found.times(arm), found.signal(arm, "torque_commanded")
        share = torque / found.rig.world.placed[arm].robot.limits.torque
        row = int(np.searchsorted(times, at - 1e-6))
        steps[f"{arm} at {at:g} s"] = 100.0 * float(
            np.abs(np.diff(share[row - 1 : row + 3], axis=0)).max()
        )
    worst = max(steps.values())
    refused = [c.outcome for c in found.rig.session.commands.log if c.outcome.startswith("refused")]
    words = ", ".join(f"{name} {step:.2f} %" for name, step in steps.items())
    return Finding(
        worst,
        worst <= 5.0 and not trips(found) and not refused,
        f"{words}; {trips(found) or 'no trip'}",
    )


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
"""What is asked for, and words that the refusal must hold."""


@experiment("B-04")
def refused() -> Finding:
    """100 kg between four arms of 20 kg payload; a lift of 1.5 m; one of 1 m, on whose way the wrist is straight."""
    said = {name: refusal(*setting) for name, (setting, _) in REFUSED.items()}
    right = [all(word in said[name] for word in words) for name, (_, words) in REFUSED.items()]
    return Finding(
        sum(right), all(right), "; ".join(f"{name}: {text}" for name, text in said.items())
    )


def refusal(path: str, value: object) -> str:
    """Why the rig is not even built."""
    try:
        build_rig("cooperative", Options(scenario="carry", settings=[(path, value)])).close()
    except FarhandError as error:
        return str(error)
    return "not refused"


@shared
def lifted(followers: int) -> Run:
    """So many followers and a leader lift the beam and hold it."""
    early = (*orders(0.2, "grasp", followers), *orders(0.8, "lift", followers, leader=False))
    commands = (*early, "3.4:set leader.job.orders.order=go")
    settings: list[tuple[str, object]] = [
        ("rig.followers", followers),
        ("rig.mass", PER_ARM * (followers + 1)),
    ]
    rig = build_rig("cooperative", Options(scenario="carry", settings=settings))
    rig.session.commands.clear()
    for command in commands:
        rig.session.commands.post_text(command)
    rig.session.run(8.6, rig.metrics.pull)
    found = Run(rig, rig.metrics.result())
    rig.close()
    return found


@experiment("F-51")
def any_number() -> Finding:
    """5 kg for every arm, lifted by 0.15 m by a leader and N followers; sum of all lifts for 1 s, and how they swing.

    10 kg on one arm are refused: joint 5 would need 32 N·m of its 29 N·m.
    """
    off, swings, stopped, words = [], [], [], []
    for followers in (1, 2, 3, 4):
        found = trial("carry") if followers == 3 else lifted(followers)
        times = found.times("team")
        window = (times > times[-1] - 1.0) if followers != 3 else (times > 10.6) & (times < 11.6)
        lift = found.signal("team", "wrench_of_arms_on_object_in_world").reshape(len(times), -1, 6)[
            window
        ][:, :, 2]
        weight = PER_ARM * (followers + 1) * 9.804
        off.append(100.0 * abs(float(lift.sum(axis=1).mean()) / weight - 1.0))
        swings.append(float(np.ptp(lift, axis=0).max()))
        stopped += [reason for reason in trips(found)]
        words.append(f"N = {followers}: {off[-1]:.2f} %, swing {swings[-1]:.0f} N")
    ok = max(off) < 2.0 and max(swings) < 49.0 and not stopped
    return Finding(max(off), ok, f"{'; '.join(words)}; trips: {stopped or 'none'}")


COLUMNS = {
    "position_tool_in_world",
    "twist_tool_in_world",
    "wrench_raw_in_sensor",
    "wrench_measured_in_world",
    "torque_commanded",
    "q",
    "v",
}
"""What every run must export of every arm."""


@experiment("F-52")
def columns() -> Finding:
    """All scenarios of the rig, built and not run."""
    sets, missing = set(), set()
    for scenario in ("carry", "pair", "weigh", "centre", "lift", "guide"):
        rig = build_rig("cooperative", Options(scenario=scenario))
        streams = rig.metrics.history.reader.header["streams"]
        for station in rig.session.stations:
            names = frozenset(channel["name"] for channel in streams[station.name]["channels"])
            sets.add(names)
            missing |= COLUMNS - names
        rig.close()
    return Finding(
        len(sets), len(sets) == 1 and not missing, f"missing: {sorted(missing) or 'none'}"
    )


def draw_loads() -> matplotlib.figure.Figure:
    """The lift of every arm over time."""
    from matplotlib.figure import Figure as Canvas

    found = trial("carry")
    figure = Canvas(figsize=(8.0, 5.0))
    upper, lower = figure.subplots(2, 1, sharex=True)
    times = found.times("team")
    lift = found.signal("team", "wrench_of_arms_on_object_in_world").reshape(len(times), -1, 6)[
        :, :, 2
    ]
    for number, arm in enumerate(ARMS):
        upper.plot(times, lift[:, number], linewidth=1.0, label=arm)
    upper.axhspan(0.8 * WEIGHT / 4, 1.2 * WEIGHT / 4, color="#e8eef5")
    upper.set_ylabel("lift [N]")
    upper.legend(ncols=4, fontsize=8)
    lower.plot(*squeeze(found), color="#c05a12", linewidth=1.0)
    lower.set_ylabel("squeeze in the air [N]")
    lower.set_xlabel("time [s]")
    return figure


MUTATIONS = [
    Mutation(
        "no-load-taken-up",
        "followers never take up their share",
        ("B-01",),
        lambda: patched(FollowerCarry, "_ramp", lambda self, goal: self._bleed()),
    ),
    Mutation(
        "drives-without-watchdog",
        "the drives of a dead controller keep on doing what they were told last",
        ("B-02",),
        lambda: changed(DrivePlant, "write", lambda old: _faithful(old)),
    ),
    Mutation(
        "switch-without-fade",
        "changes of gains take effect at once",
        ("B-03",),
        lambda: patched(TaskController, "_begin_fade", lambda self, torque: None),
    ),
    Mutation(
        "nobody-checks",
        "trajectories and loads are not looked at before motion",
        ("B-04",),
        lambda: patched(Feasibility, "check", lambda self, trajectory, start=None: None),
    ),
    Mutation(
        "weight-seen-wrong-way",
        "followers expect their share with the wrong sign",
        ("B-01",),
        lambda: changed(DirectForce, "effort", lambda old: _upside_down(old)),
    ),
]
"""Parts broken on purpose."""


def _faithful(old: object) -> object:
    def write(self: DrivePlant, command: object, now_ns: int) -> None:
        if not self.lifeline.dead:
            old(self, command, now_ns)  # type: ignore[operator]

    return write


def _upside_down(old: object) -> object:
    def effort(self: DirectForce, asked: object) -> Array:
        self.offset[2] = abs(self.offset[2])
        return old(self, asked)  # type: ignore[operator]

    return effort
