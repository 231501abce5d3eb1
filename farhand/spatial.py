"""Rotations, twists ``[v; ω]``, wrenches ``[f; τ]``; quaternions are ``(x, y, z, w)``."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

Array = np.ndarray

_ORIGIN, _ONES = np.zeros(3), np.ones(6)


def total(axes: Array) -> float:
    """Sum over axes; of the six of a tool in a third of the time that ``numpy.sum`` takes."""
    return float(axes.dot(_ONES) if len(axes) == 6 else axes.sum())


def skew(a: Array) -> Array:
    """The matrix S(a) with S(a) b = a × b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_from_quaternion(quaternion: Array) -> Array:
    """Rotation matrix of a quaternion (x, y, z, w), which is normalised first."""
    q = pin.Quaternion(np.asarray(quaternion, dtype=float))
    q.normalize()
    return q.toRotationMatrix()


def quaternion_from_rotation(rotation: Array) -> Array:
    """Quaternion (x, y, z, w), with w ≥ 0, of a rotation matrix."""
    pose = pin.SE3(np.asarray(rotation, dtype=float), _ORIGIN)
    # pin.Quaternion(rotation) loses 80 bytes with every call (eigenpy 3.13)
    xyzw = pin.SE3ToXYZQUAT(pose)[3:]
    return -xyzw if xyzw[3] < 0.0 else xyzw


def rotation_vector(rotation: Array) -> Array:
    """Axis times angle [rad] of a rotation matrix, the short way round (norm ≤ π)."""
    return pin.log3(rotation)


def rotation_from_vector(vector: Array) -> Array:
    """Rotation matrix that turns by ``|vector|`` [rad] about ``vector``."""
    return pin.exp3(np.asarray(vector, dtype=float))


ORIENTATION_ERRORS = {
    "rotvec": "θ k: the angle itself, exact for any angle",
    "eps": "sin(θ/2) k: the quaternion's vector part; half the gain near zero",
    "two-eps": "2 sin(θ/2) k: the same gain as θ k near zero, bounded by 2",
    "printed": "2 ε / sin(η/2), printed (sources/dual-arm E-03): twice the gain, unbounded near π",
}
"""Orientation errors of a rotation by θ about the unit vector k, with η = cos(θ/2) and ε = sin(θ/2)
k."""


def orientation_error(vector: Array, kind: str) -> Array:
    """One of :data:`ORIENTATION_ERRORS` from the rotation vector θ k [rad]."""
    angle = float(np.linalg.norm(vector))
    half = 0.5 * np.sinc(0.5 * angle / np.pi)  # sin(θ/2)/θ, also at zero
    if kind == "rotvec":
        return vector
    if kind == "printed":
        return vector * (2.0 * half / np.sin(0.5 * np.cos(0.5 * angle)))
    return vector * (2.0 * half if kind == "two-eps" else half)


def orientation_potential(vector: Array, kind: str) -> float:
    r"""Potential U of an orientation error: :math:`\dot U = e_o^\top \tilde\omega`, [rad²]."""
    angle = float(np.linalg.norm(vector))
    if kind == "rotvec":
        return 0.5 * angle * angle
    return (2.0 if kind == "two-eps" else 1.0) * (2.0 - 2.0 * np.cos(0.5 * angle))


ATTITUDE_ERRORS = {
    "axis-angle": "sin θ k: half the sum of the axes' cross products; zero again at 180°",
    "quaternion": "sin(θ/2) k: grows up to 180°; half the gain of the others near zero",
    "rpy": "turns about the tool's own x, y and z, in world axes; singular at 90° of pitch",
}
"""Errors between an actual and a wanted rotation, which is the actual one turned by θ about the
unit vector k."""


def attitude_error(actual: Array, wanted: Array, kind: str) -> Array:
    """One of :data:`ATTITUDE_ERRORS` between two rotation matrices, in world axes, [rad]."""
    turn = wanted @ actual.T
    if kind == "rpy":
        roll, pitch, yaw = zyx_from_rotation(actual.T @ wanted)
        return actual @ np.array([yaw, pitch, roll])
    if kind == "quaternion":
        return quaternion_from_rotation(turn)[:3]
    return 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )


def attitude_potential(actual: Array, wanted: Array, kind: str) -> float:
    r"""Potential U of an attitude error other than ``rpy``: :math:`\dot U = -e^\top \omega`."""
    half = float(quaternion_from_rotation(wanted @ actual.T)[3])  # cos(θ/2)
    return 2.0 - 2.0 * half if kind == "quaternion" else 2.0 - 2.0 * half * half


def rotation_from_zyx(angles: Array) -> Array:
    """R = Rz(φ) Ry(θ) Rx(ψ) of the angles (φ, θ, ψ) about Z, Y and X, [rad]."""
    (cf, ct, cp), (sf, st, sp) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cf * ct, cf * st * sp - sf * cp, cf * st * cp + sf * sp],
            [sf * ct, sf * st * sp + cf * cp, sf * st * cp - cf * sp],
            [-st, ct * sp, ct * cp],
        ]
    )


def zyx_from_rotation(rotation: Array) -> Array:
    """Angles about Z, Y, X [rad] with R = Rz Ry Rx; the first is 0 where the second is ±90°."""
    R = rotation
    if np.hypot(R[0, 0], R[1, 0]) < 1e-12:
        return np.array([0.0, np.arctan2(-R[2, 0], 0.0), np.arctan2(-R[1, 2], R[1, 1])])
    roll = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(roll), np.sin(roll)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return np.array([roll, pitch, np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])])


def damped_inverse(matrix: Array, damping: float) -> Array:
    """Aᵀ (A Aᵀ + ρ² I)⁻¹: singular values σ become σ/(σ² + ρ²), never more than 1/(2ρ)."""
    squared = matrix @ matrix.T + damping * damping * np.eye(len(matrix))
    return matrix.T @ np.linalg.inv(squared)


def euler_xyz(rotation: Array) -> Array:
    """Angles (α, β, γ) [rad] with R = Rx(α) Ry(β) Rz(γ), for display; singular at β = ±90°."""
    beta = np.arcsin(np.clip(rotation[0, 2], -1.0, 1.0))
    return np.array(
        [
            np.arctan2(-rotation[1, 2], rotation[2, 2]),
            beta,
            np.arctan2(-rotation[0, 1], rotation[0, 0]),
        ]
    )


def adjoint(rotation: Array, position: Array) -> Array:
    """Ad_T of the pose T = (R, p) of frame b in frame s: twists change frame as V_s = Ad_T V_b."""
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = rotation
    ad[:3, 3:] = skew(position) @ rotation
    return ad


def twist_in_parent(rotation: Array, position: Array, twist: Array) -> Array:
    """Twist known in frame b, expressed in frame s, for the pose (R, p) of b in s."""
    angular = rotation @ twist[3:]
    return np.concatenate([rotation @ twist[:3] + np.cross(position, angular), angular])


def wrench_in_parent(rotation: Array, position: Array, wrench: Array) -> Array:
    """Wrench known in frame b, expressed in frame s, for the pose (R, p) of b in s.

    Wrenches are dual to twists: ``h_b = Ad_Tᵀ h_s``. Applying Ad_T itself to a wrench would not
    conserve power.
    """
    force = rotation @ wrench[:3]
    return np.concatenate([force, rotation @ wrench[3:] + np.cross(position, force)])


def wrench_at(wrench: Array, shift: Array) -> Array:
    """The same wrench about a reference point moved by ``shift`` [m], same axes."""
    return np.concatenate([wrench[:3], wrench[3:] - np.cross(shift, wrench[:3])])


def robust_inverse(matrix: Array, near: float = 0.05, most: float = 0.05) -> tuple[Array, float]:
    r"""Inverse, damped near singularities and exact elsewhere, and the smallest singular value.

    .. math::

        \rho^2 = \rho_0^2\,(1 - (\sigma_{min}/\sigma_0)^2) \quad (\sigma_{min} < \sigma_0),
        \quad \text{else } 0

    Args:
        matrix: square, or wide for the solution of least norm.
        near: σ₀, singular value below which it is damped.
        most: ρ₀, damping at the singularity.
    """
    smallest = float(np.linalg.svd(matrix, compute_uv=False)[-1])
    if smallest >= near:
        square = matrix.shape[0] == matrix.shape[1]
        return np.linalg.inv(matrix) if square else damped_inverse(matrix, 0.0), smallest
    return damped_inverse(matrix, most * float(np.sqrt(1.0 - (smallest / near) ** 2))), smallest
