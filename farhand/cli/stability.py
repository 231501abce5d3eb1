"""``farhand stability``: how stiff a wall and how long a delay a rig tolerates, predicted."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from farhand.cli.options import (
    Delay,
    FollowerRobot,
    JsonPath,
    Law,
    LeaderRobot,
    ReportFolder,
    Resume,
    Settings,
    Space,
    pair_settings,
)
from farhand.errors import BadValue
from farhand.report.output import (
    Bar,
    check_files,
    counting,
    say,
    show_values,
    stdout,
    within,
    write_json,
)
from farhand.running import fill_cache
from farhand.running.arguments import parse_settings

if TYPE_CHECKING:
    from farhand.analysis.stability.limits import StabilityLimits
    from farhand.analysis.stability.operating_point import Point
    from farhand.running.resume import FinishedPieces
    from farhand.running.stability_trial import StabilityTrial

OPENARM = "openarm"
"""What is asked about, beside rigs: two of these arms with their motors."""

RigName = Annotated[
    str | None,
    Argument(metavar="[RIG]", help="Such as dual-arm, or openarm; not needed with --grid."),
]
Rate = Annotated[
    float | None, Option(metavar="HZ", help="Rate of the ticks; default: the rig's own.")
]
Hand = Annotated[
    str,
    Option(
        metavar="NAME", help="none, soft, relaxed, firm, K,B,M in N/m, N·s/m, kg, or the rig's own."
    ),
]
WallOption = Annotated[
    str | None,
    Option("--wall", metavar="K,B", help="Wall in N/m and N·s/m; default: the rig's own."),
]
Quantum = Annotated[
    float | None,
    Option(metavar="RAD", help="Encoder step of every joint, in rad (m if it slides)."),
]
Friction = Annotated[float | None, Option(metavar="N", help="Dry friction at both tools, in N.")]
Simulate = Annotated[
    bool, Option("--simulate", help="Try the rig on a map of stiffness and delay.")
]
Grid = Annotated[
    bool, Option("--grid", help="Check the prediction by simulation on the whole grid.")
]
DriveGrid = Annotated[
    bool, Option("--drives", help="With --grid: the grid of motors that close their own loops.")
]
Done = Annotated[
    Path | None,
    Option("--done", metavar="F.jsonl", help="Keep finished cells here, and continue them."),
]
Workers = Annotated[
    int | None, Option(metavar="N", min=1, help="Processes; default: one per core.")
]
Ray = Annotated[
    str | None, Option(metavar="ADDRESS", help="Simulate on a Ray cluster: auto, local or ray://….")
]


@dataclass(frozen=True)
class _Sweep:
    """Where and how simulations run: file of finished ones, processes, Ray cluster, results."""

    done: Path | None
    workers: int | None
    ray: str | None
    resume: bool
    json: Path | None
    report: Path | None

    def kept(self, work: dict[str, Any]) -> AbstractContextManager[FinishedPieces]:
        """What Ctrl-C leaves of these simulations, unless ``done`` keeps them all the time."""
        from farhand.running.resume import FinishedPieces, resumable

        if self.done is not None:
            return nullcontext(FinishedPieces())
        return resumable("stability", work, self.resume, self.json, self.report)


def stability(
    rig: RigName = None,
    law: Law = None,
    rate: Rate = None,
    delay: Delay = 0.0,
    hand: Hand = "rig",
    wall: WallOption = None,
    quantum: Quantum = None,
    friction: Friction = None,
    leader: LeaderRobot = None,
    follower: FollowerRobot = None,
    space: Space = None,
    settings: Settings = None,
    simulate: Simulate = False,
    grid: Grid = False,
    drives: DriveGrid = False,
    done: Done = None,
    workers: Workers = None,
    ray: Ray = None,
    report: ReportFolder = None,
    json: JsonPath = None,
    resume: Resume = False,
) -> None:
    """Predict up to which wall and which delay a rig stays calm, for a named hand.

    The law's own code is linearised where the rig stands. The eigenvalues of the sampled loop with
    all joints, hand, wall and link give the limit. With --simulate the rig itself is tried on a map
    of stiffness and delay. Ctrl-C keeps the finished runs, and --resume continues with the same
    options and code.

    Example: [bold]farhand stability dual-arm --law position-force --delay 100 --hand soft --report
    out[/bold]
    """
    check_files(json, done, report=report)
    fill_cache.at_once()
    sweep = _Sweep(done, workers, ray, resume, json, report)
    if resume and (done is not None or not (simulate or grid)):
        raise BadValue("--resume continues --simulate and --grid; --done continues by itself")
    if grid:
        return _grid(report, json, sweep, drives)
    if drives:
        raise BadValue("--drives chooses a grid: use it with --grid")
    if rig is None:
        raise BadValue("name a rig, such as dual-arm, or use --grid")
    if rig == OPENARM:
        return _openarm(law, rate, settings or [], json)
    within("--delay", delay, 0.0, 1000.0, "ms")
    friction = None if friction is None else within("--friction", friction, 0.0, 1e3, "N")
    chosen = [*(settings or []), *([] if rate is None else [f"rig.rate={rate}"])]
    if quantum is not None:
        within("--quantum", quantum, 0.0, 0.1, "rad")
        chosen += [f"{side}.plant.encoder_step={quantum}" for side in ("leader", "follower")]
    changed = [*pair_settings(rig, leader, follower, space), *parse_settings(chosen)]
    touched = _wall(wall)
    with Bar(f"predicting {rig}"):
        from farhand.analysis.stability.limits import find_limits

        point = _point(rig, law, delay, changed, hand, touched, friction)
        limits = find_limits(point)
    trials = _try(_trials(rig, law, tuple(changed), point, limits), sweep) if simulate else []
    result = _result(rig, law, point, limits, trials)
    write_json(json, result)
    _show(result)
    if report is not None:
        from farhand.report.stability import write_map

        say(f"report: {write_map(result, point, report)}")
    return None


def _openarm(law: str | None, rate: float | None, settings: list[str], json: Path | None) -> None:
    """Say whether a pair of OpenArms shakes with its makers' program, why, and what calms it."""
    from dataclasses import asdict

    from farhand.analysis.stability.motors import MotorPair, judge_motors, least_friction
    from farhand.parameters import assign_all

    if law not in (None, OPENARM):
        raise BadValue(
            f"{OPENARM} is for its makers' law; for {law!r} use farhand stability pair "
            "--leader openarm --follower openarm --law …"
        )
    pair = MotorPair()
    chosen = [*settings, *([] if rate is None else [f"motors.rate={rate}"])]
    assign_all({"motors": pair}, parse_settings(chosen))
    found, least = judge_motors(pair), least_friction(pair)
    write_json(json, {"rig": OPENARM, **asdict(pair), **asdict(found), "least_friction": least})
    share = f"calm if the arms have ≥ {100 * least:.0f} % of what the makers found"
    bump = f"after a bump of {pair.speed:g} rad/s in its joints"
    if pair.led > 0.0:
        bump = f"while a hand leads it at {pair.led:g} rad/s"
    rows = [
        ("as it stands", f"{found.words} {bump}"),
        ("friction", share if math.isfinite(least) else "not calm, however large it is"),
    ]
    if found.causes:
        rows.append(("why", f"calm without {', or without '.join(found.causes)}"))
    if not found.calm:
        tried = "no single change of share, stiffness, damping or rate"
        rows.append(("calm with", "; or ".join(found.changes) or tried))
    show_values(f"two OpenArms at {pair.rate:g} Hz · their makers' law in their motors", rows)


def _wall(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        stiffness, damping = (float(part) for part in text.split(","))
    except ValueError:
        form = "K,B in N/m and N·s/m, such as 3000,20"
        raise BadValue(f"--wall {text!r} is not of the form {form}") from None
    within("--wall stiffness", stiffness, 0.0, 1e6, "N/m")
    within("--wall damping", damping, 0.0, 1e4, "N·s/m")
    return stiffness, damping


def _point(
    rig: str,
    law: str | None,
    delay: float,
    settings: list[tuple[str, object]],
    hand: str,
    wall: tuple[float, float] | None,
    friction: float | None,
) -> Point:
    from farhand.analysis.stability.loop import Contact
    from farhand.analysis.stability.operating_point import operating_point
    from farhand.rigs import Options, build_rig

    built = build_rig(rig, Options(law, settings=settings, delay=delay))
    try:
        contact = None if wall is None else Contact(*wall)
        return operating_point(
            built.session, built.world, built.parts, hand, contact, friction=friction
        )
    finally:
        built.close()


def _try(trials: list[StabilityTrial], how: _Sweep) -> list[dict[str, Any]]:
    """The rig itself on a map of stiffness and delay around the predicted limits."""
    from farhand.analysis.stability.sweep import sweep
    from farhand.running.stability_trial import attempt

    work = {"trials": [trial.name for trial in trials]}
    with how.kept(work) as kept, counting(f"trying {trials[0].rig}") as progress:

        def show(count: int, total: int, _: str) -> None:
            progress(count, total, "")

        return sweep(
            attempt,
            trials,
            lambda trial: trial.name,
            how.done,
            how.workers,
            how.ray,
            show,
            kept.rows,
        )


def _trials(
    rig: str,
    law: str | None,
    settings: tuple[tuple[str, object], ...],
    point: Point,
    limits: StabilityLimits,
) -> list[StabilityTrial]:
    import numpy as np

    from farhand.running.stability_trial import StabilityTrial

    whole, hand = point.whole, point.loop.hand
    middle = limits.wall if 0.0 < limits.wall < math.inf else max(whole.wall.stiffness, 1000.0)
    most = 2e3 * whole.delay * whole.period
    farthest = 2.0 * (1e3 * limits.delay if 0.0 < limits.delay < 1.0 else max(most, 50.0))
    delays = sorted({0.0, round(most, 3), *np.round(np.linspace(0.0, farthest, 5), 0).tolist()})
    held = (hand.stiffness, hand.damping)
    return [
        StabilityTrial(
            rig, law, delay, stiffness, whole.wall.damping, held, settings, point.quantum
        )
        for stiffness in np.geomspace(middle / 4.0, middle * 4.0, 5).round(1).tolist()
        for delay in delays
    ]


def _result(
    rig: str, law: str | None, point: Point, limits: StabilityLimits, trials: list[dict[str, Any]]
) -> dict[str, Any]:
    whole, loop = point.whole, point.loop

    def plain(value: float) -> float | None:
        return value if math.isfinite(value) else None

    sides = {
        name: {"mass": side.mass, "damping": side.damping, "friction": side.friction}
        for name, side in (("leader", loop.leader), ("follower", loop.follower))
    }
    return {
        "rig": rig,
        "law": law,
        "rate": 1.0 / whole.period,
        "hand": point.hand,
        "hand_mass": loop.hand.mass,
        "wall": {"stiffness": whole.wall.stiffness, "damping": whole.wall.damping},
        "delay": 2e3 * whole.delay * whole.period,
        "quantum": point.quantum,
        **sides,
        "stable": limits.stable,
        "linear": point.linear,
        "passive_to": plain(limits.passive),
        "stable_to_wall": plain(limits.wall),
        "stable_to_delay": plain(1e3 * limits.delay),
        "frequency": limits.frequency,
        "trials": trials,
    }


def _show(result: dict[str, Any]) -> None:
    from farhand.report.stability import lines

    show_values(f"{result['rig']} · {result['law'] or 'the law of the rig'}", lines(result))
    if result["trials"]:
        shaken = sum(trial["shakes"] for trial in result["trials"])
        light = "; their hand has no mass, unlike the prediction's" if result["hand_mass"] else ""
        line = f"  tried: {len(result['trials'])} runs of the rig, {shaken} shake{light}"
        say(line)


def _grid(report: Path | None, json: Path | None, how: _Sweep, drives: bool) -> None:
    """Predict and simulate every cell of the grid."""
    from farhand.analysis.stability import cells, drive_cells
    from farhand.analysis.stability.sweep import sweep

    chosen: Any = drive_cells if drives else cells
    with how.kept({"grid": True, "drives": drives}) as kept, counting("cells") as progress:
        rows = sweep(
            chosen.judge,
            chosen.grid(),
            lambda cell: cell.name,
            how.done,
            how.workers,
            how.ray,
            progress,
            kept.rows,
        )
    write_json(json, rows)
    console = stdout()
    hits = sum(row["within"] for row in rows)
    console.print(f"{hits} of {len(rows)} cells within 15 % ({100.0 * hits / len(rows):.1f} %)")
    shaken = [row for row in rows if row["simulated"] is not None]
    close = sum(row["within"] for row in shaken)
    share = 100.0 * close / len(shaken)
    console.print(f"{close} of the {len(shaken)} that shake at all ({share:.1f} %)")
    if report is not None:
        from farhand.report.stability import write_grid

        say(f"report: {write_grid(rows, report)}")
