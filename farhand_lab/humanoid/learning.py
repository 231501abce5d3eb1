"""Learning from demonstrations: a figure drawn on the humanoid (H-44), a wipe with contact on two arms (H-44b)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from farhand.learning import Skill, demonstrations_in, learn
from farhand.learning.performance import Performance
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.performing import PerformanceOutcome, outcome_of, perform_rig
from farhand.running.rerun import record
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation

Array = np.ndarray

SLOWER = ("rig.rate", 500.0)
"""The published haptic rate; half the work of the aim."""

SHIFT, TILT = 0.020, np.radians(5.0)
"""How the plane has moved, [m] and [rad]."""


def skill_from(rig: str, scenario: str, seeds: range, *settings: tuple[str, object]) -> Skill:
    """Record a scenario once per seed and learn from the files alone."""
    with tempfile.TemporaryDirectory() as folder:
        shown = []
        for seed in seeds:
            built = build_rig(rig, Options(scenario=scenario, seed=seed, settings=list(settings)))
            shown += demonstrations_in(load(record(built, Path(folder) / f"{seed}.mcap")))
    return learn(scenario, shown)


@shared
def drawn() -> Skill:
    """From five triangles drawn with the pen."""
    return skill_from("humanoid", "draw", range(1, 6), SLOWER)


@shared
def wiped() -> Skill:
    """From six wipes."""
    return skill_from("dual-arm", "wipe", range(1, 7))


@experiment("H-44")
def drawing_skill() -> Finding:
    """Five recorded triangles, learnt, performed by position on the bus; the real tool is judged."""
    skill = drawn()
    rig = perform_rig(skill, Options(seed=11, settings=[SLOWER]))
    tool, seen = rig.world.ports["follower"].tool, []
    rig.session.run(rig.scenario.seconds, lambda: seen.append(tool.position.copy()), 0.02)
    rig.close()
    # after half a second the arm hangs in its servos
    path, motion = (np.array(seen) - seen[25], skill.motion())
    wanted = motion.position - motion.position[0]
    apart = np.array([np.linalg.norm(wanted - place, axis=1).min() for place in path[25:]])
    end, error = (
        1e3 * float(np.linalg.norm(path[-1] - wanted[-1])),
        1e3 * float(np.sqrt(np.mean(apart**2))),
    )
    spread = 1e3 * skill.facts.deviation
    note = (
        f"path {error:.2f} mm rms from the learnt one, demonstrators {spread:.2f} mm from their mean; "
        f"{skill.facts.demonstrations} recordings, forces {skill.facts.force_kind}"
    )
    return Finding(end, end < 5.0 and error < spread and skill.facts.demonstrations >= 5, note)


@shared
def performed(aware: bool) -> tuple[PerformanceOutcome, Array, Array]:
    """The wipe on the moved plane: how it went, times [s] and force [N]."""
    rig = perform_rig(wiped(), Options(seed=9, settings=[("law.force_aware", aware)]), SHIFT, TILT)
    rig.session.run(rig.scenario.seconds, rig.metrics.pull)
    history = rig.metrics.history
    force = np.linalg.norm(history.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    found = outcome_of(rig), history.times("follower")[::20], force[::20]
    rig.close()
    return found


@experiment("H-44b")
def wiping_skill() -> Finding:
    """Both ways of performing the same skill on the same moved plane."""
    aware, blind = performed(True)[0], performed(False)[0]
    assert aware.contact_kept is not None and aware.force_ratio is not None
    ok = (
        aware.contact_kept >= 0.9
        and abs(aware.force_ratio - 1.0) <= 0.2
        and wiped().facts.demonstrations == 6
    )
    note = (
        f"force {aware.force_mean:.1f} N of {aware.force_demonstrated:.1f} N demonstrated, rms error "
        f"{aware.force_rms_error:.1f} N; position-only: contact {blind.contact_kept:.0%}, {blind.force_mean:.1f} N"
    )
    return Finding(
        aware.contact_kept, ok, note, figures=(Figure("Force on a plane that has moved", _figure),)
    )


def _figure() -> Any:
    from matplotlib.figure import Figure as Plot

    figure = Plot(figsize=(7.0, 3.0), layout="constrained")
    ax = figure.subplots()
    for aware, label in ((True, "force-aware"), (False, "position only")):
        _, times, force = performed(aware)
        ax.plot(times, force, label=label)
    ax.axhline(wiped().facts.force_mean, color="0.6", linestyle="--", label="demonstrated mean")
    ax.set(xlabel="time [s]", ylabel="force [N]")
    ax.legend(fontsize="small")
    return figure


def _cut_short(whole: Any) -> Any:
    return lambda self, phase: whole(self, 0.7 * phase)


MUTATIONS = [
    Mutation("cut-short", "a performance ends after seven tenths of its skill", ("H-44",)).change(
        Performance, "_at", _cut_short
    ),
    Mutation("deaf-performance", "the performance never looks for contact", ("H-44b",)).patch(
        Performance, "_drift", lambda self, row, velocity, force, dt: np.zeros(3)
    ),
]
