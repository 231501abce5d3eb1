"""Inertia: what the tool's own acceleration adds to a wrist sensor's reading."""

from __future__ import annotations

import numpy as np

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
    acceleration, velocity, turning = (np.asarray(v, dtype=float) for v in (acceleration, velocity, turning))
    r = load.com
    of_com = acceleration + np.cross(turning, r) + np.cross(velocity, np.cross(velocity, r))
    force = -load.mass * of_com
    torque = np.cross(r, force)
    if inertia is not None:
        torque = torque - turning @ inertia.T - np.cross(velocity, velocity @ inertia.T)
    return np.concatenate([force, torque], axis=-1)


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
