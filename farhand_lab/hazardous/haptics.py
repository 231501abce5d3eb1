"""The leader's force display on a simulated handle: C-43 to C-48."""

from __future__ import annotations

import numpy as np

from farhand.control.haptic import impedance as spring_module
from farhand.control.haptic.impedance import (
    CartesianImpedance,
    DirectRendering,
    Rendering,
    SpringForce,
    device_axes,
)
from farhand.spatial import rotation_from_vector
from farhand_lab.gains import Gains
from farhand_lab.harness import Figure, Finding, experiment
from farhand_lab.mutation import Mutation, Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

MASS = np.array([4.0, 4.0, 4.0, 0.05, 0.05, 0.05])
"""[kg] and [kg·m²]; assumed, sources/hazardous §3.23."""

FRICTION = np.array([8.0, 8.0, 8.0, 0.3, 0.3, 0.3])
"""D_0, [N·s/m] and [N·m·s/rad]; assumed, sources/hazardous §3.23."""

TICK = 1.0 / 4200.0
"""A common divisor of the two published update periods, 1/350 and 1/150 s, [s]."""


class SimulatedHandle:
    """Six axes, M ẍ + D_0 ẋ = wrench; leading axes are independent handles.

    Attributes:
        x: displacement, [m] ×3 then [rad] ×3.
        v: rate, [m/s] and [rad/s].
    """

    def __init__(self, *handles: int) -> None:
        self.x, self.v = np.zeros((*handles, 6)), np.zeros((*handles, 6))
        self._kept = np.exp(-FRICTION / MASS * TICK)

    def step(self, wrench: Array) -> None:
        """One tick under a constant wrench, [N] and [N·m]."""
        final = wrench / FRICTION
        gained = (self.v - final) * (1.0 - self._kept) * MASS / FRICTION
        self.x = self.x + final * TICK + gained
        self.v = final + (self.v - final) * self._kept


DIRECT_SERVO, SMART_SERVO = 350.0, 150.0  # [Hz], thesis §4.2.3
HAND_SPEED = 0.25  # [m/s]
START = np.array([16.0, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Wrench at which the published direct mode dropped out, [N]."""

FLAT = np.eye(3)


def _held(impedance: CartesianImpedance, handle: SimulatedHandle) -> Array:
    """Wrench of the impedance on a handle near its start orientation, [N] and [N·m]."""
    return impedance.wrench(handle.x[:3], rotation_from_vector(handle.x[3:]), handle.v)


@experiment("C-43")
def impedance() -> Finding:
    """Each axis released from an offset; stiffness doubled in mid-motion."""
    worst = max(_release_error(axis) for axis in range(6))
    note = "share of the offset, six axes, stiffness doubled at 0.4 s"
    return Finding(100.0 * worst, worst <= 0.01, note)


def _release_error(axis: int) -> float:
    """Largest deviation from the closed form, over the offset, [-]."""
    spring, handle, t = CartesianImpedance(), SimulatedHandle(), TICK * np.arange(round(0.8 / TICK))
    spring.stiffness = np.where(np.arange(6) < 3, 1000.0, 20.0)
    spring.damping = np.where(np.arange(6) < 3, 20.0, 0.5)
    offset = 0.01 if axis < 3 else 0.1
    handle.x[axis] = offset
    track, half, turn = np.empty((len(t), 2)), len(t) // 2, np.zeros(2)
    for i in range(len(t)):
        if i == half:
            spring.stiffness = 2.0 * spring.stiffness
            turn[:] = handle.x[axis], handle.v[axis]
        track[i] = handle.x[axis], handle.v[axis]
        handle.step(_held(spring, handle))
    m, d = MASS[axis], FRICTION[axis] + spring.damping[axis]
    first = offset * Gains(0.5 * spring.stiffness[axis] / m, d / m).response(t[:half])
    later = Gains(spring.stiffness[axis] / m, d / m)
    second = _free(later, turn, t[half:] - t[half])
    expected = np.concatenate([first, second])
    return float(np.abs(track[:, 0] - expected).max() / offset)


def _free(gains: Gains, start: Array, t: Array) -> Array:
    """Free response from a position and a rate."""
    s = np.roots([1.0, gains.derivative, gains.proportional]).astype(complex)
    amplitudes = np.linalg.solve(np.array([[1.0, 1.0], s]), start.astype(complex))
    return (amplitudes[None, :] * np.exp(np.multiply.outer(t, s))).sum(axis=1).real


@experiment("C-44")
def hand_guidance() -> Finding:
    """A hand moves the handle at 0.1 m/s; then nobody touches it for a minute."""
    pull, drift = _guided(0.1, 4.0)[0], 1e3 * float(np.abs(_guided(0.0, 60.0)[1]).max())
    more = _guided(0.1, 4.0, guidance=1000.0)[0] - pull
    note = (
        f"drift {drift:.1e} mm; a guidance spring of 1000 N/m, slack at every update, would add "
        f"{more:.2f} N"
    )
    return Finding(pull, abs(pull / 0.8 - 1.0) <= 0.01 and drift <= 1e-3, note)


def _guided(speed: float, seconds: float, guidance: float = 0.0) -> tuple[float, Array]:
    """Mean hand force along x over the last second [N], and the path of the handle."""
    handle, spring, render = SimulatedHandle(), CartesianImpedance(), SpringForce()
    per_update, ticks = round(1.0 / (DIRECT_SERVO * TICK)), round(seconds / TICK)
    forces, path = [], []
    for i in range(ticks):
        if i % per_update == 0:
            pose = handle.x[:3], rotation_from_vector(handle.x[3:])
            render.update(spring, *pose, np.zeros(6))
            if guidance:
                spring.stiffness = np.full(6, guidance)
                spring.relax(*pose)
            path.append(handle.x.copy())
            # A slack spring's wrench is zero wherever the handle is
            slack = not spring.stiffness.any()
        push = np.zeros(6)
        if speed > 0.0:
            push[0] = 300.0 * (speed * i * TICK - handle.x[0]) + 20.0 * (speed - handle.v[0])
        handle.step(push if slack else push + _held(spring, handle))
        forces.append(push[0])
    return float(np.mean(forces[-round(1.0 / TICK) :])), np.array(path)


@experiment("C-45")
def spring_force() -> Finding:
    """On a balance that yields by up to 0.3 mm; torques a tenth as large."""
    levels = np.concatenate([[0.1], np.arange(1.0, 31.0)])
    target = np.multiply.outer(levels, np.where(np.arange(6) < 3, 1.0, 0.1))
    render, handle = SpringForce(), SimulatedHandle(len(levels))
    balance = np.where(np.arange(6) < 3, 1e5, 1e3)
    damper = 2.0 * np.sqrt(balance * MASS)
    per_update = round(1.0 / (DIRECT_SERVO * TICK))
    for i in range(round(0.5 / TICK)):
        if i % per_update == 0:
            (offset, stiffness), read = render.springs(target), handle.x
        pressed = balance * handle.x + damper * handle.v
        handle.step(stiffness * (read + offset - handle.x) - pressed)
    error = np.abs(balance * handle.x - target)
    force, torque = float(error[:, :3].max()), float(error[:, 3:].max())
    reached = float((stiffness * offset)[-1, 0])
    ok = force <= 0.1 and torque <= 0.01 and np.allclose(np.abs(offset[0]), [0.01] * 3 + [0.1] * 3)
    note = f"torques within {torque:.1e} N·m; {reached:g} N takes {stiffness[-1, 0]:.0f} N/m"
    return Finding(force, bool(ok), note)


def _felt(t: Array, rate: float) -> Array:
    """Force along x by the rig's rendering of 10 N on a hand that moves at 0.25 m/s, [N]."""
    render, target = Rendering(mode="springs", rate=rate), np.array([10.0, 0, 0, 0, 0, 0])
    twist = np.array([-HAND_SPEED, 0, 0, 0, 0, 0])
    return np.array(
        [
            render.wrench(target, twist[:3] * now, FLAT, twist, round(1e9 * now), t[1])[0]
            for now in t
        ]
    )


def _update_error(rate: float) -> tuple[float, float]:
    """Largest and mean error of 10 N while the hand moves at 0.25 m/s, as shares, [-]."""
    t = 0.1 * TICK * np.arange(round(2.0 / TICK))
    off = _felt(t, rate)[t > 0.02] / 10.0 - 1.0
    return float(off.max()), float(off.mean())


def _late_error(delay: float) -> float:
    """Largest error at 350 Hz if the springs are in place only after ``delay`` [s], [-]."""
    t = 0.1 * TICK * np.arange(round(5.0 / TICK))
    moved, target = np.zeros((len(t), 6)), np.zeros((len(t), 6))
    moved[:, 0], target[:, 0] = -HAND_SPEED * t, 10.0
    felt = SpringForce().along(t, moved, target, 1.0 / DIRECT_SERVO, delay)[t > 0.1, 0]
    return float((felt / 10.0 - 1.0).max())


@experiment("C-46")
def update_rate() -> Finding:
    """The hand moves while the target does not: v T over the spring's length."""
    (fast, fast_mean), (slow, slow_mean) = _update_error(DIRECT_SERVO), _update_error(SMART_SERVO)
    late = _late_error(0.020)
    halves = all(0.4 <= mean / peak <= 0.6 for peak, mean in ((fast, fast_mean), (slow, slow_mean)))
    ok = abs(fast - 0.07) <= 0.01 and abs(slow - 0.17) <= 0.02 and halves
    note = (
        f"150 Hz: {slow:.1%} (means {fast_mean:.1%} and {slow_mean:.1%}); with the device's "
        f"command delay of 20 ms in this loop {late:.0%} at 350 Hz"
    )
    return Finding(100.0 * fast, ok, note, figures=(Figure("Force between updates", _rate_plot),))


@experiment("C-47")
def dropouts() -> Finding:
    """16 N and 0.05 N more every 50 ms for a second, in both modes, in a hand."""
    direct, direct_shake = _rendered("direct")
    spring, spring_shake = _rendered("springs")
    clean = _drops(spring)
    shakes = f"{1e3 * direct_shake:.2f} against {1e3 * spring_shake:.2f} mm/s rms"
    note = f"spring mode {clean}; shaking of a held handle {shakes}"
    ok = _drops(direct) == 20 and clean == 0 and direct_shake > spring_shake
    figures = (Figure("Two ways to a force", _dropout_plot),)
    return Finding(_drops(direct), ok, note, figures=figures)


def _rendered(mode: str) -> tuple[Array, float]:
    """Force along x after the first rise, and how unsteady a handle in the hand is, [m/s]."""
    render, handle = Rendering(mode=mode, rate=DIRECT_SERVO), SimulatedHandle()
    render.direct.gap = DirectRendering().gap
    force, speed = np.empty(round(1.1 / TICK)), np.empty(round(1.1 / TICK))
    for i in range(len(force)):
        target = START * (1.0 + 0.05 / 16.0 * max(0, int((i * TICK - 0.1) / 0.05 + 1.0 + 1e-9)))
        pose = handle.x[:3], rotation_from_vector(handle.x[3:]), handle.v
        wrench = render.wrench(target, *pose, round(1e9 * i * TICK), TICK)
        handle.step(wrench - START - 300.0 * handle.x - 20.0 * handle.v)
        force[i], speed[i] = wrench[0], handle.v[0]
    after = slice(round(0.09 / TICK), None)
    return force[after], float(np.std(speed[after]))


def _drops(force: Array) -> int:
    """How often the force falls below a tenth of its mean."""
    low = force < 0.1 * force.mean()
    return int((low[1:] & ~low[:-1]).sum())


@experiment("C-48")
def torque_axes() -> Finding:
    """Each torque alone tightens one device spring, and is felt along the device's axis."""
    right = 0
    for axis, device in ((3, 5), (4, 4), (5, 3)):
        target = np.eye(6)[axis]
        spring, render = CartesianImpedance(), SpringForce()
        render.update(spring, np.zeros(3), FLAT, target)
        tight = np.flatnonzero(device_axes(spring.stiffness)).tolist() == [device]
        felt = spring.wrench(np.zeros(3), FLAT, np.zeros(6))
        turned = _zyx(*(render.angle * np.eye(3)[device - 3]))
        same = np.allclose(felt, target, atol=1e-9)
        right += tight and same and np.allclose(spring.rotation, turned, atol=1e-12)
    return Finding(right, right == 3, "of 3")


def _zyx(a: float, b: float, c: float) -> Array:
    """Rotation by the device's angles: A about z, then B about y, then C about x."""
    x, y, z = np.eye(3)
    return rotation_from_vector(a * z) @ rotation_from_vector(b * y) @ rotation_from_vector(c * x)


def _rate_plot():
    labels = "time [ms]", "force on the hand [N]"
    figure, axes = canvas(*labels, "The slower the updates, the rougher the force")
    t = np.linspace(0.0, 0.03, 3000)
    for rate in (DIRECT_SERVO, SMART_SERVO):
        axes.plot(1e3 * t, _felt(t, rate), label=f"{rate:.0f} Hz")
    axes.axhline(10.0, color="k", linestyle=":", label="target")
    axes.legend()
    return figure


def _dropout_plot():
    labels = "time [s]", "force on the hand [N]"
    figure, axes = canvas(*labels, "The direct mode lets go at every change")
    for mode in ("direct", "springs"):
        force = _rendered(mode)[0]
        axes.plot(TICK * np.arange(len(force)), force, label=mode)
    axes.legend()
    return figure


MUTATIONS = Mutations(
    [
        Mutation("axis order", "A, B, C are taken for x, y, z", ("C-48",)).patch(
            spring_module, "DEVICE_ORDER", np.arange(6)
        )
    ]
)


@MUTATIONS.of(CartesianImpedance, "wrench", "C-43")
def damping(wrench, self, position, rotation, twist):
    """Dampers push."""
    return wrench(self, position, rotation, -twist)


@MUTATIONS.of(SpringForce, "update", "C-44")
def never_free(update, self, spring, position, rotation, target):
    """No force leaves 100 N/m."""
    update(self, spring, position, rotation, target)
    spring.stiffness = spring.stiffness + 100.0 * (target == 0.0)


@MUTATIONS.of(SpringForce, "springs", "C-45")
def weak_springs(springs, self, target):
    """Springs 1 % too soft."""
    result = springs(self, target)
    return result._replace(stiffness=0.99 * result.stiffness)


@MUTATIONS.of(SpringForce, "springs", "C-45 C-46")
def long_springs(springs, self, target):
    """Springs of 20 mm."""
    result = springs(self, target)
    return result._replace(offset=2.0 * result.offset, stiffness=0.5 * result.stiffness)


@MUTATIONS.of(DirectRendering, "step", "C-47")
def no_drop_out(_, self, target, dt):
    """The direct mode keeps its force."""
    return target
