"""An arm from its Denavit–Hartenberg table in plain NumPy: slow, and independent of every engine.

It checks the models that run in the tick, and benchmarks compare their speed with it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mode
from typing import NamedTuple

import numpy as np

import farhand.robots
from farhand.errors import BadValue, FileError, ModelError, UnknownName
from farhand.robots.description import known_keys, section, strings, vector
from farhand.spatial import Array, skew

FOLDER = Path(farhand.robots.__file__).parent
TABLE = "dh.toml"
_PER_LINK = {"a": 1, "d": 1, "alpha": 1, "mass": 1, "com": 3, "inertia": 6, "armature": 1}
# Indices of the cyclic neighbours of x, y, z
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


class DhTerms(NamedTuple):
    """An arm at one state."""

    pose: Array  #: of the tool, 4 × 4
    J: Array  #: geometric Jacobian, 6 × n
    drift: Array  #: J̇ v, [m/s²] and [rad/s²]
    B: Array  #: mass matrix, n × n, [kg·m²]
    coriolis: Array  #: torque c(q, v), [N·m]


@dataclass
class DHArm:
    r"""A chain of n revolute joints, :math:`T_i = R_z(q_i)\,T_z(d_i)\,T_x(a_i)\,R_x(\alpha_i)`.

    Frame i lies after joint i and is fixed to link i; frame n is the tool. All results are in axes
    of frame 0 unless stated otherwise. Configurations may be complex, for derivatives by a complex
    step.
    """

    a: Array  #: lengths along x, [m]
    d: Array  #: lengths along z, [m]
    alpha: Array  #: twists about x, [rad]
    mass: Array  #: of each link, [kg]
    com: Array  #: centre of mass of each link in its frame, n × 3, [m]
    inertia: Array  #: about the centre of mass, n × 6 as Ixx, Ixy, Ixz, Iyy, Iyz, Izz, [kg·m²]
    armature: Array  #: rotor inertia of each joint, [kg·m²]

    def __post_init__(self) -> None:
        """Prepare the constant terms."""
        xx, xy, xz, yy, yz, zz = self.inertia.T
        self._tensors = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), 2, 0)
        self._cos, self._sin = np.cos(self.alpha), np.sin(self.alpha)
        # Joint j moves link l where j ≤ l
        self._moved = np.tri(len(self.a))[:, :, None]

    @classmethod
    def load(cls, robot: str, variant: str | None = None) -> DHArm:
        """The arm of the table ``dh.toml`` in a robot's folder; its first variant by default.

        Raises:
            FarhandError: unknown robot or variant, or a table that cannot be read.
        """
        path = FOLDER / robot / TABLE
        known = sorted(table.parent.name for table in FOLDER.glob(f"*/{TABLE}"))
        if robot not in known:
            raise UnknownName("robot with a DH table", robot, known)
        return read_table(path, variant)

    def scaled(self, factor: float) -> DHArm:
        """The same arm with all masses and inertias multiplied, so that B(q) scales exactly."""
        mass, inertia = factor * self.mass, factor * self.inertia
        return replace(self, mass=mass, inertia=inertia, armature=factor * self.armature)

    def frames(self, q: Array) -> Array:
        """Poses of frames 0 … n in frame 0, (n + 1) × 4 × 4."""
        c, s, ca, sa = np.cos(q), np.sin(q), self._cos, self._sin
        steps = np.zeros((len(c), 4, 4), dtype=c.dtype)
        steps[:, 0, 0], steps[:, 0, 1], steps[:, 0, 2] = c, -s * ca, s * sa
        steps[:, 1, 0], steps[:, 1, 1], steps[:, 1, 2] = s, c * ca, -c * sa
        steps[:, 2, 1], steps[:, 2, 2], steps[:, 3, 3] = sa, ca, 1.0
        steps[:, 0, 3], steps[:, 1, 3], steps[:, 2, 3] = self.a * c, self.a * s, self.d
        poses = np.empty((len(c) + 1, 4, 4), dtype=c.dtype)
        poses[0] = np.eye(4)
        for i, step in enumerate(steps):
            np.matmul(poses[i], step, out=poses[i + 1])
        return poses

    def pose(self, q: Array) -> Array:
        """Pose of the tool, 4 × 4."""
        return self.frames(q)[-1]

    def jacobian(self, q: Array) -> Array:
        """Geometric Jacobian, 6 × n: twist of the tool point in base axes per joint velocity."""
        return _jacobian(self.frames(q))

    def body_jacobian(self, q: Array) -> Array:
        """The same twist in the tool's axes: J_b = blkdiag(Rᵀ, Rᵀ) J."""
        return self.pose_and_body_jacobian(q)[1]

    def pose_and_body_jacobian(self, q: Array) -> tuple[Array, Array]:
        """Pose of the tool and its Jacobian in the tool's axes, from one pass over the frames."""
        frames = self.frames(q)
        back, J = frames[-1, :3, :3].T, _jacobian(frames)
        return frames[-1], np.concatenate([back @ J[:3], back @ J[3:]])

    def tool_jacobian(self, q: Array, shift: Array) -> Array:
        """Body Jacobian of a point at ``shift`` [m] in tool axes, [J_bp − S(r) J_bo; J_bo]."""
        J = self.body_jacobian(q)
        J[:3] -= skew(shift) @ J[3:]
        return J

    def drift(self, q: Array, v: Array) -> Array:
        """J̇ v: tool acceleration at zero joint acceleration, [m/s²] and [rad/s²]."""
        return self.terms(q, v).drift

    def mass_matrix(self, q: Array) -> Array:
        r"""B(q) from the kinetic energy of the links, n × n, [kg·m²].

        .. math:: B = \mathrm{diag}(I_r)
                  + \sum_l m_l J_{p,l}^\top J_{p,l} + J_{o,l}^\top R_l I_l R_l^\top J_{o,l}
        """
        frames = self.frames(q)
        return self._inertia(frames, *self._link_jacobians(frames))

    def coriolis(self, q: Array, v: Array) -> Array:
        r"""Coriolis and centrifugal torque from the links at zero joint acceleration, [N·m].

        .. math:: c = \sum_l J_{p,l}^\top m_l a_l
                  + J_{o,l}^\top (I_l \alpha_l + \omega_l \times I_l \omega_l)
        """
        return self.terms(q, v).coriolis

    def terms(self, q: Array, v: Array) -> DhTerms:
        """All terms of a model-based law at one state."""
        frames = self.frames(q)
        omega, alpha, origin = _motion(frames, v)
        linear, angular = self._link_jacobians(frames)
        R = frames[1:, :3, :3]
        force = self.mass[:, None] * (origin + _swing(omega, alpha, _apply(R, self.com)))
        tensors = R @ self._tensors @ R.swapaxes(1, 2)
        moment = _apply(tensors, alpha) + _cross(omega, _apply(tensors, omega))
        return DhTerms(
            pose=frames[-1],
            J=_jacobian(frames),
            drift=np.concatenate([origin[-1], alpha[-1]]),
            B=self._inertia(frames, linear, angular),
            coriolis=(_apply(linear, force) + _apply(angular, moment)).sum(axis=0),
        )

    def _inertia(self, frames: Array, linear: Array, angular: Array) -> Array:
        turned = angular @ frames[1:, :3, :3]
        translation = (self.mass[:, None, None] * linear) @ linear.swapaxes(1, 2)
        rotation = turned @ self._tensors @ turned.swapaxes(1, 2)
        return (translation + rotation).sum(axis=0) + np.diag(self.armature)

    def _link_jacobians(self, frames: Array) -> tuple[Array, Array]:
        """Jacobians of the links' centres and rotations, each links × joints × 3."""
        axes, origins = frames[:-1, :3, 2], frames[:-1, :3, 3]
        centres = frames[1:, :3, 3] + _apply(frames[1:, :3, :3], self.com)
        linear = _cross(axes[None], centres[:, None] - origins[None])
        return linear * self._moved, axes[None] * self._moved


def read_table(path: Path, variant: str | None = None) -> DHArm:
    """Read a DH table: one list per column of :class:`DHArm`, and columns of the ``variants``.

    Raises:
        FileError: the file cannot be read.
        ModelError: it is not TOML, or a column is missing.
        BadValue: a column of the wrong length or content.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {' '.join(str(error).split())}") from None
    known_keys(table, {*_PER_LINK, "variants", "sources"}, str(path))
    strings(table.pop("sources", {}), f"{path}: sources")
    variants = section(table.pop("variants", {}), f"{path}: variants")
    chosen = next(iter(variants), "") if variant is None else variant
    if chosen and chosen not in variants:
        raise UnknownName(f"variant in {path}", chosen, variants)
    table |= section(variants.get(chosen, {}), f"{path}: variants.{chosen}")
    missing = [key for key in _PER_LINK if key not in table]
    if missing:
        raise ModelError(f"{path} lacks {', '.join(missing)}; it needs {', '.join(_PER_LINK)}")
    lengths = [len(column) for column in table.values() if isinstance(column, list)]
    links = mode(lengths) if lengths else 0
    if not links:
        raise ModelError(f"{path} has no links")
    columns = _PER_LINK.items()
    return DHArm(**{key: _column(table[key], links, n, f"{path}: {key}") for key, n in columns})


def _column(value: object, links: int, size: int, what: str) -> Array:
    if not isinstance(value, list) or len(value) != links:
        raise BadValue(f"{what} must be a list of {links} entries, one per link, not {value!r}")
    rows = np.array([vector(entry, size, what) for entry in value])
    return rows[:, 0] if size == 1 else rows


def _jacobian(frames: Array) -> Array:
    axes = frames[:-1, :3, 2]
    lever = frames[-1, :3, 3] - frames[:-1, :3, 3]
    return np.concatenate([_cross(axes, lever).T, axes.T])


def _motion(frames: Array, v: Array) -> tuple[Array, Array, Array]:
    """Angular velocity and acceleration, and acceleration of the origin, of frames 1 … n."""
    # Frame i turns about the axis of frame i − 1, which moves too
    turning = frames[:-1, :3, 2] * np.asarray(v)[:, None]
    omega = np.cumsum(turning, axis=0)
    alpha = np.cumsum(_cross(omega, turning), axis=0)
    steps = frames[1:, :3, 3] - frames[:-1, :3, 3]
    return omega, alpha, np.cumsum(_swing(omega, alpha, steps), axis=0)


def _swing(omega: Array, alpha: Array, lever: Array) -> Array:
    """α × r + ω × (ω × r): acceleration of a point at r relative to the origin."""
    return _cross(alpha, lever) + _cross(omega, _cross(omega, lever))


def _apply(matrices: Array, vectors: Array) -> Array:
    """One matrix–vector product per link."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _cross(a: Array, b: Array) -> Array:
    """Cross product along the last axis, in a quarter of the time of ``numpy.cross``."""
    return a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT]
