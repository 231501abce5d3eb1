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
from farhand.sensing.noise import NoiseModel
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.sensing_model import DYNAMIC, STATIC
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray

SENSOR_RATE = 500.0  # [Hz]
NOISE = NoiseModel(STATIC, DYNAMIC)

# [N/m], means of Tables 4.1 and 4.2
PRINTED = np.array([[825.0, 790.0, 890.0], [2485.0, 2430.0, 2530.0]])


@experiment("C-49")
def force_map() -> Finding:
    """Largest deviation from the printed points and the line between them, both signs, three axes; torques too."""
    scale, sizes = ForceMap(), np.linspace(8.0, 50.0, 43)
    low, high = np.array([8.25, 7.9, 8.9]), np.array([24.85, 24.3, 25.3])
    expected = low + np.multiply.outer((sizes - 8.0) / 42.0, high - low)
    wrench = np.zeros((len(sizes), 6))
    wrench[:, :3] = sizes[:, None]
    off = max(
        float(np.abs(sign * scale.forward(sign * wrench)[:, :3] - expected).max())
        for sign in (1.0, -1.0)
    )
    sweep = np.linspace(-80.0, 80.0, 160_001)[:, None] * np.where(np.arange(6) < 3, 1.0, 0.1)
    out = scale.forward(sweep)
    jump = float(np.abs(np.diff(out[:, :3], axis=0)).max())  # [N] per 1 mN
    flat = np.allclose(out[-1, :3], high) and np.allclose(out[-1, 3:], [3.7, 4.6, 1.8])
    still = bool((scale.forward(np.zeros(6)) == 0.0).all() and (np.diff(out, axis=0) >= 0.0).all())
    torque = scale.forward(np.array([0.0, 0.0, 0.0, 0.8, 0.8, 5.0]))[3:]
    ok = off <= 0.01 and jump < 0.002 and flat and still and np.allclose(torque, [1.4, 1.1, 1.8])
    note = "below 8 N a line through zero, above 50 N flat (E-27); torques 0.8 N·m → T_min, 5 N·m → T_max (assumed)"
    return Finding(off, bool(ok), note, figures=(Figure("Force map", _map_plot),))


@shared
def found_thresholds() -> tuple[Operators, Operators]:
    """The protocol's findings on seven virtual operators, with and without taking their reaction time off."""
    truth = load_operators()
    people = VirtualOperators(truth, generator("hazardous-operators"))
    return ThresholdProtocol().run(people), ThresholdProtocol(rehearsals=0).run(people)


@experiment("C-50")
def threshold_protocol() -> Finding:
    """Seven virtual operators from the tables, 1 N/s, reaction of about 0.25 s; value: worst error of a mean."""
    truth, (found, raw) = load_operators(), found_thresholds()
    forces = [
        np.abs(table[:, :3] - true[:, :3]).max()
        for table, true in zip(found[1:3], truth[1:3], strict=True)
    ]
    torques = [
        np.abs(table[:, 3:] - true[:, 3:]).max()
        for table, true in zip(found[1:3], truth[1:3], strict=True)
    ]
    means = np.array([table[:, :3].mean(axis=0) for table in found[1:3]])
    off = float(np.abs(means / PRINTED - 1.0).max())
    biased = np.array([table[:, :3].mean(axis=0) for table in raw[1:3]]) / PRINTED - 1.0
    note = (
        f"largest error of a person {max(forces):.0f} N/m and {max(torques):.1f} N·m/rad (step 0.2); without taking "
        f"the measured reaction time off, means are up to {np.abs(biased).max():.1%} too high"
    )
    return Finding(
        100.0 * off, bool(off <= 0.02 and max(forces) <= 20.0 and max(torques) <= 0.4), note
    )


@experiment("C-51")
def profiles() -> Finding:
    """Each of the seven in turn on one map; 10,000 random wrenches up to 500 N and 50 N·m each."""
    people, scale, good = load_operators(), ForceMap(), 0
    wrenches = generator("hazardous-profiles").uniform(-1.0, 1.0, (10_000, 6)) * np.repeat(
        [500.0, 50.0], 3
    )
    ends = np.repeat([[8.0, 0.8], [50.0, 5.0]], 3, axis=1)
    for index, name in enumerate(people.names):
        scale.use(*people.limits(name))
        table = np.array([people.least[index], people.most[index]]) * people.lengths
        table = table[:, [0, 1, 2, 5, 4, 3]]  # A, B, C turn about z, y, x
        good += np.allclose(scale.forward(ends), table) and bool(
            (np.abs(scale.forward(wrenches)) <= table[1]).all()
        )
    spans = people.limits("1")[0][0], people.limits("7")[0][0]
    return Finding(
        good,
        good == 7,
        f"just felt along x: {spans[0]:.1f} N by operator 1, {spans[1]:.1f} N by operator 7",
    )


def _cue_record(force: Array, acceleration: Array, stream: str) -> Array:
    """Cue on or off, one per sensor sample, for a true contact force n × 3 [N] and relative joint accelerations."""
    noise = NOISE.sample(acceleration, SENSOR_RATE, generator(stream))[:, :3]
    t = np.arange(len(force))[:, None] / SENSOR_RATE
    # of compensation
    left = np.sin(2.0 * np.pi * 0.1 * t + np.array([0.0, 1.0, 2.0])) * np.array([0.5, 0.8, 0.5])
    cue = VibrationCue()
    return np.array(
        [
            cue.step(f, a, 1.0 / SENSOR_RATE)
            for f, a in zip(force + noise + left, acceleration.tolist(), strict=True)
        ]
    )


@experiment("C-61")
def vibration_cue() -> Finding:
    """100 touches of 2 to 7.9 N in slow motion, and 5 min of free motion; the sensor's noise and residues are on."""
    late, missed = _touches(0.05, 100)
    rng, n = generator("hazardous-free"), round(300.0 * SENSOR_RATE)
    bursts = np.repeat(rng.uniform(0.0, 1.0, n // 250 + 1) ** 2, 250)[:n]
    false = _cue_record(np.zeros((n, 3)), bursts, "hazardous-free-noise")
    hasty = _touches(1.0, 20)
    note = (
        f"slow motion (5 % of full acceleration): {missed} of 100 missed; {int(false[1:].sum())} of {n} samples of "
        f"free motion with a cue; at full acceleration {hasty[1]} of 20 touches go without one: docs/errata.md, C-61"
    )
    return Finding(
        1e3 * late, late <= 0.050 and missed == 0 and not false.any(), note, corrected=True
    )


def _touches(acceleration: float, count: int) -> tuple[float, int]:
    """Longest delay from touch to cue [s], and how many had none, for touches of 0.4 s once a second."""
    rng, per = generator("hazardous-touch"), round(SENSOR_RATE)
    force, t = np.zeros((count * per, 3)), np.arange(per) / SENSOR_RATE
    for i in range(count):
        direction = rng.normal(size=3)
        size = rng.uniform(2.0, 7.9)
        rise = np.clip((t - 0.5) / 0.020, 0.0, 1.0) * (t < 0.9)  # soft things take 20 ms
        force[i * per : (i + 1) * per] = np.multiply.outer(
            rise * size, direction / np.linalg.norm(direction)
        )
    cue = _cue_record(force, np.full(len(force), acceleration), "hazardous-touch-noise").reshape(
        count, per
    )
    window = cue[:, round(0.5 * per) : round(0.9 * per)]
    found = window.any(axis=1)
    delays = window.argmax(axis=1)[found] / SENSOR_RATE
    return float(delays.max()) if found.any() else float("nan"), int((~found).sum())


def _map_plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes, x = figure.subplots(), np.linspace(-70.0, 70.0, 701)
    people, scale = load_operators(), ForceMap()
    for name in people.names:
        scale.use(*people.limits(name))
        axes.plot(x, scale.forward(np.multiply.outer(x, np.eye(6)[0]))[:, 0], color="0.8")
    scale.use(*people.limits())
    axes.plot(
        x,
        scale.forward(np.multiply.outer(x, np.eye(6)[0]))[:, 0],
        label="mean of seven operators (grey)",
    )
    axes.set(
        xlabel="force on the follower [N]",
        ylabel="force on the hand [N]",
        title="From just felt to still comfortable",
    )
    axes.legend()
    return figure


def _unsaturated(forward):
    def broken(self: ForceMap, wrench, *passed):
        high = np.repeat([self.force_high, self.torque_high], 3)
        return forward(self, wrench, *passed) + 0.1 * np.sign(wrench) * np.maximum(
            np.abs(wrench) - high, 0.0
        )

    return broken


def _stuck_profile(use):
    def broken(self: ForceMap, least, most):
        return None

    return broken


def _impatient(run):
    def broken(self: ThresholdProtocol, people):
        self.rehearsals = 0
        return run(self, people)

    return broken


def _sluggish(step):
    def broken(self: VibrationCue, force, acceleration, dt):
        self.fast = 0.126
        return step(self, force, acceleration, dt)

    return broken


def _nervous(step):
    def broken(self: VibrationCue, force, acceleration, dt):
        return step(self, force, 0.0, dt)

    return broken


MUTATIONS = [
    Mutation(
        "saturation",
        "the map rises for ever",
        ("C-49", "C-51"),
        lambda: changed(ForceMap, "forward", _unsaturated),
    ),
    Mutation(
        "profile",
        "profiles are not taken over",
        ("C-51",),
        lambda: changed(ForceMap, "use", _stuck_profile),
    ),
    Mutation(
        "reaction",
        "reaction times are ignored",
        ("C-50",),
        lambda: changed(ThresholdProtocol, "run", _impatient),
    ),
    Mutation(
        "slow cue",
        "the cue sees the smoothed force",
        ("C-61",),
        lambda: changed(VibrationCue, "step", _sluggish),
    ),
    Mutation(
        "nervous cue",
        "the cue knows no acceleration",
        ("C-61",),
        lambda: changed(VibrationCue, "step", _nervous),
    ),
]
