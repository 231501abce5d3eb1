"""Inertia: what the tool's own acceleration adds to a wrist sensor's reading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.profile import Load

Array = np.ndarray


def inertial_wrench(
    load: Load, acceleration: Array, velocity: Array, turning: Array, inertia: Array | None = None
) -> Array:
    r"""Reading that the motion of a load causes, [N] and [N·m]; subtract it from the reading.

    .. math:: a_c = a + \alpha \times r + \omega \times (\omega \times r), \qquad f = -m\,a_c, \qquad
              \tau = r \times f - I \alpha - \omega \times I \omega

    Everything is in sensor axes; the signs are those of what the load exerts on the sensor.

    Args:
        load: mass and centre of mass r.
        acceleration: a, of the sensor's origin, gravity not counted, n × 3 or 3, [m/s²].
        velocity: ω, [rad/s].
        turning: α, [rad/s²].
        inertia: I about the centre of mass, 3 × 3, [kg·m²]; none by default.
    """
    acceleration, velocity, turning = (
        np.asarray(v, dtype=float) for v in (acceleration, velocity, turning)
    )
    r = load.com
    of_com = acceleration + np.cross(turning, r) + np.cross(velocity, np.cross(velocity, r))
    force = -load.mass * of_com
    torque = np.cross(r, force)
    if inertia is not None:
        torque = torque - turning @ inertia.T - np.cross(velocity, velocity @ inertia.T)
    return np.concatenate([force, torque], axis=-1)


@dataclass(frozen=True)
class ToolInertia:
    """What motion tells about a load.

    Attributes:
        load: mass and centre of mass.
        inertia: about the centre of mass, sensor axes, 3 × 3, [kg·m²].
        bias: of the sensor, [N] and [N·m].
        condition: of the motion, with every column scaled to 1, [-]; large if the motion does not
            tell all of it.
    """

    load: Load
    inertia: Array
    bias: Array
    condition: float


def identify_body(
    wrench: Array, up: Array, motion: tuple[Array, Array, Array], gravity: float = 9.81
) -> ToolInertia:
    r"""Least squares for mass, centre of mass, inertia and bias from readings in motion, nothing touching the tool.

    The reading is linear in (m, m r, I about the sensor's origin, bias):

    .. math:: f = m\,s - S(\alpha)\,m r - S(\omega)^2\,m r + b_f, \qquad
              \tau = m r \times s - I_o \alpha - \omega \times I_o \omega + b_\tau, \qquad s = g - a

    Args:
        wrench: n × 6, sensor axes, [N] and [N·m].
        up: n × 3, the base's z axis in sensor axes.
        motion: acceleration, angular velocity and angular acceleration in sensor axes, as of
            :func:`motion_of`.
        gravity: [m/s²].

    Raises:
        BadValue: the motion does not tell the unknowns apart.
    """
    acceleration, velocity, turning = (np.asarray(part, dtype=float) for part in motion)
    A = np.zeros((len(wrench), 6, 16))
    s = -gravity * np.asarray(up) - acceleration
    A[:, :3, 0] = s
    A[:, :3, 1:4] = -_skews(turning) - _skews(velocity) @ _skews(velocity)
    A[:, 3:, 1:4] = -_skews(s)
    A[:, 3:, 4:10] = -_inertia_columns(turning) - _skews(velocity) @ _inertia_columns(velocity)
    A[:, :, 10:] = np.eye(6)
    rows = A.reshape(-1, 16)
    size = np.linalg.norm(rows, axis=0)
    condition = (
        float(np.linalg.cond(rows / np.where(size > 0.0, size, 1.0)))
        if (size > 0.0).all()
        else np.inf
    )
    if not condition < 1e4:
        raise BadValue(
            f"the motion does not tell inertia and mass apart: condition number {condition:.3g} (limit 1e4)"
        )
    x = np.linalg.lstsq(rows / size, np.asarray(wrench).ravel(), rcond=None)[0] / size
    com = x[1:4] / x[0]
    about_origin = np.array([[x[4], x[5], x[6]], [x[5], x[7], x[8]], [x[6], x[8], x[9]]])
    inertia = about_origin - x[0] * (com @ com * np.eye(3) - np.outer(com, com))
    return ToolInertia(Load(float(x[0]), com), inertia, x[10:], condition)


def _skews(a: Array) -> Array:
    """Cross-product matrices, n × 3 × 3."""
    out = np.zeros((len(a), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    return out - out.transpose(0, 2, 1)


def _inertia_columns(a: Array) -> Array:
    """I a as a matrix times (Ixx, Ixy, Ixz, Iyy, Iyz, Izz), n × 3 × 6."""
    out = np.zeros((len(a), 3, 6))
    out[:, 0, :3] = a
    out[:, 1, 1], out[:, 1, 3], out[:, 1, 4] = a.T
    out[:, 2, 2], out[:, 2, 4], out[:, 2, 5] = a.T
    return out


def motion_of(rotations: Array, positions: Array, dt: float) -> tuple[Array, Array, Array]:
    """Acceleration, angular velocity and angular acceleration in sensor axes, from sampled poses; ends are copied.

    Args:
        rotations: n × 3 × 3, sensor axes in the base.
        positions: n × 3, of the sensor's origin in the base, [m].
        dt: time between samples, [s].
    """
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(rotations)
    step = (turn[:-1].inv() * turn[1:]).as_rotvec() / dt  # between samples, in sensor axes
    velocity = np.vstack([step[:1], 0.5 * (step[1:] + step[:-1]), step[-1:]])
    turning = np.vstack([np.zeros((1, 3)), (step[1:] - step[:-1]) / dt, np.zeros((1, 3))])
    second = np.zeros_like(positions)
    second[1:-1] = (positions[2:] - 2.0 * positions[1:-1] + positions[:-2]) / dt**2
    acceleration = np.einsum("nji,nj->ni", rotations, second)
    for series in (turning, acceleration):
        series[0], series[-1] = series[1], series[-2]
    return acceleration, velocity, turning
