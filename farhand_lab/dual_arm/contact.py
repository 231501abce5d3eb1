"""What the hand feels: a wall, the end of the reach, a push on a link, dry friction.

Ids D-35 to D-39, D-50, D-51 and D-59.
"""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath
from farhand.rigs import Options, build_rig
from farhand.rigs.dual_arm.scenarios import COULOMB
from farhand.spatial import adjoint, rotation_vector
from farhand.world import Tool, Wall
from farhand_lab.dual_arm.pair import PLACES, published_robots
from farhand_lab.dual_arm.signals import (
    LAW,
    NO_WRENCH,
    OTHER_POSTURE,
    Setting,
    between,
    coupled_rig,
    final_force,
    force,
    gamma,
    law_of,
    least_singular_values,
    position_error,
    shade,
    time_axes,
)
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.trial import Run, run

Array = np.ndarray

RATES: dict[str, tuple[Setting, ...]] = {"1 kHz": (), "500 Hz": (("rig.rate", 500.0),)}
RELEASE = 5.0  # [s]
# where the follower's tool gets to when it starts in another posture
NEARER_WALL: Setting = ("wall.point", (0.275, 0.0, 0.0))
SERIES_STIFFNESS = 1000.0 * 6000.0 / 7000.0  # of hand and wall in series, [N/m]

PULL = 0.2  # [m]
STRETCHED = 0.917  # [m], published: 0.425 + 0.392 + 0.100
WEAK_LEADER = 0.08  # share of the torque limits with which the leader cannot hold the hand, [-]

FRICTION_OFFSET: Setting = ("rig.friction_offset", True)
COMMAND_ONLY: tuple[Setting, ...] = (FRICTION_OFFSET, ("leader.assist.feels_hand", False))
RIG_HAND = 1000.0  # stiffness of the rig's hand, [N/m]
HANDS = (500.0, RIG_HAND, 2000.0, 10_000.0)  # [N/m]
MOTION_THRESHOLD = 1e-3  # travel that counts as motion, [m]


@shared
def press(*settings: Setting) -> Run:
    """The hand goes 0.42 m in +x, 0.101 m past the wall, and stays."""
    return run(coupled_rig("press", *settings), 6.0)


def _depth(result: Run) -> Array:
    """How far the follower's tool is past the plane x = 0.45 m, [mm]."""
    return 1e3 * (result.signal("follower", "position_tool_in_world")[:, 0] - 0.45)


def _steady_error(result: Run) -> Array:
    """Mean error of the last half second, [m] and [rad]."""
    return result.signal("coupling", "error")[-500:].mean(axis=0)


@experiment("D-35")
def wall() -> Finding:
    """Random poses against k δ n by hand, the joint torque through the body Jacobian, and a run."""
    rng, off, inside = generator("wall"), 0.0, 0
    arm, wrench = Arm.of(published_robots()["follower"], PLACES["follower"]), np.zeros(6)
    for _ in range(1000):
        arm.update(rng.uniform(-np.pi, np.pi, 6), np.zeros(6))
        Wall().push(Tool(arm.position, arm.rotation, arm.twist), 0.0, wrench)
        depth = arm.position[0] - 0.45
        expected = np.array([-6000.0 * max(depth, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0])
        # axes of the tool, same point
        to_tool = adjoint(arm.rotation, np.zeros(3)).T
        torque = (to_tool @ arm.J).T @ (to_tool @ wrench)
        off = max(off, np.abs(wrench - expected).max(), np.abs(torque - arm.J.T @ expected).max())
        inside += depth > 0.0
    result = press()
    felt = result.signal("follower", "wrench_measured_in_world")
    pressed = np.zeros_like(felt)
    pressed[:, 0] = -6.0 * np.maximum(_depth(result), 0.0)
    off = max(off, float(np.abs(felt - pressed).max()))
    note = f"{inside} of 1000 random poses are in the wall"
    return Finding(float(off), off < 1e-9 and 20 < inside < 980, note)


@experiment("D-36")
def reflection() -> Finding:
    """The hand's spring and the wall's are in series, as if there were no robots between them."""
    contacts = {name: _contact(press(*settings)) for name, settings in RATES.items()}
    ok = all(
        abs(h / w - 1.0) < 0.01 and e < 0.5 and abs(d - 14.43) <= 0.2
        for h, w, d, e in contacts.values()
    )
    hand, contact, depth, error = contacts["1 kHz"]
    note = (
        f"hand {hand:.2f} N, wall {contact:.2f} N (springs in series: "
        f"{0.101 * SERIES_STIFFNESS:.2f} N), ‖e_p‖ {error:.2f} mm: what the damping ρ leaves; "
        f"at 500 Hz {contacts['500 Hz'][2]:.2f} mm. The thesis's 75.5 N would be 12.6 mm"
    )
    plot = Figure("Pressed against the wall", lambda: _contact_plot(press(), press(*NO_WRENCH)))
    return Finding(depth, ok, note, figures=(plot,))


def _contact(result: Run) -> tuple[float, float, float, float]:
    """Steady force of the hand and on the wall [N], penetration [mm] and ‖e_p‖ [mm]."""
    hand, contact = final_force(result, "leader"), -final_force(result, "follower")
    error = 1e3 * float(np.linalg.norm(_steady_error(result)[:3]))
    return hand, contact, float(_depth(result)[-500:].mean()), error


@experiment("D-37")
def softness() -> Finding:
    """Without the wrenches the tie is a spring of stiffness Γ⁻¹K_p, in two sets of postures."""
    off, pressed = [], True
    for settings in ((), (OTHER_POSTURE, NEARER_WALL)):
        result = press(*NO_WRENCH, *settings)
        u = result.signal("follower", "wrench_commanded_in_world")[-500:].mean(axis=0)
        # e = −K_p⁻¹Γu, and the law's error is −e
        predicted = gamma(result) @ u / law_of(result.rig).proportional
        pressed = pressed and final_force(result, "follower") < -5.0
        off.append(float(np.abs(_steady_error(result) - predicted).max() / np.abs(predicted).max()))
    hand, contact, depth, error = _contact(press(*NO_WRENCH))
    note = (
        f"hand {hand:.2f} N, wall {contact:.2f} N, ‖e_p‖ {error:.1f} mm; "
        f"−K_p⁻¹Γu met to {100.0 * max(off):.3f} %"
    )
    return Finding(depth, pressed and max(off) < 0.01 and abs(depth - 1.47) <= 0.1, note)


@experiment("D-38")
def ejection() -> Finding:
    """The hand lets go, and the elastic wall gives back what the hand put into it."""
    result = run(coupled_rig("press"), RELEASE + 3.5, f"{RELEASE}:set hand.open=true")
    t, depth = result.times("follower"), _depth(result)
    free = t[(t >= RELEASE) & (depth <= 0.0)]
    left = float(free[0] - RELEASE) if len(free) else np.inf
    fastest, leader = (
        -float(result.signal(name, "twist_tool_in_world")[t >= RELEASE, 0].min())
        for name in ("follower", "leader")
    )
    held = float(depth[t < RELEASE][-1])
    end = float(between(result, position_error(result), RELEASE + 3.0).max())
    note = (
        f"from {held:.1f} mm, left after {left:.3f} s, leader at {leader:.2f} m/s too; "
        f"‖e_p‖ at the end {end:.1e} mm"
    )
    ok = held > 5.0 and left <= 0.15 and fastest > 0.2 and leader > 0.2 and end < 1.0
    return Finding(fastest, ok, note)


def _contact_plot(measured: Run, blind: Run):
    title = "The hand feels the wall; without F/T it feels a spring ten times softer"
    figure, axes = time_axes(title, 2, 4.8)
    for result, label in ((measured, "with F/T"), (blind, "without F/T")):
        t = result.times("leader")
        (line,) = axes[0].plot(t, force(result, "leader")[:, 0], label=f"hand on leader, {label}")
        wall_force = -force(result, "follower")[:, 0]
        axes[0].plot(t, wall_force, ":", color=line.get_color(), label=f"on wall, {label}")
        axes[1].plot(result.times("coupling"), position_error(result), label=label)
    return _label_contact(figure, axes, "force along x [N]")


def _label_contact(figure, axes, force_label: str):
    axes[0].set_ylabel(force_label)
    axes[1].set(ylabel="‖e_p‖ [mm]", xlabel="time [s]")
    for row in axes:
        row.legend(fontsize=8)
    return figure


@shared
def reach(*settings: Setting) -> Run:
    """The hand pulls 0.2 m in +y while the follower has 0.1 m left, and comes back."""
    return run(coupled_rig("reach-limit", *settings))


def _travel(result: Run) -> tuple[float, float, float]:
    """Along y: travel of the leader [m], reach of the follower [m], largest hand force [N]."""
    leader, follower = (
        result.signal(name, "position_tool_in_world")[:, 1] for name in ("leader", "follower")
    )
    distance = result.rig.construction.distance  # type: ignore[attr-defined]
    pulled = float(np.abs(force(result, "leader")[:, 1]).max())
    return float(leader.max() - leader[0]), float(follower.max() - distance), pulled


def _follower_singular_values(result: Run) -> Array:
    return least_singular_values(
        result.rig.session.stations[1].arm, result.signal("follower", "q")[::10]
    )


@experiment("D-39")
def reach_limit() -> Finding:
    """A stretched follower cannot accelerate along its reach, so it holds the leader."""
    ok = True
    for settings in RATES.values():
        result = reach(*settings)
        error = position_error(result)
        travel, _, pulled = _travel(result)
        ok = ok and pulled > 40.0 and PULL - travel > 0.03 and not result.rig.session.trips
        ok = ok and bool(error.max() < 2.0 and error[-100:].max() < 1.0)
    travel, reached, pulled = _travel(reach())
    least = float(_follower_singular_values(reach()).min())
    soft, weak = reach(*NO_WRENCH), reach(("leader.plant.actuator_limit", WEAK_LEADER))
    note = (
        f"leader {travel:.3f} of {PULL:.3f} m, follower {reached:.3f} m (stretched along y "
        f"{STRETCHED:.3f} m; the tool tilts to reach further), least singular value {least:.1e}, "
        f"‖e_p‖ {position_error(reach()).max():.2f} mm; without F/T {_travel(soft)[0]:.3f} m and "
        f"{_travel(soft)[2]:.0f} N; a leader with {100 * WEAK_LEADER:.0f} % of its torque is "
        f"overpowered: {_travel(weak)[0]:.3f} m, ‖e_p‖ {position_error(weak).max():.0f} mm"
    )
    plot = Figure("The end of the reach", lambda: _reach_plot(reach(), soft))
    return Finding(pulled, ok and least < 0.1, note, figures=(plot,))


def _reach_plot(measured: Run, blind: Run):
    title = "At the end of the follower's reach the hand meets a wall that nobody programmed"
    figure, axes = time_axes(title, 3, 6.0)
    for result, label in ((measured, "with F/T"), (blind, "without F/T")):
        track = result.signal("leader", "position_tool_in_world")[:, 1]
        axes[0].plot(result.times("leader"), track - track[0], label=f"leader, {label}")
        axes[1].plot(result.times("leader"), force(result, "leader")[:, 1], label=label)
    t, path, target = measured.times("leader"), HandPath(measured.rig.scenario.moves), []
    for now in t:
        path.at(float(now))
        target.append(path.translation[1])
    axes[0].plot(t, target, "k:", label="target of the hand")
    least = _follower_singular_values(measured)
    axes[2].plot(measured.times("follower")[::10], least, label="follower, with F/T")
    axes[0].set_ylabel("travel along y [m]")
    axes[1].set_ylabel("hand force [N]")
    axes[2].set(ylabel="least singular value", xlabel="time [s]")
    for row in axes:
        row.legend(fontsize=8)
    shade(axes[0], measured.rig)
    return figure


@experiment("D-59")
def link_push() -> Finding:
    """5 N·m on the leader's joint 2 for a second, known to the law or not."""
    torque: Setting = ("rig.push_torque", (0.0, 5.0, 0.0, 0.0, 0.0, 0.0))
    settings = OTHER_POSTURE, torque, ("hand.open", True)
    runs = [
        run(coupled_rig("free", *settings, ("rig.push_known", known)), 3.5)
        for known in (True, False)
    ]
    known, unknown = (float(position_error(result).max()) for result in runs)
    moved = 1e3 * float(np.ptp(runs[0].signal("leader", "position_tool_in_world"), axis=0).max())
    note = f"unknown {unknown:.1f} mm, from the same push that moved the leader by {moved:.0f} mm"
    end = float(between(runs[1], position_error(runs[1]), 3.4).max())
    return Finding(known, known < 1.0 < unknown and moved > 10.0 and end < 1.0, note)


@shared
def slow_pull(*settings: Setting) -> Run:
    """The hand draws the leader by 0.1 m in +x within 5 s, and waits."""
    return run(coupled_rig("friction", *settings))


def _starting_force(result: Run) -> float:
    """Force of the hand along x when the tool has moved by 1 mm, [N]."""
    x = result.signal("leader", "position_tool_in_world")[:, 0]
    return float(force(result, "leader")[np.argmax(np.abs(x - x[0]) > MOTION_THRESHOLD), 0])


@experiment("D-51")
def calibrated() -> Finding:
    """Largest force in a slow pull, for every assumed hand; the value is the one furthest off."""
    pulls = {k: slow_pull(*_hand(k)) for k in HANDS}
    forces = {k: _largest_force(result) for k, result in pulls.items()}
    worst = max(forces.values(), key=lambda newton: abs(newton - 26.0))
    first, last = (_virtual_work(pulls[RIG_HAND].signal("leader", "q")[row]) for row in (0, -1))
    on, off = (float(position_error(result)[-1]) for result in (slow_pull(), slow_pull(*NO_WRENCH)))
    listed = ", ".join(
        "{:g} N/m {:.1f} N ({:.0f} mm, turned by {:.1f}°)".format(k, forces[k], *_went(result))
        for k, result in pulls.items()
    )
    note = (
        f"by the stiffness of the assumed hand: {listed}. The rig's own hand alone needs "
        f"{forces[RIG_HAND]:.1f} N, but by being soft: it lets the tool turn and stop short of "
        "100 mm. The stiffer the hand, the closer to the move that is asked for, and the larger "
        "the force: the value is the one furthest from 26 N. The friction was chosen from the "
        f"published force by virtual work at q_A, so those {first:.1f} N prove nothing; at the end "
        f"of the move it is {last:.1f} N. The law does not know the friction, so the hand force "
        f"misleads it: ‖e_p‖ {on:.0f} mm with F/T, {off:.1e} mm without"
    )
    plot = Figure("Dry friction and its offset", _friction_plot)
    return Finding(worst, abs(worst - 26.0) <= 3.0, note, figures=(plot,))


def _largest_force(result: Run) -> float:
    return float(force(result, "leader")[:, 0].max())


def _went(result: Run) -> tuple[float, float]:
    """How far the leader's tool moved along x, [mm], and turned, [°], in the end."""
    x = result.signal("leader", "position_tool_in_world")[:, 0]
    first, last = result.signal("leader", "rotation_tool_in_world")[[0, -1]].reshape(2, 3, 3)
    turned = np.linalg.norm(rotation_vector(last @ first.T))
    return 1e3 * float(x[-1] - x[0]), float(np.degrees(turned))


def _hand(stiffness: float) -> tuple[Setting, Setting]:
    """Settings of a hand of this stiffness [N/m], its turning stiffness in proportion."""
    return ("hand.stiffness", stiffness), ("hand.rotational_stiffness", 0.03 * stiffness)


def _virtual_work(q: Array) -> float:
    """Force along x that moves every joint of the leader against its friction at once, [N]."""
    arm = Arm.of(published_robots()["leader"], PLACES["leader"])
    arm.update(q, np.zeros(6))
    return float(np.abs(np.linalg.solve(arm.J, np.eye(6)[0])) @ np.array(COULOMB))


@experiment("D-50")
def friction_offset() -> Finding:
    """Starting force with and without the offset; hands off, with sensor noise, nothing moves."""
    bare, helped, literal = (
        _starting_force(slow_pull(*settings)) for settings in ((), (FRICTION_OFFSET,), COMMAND_ONLY)
    )
    reduced = 100.0 * (1.0 - helped / bare)
    drift = _hands_off_drift()
    note = (
        f"{bare:.1f} N without, {helped:.1f} N with it; led by the command alone {literal:.1f} N "
        f"({100.0 * (1.0 - literal / bare):.0f} %), see docs/errata.md D-50; "
        f"hands off, 3 s with noise: {drift:.1e} rad"
    )
    return Finding(reduced, reduced >= 40.0 and drift < 1e-4, note)


def _hands_off_drift() -> float:
    """Largest joint motion of the leader in 3 s without a hand, after a second to settle, [rad]."""
    settings: list[Setting] = [("rig.coulomb", COULOMB), FRICTION_OFFSET, ("hand.open", True)]
    result = run(build_rig("dual-arm", Options(LAW, scenario="free", settings=settings)), 4.0)
    return float(np.ptp(result.signal("leader", "q")[1000:], axis=0).max())


def _friction_plot():
    title = "Dry friction: the offset takes two thirds of it off the hand"
    figure, axes = time_axes(title, 2, 4.8)
    cases: dict[str, tuple[Setting, ...]] = {
        "no offset": (),
        "offset": (FRICTION_OFFSET,),
        "offset led by the command alone": COMMAND_ONLY,
    }
    for label, settings in cases.items():
        result = slow_pull(*settings)
        axes[0].plot(result.times("leader"), force(result, "leader")[:, 0], label=label)
        axes[1].plot(result.times("coupling"), position_error(result), label=label)
    blind = slow_pull(*NO_WRENCH)
    axes[1].plot(blind.times("coupling"), position_error(blind), ":", label="no offset, no F/T")
    axes[0].axhline(26.0, color="k", linestyle=":", label="published, about 26 N")
    return _label_contact(figure, axes, "hand force along x [N]")
