"""Loads on a wrist sensor: grasped objects, the effect of motion, and the frame of the sensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.identification import identify
from farhand.sensing.profile import Load
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

MIN_TURN_SINE = 0.17
"""Sine of the angle between two weights below which a centre of gravity is refused: 10°."""

MAX_YAW_ERROR = float(np.radians(5.0))
"""Yaw of a sensor against its mounting from which its frame counts as wrong; assumed, [rad]."""


def mass_of(force: Array, gravity: float = 9.804) -> float:
    """Mass of a load that weighs ``force`` [N] at rest, [kg]."""
    return float(np.linalg.norm(force)) / gravity


def centre_by_pairs(forces: Array, moments: Array) -> Array:
    r"""Centre of gravity from two poses by the published rule, [m], in the axes of the readings.

    From :math:`M_i = r \times F_i` equal rows of the two poses give two components of r each; of
    the two answers for each component the one with the larger denominator of :math:`D = F_1 \times
    F_2` is kept. ``forces`` are weights in sensor axes, 2 × 3 [N], ``moments`` 2 × 3 [N·m].

    Raises:
        BadValue: the two weights are nearly parallel.
    """
    _refuse_parallel(forces)
    (F1, F2), (M1, M2) = forces, moments
    D = np.cross(F1, F2)
    r = np.empty(3)
    for component in range(3):
        rows = [row for row in range(3) if row != component]
        row = max(rows, key=lambda k: abs(D[k]))
        r[component] = (M2[row] * F1[component] - M1[row] * F2[component]) / D[row]
    return r


def centre_by_least_squares(forces: Array, moments: Array) -> Array:
    """Centre of gravity from two or more poses by least squares, [m]; as :func:`centre_by_pairs`.

    Raises:
        BadValue: all weights are nearly parallel.
    """
    _refuse_parallel(forces)
    rows = np.vstack([-skew(force) for force in forces])
    return np.linalg.lstsq(rows, np.concatenate(moments), rcond=None)[0]


def _refuse_parallel(forces: Array) -> None:
    forces = np.asarray(forces, dtype=float)
    sizes = np.linalg.norm(forces, axis=1)
    if not (sizes > 0.0).all():
        raise BadValue("one of the poses shows no weight")
    units = forces / sizes[:, None]
    sine = max(float(np.linalg.norm(np.cross(units[0], unit))) for unit in units[1:])
    if sine < MIN_TURN_SINE:
        turned, least = np.degrees(np.arcsin(min(sine, 1.0))), np.degrees(np.arcsin(MIN_TURN_SINE))
        raise BadValue(
            f"the tool turned by only {turned:.1f}° between the poses: "
            f"turn it by {least:.0f}° or more"
        )


def estimate(
    forces: Array, moments: Array, method: str = "least-squares", gravity: float = 9.804
) -> Load:
    """Mass and centre of gravity of a grasped object.

    Args:
        forces: n × 3, mean weights in sensor axes with the tool's own taken off, [N].
        moments: n × 3, [N·m].
        method: ``"least-squares"``, or ``"pairs"`` for the published rule on the first two poses.
        gravity: [m/s²].
    """
    forces, moments = np.asarray(forces, dtype=float), np.asarray(moments, dtype=float)
    mass = float(np.mean([mass_of(force, gravity) for force in forces]))
    if method == "pairs":
        return Load(mass, centre_by_pairs(forces[:2], moments[:2]))
    return Load(mass, centre_by_least_squares(forces, moments))


@dataclass(frozen=True)
class FrameCheck:
    """Whether a sensor reads in the frame of its mounting."""

    yaw: float  #: of its axes against the mounting's, about the flange axis, [rad]
    deviation: float  #: standard deviation of it, [rad]
    ok: bool  #: whether the yaw is small enough

    @property
    def message(self) -> str:
        """What to do; empty if all is well."""
        if self.ok:
            return ""
        yaw, reach = np.degrees(self.yaw), np.degrees(2 * self.deviation)
        return (
            f"the sensor's frame is turned by {yaw:.1f}° (± {reach:.1f}°) against its mounting: "
            "remove the tool frame in its controller or correct the mounting"
        )


def check_frame(readings: Readings, gravity: float = 9.804) -> FrameCheck:
    """Compare the direction of the tool's weight with gravity, from four or more poses at rest.

    Args:
        readings: with the orientation of the sensor according to its mounting.
        gravity: [m/s²].

    Raises:
        BadValue: the poses do not determine it.
    """
    tool = identify(readings, gravity=gravity, yaw=True).tool
    ok = bool(abs(tool.yaw) < max(MAX_YAW_ERROR, 3.0 * tool.yaw_deviation))
    return FrameCheck(tool.yaw, tool.yaw_deviation, ok)


def inertial_wrench(
    load: Load, acceleration: Array, velocity: Array, turning: Array, inertia: Array | None = None
) -> Array:
    r"""Reading that the motion of a load causes, [N] and [N·m]; subtract it from the reading.

    .. math:: a_c = a + \alpha \times r + \omega \times (\omega \times r), \qquad
              f = -m\,a_c, \qquad \tau = r \times f - I \alpha - \omega \times I \omega

    Everything is in sensor axes, with the sign of what the load exerts on the sensor.

    Args:
        load: mass and centre of mass r.
        acceleration: a, of the sensor's origin, gravity not counted, n × 3 or 3, [m/s²].
        velocity: ω, [rad/s].
        turning: α, [rad/s²].
        inertia: I about the centre of mass, 3 × 3, [kg·m²]; none by default.
    """
    motion = (np.asarray(v, dtype=float) for v in (acceleration, velocity, turning))
    acceleration, velocity, turning = motion
    r = load.com
    of_com = acceleration + np.cross(turning, r) + np.cross(velocity, np.cross(velocity, r))
    force = -load.mass * of_com
    torque = np.cross(r, force)
    if inertia is not None:
        torque = torque - turning @ inertia.T - np.cross(velocity, velocity @ inertia.T)
    return np.concatenate([force, torque], axis=-1)


@dataclass(frozen=True)
class ToolInertia:
    """A load identified from motion."""

    load: Load  #: mass and centre of mass
    inertia: Array  #: about the centre of mass, sensor axes, 3 × 3, [kg·m²]
    bias: Array  #: of the sensor, [N] and [N·m]
    condition: float  #: of the motion, columns scaled to 1, [-]; large if it determines too little


def identify_body(
    wrench: Array, up: Array, motion: tuple[Array, Array, Array], gravity: float = 9.81
) -> ToolInertia:
    r"""Least squares for mass, centre of mass, inertia and bias from readings in free motion.

    The reading is linear in (m, m r, I about the sensor's origin, bias):

    .. math:: f = m\,s - S(\alpha)\,m r - S(\omega)^2\,m r + b_f, \qquad
              \tau = m r \times s - I_o \alpha - \omega \times I_o \omega + b_\tau, \qquad s = g - a

    Args:
        wrench: n × 6, sensor axes, [N] and [N·m].
        up: n × 3, the base's z axis in sensor axes.
        motion: see :func:`motion_of`.
        gravity: [m/s²].

    Raises:
        BadValue: the motion does not determine the unknowns.
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
    condition = float(np.linalg.cond(rows / size)) if (size > 0.0).all() else np.inf
    if not condition < 1e4:
        raise BadValue(
            "the motion does not determine inertia and mass: condition number "
            f"{condition:.3g} (limit 1e4)"
        )
    x = np.linalg.lstsq(rows / size, np.asarray(wrench).ravel(), rcond=None)[0] / size
    com = x[1:4] / x[0]
    about_origin = np.array([[x[4], x[5], x[6]], [x[5], x[7], x[8]], [x[6], x[8], x[9]]])
    inertia = about_origin - x[0] * (com @ com * np.eye(3) - np.outer(com, com))
    return ToolInertia(Load(float(x[0]), com), inertia, x[10:], condition)


def _skews(a: Array) -> Array:
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
    """Acceleration, angular velocity and acceleration in sensor axes from poses; ends are copied.

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
