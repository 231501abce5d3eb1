"""A tool's calibration: its weight on the sensor and the sensor's bias, kept in a file per tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch
from farhand.files import LARGEST, write_text
from farhand.sensing.profile import AXES, Load, rotation_about_z
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

ORDER = ["mass", *(f"com.{axis}" for axis in "xyz"), *(f"bias.{axis}" for axis in AXES)]
"""Order of the covariance."""


@dataclass(frozen=True)
class Thermal:
    r"""How the bias follows temperature: :math:`B(T) = B(T_0) + a\,(T - T_0)`."""

    reference: float  #: T₀, [°C]
    slope: Array  #: a, six numbers, [N/°C] and [N·m/°C]
    deviation: Array  #: standard deviations of ``slope``

    def shift(self, temperature: Array) -> Array:
        """Change of the bias since the reference, n × 6 for n temperatures [°C]."""
        return np.multiply.outer(np.asarray(temperature) - self.reference, self.slope)


@dataclass(frozen=True)
class ToolCalibration:
    r"""Mass, centre of mass and bias of a sensor with its tool, and their uncertainty.

    .. math:: f = R_z(\psi)^\top m\,g + b_f, \quad
              \tau = r \times R_z(\psi)^\top m\,g + b_\tau, \quad g = R^\top (0, 0, -g_0)
    """

    mass: float  #: m, [kg]; negative if the sensor reports the reaction
    com: Array  #: r, centre of mass in the sensor frame, [m]
    bias_force: Array  #: b_f at the thermal reference, [N]
    bias_torque: Array  #: b_τ, [N·m]
    covariance: Array  #: of mass, com, bias_force and bias_torque in this order, 10 × 10
    freedom: float = 1e9  #: degrees of freedom behind the covariance, [-]
    noise: Array = field(default_factory=lambda: np.zeros(6))  #: standard deviation of a reading
    gravity: float = 9.81  #: g₀, [m/s²]
    yaw: float = 0.0  #: ψ, from the axes of the orientation to the sensor's, about z, [rad]
    yaw_deviation: float = 0.0  #: its standard deviation, 0 where the yaw was not fitted, [rad]
    thermal: Thermal | None = None  #: the bias's line over temperature, where fitted
    tool_id: str = ""  #: which tool this is
    sensor_id: str = ""  #: which sensor

    @property
    def load(self) -> Load:
        """Mass and centre of mass together, the mass as a positive number."""
        return Load(abs(self.mass), self.com)

    @property
    def sign(self) -> float:
        """−1 if the sensor reports the reaction to the weight, else +1."""
        return -1.0 if self.mass < 0.0 else 1.0

    @property
    def bias(self) -> Array:
        """Of all six axes, at the thermal reference, [N] and [N·m]."""
        return np.concatenate([self.bias_force, self.bias_torque])

    @property
    def values(self) -> Array:
        """Ten numbers in the order of the covariance."""
        return np.concatenate([[self.mass], self.com, self.bias])

    @property
    def intervals(self) -> Array:
        """10 × 2: bounds that hold the truth in 95 % of calibrations, from Student's t."""
        half = quantile(self.freedom) * np.sqrt(np.diag(self.covariance))
        return np.stack([self.values - half, self.values + half], axis=1)

    def bias_at(self, temperature: Array | None, n: int) -> Array:
        """N × 6: the bias at these temperatures [°C], or at the reference where there are none."""
        bias = np.tile(self.bias, (n, 1))
        if self.thermal is not None and temperature is not None:
            bias += self.thermal.shift(temperature)
        return bias

    def pull(self, up: Array) -> Array:
        """N × 3: gravity in true sensor axes, [m/s²], from the base's z axis in the given ones."""
        return -self.gravity * (np.asarray(up) @ rotation_about_z(self.yaw))

    def weight(self, up: Array) -> Array:
        """N × 6: what the tool's weight reads, [N] and [N·m], for n × 3 up directions."""
        force = self.mass * self.pull(up)
        return np.concatenate([force, np.cross(self.com, force)], axis=-1)

    def unload(self, readings: Readings) -> Array:
        """N × 6: readings without bias and weight, [N] and [N·m]."""
        bias = self.bias_at(readings.temperature, len(readings))
        return readings.wrench - bias - self.weight(readings.up)

    def sensitivity(self, up: Array) -> Array:
        """6 × 10: how the modelled reading changes with mass, com and bias at one orientation."""
        g = self.pull(up)
        rows = np.zeros((6, 10))
        rows[:3, 0], rows[3:, 0] = g, np.cross(self.com, g)
        rows[3:, 1:4] = -self.mass * skew(g)
        rows[:, 4:] = np.eye(6)
        return rows

    def variance(self, up: Array, bias: bool = True) -> Array:
        """N × 6: variance of the weight, and of the bias unless tracked, by the covariance."""
        up = np.atleast_2d(up)
        change = np.eye(10) if bias else np.diag(np.repeat([1.0, 0.0], [4, 6]))
        covariance = change @ self.covariance @ change
        rows = [self.sensitivity(one) for one in _quadratic_points()]
        return _interpolate_quadratic(up, np.array([np.diag(J @ covariance @ J.T) for J in rows]))

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        content: dict[str, Any] = {
            "mass": self.mass,
            "com": self.com.tolist(),
            "bias_force": self.bias_force.tolist(),
            "bias_torque": self.bias_torque.tolist(),
            "covariance": self.covariance.tolist(),
            "covariance_order": ORDER,
            "intervals_95": dict(zip(ORDER, self.intervals.tolist(), strict=True)),
            "freedom": self.freedom,
            "noise": self.noise.tolist(),
            "gravity": self.gravity,
            "sign": int(self.sign),
            "yaw": self.yaw,
            "yaw_deviation": self.yaw_deviation,
            "tool_id": self.tool_id,
            "sensor_id": self.sensor_id,
            "thermal": None,
        }
        if self.thermal is not None:
            line = {
                "slope": self.thermal.slope.tolist(),
                "deviation": self.thermal.deviation.tolist(),
            }
            content["thermal"] = {"reference": self.thermal.reference, **line}
        return content

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all; :func:`load_tool` restores every bit."""
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(Path(path), text + "\n")


def quantile(freedom: float, share: float = 0.95) -> float:
    """How many standard deviations a two-sided interval reaches, from Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * share))


def load_tool(path: str | Path, *, tool_id: str = "", sensor_id: str = "") -> ToolCalibration:
    """Read and check a file of :meth:`ToolCalibration.save`.

    Args:
        path: of the file.
        tool_id: refuse any other tool, if given.
        sensor_id: refuse any other sensor, if given.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is not a whole calibration.
        Mismatch: it belongs to another tool or sensor.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{path.name} is not a JSON file: {error}") from None
    if not isinstance(content, dict):
        raise BadValue(f"{path.name} is not a tool calibration: it has no named values")
    tool = _tool(content, path.name)
    pairs = {"tool": (tool_id, tool.tool_id), "sensor": (sensor_id, tool.sensor_id)}
    for kind, (expected, actual) in pairs.items():
        if expected and expected != actual:
            owner = f"{kind} {actual!r}" if actual else f"a {kind} without a name"
            raise Mismatch(f"{path.name} belongs to {owner}, not to {expected!r}")
    return tool


class _Fields:
    """Checked numbers of a calibration file; ``where`` is its name for messages."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self._content = content
        self._where = where

    def numbers(self, key: str, *shape: int, default: object = None) -> Array:
        """Finite numbers of that shape."""
        value = self._content.get(key, default)
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            array = np.array(np.nan)
        if array.shape != shape or isinstance(value, bool) or not (np.abs(array) <= LARGEST).all():
            size = " × ".join(map(str, shape)) or "one"
            few = f"{size} finite number{'s' if shape else ''}"
            raise BadValue(f"{self._where}: {key} must be {few}, not {str(value)[:60]}")
        return array

    def positive(self, key: str, *shape: int, default: object, zero: bool = False) -> Array:
        """The same, and above zero, or not below it."""
        array = self.numbers(key, *shape, default=default)
        if not (array >= 0.0 if zero else array > 0.0).all():
            rule = "not be negative" if zero else "be positive"
            raise BadValue(f"{self._where}: {key} must {rule}: {array.tolist()}")
        return array

    def covariance(self) -> Array:
        """Symmetric, without a negative eigenvalue."""
        covariance = self.numbers("covariance", 10, 10)
        limit = 1e-6 * float(np.abs(covariance).max())
        asymmetry = np.abs(covariance - covariance.T).max()
        if asymmetry > limit or np.linalg.eigvalsh(covariance)[0] < -limit:
            rule = "must be symmetric and have no negative eigenvalue"
            raise BadValue(f"{self._where}: covariance {rule}")
        return covariance

    def thermal(self) -> Thermal | None:
        """The line over temperature, where one was fitted."""
        line = self._content.get("thermal")
        if line is None:
            return None
        if not isinstance(line, dict):
            raise BadValue(f"{self._where}: thermal must be a table or null, not {str(line)[:60]}")
        fields = _Fields(line, self._where)
        reference = float(fields.numbers("reference"))
        return Thermal(reference, fields.numbers("slope", 6), fields.numbers("deviation", 6))


def _tool(content: Mapping[str, Any], where: str) -> ToolCalibration:
    fields = _Fields(content, where)
    words = [content.get(key, "") for key in ("tool_id", "sensor_id")]
    if not all(isinstance(word, str) for word in words):
        raise BadValue(f"{where}: tool_id and sensor_id must be text, not {words}")
    if not fields.numbers("mass"):
        raise BadValue(f"{where}: mass must not be 0, or the centre of mass has no meaning")
    return ToolCalibration(
        float(fields.numbers("mass")),
        fields.numbers("com", 3),
        fields.numbers("bias_force", 3),
        fields.numbers("bias_torque", 3),
        covariance=fields.covariance(),
        freedom=float(fields.positive("freedom", default=1e9)),
        noise=fields.positive("noise", 6, default=[0.0] * 6, zero=True),
        gravity=float(fields.positive("gravity", default=9.81)),
        yaw=float(fields.numbers("yaw", default=0.0)),
        yaw_deviation=float(fields.numbers("yaw_deviation", default=0.0)),
        thermal=fields.thermal(),
        tool_id=words[0],
        sensor_id=words[1],
    )


def _quadratic_points() -> Array:
    """Ten points that determine a quadratic function: zero, ± the axes, their sums."""
    e = np.eye(3)
    return np.vstack([np.zeros(3), e, -e, e[0] + e[1], e[0] + e[2], e[1] + e[2]])


def _interpolate_quadratic(up: Array, at: Array) -> Array:
    """A quadratic function of up, n × 6, from its values at :func:`_quadratic_points`."""
    zero, plus, minus, sums = at[0], at[1:4], at[4:7], at[7:]
    linear = 0.5 * (plus - minus)
    square = 0.5 * (plus + minus) - zero
    value = zero + up @ linear + (up * up) @ square
    for row, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        cross = sums[row] - zero - linear[i] - linear[j] - square[i] - square[j]
        value += np.multiply.outer(up[:, i] * up[:, j], cross)
    return value
