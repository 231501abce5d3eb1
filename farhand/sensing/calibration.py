"""Calibration: mass, centre of mass and bias of a sensor with its tool, from readings at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.profile import Load
from farhand.spatial import skew

Array = np.ndarray

FEWEST = 6
"""Orientations that a calibration needs."""

WORST_CONDITION = 30.0
"""Condition number of the orientations beyond which a calibration is refused. Gravity along ±x, ±y, ±z has 1.2."""


@dataclass(frozen=True)
class Calibration:
    """What hangs on a sensor and what the sensor reads without it.

    Attributes:
        mass: [kg].
        com: centre of mass in the sensor frame, [m].
        bias_force: [N].
        bias_torque: [N·m].
        covariance: of mass, com, bias_force and bias_torque in this order, 10 × 10, from the residual.
        residual_force: root mean square per axis of what the model does not explain, [N].
        residual_torque: likewise, [N·m].
        condition: of the set of orientations, 1 at best, [-].
        sign: −1 if the sensor reports the reaction to the weight (the mass came out negative), else +1.
    """

    mass: float
    com: Array
    bias_force: Array
    bias_torque: Array
    covariance: Array
    residual_force: float
    residual_torque: float
    condition: float
    sign: float

    @property
    def load(self) -> Load:
        """Mass and centre of mass together."""
        return Load(self.mass, self.com)

    @property
    def bias(self) -> Array:
        """Bias of all six axes, [N] and [N·m]."""
        return np.concatenate([self.bias_force, self.bias_torque])

    @property
    def deviations(self) -> Array:
        """Standard deviations of mass, com, bias_force and bias_torque, ten numbers."""
        return np.sqrt(np.diag(self.covariance))


def calibrate(wrenches: Array, rotations_sensor_in_world: Array, gravity: float = 9.81) -> Calibration:
    r"""Least squares for what the sensor carries, from one mean reading per orientation, nothing touching the tool.

    .. math:: f_k = m\,g_k + b_f, \qquad \tau_k = r \times m\,g_k + b_\tau, \qquad g_k = R_k^\top (0, 0, -g)

    Both are linear: the forces in (m, b_f), the torques in (m r, b_τ).

    Args:
        wrenches: n × 6 mean readings, sensor axes about the sensor's origin, [N] and [N·m].
        rotations_sensor_in_world: n × 3 × 3 rotation matrices; at least :data:`FEWEST`.
        gravity: downward acceleration, [m/s²].

    Raises:
        BadValue: too few orientations or too much alike, readings that are not numbers, or no mass to be found.
    """
    wrenches, rotations = np.asarray(wrenches, dtype=float), np.asarray(rotations_sensor_in_world, dtype=float)
    _check(wrenches, rotations)
    down = -gravity * rotations[:, 2, :]  # n × 3
    forces = np.concatenate([np.column_stack([g, np.eye(3)]) for g in down])
    torques = np.concatenate([np.column_stack([-skew(g), np.eye(3)]) for g in down])
    condition = _condition(down / gravity)
    (mass, *bias_force), cov_force, residual_force = _least_squares(forces, wrenches[:, :3].ravel())
    (*moment, bx, by, bz), cov_torque, residual_torque = _least_squares(torques, wrenches[:, 3:].ravel())
    deviation = float(np.sqrt(cov_force[0, 0]))
    if abs(mass) <= 3.0 * deviation or abs(mass) < 1e-6:
        raise BadValue(f"no load to be found: the fitted mass is {mass:.3g} kg with a deviation of {deviation:.2g} kg")
    com = np.array(moment) / mass
    covariance = _covariance(mass, com, cov_force, cov_torque)
    sign = 1.0 if mass > 0.0 else -1.0
    bias_torque = np.array([bx, by, bz])
    parts = abs(mass), com, np.array(bias_force), bias_torque, covariance
    return Calibration(*parts, residual_force, residual_torque, condition, sign)


def _check(wrenches: Array, rotations: Array) -> None:
    n = len(wrenches)
    if wrenches.shape != (n, 6) or rotations.shape != (n, 3, 3):
        raise BadValue(f"need n × 6 readings and n × 3 × 3 rotations, got {wrenches.shape} and {rotations.shape}")
    if n < FEWEST:
        raise BadValue(f"{n} orientations are too few (at least {FEWEST})")
    if not (np.isfinite(wrenches).all() and np.isfinite(rotations).all()):
        raise BadValue("a reading or a rotation is not a number")
    if np.abs(np.matmul(rotations.transpose(0, 2, 1), rotations) - np.eye(3)).max() > 1e-3:
        raise BadValue("a rotation is not a rotation matrix")


def _condition(directions: Array) -> float:
    """Of the torque regressor, the harder of the two, with gravity scaled to 1."""
    regressor = np.concatenate([np.column_stack([-skew(g), np.eye(3)]) for g in directions])
    condition = float(np.linalg.cond(regressor))
    if not condition <= WORST_CONDITION:
        raise BadValue(
            f"the orientations are too much alike: condition number {condition:.3g} (limit {WORST_CONDITION:g}); "
            "point the tool along both ways of every axis"
        )
    return condition


def _least_squares(regressor: Array, values: Array) -> tuple[list[float], Array, float]:
    """Solution, its covariance from the residual, and the residual's root mean square (over degrees of freedom)."""
    solution = np.linalg.lstsq(regressor, values, rcond=None)[0]
    left = values - regressor @ solution
    variance = float(left @ left) / (len(values) - regressor.shape[1])
    return solution.tolist(), variance * np.linalg.inv(regressor.T @ regressor), float(np.sqrt(variance))


def _covariance(mass: float, com: Array, cov_force: Array, cov_torque: Array) -> Array:
    """Of (m, r, b_f, b_τ) from that of (m, b_f) and (m r, b_τ): r = (m r)/m, to first order."""
    known = np.zeros((10, 10))  # m, b_f, m r, b_τ
    known[:4, :4], known[4:, 4:] = cov_force, cov_torque
    change = np.zeros((10, 10))
    change[0, 0] = np.sign(mass)
    change[1:4, 0], change[1:4, 4:7] = -com / mass, np.eye(3) / mass
    change[4:7, 1:4] = change[7:, 7:] = np.eye(3)
    return change @ known @ change.T
