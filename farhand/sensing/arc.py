"""Calibration along one arc: bias, weight, lever and yaw from one joint's sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray


@dataclass(frozen=True)
class Sinusoids:
    r"""Channels fitted as :math:`A \sin(x + \varphi) + O`, one number each."""

    amplitude: Array  #: A ≥ 0
    phase: Array  #: φ, [rad]
    offset: Array  #: O

    def at(self, x: Array) -> Array:
        """Values without the offset, n × c."""
        return self.amplitude * np.sin(np.asarray(x)[:, None] + self.phase)


def fit_sinusoids(x: Array, values: Array) -> Sinusoids:
    r"""Least squares of :math:`a \sin x + b \cos x + O` per channel: linear, no first guess.

    Args:
        x: n angles, [rad].
        values: n × c.

    Raises:
        BadValue: the angles do not determine the three numbers.
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    A = np.column_stack([np.sin(x), np.cos(x), np.ones(len(x))])
    if len(x) < 3 or not np.linalg.cond(A) < 1e4:
        span = np.ptp(x) if len(x) else 0.0
        raise BadValue(f"a sweep of {span:.3g} rad is too short for a sinusoid")
    a, b, offset = np.linalg.lstsq(A, values, rcond=None)[0]
    return Sinusoids(np.hypot(a, b), np.arctan2(b, a), offset)


@dataclass(frozen=True)
class Arc:
    """Stops of a sweep of one joint."""

    q: Array  #: stops × joints, [rad]
    rotations: Array  #: stops × 3 × 3, sensor axes in the base
    angle: Array  #: elevation of the sensor's z axis, continuous beyond the vertical, [rad]
    out_of_plane: float  #: largest part of the z axis outside the vertical plane, [-]


def calibration_arc(
    rotation_of: Callable[[Array], Array],
    posture: Array,
    joint: int,
    limits: Array,
    span: float = np.deg2rad(140.0),
    step: float = np.deg2rad(1.0),
) -> Arc:
    """Stops for :func:`identify_arc`: one joint moves the sensor's z axis in a vertical plane.

    Args:
        rotation_of: sensor axes in the base for a configuration.
        posture: where the sweep has its middle, with the sensor's z axis horizontal, [rad].
        joint: which joint moves, from 0.
        limits: joints × 2, [rad].
        span: how far to each side, [rad].
        step: between stops, [rad].

    Raises:
        BadValue: the sweep passes a limit, or the z axis leaves the vertical plane.
    """
    count = round(span / step)
    q = np.tile(np.asarray(posture, dtype=float), (2 * count + 1, 1))
    q[:, joint] += np.linspace(-span, span, 2 * count + 1)
    low, high = np.asarray(limits, dtype=float).T
    if not ((q >= low) & (q <= high)).all():
        first, last = np.rad2deg(q[[0, -1], joint])
        sweep = f"the sweep of joint {joint + 1} from {first:.4g}° to {last:.4g}°"
        raise BadValue(f"{sweep} passes a joint limit")
    rotations = np.array([rotation_of(row) for row in q])
    z = rotations[:, :, 2]
    ahead = z[count] * [1.0, 1.0, 0.0]
    if not np.linalg.norm(ahead) > 0.99:
        raise BadValue("the sensor's z axis must be horizontal in the middle of the sweep")
    ahead /= np.linalg.norm(ahead)
    out = float(np.abs(z @ np.cross([0.0, 0.0, 1.0], ahead)).max())
    if not out < 1e-6:
        plane = f"the vertical plane by {out:.2g} when joint {joint + 1} moves"
        raise BadValue(f"the sensor's z axis leaves {plane}")
    return Arc(q, rotations, np.unwrap(np.arctan2(z[:, 2], z @ ahead)), out)


@dataclass(frozen=True)
class ArcResult:
    """Result of one arc."""

    bias: Array  #: six numbers, [N] and [N·m]
    weight: float  #: G, [N]
    lever: float  #: L, distance of the centre of mass along the sensor's z axis, [m]
    fit: Sinusoids  #: the sinusoids behind it


def identify_arc(angle: Array, wrench: Array) -> ArcResult:
    r"""Bias, weight and lever arm from readings along one arc.

    G is the mean over the arc of the length of the fitted, bias-free force; L the largest length of
    the fitted torque over G. The maximum is taken on the fitted curve: noise would make that of raw
    readings too large.

    Args:
        angle: n elevations of the sensor's z axis, [rad].
        wrench: n × 6 readings, sensor axes, [N] and [N·m].
    """
    fit = fit_sinusoids(angle, wrench)
    clean = fit.at(angle)
    weight = float(np.linalg.norm(clean[:, :3], axis=1).mean())
    if not weight > 0.0:
        raise BadValue("no load was found: the readings do not change along the arc")
    dense = np.linspace(np.min(angle), np.max(angle), 2001)
    lever = float(np.linalg.norm(fit.at(dense)[:, 3:], axis=1).max()) / weight
    return ArcResult(fit.offset, weight, lever, fit)


def identify_yaw(angle: Array, force_x: Array) -> float:
    r"""Angle ψ from the last joint to the sensor about their z axis, by rotation of that joint.

    With the arm horizontal, gravity lies in the sensor's xy plane. If joint angle zero has the
    joint's x axis up, :math:`F_x = -G \cos(q_6 + \psi) + b`. R_J6←S = Rz(ψ); the other convention,
    R_S←J6, is Rz(−ψ).

    Args:
        angle: of the last joint, [rad], zero where its x axis points up.
        force_x: readings of F_x, [N], positive for what acts on the sensor.
    """
    fit = fit_sinusoids(angle, np.asarray(force_x, dtype=float)[:, None])
    turned = float(fit.phase[0]) + 0.5 * np.pi  # −cos(q + ψ) = sin(q + ψ − π/2)
    return float(np.angle(np.exp(1j * turned)))
