"""Contact with the wall: what the wall does, what the hand feels, and what happens when it lets go: D-35 to D-38."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.spatial import adjoint
from farhand.world import Tool, Wall
from farhand_lab.dual_arm.error_dynamics import PLACES, robots
from farhand_lab.dual_arm.signals import (
    ELSEWHERE,
    NO_WRENCH,
    after,
    canvas,
    coupled,
    final_force,
    force,
    gamma,
    law_of,
    position_error,
)
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.trial import Run, run

Array = np.ndarray

Setting = tuple[str, object]
RELEASE = 5.0  # [s]
# where the follower's tool gets to when it starts elsewhere
NEARER: Setting = ("wall.point", (0.275, 0.0, 0.0))
SERIES = 1000.0 * 6000.0 / 7000.0  # [N/m]: hand and wall in series


@shared
def press(*settings: Setting) -> Run:
    """The hand goes 0.42 m in +x, 0.101 m past the wall, and stays."""
    return run(coupled("press", *settings), 6.0)


@shared
def release() -> Run:
    """The same, and the hand lets go."""
    return run(coupled("press"), RELEASE + 3.5, f"{RELEASE}:set hand.open=true")


def _depth(result: Run) -> Array:
    """How far the follower's tool is past the plane x = 0.45 m, [mm]."""
    return 1e3 * (result.signal("follower", "position_tool_in_world")[:, 0] - 0.45)


def _steady_error(result: Run) -> Array:
    """Mean error of the last half second, [m] and [rad]."""
    return result.signal("coupling", "error")[-500:].mean(axis=0)


@experiment("D-35")
def wall() -> Finding:
    """Random poses of the follower against k δ n by hand, the joint torque through the body Jacobian, and a run."""
    rng, off, inside = generator("wall"), 0.0, 0
    arm, wrench = Arm.of(robots()["follower"], PLACES["follower"]), np.zeros(6)
    for _ in range(1000):
        arm.update(rng.uniform(-np.pi, np.pi, 6), np.zeros(6))
        Wall().push(Tool(arm.position, arm.rotation, arm.twist), 0.0, wrench)
        depth = arm.position[0] - 0.45
        expected = np.array([-6000.0 * max(depth, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0])
        body = adjoint(arm.rotation, np.zeros(3)).T @ wrench  # axes of the tool, same point
        torque = (adjoint(arm.rotation, np.zeros(3)).T @ arm.J).T @ body
        off = max(off, np.abs(wrench - expected).max(), np.abs(torque - arm.J.T @ expected).max())
        inside += depth > 0.0
    result = press()
    felt = result.signal("follower", "wrench_measured_in_world")
    pressed = np.zeros_like(felt)
    pressed[:, 0] = -6.0 * np.maximum(_depth(result), 0.0)
    off = max(off, float(np.abs(felt - pressed).max()))
    return Finding(
        float(off),
        off < 1e-9 and 20 < inside < 980,
        f"{inside} of 1000 random poses are in the wall",
    )


@experiment("D-36")
def reflection() -> Finding:
    """The hand's spring and the wall's are in series, as if there were no robots between them."""
    cases = {"like postures": (), "500 Hz": (("rig.rate", 500.0),)}
    found = {name: _contact(press(*settings)) for name, settings in cases.items()}
    ok = all(
        abs(h / w - 1.0) < 0.01 and e < 0.5 and abs(d - 14.43) <= 0.2
        for h, w, d, e in found.values()
    )
    hand, contact, depth, error = found["like postures"]
    note = (
        f"hand {hand:.2f} N, wall {contact:.2f} N (springs in series: {0.101 * SERIES:.2f} N), ‖e_p‖ {error:.2f} mm: "
        f"what the damping ρ leaves; at 500 Hz {found['500 Hz'][2]:.2f} mm. The thesis's 75.5 N would be 12.6 mm"
    )
    plot = Figure("Pressed against the wall", lambda: _contact_plot(press(), press(*NO_WRENCH)))
    return Finding(depth, ok, note, figures=(plot,))


def _contact(result: Run) -> tuple[float, float, float, float]:
    """Steady force of the hand and on the wall [N], penetration [mm] and ‖e_p‖ [mm]."""
    error = 1e3 * float(np.linalg.norm(_steady_error(result)[:3]))
    return (
        final_force(result, "leader"),
        -final_force(result, "follower"),
        float(_depth(result)[-500:].mean()),
        error,
    )


@experiment("D-37")
def softness() -> Finding:
    """Without the wrenches the tie is a spring of stiffness Γ⁻¹K_p, in like and in unlike postures."""
    off, pressed = [], True
    for settings in ((), (ELSEWHERE, NEARER)):
        result = press(*NO_WRENCH, *settings)
        u = result.signal("follower", "wrench_commanded_in_world")[-500:].mean(axis=0)
        # e = −K_p⁻¹Γu, and the law's error is −e
        predicted = gamma(result) @ u / law_of(result.rig).proportional
        pressed = pressed and final_force(result, "follower") < -5.0
        off.append(float(np.abs(_steady_error(result) - predicted).max() / np.abs(predicted).max()))
    hand, contact, depth, error = _contact(press(*NO_WRENCH))
    note = f"hand {hand:.2f} N, wall {contact:.2f} N, ‖e_p‖ {error:.1f} mm; −K_p⁻¹Γu met to {100.0 * max(off):.3f} %"
    return Finding(depth, pressed and max(off) < 0.01 and abs(depth - 1.47) <= 0.1, note)


@experiment("D-38")
def ejection() -> Finding:
    """The elastic wall gives back what the hand put into it."""
    result = release()
    t, depth = result.times("follower"), _depth(result)
    gone = t[(t >= RELEASE) & (depth <= 0.0)]
    left = float(gone[0] - RELEASE) if len(gone) else np.inf
    speeds = [
        result.signal(name, "twist_tool_in_world")[t >= RELEASE, 0]
        for name in ("follower", "leader")
    ]
    fastest, leader = (-float(speed.min()) for speed in speeds)
    held, end = (
        float(depth[t < RELEASE][-1]),
        float(after(result, position_error(result), RELEASE + 3.0).max()),
    )
    note = f"from {held:.1f} mm, left after {left:.3f} s, leader at {leader:.2f} m/s too; ‖e_p‖ at the end {end:.1e} mm"
    return Finding(
        fastest, held > 5.0 and left <= 0.15 and fastest > 0.2 and leader > 0.2 and end < 1.0, note
    )


def _contact_plot(measured: Run, blind: Run):
    figure, axes = canvas(
        "The hand feels the wall; without F/T it feels a spring ten times softer", 2, 4.8
    )
    for result, label in ((measured, "with F/T"), (blind, "without F/T")):
        line = axes[0].plot(
            result.times("leader"), force(result, "leader")[:, 0], label=f"hand on leader, {label}"
        )
        wall_force = -force(result, "follower")[:, 0]
        axes[0].plot(
            result.times("follower"),
            wall_force,
            ":",
            color=line[0].get_color(),
            label=f"on wall, {label}",
        )
        axes[1].plot(result.times("coupling"), position_error(result), label=label)
    axes[0].set_ylabel("force along x [N]")
    axes[1].set(ylabel="‖e_p‖ [mm]", xlabel="time [s]")
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    return figure
