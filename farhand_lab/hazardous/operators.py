"""The operator's force map, thresholds, profiles and vibration cue: C-49 to C-51, C-61."""

from __future__ import annotations

import numpy as np

from farhand.analysis.threshold import (
    Operators,
    ThresholdProtocol,
    VirtualOperators,
    load_operators,
)
from farhand.control.haptic.force_map import ForceMap, VibrationCue
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.follower import Wrist
from farhand_lab.hazardous.sensing import task_joints
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

# [N/m], means of Tables 4.1 and 4.2
PRINTED = np.array([[825.0, 790.0, 890.0], [2485.0, 2430.0, 2530.0]])


@experiment("C-49")
def force_map() -> Finding:
    """Deviation from the printed points and lines, both signs, three axes; torques too."""
    scale, sizes = ForceMap(), np.linspace(8.0, 50.0, 43)
    low, high = np.array([8.25, 7.9, 8.9]), np.array([24.85, 24.3, 25.3])
    expected = low + np.multiply.outer((sizes - 8.0) / 42.0, high - low)
    wrench = np.zeros((len(sizes), 6))
    wrench[:, :3] = sizes[:, None]
    both = [sign * scale.forward(sign * wrench)[:, :3] for sign in (1.0, -1.0)]
    off = max(float(np.abs(felt - expected).max()) for felt in both)
    sweep = np.linspace(-80.0, 80.0, 160_001)[:, None] * np.where(np.arange(6) < 3, 1.0, 0.1)
    out = scale.forward(sweep)
    # [N] per 1 mN
    jump = float(np.abs(np.diff(out[:, :3], axis=0)).max())
    flat = np.allclose(out[-1, :3], high) and np.allclose(out[-1, 3:], [3.7, 4.6, 1.8])
    still = bool((scale.forward(np.zeros(6)) == 0.0).all() and (np.diff(out, axis=0) >= 0.0).all())
    torque = scale.forward(np.array([0.0, 0.0, 0.0, 0.8, 0.8, 5.0]))[3:]
    ok = off <= 0.01 and jump < 0.002 and flat and still and np.allclose(torque, [1.4, 1.1, 1.8])
    note = (
        "below 8 N a line through zero, above 50 N flat (E-27); torques 0.8 N·m → T_min, 5 N·m → "
        "T_max (assumed)"
    )
    return Finding(off, bool(ok), note, figures=(Figure("Force map", _map_plot),))


@shared
def thresholds() -> tuple[Operators, Operators]:
    """Thresholds of seven virtual operators, with and without reaction time removed."""
    truth = load_operators()
    people = VirtualOperators(truth, generator("hazardous-operators"))
    return ThresholdProtocol().run(people), ThresholdProtocol(rehearsals=0).run(people)


@experiment("C-50")
def threshold_protocol() -> Finding:
    """Seven virtual operators, 1 N/s, about 0.25 s of reaction; worst error of a mean."""
    truth, (measured, raw) = load_operators(), thresholds()
    errors = np.abs(np.array(measured[1:3]) - np.array(truth[1:3]))
    force, torque = errors[:, :, :3].max(), errors[:, :, 3:].max()
    means = np.array([table[:, :3].mean(axis=0) for table in measured[1:3]])
    off = float(np.abs(means / PRINTED - 1.0).max())
    biased = np.array([table[:, :3].mean(axis=0) for table in raw[1:3]]) / PRINTED - 1.0
    note = (
        f"largest error of a person {force:.0f} N/m and {torque:.1f} N·m/rad (step 0.2); without "
        f"taking the measured reaction time off, means are up to {np.abs(biased).max():.1%} too "
        "high"
    )
    return Finding(100.0 * off, bool(off <= 0.02 and force <= 20.0 and torque <= 0.4), note)


@experiment("C-51")
def profiles() -> Finding:
    """Each of the seven in turn on one map; 10,000 random wrenches up to 500 N and 50 N·m each."""
    people, scale, good = load_operators(), ForceMap(), 0
    wrenches = generator("hazardous-profiles").uniform(-1.0, 1.0, (10_000, 6))
    wrenches *= np.repeat([500.0, 50.0], 3)
    ends = np.repeat([[8.0, 0.8], [50.0, 5.0]], 3, axis=1)
    for index, name in enumerate(people.names):
        scale.use(*people.limits(name))
        table = np.array([people.least[index], people.most[index]]) * people.lengths
        # A, B, C turn about z, y, x
        table = table[:, [0, 1, 2, 5, 4, 3]]
        bounded = bool((np.abs(scale.forward(wrenches)) <= table[1]).all())
        good += np.allclose(scale.forward(ends), table) and bounded
    spans = people.limits("1")[0][0], people.limits("7")[0][0]
    note = f"just felt along x: {spans[0]:.1f} N by operator 1, {spans[1]:.1f} N by operator 7"
    return Finding(good, good == 7, note)


def _cue_record(rig: Wrist, q: Array, v: Array, push: Array) -> tuple[Array, Array]:
    """The cue at each sample of a motion with contact, and the accelerations the wrist saw."""
    record, cue, dt = rig.run(len(q), q, v, push), rig.follower.cue, 1.0 / rig.rate
    samples = zip(record.contact[:, :3], record.acceleration.tolist(), strict=True)
    return np.array([cue.step(f, a, dt) for f, a in samples]), record.acceleration


@experiment("C-61")
def vibration_cue() -> Finding:
    """100 touches of 2 to 7.9 N in a task's motion, and 5 min of free motion, most of it shaken."""
    late, missed, slow = _touches(100)
    q, v, _ = task_joints(300.0, generator("hazardous-free"))
    # Jerks of every size on top of the motion, half a second each
    rng = generator("hazardous-jerks")
    sizes = np.repeat(rng.uniform(0.0, 1.0, len(q) // 250 + 1) ** 2, 250)[: len(q)]
    rig = Wrist("C-61 free")
    jerk = np.outer(sizes * (-1.0) ** np.arange(len(q)), rig.steepest)
    false, shaken = _cue_record(rig, q, v + jerk, np.zeros((len(q), 6)))
    note = (
        f"touches in a task's motion, accelerations up to {100 * slow:.0f} % of the largest: "
        f"{missed} of 100 missed; {int(false.sum())} of {len(q)} samples of free motion with a cue "
        f"(up to {100 * shaken.max():.0f} %); none is asked for in fast motion: docs/errata.md, "
        "C-61"
    )
    ok = late <= 0.050 and missed == 0 and not false.any()
    return Finding(1e3 * late, ok, note, corrected=True)


def _touches(count: int) -> tuple[float, int, float]:
    """Longest delay from touch to cue [s], touches without one, and the largest acceleration.

    A touch of 0.4 s comes once a second.
    """
    rng, rig = generator("hazardous-touch"), Wrist("C-61 touches")
    per = round(rig.rate)
    q, v, _ = task_joints(float(count), rng)
    push, t = np.zeros((count * per, 6)), np.arange(per) / rig.rate
    for i in range(count):
        direction = rng.normal(size=3)
        size = rng.uniform(2.0, 7.9)
        # Soft things take 20 ms
        rise = np.clip((t - 0.5) / 0.020, 0.0, 1.0) * (t < 0.9)
        direction /= np.linalg.norm(direction)
        push[i * per : (i + 1) * per, :3] = np.multiply.outer(rise * size, direction)
    # Shaken by 5 % of the largest acceleration throughout
    jerk = 0.05 * np.outer((-1.0) ** np.arange(len(q)), rig.steepest)
    cue, accelerations = _cue_record(rig, q, v + jerk, push)
    window = cue.reshape(count, per)[:, round(0.5 * per) : round(0.9 * per)]
    cued = window.any(axis=1)
    delays = window.argmax(axis=1)[cued] / rig.rate
    longest = float(delays.max()) if cued.any() else float("nan")
    return longest, int((~cued).sum()), float(accelerations[1:].max())


def _map_plot():
    labels = "force on the follower [N]", "force on the hand [N]"
    figure, axes = canvas(*labels, "From just felt to still comfortable")
    people, scale, x = load_operators(), ForceMap(), np.linspace(-70.0, 70.0, 701)
    for name in (*people.names, None):
        scale.use(*(people.limits(name) if name else people.limits()))
        felt = scale.forward(np.multiply.outer(x, np.eye(6)[0]))[:, 0]
        axes.plot(x, felt, color="0.8" if name else "C0", label=None if name else "mean")
    axes.legend(title="seven operators (grey)")
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(ForceMap, "forward", "C-49 C-51")
def saturation(forward, self, wrench, *passed):
    """The map rises for ever."""
    high = np.repeat([self.force_high, self.torque_high], 3)
    excess = 0.1 * np.sign(wrench) * np.maximum(np.abs(wrench) - high, 0.0)
    return forward(self, wrench, *passed) + excess


@MUTATIONS.of(ForceMap, "use", "C-51")
def profile(_, self, least, most):
    """Profiles are not taken over."""
    return None


@MUTATIONS.of(ThresholdProtocol, "run", "C-50")
def reaction(run, self, people):
    """Reaction times are ignored."""
    self.rehearsals = 0
    return run(self, people)


@MUTATIONS.of(VibrationCue, "step", "C-61")
def slow_cue(step, self, force, acceleration, dt):
    """The cue sees the smoothed force."""
    self.fast = 0.126
    return step(self, force, acceleration, dt)


@MUTATIONS.of(VibrationCue, "step", "C-61")
def nervous_cue(step, self, force, acceleration, dt):
    """The cue knows no acceleration."""
    return step(self, force, 0.0, dt)
