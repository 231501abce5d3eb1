"""Rotations, twists and wrenches. Linear part first, ``[v; ω]`` and ``[f; τ]``; quaternions ``(x, y, z, w)``."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

Array = np.ndarray


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
    xyzw = pin.Quaternion(np.asarray(rotation, dtype=float)).coeffs()
    return -xyzw if xyzw[3] < 0.0 else xyzw


def rotation_vector(rotation: Array) -> Array:
    """Axis times angle [rad] of a rotation matrix, the short way round (norm ≤ π)."""
    return pin.log3(rotation)


def rotation_from_vector(vector: Array) -> Array:
    """Rotation matrix that turns by ``|vector|`` [rad] about ``vector``."""
    return pin.exp3(np.asarray(vector, dtype=float))


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

    Wrenches are dual to twists: ``h_b = Ad_Tᵀ h_s``. Applying Ad_T itself to a wrench would not conserve power.
    """
    force = rotation @ wrench[:3]
    return np.concatenate([force, rotation @ wrench[3:] + np.cross(position, force)])


def wrench_at(wrench: Array, shift: Array) -> Array:
    """The same wrench about a reference point moved by ``shift`` [m], same axes."""
    return np.concatenate([wrench[:3], wrench[3:] - np.cross(shift, wrench[:3])])
