"""What the arms cannot do, and what is done to them: the end of the reach, and a push on a link: D-39, D-59."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath
from farhand_lab.dual_arm.signals import (
    ELSEWHERE,
    NO_WRENCH,
    after,
    canvas,
    coupled,
    force,
    position_error,
    shade,
)
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.trial import Run, run

Array = np.ndarray

Setting = tuple[str, object]
PULL = 0.2  # [m]
STRETCHED = 0.917  # [m], published: 0.425 + 0.392 + 0.100
WEAK = 0.08
"""Share of the joint torque limits with which the leader cannot hold against the hand, [-]."""


@shared
def reach(*settings: Setting) -> Run:
    """The hand pulls 0.2 m in +y while the follower has 0.1 m left, and comes back."""
    return run(coupled("reach-limit", *settings))


def _travel(result: Run) -> tuple[float, float, float]:
    """Along y: travel of the leader [m], reach of the follower from its base [m], and largest hand force [N]."""
    leader, follower = (
        result.signal(name, "position_tool_in_world")[:, 1] for name in ("leader", "follower")
    )
    distance = result.rig.construction.distance  # type: ignore[attr-defined]
    pulled = float(np.abs(force(result, "leader")[:, 1]).max())
    return float(leader.max() - leader[0]), float(follower.max() - distance), pulled


def _least_singular_value(result: Run) -> Array:
    """Smallest singular value of the follower's Jacobian, every tenth record."""
    arm: Arm = result.rig.session.stations[1].arm
    values = []
    for q in result.signal("follower", "q")[::10]:
        arm.update(q, np.zeros(arm.nv))
        values.append(float(np.linalg.svd(arm.J, compute_uv=False)[-1]))
    return np.array(values)


@experiment("D-39")
def reach_limit() -> Finding:
    """The stretched follower has no inertia to give along its reach, so the leader is held; no code says so."""
    found, ok = {}, True
    for name, settings in {"1 kHz": (), "500 Hz": (("rig.rate", 500.0),)}.items():
        result = reach(*settings)
        error = position_error(result)
        travel, reached, pulled = _travel(result)
        found[name] = travel, reached, pulled, float(error.max())
        ok = (
            ok
            and pulled > 40.0
            and PULL - travel > 0.03
            and error.max() < 2.0
            and error[-100:].max() < 1.0
        )
        ok = bool(ok and not result.rig.session.trips)
    travel, reached, pulled, largest = found["1 kHz"]
    least = float(_least_singular_value(reach()).min())
    soft, weak = reach(*NO_WRENCH), reach(("leader.plant.actuator_limit", WEAK))
    note = (
        f"leader {travel:.3f} of {PULL:.3f} m, follower {reached:.3f} m (stretched along y {STRETCHED:.3f} m; the tool "
        f"tilts to reach further), least singular value {least:.1e}, ‖e_p‖ {largest:.2f} mm; without F/T "
        f"{_travel(soft)[0]:.3f} m and {_travel(soft)[2]:.0f} N; a leader with {100 * WEAK:.0f} % of its torque is "
        f"overpowered: {_travel(weak)[0]:.3f} m, ‖e_p‖ {position_error(weak).max():.0f} mm"
    )
    plot = Figure("The end of the reach", lambda: _reach_plot(reach(), soft))
    return Finding(pulled, ok and least < 0.1, note, figures=(plot,))


@experiment("D-59")
def link_push() -> Finding:
    """5 N·m on the leader's joint 2 for a second, told to the law or not; the error that an untold push must leave."""
    torque: Setting = ("rig.push_torque", (0.0, 5.0, 0.0, 0.0, 0.0, 0.0))
    runs = [
        run(coupled("free", ELSEWHERE, torque, ("hand.open", True), ("rig.push_known", known)), 3.5)
        for known in (True, False)
    ]
    known, unknown = (float(position_error(result).max()) for result in runs)
    moved = 1e3 * float(np.ptp(runs[0].signal("leader", "position_tool_in_world"), axis=0).max())
    note = f"not told {unknown:.1f} mm, from the same push that moved the leader by {moved:.0f} mm"
    gone = float(after(runs[1], position_error(runs[1]), 3.4).max())
    return Finding(known, known < 1.0 < unknown and moved > 10.0 and gone < 1.0, note)


def _asked(result: Run, times: Array) -> Array:
    """Where the hand wants the leader along y, from its start, [m]."""
    path, asked = HandPath(result.rig.scenario.moves), []
    for t in times:
        path.at(float(t))
        asked.append(path.translation[1])
    return np.array(asked)


def _reach_plot(measured: Run, blind: Run):
    figure, axes = canvas(
        "At the end of the follower's reach the hand meets a wall that nobody programmed", 3, 6.0
    )
    for result, label in ((measured, "with F/T"), (blind, "without F/T")):
        track = result.signal("leader", "position_tool_in_world")[:, 1]
        axes[0].plot(result.times("leader"), track - track[0], label=f"leader, {label}")
        axes[1].plot(result.times("leader"), force(result, "leader")[:, 1], label=label)
    t = measured.times("leader")
    axes[0].plot(t, _asked(measured, t), "k:", label="asked for")
    axes[2].plot(
        measured.times("follower")[::10],
        _least_singular_value(measured),
        label="follower, with F/T",
    )
    axes[0].set_ylabel("travel along y [m]")
    axes[1].set_ylabel("hand force [N]")
    axes[2].set(ylabel="least singular value", xlabel="time [s]")
    for row in axes:
        row.legend(fontsize=8)
    shade(axes[0], measured.rig)
    return figure
