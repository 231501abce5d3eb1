"""Scripted tasks with a person and one object: F-30, F-41 to F-43, X-16 to X-19."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.rigs import Options, build_rig
from farhand.rigs.cooperative import guiding
from farhand.rigs.cooperative.guiding import Centred, Guided, SharedLoad
from farhand.rigs.cooperative.scenarios import GIVEN
from farhand.safety.machine import Machine
from farhand.spatial import rotation_from_quaternion, zyx_from_rotation
from farhand_lab.cooperative.bench import DEGREE
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed, patched
from farhand_lab.trial import Run, run

Array = np.ndarray


@shared
def trial(scenario: str, *settings: tuple[str, object], seconds: float | None = None) -> Run:
    """One scenario of the rig."""
    return run(
        build_rig("cooperative", Options(scenario=scenario, settings=list(settings))), seconds
    )


@shared
def left_alone(seconds: float) -> Run:
    """SM-1 with a person who lets go of the object and does not come back."""
    rig = build_rig("cooperative", Options(scenario="weigh"))
    rig.session.commands.clear()
    return run(rig, seconds, *GIVEN)


def job(found: Run, number: int = 0) -> Guided:
    """What a follower did."""
    jobs = [getattr(part.run, "__self__", None) for part in found.rig.session.parts]
    return [item for item in jobs if isinstance(item, Guided)][number]


def states(machine: Machine) -> list[str]:
    """The states a machine went through."""
    return [h.target for h in machine.happenings if h.target != h.source or h.cause == "started"]


def tools(found: Run, arm: str = "follower_1") -> tuple[Array, Array, Array]:
    """Times [s], positions [m] and rotations of a tool."""
    rows = np.swapaxes(found.signal(arm, "rotation_tool_in_world").reshape(-1, 3, 3), 1, 2)
    return found.times(arm), found.signal(arm, "position_tool_in_world"), rows


def turned(found: Run, arm: str = "follower_1") -> float:
    """Largest roll, pitch or yaw of a tool from where it began, [°]."""
    R = tools(found, arm)[2][::10]
    return float(max(np.abs(zyx_from_rotation(R[0].T @ row)).max() for row in R)) / DEGREE


def moved(found: Run, start: float, end: float, arm: str = "follower_1") -> float:
    """How far a tool went at most between two times, [mm]."""
    times, position, _ = tools(found, arm)
    part = position[(times >= start) & (times <= end)]
    return 1e3 * float(np.linalg.norm(part - part[0], axis=1).max())


def trips(found: Run) -> list[str]:
    """Why the arms tripped."""
    return [f"{record.where}: {record.trip.reason}" for record in found.rig.session.trips]


@experiment("X-16")
def unknown_object() -> Finding:
    """A person holds the object between the jaws and lets go; weighed for 2 s, guided up and aside, and given back.

    The published script stops supporting the weight when guiding begins: friction holds it. Ours
    goes on at the mean.
    """
    found, alone = trial("weigh"), left_alone(9.5)
    began = next(h.time_ns * 1e-9 for h in job(alone).machine.happenings if h.target == "guide")
    mass, drift, angle = job(found).mass, moved(alone, began, began + 5.0), turned(found)
    late = moved(found, 12.6, 12.95)
    off = 100.0 * abs(mass / 2.122 - 1.0)
    ok = (
        off < 1.0
        and max(drift, late) < 10.0
        and angle < 20.0
        and not trips(found)
        and not trips(alone)
    )
    note = f"{mass:.4f} kg of 2.122 kg; drift {drift:.2f} mm in the 5 s after hand-over; turned {angle:.2f}°"
    return Finding(off, ok, note)


def residual(found: Run, work: Centred) -> tuple[float, float]:
    """What the cell would read at 20 random poses with the object in the jaws after merging, largest, [N] and [N·m]."""
    rng, conditioner, load = np.random.default_rng(1), work.arm.cell.conditioner, work.found
    # of the centre from the tool point in world, as the rig places it
    true = np.array([0.0286, 0.0, -0.0087])
    R0 = tools(found)[2][0]
    com, mass, worst = R0.T @ true, found.rig.construction.mass, np.zeros(2)  # type: ignore[attr-defined]
    assert load is not None and conditioner is not None
    for _ in range(20):
        R = rotation_from_quaternion((q := rng.normal(size=4)) / np.linalg.norm(q))
        down = R.T @ np.array([0.0, 0.0, -9.804])
        force = (mass - load.mass) * down
        moment = np.cross(com, mass * down) - np.cross(load.com, load.mass * down)
        worst = np.maximum(worst, [np.linalg.norm(force), np.linalg.norm(moment)])
    return float(worst[0]), float(worst[1])


@experiment("X-17")
def mass_and_centre() -> Finding:
    """SM-2 in full compliance; a triangular moment of 20 N·m about the tool's axis turns the object by 30°."""
    found = trial("centre", seconds=11.0)
    work = job(found)
    if not isinstance(work, Centred) or work.found is None:
        return Finding("no result", False, f"{states(work.machine)}; {trips(found)}")
    R = tools(found)[2]
    truth = R[0].T @ np.array([0.0286, 0.0, -0.0087])
    off = 1e3 * float(np.linalg.norm(work.found.com - truth))
    angle = float(np.degrees(np.arccos(np.clip((np.trace(R[0].T @ R[-1]) - 1.0) / 2.0, -1.0, 1.0))))
    force, moment = residual(found, work)
    held = moved(found, 9.5, 11.0)
    ok = (
        abs(work.mass - 2.002) < 0.03
        and off < 5.0
        and angle >= 29.9
        and force < 0.5
        and moment < 0.1
        and held < 10.0
    )
    note = (
        f"{work.mass:.4f} kg of 2.002 kg; turned {angle:.1f}°; residual {force:.3f} N, {moment:.4f} N·m; moved "
        f"{held:.1f} mm in 1.5 s after merging; {trips(found) or 'no trip'}"
    )
    return Finding(off, ok and not trips(found), note)


@experiment("X-18")
def lift_and_transport() -> Finding:
    """Lifted by a force ramp of 20 N/s to 0.10 m; a push of 20 N and 3 N·m at 14 s is the trigger; guided for 5 s."""
    found = trial("lift")
    work = job(found)
    order = states(work.machine)
    still = moved(found, 7.5, 13.9)
    times, hand = found.times("object"), _hand(found)
    resting = hand[(times > 20.0) & (times < 20.4)] if len(hand) else np.zeros((1, 3))
    load = 100.0 * abs(float(resting[:, 2].mean())) / (2.122 * 9.804)
    expected = ["ready", "close", "lift", "settle", "record", "wait", "guide"]
    began = next((h.time_ns * 1e-9 for h in work.machine.happenings if h.target == "guide"), 0.0)
    ok = (
        order == expected
        and 14.0 < began < 14.9
        and still < 1.0
        and load < 5.0
        and not trips(found)
    )
    guide = moved(found, 15.5, 20.4)
    note = f"{' → '.join(order)} at {began:.2f} s; moved {still:.2f} mm while waiting, guided over {guide:.0f} mm"
    return Finding(load, ok, note)


def _hand(found: Run) -> Array:
    """Force of everyone but the arms on the object, by its momentum: what its weight and the grips leave over, [N]."""
    mass = found.rig.construction.mass  # type: ignore[attr-defined]
    twist, times = found.signal("object", "twist_tool_in_world")[:, :3], found.times("object")
    grips = (
        found.signal("team", "wrench_of_arms_on_object_in_world")
        .reshape(len(times), -1, 6)[:, :, :3]
        .sum(axis=1)
    )
    return mass * np.gradient(twist, times, axis=0) + [0.0, 0.0, mass * 9.804] - grips


@experiment("X-19", "F-43", "F-30")
def two_followers() -> dict[str, Finding]:
    """5.2 kg, pads of 10⁵ N/m, no friction in the gears; k_df = 1000 N·s/m stands for the tools' damping of C-5."""
    calm = trial("guide", *DAMPED, seconds=14.0)
    wild = trial(
        "guide", *DAMPED, *((f"follower_{n}.filters.r_wrench", 20.0) for n in (1, 2)), seconds=6.0
    )
    mass = sum(job(calm, number).mass for number in (0, 1))
    times = calm.times("team")
    inner = np.linalg.norm(
        calm.signal("team", "internal_wrench_in_world").reshape(len(times), 2, 6), axis=2
    ).max(axis=1)
    early, late = (
        float(inner[(times > a) & (times < b)].mean()) for a, b in ((4.4, 5.0), (7.0, 8.0))
    )
    restless, quiet = (swing(found, 4.5, 6.0) for found in (wild, calm))
    off = 100.0 * abs(mass / 5.2 - 1.0)
    diverges = bool(trips(wild)) or restless > 20.0 * max(quiet, 0.1)
    guided = moved(calm, 8.0, 13.9)
    ok = diverges and not trips(calm) and late < 0.6 * early and off < 2.0 and guided > 50.0
    note = (
        f"sum {mass:.3f} kg; squeeze {early:.2f} falls to {late:.2f} (N and N·m); guided over {guided:.0f} mm; r = 20: "
        f"{trips(wild)[0] if trips(wild) else f'force swings by {restless:.1f} N against {quiet:.1f} N'}"
    )
    mode = calm.rig.session.stations[0].controller.force.mode  # type: ignore[attr-defined]
    return {
        "X-19": Finding(late / early, ok, note),
        "F-43": Finding(off, ok, note),
        "F-30": Finding(
            guided, ok and mode == "hold-moment", f"mode {mode}; {trips(calm) or 'no trip'}"
        ),
    }


DAMPED: tuple[tuple[str, object], ...] = (
    ("rig.friction", "none"),
    *((f"follower_{number}.force.kd", 1000.0) for number in (1, 2)),
)
"""The set-up of the pre-check: damping in place of friction."""


def swing(found: Run, start: float, end: float) -> float:
    """By how much the true force at a wrist swings between two times, [N]."""
    times = found.times("team")
    force = found.signal("team", "wrench_of_arms_on_object_in_world")[:, :3]
    part = force[(times >= start) & (times <= end)]
    return float(np.ptp(part, axis=0).max()) if len(part) else 0.0


@experiment("F-41", "F-42")
def all_machines() -> dict[str, Finding]:
    """The four machines by their scenarios; an order that fits no state is given to each on the way."""
    wanted = {
        "weigh": ["ready", "close", "measure", "guide", "empty"],
        "centre": [
            "ready",
            "close",
            "measure-1",
            "reorient",
            "settle",
            "measure-2",
            "merge",
            "guide",
        ],
        "lift": ["ready", "close", "lift", "settle", "record", "wait", "guide"],
        "guide": ["ready", "close", "measure", "guide"],
    }
    runs = {name: trial(name) for name in ("weigh", "lift")}
    runs |= {
        "centre": trial("centre", seconds=11.0),
        "guide": trial("guide", *DAMPED, seconds=14.0),
    }
    wrong = [name for name, order in wanted.items() if states(job(runs[name]).machine) != order]
    ignored = _illegal()
    way = moved(runs["weigh"], 5.6, 12.4)
    stopped = {name: trips(found) for name, found in runs.items() if trips(found)}
    note = f"wrong: {wrong or 'none'}; {ignored}; trips: {stopped or 'none'}"
    return {
        "F-41": Finding(len(wanted) - len(wrong), not wrong and "ignored" in ignored, note),
        "F-42": Finding(
            way,
            not wrong and not stopped and way > 100.0,
            "hand as a spring of 200 N/m, and as a force; X-14 and X-15 apart",
        ),
    }


def _illegal() -> str:
    """What a machine says to an order out of place."""
    rig = build_rig("cooperative", Options(scenario="weigh"))
    rig.session.commands.post_text("0.1:set follower_1.job.orders.order=release")
    rig.session.run(0.3, rig.metrics.pull)
    state = job(Run(rig, {})).machine.state
    said = [text for _, text in rig.metrics.history.events if "ignored" in text]
    rig.close()
    return (
        f"{said[0]}, still {state}"
        if said and state == "ready"
        else "an illegal order was followed"
    )


MUTATIONS = [
    Mutation(
        "weight-not-offset",
        "the weighed wrench is not taken off when guiding begins",
        ("X-16", "X-18"),
        lambda: changed(
            Guided,
            "guide",
            lambda old: lambda self: (old(self), self.controller.offset.fill(0.0))[0],
        ),
    ),
    Mutation(
        "centre-in-world-axes",
        "moments of the two poses are not turned into the tool's axes",
        ("X-17",),
        lambda: patched(Centred, "_note_pose", _unturned),
    ),
    Mutation(
        "quick-filter-kept",
        "guiding on a rigid object goes on with the quick filter",
        ("X-19", "F-43"),
        lambda: changed(SharedLoad, "guide", _quick),
    ),
    Mutation(
        "any-push-triggers",
        "the wait for the person's trigger ends at once",
        ("X-18",),
        lambda: patched(guiding.Lifted, "_triggered", lambda self: True),
    ),
]
"""Parts broken on purpose."""


def _unturned(self: Centred) -> None:
    mean = self.mean()
    self._forces.append(self.controller.arm.rotation.T @ mean[:3])
    self._moments.append(mean[3:])


def _quick(old: Callable[[SharedLoad], None]) -> Callable[[SharedLoad], None]:
    def guide(self: SharedLoad) -> None:
        old(self)
        self.arm.filters.r_wrench = self.quick

    return guide
