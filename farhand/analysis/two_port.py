r"""Two-port: a teleoperator as hand and environment see it, identified by shaking its ends.

The convention (sources/youbot §3.19) uses positions, not velocities, which would add a pole and a
zero at zero frequency:

.. math:: \begin{bmatrix} F_h \\ x_e \end{bmatrix} =
          \begin{bmatrix} h_{11} & h_{12} \\ h_{21} & h_{22} \end{bmatrix}
          \begin{bmatrix} x_h \\ F_e \end{bmatrix}

F_h is the force of the hand on the leader, F_e that of the follower on the environment, both [N];
x_h and x_e are the positions of leader and follower, [m]. Nothing has to be held or free while
shaking: any two experiments in which x_h and F_e differ enough (free and in contact, a light and a
heavy environment, force at either end) determine the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray

MAX_CONDITION = 1e6
"""Condition of the scaled signals above which experiments are too similar."""


class PortSignals(NamedTuple):
    """Signals at both ends in one experiment, sampled evenly."""

    position_hand: Array  #: x_h, [m]
    force_hand: Array  #: F_h, of the hand on the leader, [N]
    position_environment: Array  #: x_e, [m]
    force_environment: Array  #: F_e, of the follower on the environment, [N]
    dt: float  #: [s]

    def after(self, seconds: float) -> PortSignals:
        """Without the first seconds, in which transients decay."""
        first = round(seconds / self.dt)
        x_h, f_h, x_e, f_e = (signal[first:] for signal in self[:4])
        return PortSignals(x_h, f_h, x_e, f_e, self.dt)


class TwoPort(Protocol):
    """Anything with two ends: motion at one and force at the other can be imposed."""

    def respond(
        self, position_hand: Array, force_environment: Array, dt: float
    ) -> tuple[Array, Array]:
        """F_h [N] and x_e [m] for x_h [m] and F_e [N], from rest, sampled every ``dt`` [s]."""


@dataclass(frozen=True)
class HybridMatrix:
    """Hybrid matrix over frequency."""

    frequency: Array  #: n, [Hz]; 0 for the static matrix
    h: Array  #: n × 2 × 2, complex; [N/m], [-]; [-], [m/N]

    @property
    def omega(self) -> Array:
        """[rad/s]."""
        return 2.0 * np.pi * self.frequency

    def passivity_margin(self) -> Array:
        r"""Llewellyn's number per frequency; negative where passive ends can make it unstable.

        With the velocity–force immittance p of the same two-port, power counted into it at both
        ends,

        .. math:: \eta = 2\,\mathrm{Re}\,p_{11}\,\mathrm{Re}\,p_{22}
                  - |p_{12}p_{21}| - \mathrm{Re}(p_{12}p_{21})

        Absolute stability needs η ≥ 0, Re p_11 ≥ 0 and Re p_22 ≥ 0. Returned is η over |p_12 p_21|
        (over 1 where that is zero) or, where it is less, a negative Re p_ii over |p_ii|, [-].
        Frequency must not be 0.
        """
        p11, p22 = self.h[:, 0, 0] / (1j * self.omega), -1j * self.omega * self.h[:, 1, 1]
        product = -self.h[:, 0, 1] * self.h[:, 1, 0]
        size = np.where(np.abs(product) > 0.0, np.abs(product), 1.0)
        eta = (2.0 * p11.real * p22.real - np.abs(product) - product.real) / size
        ends = np.minimum(*(p.real / np.maximum(np.abs(p), 1e-30) for p in (p11, p22)))
        return np.where(ends < 0.0, np.minimum(eta, ends), eta)

    def absolutely_stable(self, tolerance: float = 1e-6) -> bool:
        """Whether no passive hand and environment can make it unstable, at its frequencies."""
        return bool((self.passivity_margin() >= -tolerance).all())


def multisine(frequencies: Array, amplitudes: Array | float, times: Array) -> Array:
    """Sum of sines whose phases (Schroeder's) keep the peak low, at ``times`` [s]."""
    n = len(frequencies)
    phases = np.pi * np.arange(n) * (np.arange(n) + 1) / max(n, 1)
    amplitudes = np.broadcast_to(amplitudes, n)
    return np.sum(amplitudes * np.sin(2.0 * np.pi * np.outer(times, frequencies) + phases), axis=1)


def components(signal: Array, frequencies: Array, dt: float) -> Array:
    """Complex amplitudes at these frequencies [Hz], by least squares beside a mean and a slope."""
    times = dt * np.arange(len(signal))
    phase = 2.0 * np.pi * np.outer(times, frequencies)
    line = np.ones((len(times), 1)), times[:, None]
    columns = np.concatenate([np.cos(phase), np.sin(phase), *line], axis=1)
    x, n = np.linalg.lstsq(columns, signal, rcond=None)[0], len(frequencies)
    return x[:n] - 1j * x[n : 2 * n]


def hybrid_from(experiments: Sequence[PortSignals], frequencies: Array) -> HybridMatrix:
    """The matrix that explains two or more experiments at the excited frequencies.

    Args:
        experiments: without their transients.
        frequencies: [Hz], above zero.

    Raises:
        BadValue: fewer than two experiments, or too similar ones.
    """
    if len(experiments) < 2:
        count = len(experiments)
        raise BadValue(f"{count} experiment is too few for a hybrid matrix; use two different ones")
    frequencies = np.asarray(frequencies, dtype=float)
    # Indices: experiment, signal, frequency.
    seen = np.array([[components(x, frequencies, e.dt) for x in e[:4]] for e in experiments])
    inputs, outputs = seen[:, (0, 3)].transpose(2, 1, 0), seen[:, (1, 2)].transpose(2, 1, 0)
    solved = [_solve(*pair) for pair in zip(inputs, outputs, strict=True)]
    return HybridMatrix(frequencies, np.array(solved))


def hybrid_of(
    port: TwoPort,
    frequencies: Array,
    motion: float = 0.01,
    force: float = 1.0,
    dt: float = 1e-3,
    settle: float = 5.0,
) -> HybridMatrix:
    """The matrix of a two-port, once moved with F_e = 0 and once pushed with x_h = 0.

    Args:
        port: the two-port.
        frequencies: [Hz], above zero; multiples of the lowest one make the answer exact.
        motion: amplitude of x_h in all, [m].
        force: amplitude of F_e in all, [N].
        dt: sampling period, [s].
        settle: time that is cut off at the start, [s].
    """
    frequencies = np.asarray(frequencies, dtype=float)
    seconds = settle + 2.0 / frequencies.min()
    times = dt * np.arange(round(seconds / dt))
    fade = np.minimum(times / (0.5 * settle), 1.0)
    shape = multisine(frequencies, 1.0 / len(frequencies), times) * fade
    still = np.zeros(len(times))
    experiments = []
    for position, pushed in ((motion * shape, still), (still, force * shape)):
        felt, moved = port.respond(position, pushed, dt)
        experiments.append(PortSignals(position, felt, moved, pushed, dt).after(settle))
    return hybrid_from(experiments, frequencies)


def static_hybrid_of(
    port: TwoPort, motion: float = 0.01, force: float = 1.0, dt: float = 1e-3, settle: float = 10.0
) -> HybridMatrix:
    """The static matrix: a motion held and a force held until all is at rest, as frequency 0."""
    times = dt * np.arange(round(settle / dt))
    rise = np.minimum(times / (0.2 * settle), 1.0)
    shape, still = rise * rise * (3.0 - 2.0 * rise), np.zeros(len(times))
    columns = []
    for position, pushed, size in ((motion * shape, still, motion), (still, force * shape, force)):
        felt, moved = port.respond(position, pushed, dt)
        tail = slice(-max(len(times) // 50, 1), None)
        columns.append([felt[tail].mean() / size, moved[tail].mean() / size])
    return HybridMatrix(np.zeros(1), np.array(columns, dtype=complex).T[None])


def _solve(inputs: Array, outputs: Array) -> Array:
    """H with outputs = H inputs in the least-squares sense, columns being experiments."""
    size = np.linalg.norm(inputs, axis=1, keepdims=True)
    if not size.all() or np.linalg.cond(inputs / size) > MAX_CONDITION:
        raise BadValue(
            "the experiments are too similar to determine the matrix: change the environment, "
            "or push there"
        )
    return np.linalg.lstsq((inputs / size).T, outputs.T, rcond=None)[0].T / size.T
