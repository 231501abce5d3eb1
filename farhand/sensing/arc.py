"""One arc: bias, weight and lever arm from a single joint's sweep through a vertical plane, and the sensor's yaw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray


@dataclass(frozen=True)
class Sinusoids:
    r"""Channels fitted as :math:`A \sin(x + \varphi) + O`, one number each.

    Attributes:
        amplitude: A ≥ 0.
        phase: φ, [rad].
        offset: O.
    """

    amplitude: Array
    phase: Array
    offset: Array

    def at(self, x: Array) -> Array:
        """n × c values without the offset."""
        return self.amplitude * np.sin(np.asarray(x)[:, None] + self.phase)


def fit_sinusoids(x: Array, values: Array) -> Sinusoids:
    r"""Least squares of :math:`a \sin x + b \cos x + O` per channel: linear, no first guess.

    Args:
        x: n angles, [rad].
        values: n × c.

    Raises:
        BadValue: angles from which the three numbers cannot be told apart.
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    A = np.column_stack([np.sin(x), np.cos(x), np.ones(len(x))])
    if len(x) < 3 or not np.linalg.cond(A) < 1e4:
        raise BadValue(f"{np.ptp(x) if len(x) else 0.0:.3g} rad of sweep are too few for a sinusoid")
    a, b, offset = np.linalg.lstsq(A, values, rcond=None)[0]
    return Sinusoids(np.hypot(a, b), np.arctan2(b, a), offset)


@dataclass(frozen=True)
class ArcResult:
    """What one arc tells.

    Attributes:
        bias: six numbers, [N] and [N·m].
        weight: G, [N].
        lever: L, distance of the centre of mass along the sensor's z axis, [m].
        fit: the sinusoids behind it.
    """

    bias: Array
    weight: float
    lever: float
    fit: Sinusoids


def identify_arc(angle: Array, wrench: Array) -> ArcResult:
    r"""Bias, weight and lever arm from readings along one arc.

    G is the mean over the arc of the length of the fitted, bias-free force; L the largest length of the fitted torque
    over G. The maximum is taken on the fitted curve: over raw readings it would come out too large by the noise.

    Args:
        angle: n elevations of the sensor's z axis, [rad].
        wrench: n × 6 readings, sensor axes, [N] and [N·m].
    """
    fit = fit_sinusoids(angle, wrench)
    clean = fit.at(angle)
    weight = float(np.linalg.norm(clean[:, :3], axis=1).mean())
    if not weight > 0.0:
        raise BadValue("no load to be found: the readings do not change along the arc")
    dense = np.linspace(np.min(angle), np.max(angle), 2001)
    lever = float(np.linalg.norm(fit.at(dense)[:, 3:], axis=1).max()) / weight
    return ArcResult(fit.offset, weight, lever, fit)


def identify_yaw(angle: Array, force_x: Array) -> float:
    r"""Turn ψ of the sensor against the last joint about their common z axis, from that joint's rotation.

    With the arm horizontal, gravity lies in the sensor's xy plane. If joint angle zero has the joint's x axis up,
    :math:`F_x = -G \cos(q_6 + \psi) + b`. R_J6←S = Rz(ψ); the other convention, R_S←J6, is Rz(−ψ).

    Args:
        angle: of the last joint, [rad], zero where its x axis points up.
        force_x: readings of F_x, [N], positive for what acts on the sensor.
    """
    fit = fit_sinusoids(angle, np.asarray(force_x, dtype=float)[:, None])
    turned = float(fit.phase[0]) + 0.5 * np.pi  # −cos(q + ψ) = sin(q + ψ − π/2)
    return float(np.angle(np.exp(1j * turned)))
