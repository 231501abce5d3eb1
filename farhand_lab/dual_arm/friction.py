"""A leader with dry friction that nobody identified, and the offset that helps against it: D-50, D-51."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.rigs import Options, build_rig
from farhand.rigs.dual_arm.scenarios import COULOMB
from farhand_lab.dual_arm.error_dynamics import PLACES, robots
from farhand_lab.dual_arm.signals import LAW, NO_WRENCH, canvas, coupled, force, position_error
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.trial import Run, run

Array = np.ndarray

Setting = tuple[str, object]
OFFSET: Setting = ("rig.friction_offset", True)
COMMAND_ONLY: tuple[Setting, ...] = (OFFSET, ("leader.assist.feels_hand", False))
HANDS = (500.0, 2000.0, 10_000.0)  # [N/m]
STARTED = 1e-3  # [m] of travel that count as motion


@shared
def slow_pull(*settings: Setting) -> Run:
    """The hand draws the leader by 0.1 m in +x within 5 s, and waits."""
    return run(coupled("friction", *settings))


def _starting_force(result: Run) -> float:
    """Force of the hand along x when the tool has moved by 1 mm, [N]."""
    x = result.signal("leader", "position_tool_in_world")[:, 0]
    return float(force(result, "leader")[np.argmax(np.abs(x - x[0]) > STARTED), 0])


@experiment("D-51")
def calibrated() -> Finding:
    """Largest force along x of the assumed hand in a slow pull, beside virtual work, and how it goes with the hand."""
    result = slow_pull()
    needed = _largest_force(result)
    first, last = (_virtual_work(result.signal("leader", "q")[row]) for row in (0, -1))
    on, off = (float(position_error(slow_pull(*settings))[-1]) for settings in ((), NO_WRENCH))
    others = ", ".join(f"{k:g} N/m {_largest_force(slow_pull(*_hand(k))):.1f}" for k in HANDS)
    note = (
        f"with the assumed hand of 1000 N/m; by its stiffness in N: {others}: a soft hand lets the tool turn and stop "
        f"short, a stiff one drags every joint and leaves the ± 3 N. Virtual work {first:.1f} N at q_A, {last:.1f} N "
        f"at the end; the law does not know the friction, so the hand force misleads it: ‖e_p‖ {on:.0f} mm with F/T, "
        f"{off:.1e} mm without"
    )
    plot = Figure("Dry friction and its offset", _friction_plot)
    return Finding(
        needed, abs(needed - 26.0) <= 3.0 and abs(first - 26.0) < 0.1, note, figures=(plot,)
    )


def _largest_force(result: Run) -> float:
    return float(force(result, "leader")[:, 0].max())


def _hand(stiffness: float) -> tuple[Setting, Setting]:
    """Settings of a hand of this stiffness [N/m], its turning stiffness in proportion."""
    return ("hand.stiffness", stiffness), ("hand.rotational_stiffness", 0.03 * stiffness)


def _virtual_work(q: Array) -> float:
    """Force along x that moves every joint of the leader against its friction at once, [N]."""
    arm = Arm.of(robots()["leader"], PLACES["leader"])
    arm.update(q, np.zeros(6))
    return float(np.abs(np.linalg.solve(arm.J, np.eye(6)[0])) @ np.array(COULOMB))


@experiment("D-50")
def friction_offset() -> Finding:
    """Starting force with and without the offset; then hands off, with sensor noise, nothing may move."""
    bare, helped, literal = (
        _starting_force(slow_pull(*settings)) for settings in ((), (OFFSET,), COMMAND_ONLY)
    )
    reduced = 100.0 * (1.0 - helped / bare)
    crept = _creep()
    note = (
        f"{bare:.1f} N without, {helped:.1f} N with it; led by the command alone {literal:.1f} N "
        f"({100.0 * (1.0 - literal / bare):.0f} %), see docs/errata.md D-50; hands off, 3 s with noise: {crept:.1e} rad"
    )
    return Finding(reduced, reduced >= 40.0 and crept < 1e-4, note)


def _creep() -> float:
    """Largest joint motion of the leader in 3 s without a hand, after a second to settle, [rad]."""
    settings: list[Setting] = [("rig.coulomb", COULOMB), OFFSET, ("hand.open", True)]
    result = run(build_rig("dual-arm", Options(LAW, scenario="free", settings=settings)), 4.0)
    return float(np.ptp(result.signal("leader", "q")[1000:], axis=0).max())


def _friction_plot():
    figure, axes = canvas("Dry friction: the offset takes two thirds of it off the hand", 2, 4.8)
    cases: dict[str, tuple[Setting, ...]] = {
        "no offset": (),
        "offset": (OFFSET,),
        "offset led by the command alone": COMMAND_ONLY,
    }
    for label, settings in cases.items():
        result = slow_pull(*settings)
        axes[0].plot(result.times("leader"), force(result, "leader")[:, 0], label=label)
        axes[1].plot(result.times("coupling"), position_error(result), label=label)
    axes[1].plot(
        result.times("coupling"),
        position_error(slow_pull(*NO_WRENCH)),
        ":",
        label="no offset, no F/T",
    )
    axes[0].axhline(26.0, color="k", linestyle=":", label="published, about 26 N")
    axes[0].set_ylabel("hand force along x [N]")
    axes[1].set(ylabel="‖e_p‖ [mm]", xlabel="time [s]")
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    return figure
