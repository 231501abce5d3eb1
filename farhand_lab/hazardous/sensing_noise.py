"""The simulated F/T sensor's parts and noise, and the Kalman filter that takes the noise off."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure as Plot
from scipy.signal import welch
from scipy.spatial.transform import Rotation

from farhand.sensing import GaugeSensor, NoiseModel, ScalarKalman, VectorKalman
from farhand.sensing import noise as noise_module
from farhand.sensing.kalman import smooth, steady_gain
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.sensing_model import DYNAMIC, NOISE, RATE, STATIC, Q, R, bias, load
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

SAMPLES = 200_000


@experiment("C-21")
def simulator_parts() -> Finding:
    """Weight and contact from the rotation as written, beside what comes back through gauges and matrix."""
    rng = generator("C-21")
    matrix = 20.0 * (np.eye(6) + 0.2 * rng.standard_normal((6, 6)))
    rotations, push, offset = (
        Rotation.random(500, rng=rng).as_matrix(),
        rng.uniform(-50, 50, (500, 6)),
        bias(rng),
    )
    sensor = GaugeSensor(matrix, load("PG 070"), offset)
    read = sensor.convert(sensor.read(rotations, push))
    worst = 0.0
    for reading, turn, contact in zip(read, rotations, push, strict=True):
        weight = turn.T @ [0.0, 0.0, -14.0]
        parts = np.concatenate([weight, np.cross([0.0, 0.0, 0.06], weight)]) + offset
        parts += np.concatenate([turn.T @ contact[:3], turn.T @ contact[3:]])
        worst = max(worst, float(np.abs(reading - parts).max()))
    return Finding(worst, worst < 1e-9)


@shared
def recorded(level: float) -> Array:
    """Noise at one acceleration, SAMPLES × 6."""
    return NOISE.sample(np.full(SAMPLES, level), RATE, generator(f"noise {level}"))


@experiment("C-22")
def static_noise() -> Finding:
    """Six channels at rest."""
    worst = 100.0 * float(np.abs(recorded(0.0).std(axis=0) / STATIC - 1.0).max())
    return Finding(worst, worst <= 5.0, "largest deviation of six channels")


@experiment("C-23")
def dynamic_noise() -> Finding:
    """At full acceleration, at rest, and the slope of the spectrum over more than a decade."""
    worst = 100.0 * float(np.abs(recorded(1.0).std(axis=0) / DYNAMIC - 1.0).max())
    rest = 100.0 * float(np.abs(NOISE.sigma(np.zeros(1))[0] / STATIC - 1.0).max())
    frequency, power = welch(recorded(1.0)[:, 0], RATE, nperseg=8192)
    band = (frequency >= 6.0) & (frequency <= 200.0)
    slope = float(np.polyfit(np.log(frequency[band]), np.log(power[band]), 1)[0])
    ok = worst <= 5.0 and rest <= 1e-9 and abs(slope + 1.0) <= 0.2
    figure = Figure("Noise at rest and at full acceleration", _spectra)
    return Finding(
        worst,
        ok,
        f"spectral slope {slope:.3f}; at rest {rest:.1g} % from static",
        figures=(figure,),
    )


def _spectra() -> Plot:
    plot = Plot(figsize=(8.0, 4.0), layout="constrained")
    ax = plot.subplots()
    for level, name in ((0.0, "at rest"), (1.0, "full acceleration")):
        frequency, power = welch(recorded(level)[:, 0], RATE, nperseg=8192)
        ax.loglog(frequency[1:], power[1:], label=f"F_x {name}", linewidth=1.0)
    ax.axvline(NOISE.lowest, color="#9aa4b1", linewidth=0.8)
    ax.set_ylim(1e-7, None)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("power [N²/Hz]")
    ax.legend(frameon=False)
    return plot


@experiment("C-24")
def kalman_versions() -> Finding:
    """Six scalar filters beside one of six states, over 3000 samples; then the gain they settle at."""
    rng = generator("C-24")
    scalar = ScalarKalman(Q, R, x=np.zeros(6), p=R)
    vector = VectorKalman(np.eye(6), np.eye(6), np.diag(Q), np.diag(R), np.zeros(6), np.diag(R))
    apart = 0.0
    for z in DYNAMIC * rng.standard_normal((3000, 6)):
        one, many = scalar.step(z), vector.step(z)
        assert one is not None and scalar.p is not None
        apart = max(apart, float(np.abs(one - many).max()))
    assert scalar.p is not None
    gain = (scalar.p + Q) / (scalar.p + Q + R)
    closed = np.array([steady_gain(q, r) for q, r in zip(Q, R, strict=True)])
    error = float(np.abs(gain / closed - 1.0).max())
    return Finding(
        apart,
        apart <= 1e-12 and error <= 1e-6,
        f"steady gain {gain[0]:.6f}, {error:.1g} from closed form",
    )


@experiment("C-25")
def missing_samples() -> Finding:
    """A fifth of 5000 samples missing; at each the variance must grow by Q, and two at once must count as two."""
    rng = generator("C-25")
    one = ScalarKalman(Q, R)
    error, finite = 0.0, True
    for _ in range(5000):
        p = np.array(one.p)
        missing = rng.random() < 0.2
        x = one.step(None if missing else DYNAMIC * rng.standard_normal(6))
        if missing:
            error = max(error, float(np.abs(np.array(one.p) - p - Q).max()))
        finite &= x is None or bool(np.isfinite(x).all())
    before = np.array(one.p) + Q
    one.predict()
    one.correct(np.zeros(6))
    one.correct(np.zeros(6))
    both = float(np.abs(1.0 / np.array(one.p) - 1.0 / before - 2.0 / R).max() * R.min())
    return Finding(
        error,
        error < 1e-12 and finite and both < 1e-9,
        "two readings at once add 2/R of information",
    )


@experiment("C-26")
def tuned_filter() -> Finding:
    """A minute at full acceleration for each of ten seeds, and a step of force."""
    rng = generator("C-26")
    spread = [
        2.0 * smooth(NOISE.sample(np.ones(30_000), RATE, rng), Q, R)[1000:, :3].std(axis=0).max()
        for _ in range(10)
    ]
    lags = [_lag(ratio) for ratio in RATIOS]
    noise = [
        2.0 * smooth(recorded(1.0)[:50_000, :1], r * R[:1], R[:1])[5000:].std() for r in RATIOS
    ]
    falling = bool(np.all(np.diff(lags) < 0.0) and np.all(np.diff(noise) > 0.0))
    worst, lag = max(spread), _lag(2.5e-4)
    note = f"63 % of a step after {1e3 * lag:.0f} ms; noise and lag trade monotonically over {len(RATIOS)} values of Q"
    return Finding(
        worst,
        worst <= 0.5 and lag <= 0.135 and falling,
        note if falling else f"{note}: no",
        figures=(Figure("Noise against lag", lambda: _trade(lags, noise)),),
    )


RATIOS = (2e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 3e-3)


def _lag(ratio: float) -> float:
    """Time to 63 % of a step, [s]."""
    step = smooth(np.vstack([np.zeros((1, 1)), np.ones((3000, 1))]), ratio * R[:1], R[:1])[1:, 0]
    return float(np.argmax(step >= 1.0 - np.exp(-1.0)) + 1) / RATE


def _trade(lags: list[float], noise: list[float]) -> Plot:
    plot = Plot(figsize=(7.0, 4.0), layout="constrained")
    ax = plot.subplots()
    ax.plot(1e3 * np.array(lags), noise, "o-")
    ax.axhline(0.5, color="#9aa4b1", linewidth=0.8)
    ax.set_xlabel("63 % of a step after [ms]")
    ax.set_ylabel("2σ of F_x in motion [N]")
    return plot


def _halved(sigma: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, acceleration: 0.9 * sigma(self, acceleration)


def _blind(self: NoiseModel, acceleration: Array) -> Array:
    return np.broadcast_to(self.static, (len(acceleration), 6))


def _white(
    n: int, rate: float, lowest: float, rng: np.random.Generator, channels: int = 6
) -> Array:
    return rng.standard_normal((n, channels))


def _unsure(self: ScalarKalman) -> None:
    """Half of the growth is forgotten."""
    assert self.p is not None
    self.p += 0.5 * self.q


def _pull(self: GaugeSensor, rotations: Array) -> Array:
    force = self.load.mass * self.gravity * self.axes(rotations)[:, 2, :]
    return np.hstack([force, np.cross(self.load.com, force)])


def _quick(run: Callable[..., Array]) -> Callable[..., Array]:
    return lambda z, q, r: run(z, 4.0 * q, r)


_THIS = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "quick filter",
        "Q is four times too large",
        ("C-26",),
        lambda: patched(_THIS, "smooth", _quick(smooth)),
    ),
    Mutation(
        "gauge weight",
        "the weight pulls upwards",
        ("C-21",),
        lambda: patched(GaugeSensor, "weight", _pull),
    ),
    Mutation(
        "noise size",
        "noise is a tenth too small",
        ("C-22", "C-23"),
        lambda: patched(NoiseModel, "sigma", _halved(NoiseModel.sigma)),
    ),
    Mutation(
        "no vibration",
        "acceleration adds no noise",
        ("C-23",),
        lambda: patched(NoiseModel, "sigma", _blind),
    ),
    Mutation(
        "white noise", "noise is white", ("C-23",), lambda: patched(noise_module, "pink", _white)
    ),
    Mutation(
        "half q",
        "the scalar filter adds half of Q",
        ("C-24", "C-25"),
        lambda: patched(ScalarKalman, "predict", _unsure),
    ),
]
