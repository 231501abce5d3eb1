"""Identify mass, centre of mass, bias, yaw and thermal slope of a sensor with its tool."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.sensing.misread import (
    HALF_NOISE_RATIO,
    beyond_noise,
    check_axes,
    check_orientation,
    drifting,
    mounting,
    rms,
    scattered,
    spikes,
    torque_axes,
)
from farhand.sensing.poses import (
    Poses,
    advice_on,
    at_rest,
    check_poses,
    find_common_errors,
    poses_of,
)
from farhand.sensing.profile import rotation_about_z
from farhand.sensing.readings import Readings
from farhand.sensing.tool import Thermal, ToolCalibration, quantile
from farhand.spatial import skew

Array = np.ndarray

WEIGHTINGS = ("auto", "pose", "sample")
"""Weights of poses: by noise and by scatter beyond it, all equal, or by number of readings."""

MIN_WARMING = 2.0
"""Range of temperatures from which the thermal slope is fitted, [°C]."""

OUTLIER_DEVIATIONS = 8.0
"""Robust standard deviations from which a pose is reported as an outlier."""

MIN_YAW_GAIN = 3.0
"""How many times better a fit with the sensor's yaw must explain the poses to be recommended."""

MAX_MASS = 100.0
"""Mass above which the unit of the forces is in doubt, [kg]."""

_FIXED = 10  # m, m r, b_f, b_τ


@dataclass(frozen=True)
class Identification:
    """A tool and how good its calibration is."""

    tool: ToolCalibration  #: the result
    poses: Poses  #: what it came from
    left: Array  #: P × 6, residual of each pose's mean, [N] and [N·m]
    before: tuple[float, float]  #: root mean square of the readings, force [N] and torque [N·m]
    after: tuple[float, float]  #: of what the model leaves of them, noise included
    advice: tuple[str, ...]  #: what to improve; empty if nothing
    left_out: int = 0  #: readings not used because the tool moved, [-]

    @property
    def condition(self) -> float:
        """Of the set of poses, 1 at best, [-]."""
        return self.poses.condition

    @property
    def residual(self) -> tuple[float, float]:
        """Root mean square of :attr:`left` per axis, force [N] and torque [N·m]."""
        return rms(self.left[:, :3]), rms(self.left[:, 3:])


def identify(
    readings: Readings,
    *,
    gravity: float = 9.81,
    yaw: bool = False,
    thermal: bool | None = None,
    weighting: str = "auto",
    tool_id: str = "",
    sensor_id: str = "",
) -> Identification:
    r"""Weighted least squares for the load of the sensor; nothing may touch the tool.

    .. math:: f_k = m\,g_k + b_f + a_f \Delta T_k, \qquad
              \tau_k = \mu \times g_k + b_\tau + a_\tau \Delta T_k, \qquad
              g_k = R_z(\psi)^\top R_k^\top (0, 0, -g_0), \qquad r = \mu / m

    One equation per pose (a stretch of readings with one orientation) for its mean. The scatter of
    the poses about the fit, not only the noise of single readings, gives the covariance:
    hysteresis, an inaccurate arm or a cable count. Visits of one direction, or neighbours along a
    sweep, are not independent: their common error is estimated.

    Args:
        readings: at rest in at least three, better six to twelve, directions of gravity.
        gravity: g₀, [m/s²].
        yaw: fit ψ, from the given axes to the sensor's about their common z axis.
        thermal: fit the slopes a; by default if the temperature ranges over :data:`MIN_WARMING`.
        weighting: one of :data:`WEIGHTINGS`.
        tool_id: name of the tool, kept with the result.
        sensor_id: name of the sensor.

    Raises:
        FarhandError: the poses do not determine the result, there is no mass, or gravity is not
            above zero.
        UnknownName: no such weighting.
    """
    if weighting not in WEIGHTINGS:
        raise UnknownName("weighting", weighting, WEIGHTINGS)
    total = len(readings)
    readings = readings.where(at_rest(readings))
    moving = total - len(readings)
    wrong = spikes(readings)
    stray = _stray(readings.time[wrong])
    readings = readings.where(~wrong)
    poses = poses_of(readings)
    check_poses(poses)
    check_axes(readings, poses)
    check_orientation(readings, poses)
    fit = _Fit(poses, gravity, yaw, _fit_thermal(readings, thermal))
    fit.solve(poses.count if weighting == "sample" else np.ones(len(poses)))
    turned = [] if yaw else _turned(fit) or mounting(poses)
    try:
        if weighting == "auto":
            fit.solve(*fit.weights(readings))
        fit.correlate()
        tool = fit.tool(tool_id, sensor_id)
    except BadValue as error:
        raise BadValue("; ".join([str(error), *turned])) from None
    tool = replace(tool, noise=_noise(readings, tool, poses))
    advice = (*stray, *_remarks(fit, tool, readings, turned))
    before, after = _norms(readings.wrench), _norms(tool.unload(readings))
    return Identification(tool, poses, fit.left, before, after, advice, moving)


def _remarks(fit: _Fit, tool: ToolCalibration, readings: Readings, turned: list[str]) -> list[str]:
    """What is wrong with the poses, the likeliest cause only, and what to improve."""
    left, noise, poses = fit.left, tool.noise, fit.poses
    causes = (
        turned
        or torque_axes(left, noise, poses)
        or drifting(left, noise, readings, poses)
        or _misfits(left * np.sqrt(fit.share), readings, poses)
        or scattered(left, noise, poses)
    )
    better = ""
    if not causes:
        noisy = (beyond_noise(left, noise, poses) < HALF_NOISE_RATIO).all()
        better = ": take " + ("more readings per pose, or more poses" if noisy else "more poses")
    return [*causes, *advice_on(poses), *_advice(tool, better)]


def _stray(times: Array) -> list[str]:
    if not len(times):
        return []
    subject = "reading stands" if len(times) == 1 else "readings stand"
    return [
        f"{len(times)} {subject} far out from the neighbours (first at t = {times[0]:.6g} s) "
        "and did not count"
    ]


def _turned(fit: _Fit) -> list[str]:
    """A line if a fit with the sensor's yaw explains the poses far better than this one."""
    if len(fit.poses) < 6:
        return []
    free = _Fit(fit.poses, fit.gravity, True, fit.thermal)
    free.solve(np.ones(len(fit.poses)))
    without, with_it = rms(fit.left[:, :3]), rms(free.left[:, :3])
    if without < max(MIN_YAW_GAIN * with_it, 1e-6):
        return []
    psi = (free.x[_FIXED] + np.pi) % (2.0 * np.pi) - np.pi
    return [
        f"a turn of the sensor by {psi:.3g} rad about its z axis leaves {with_it:.2g} N per pose, "
        f"not {without:.2g} N: calibrate with --yaw"
    ]


def _fit_thermal(readings: Readings, requested: bool | None) -> bool:
    if readings.temperature is None:
        if requested:
            raise BadValue("the thermal slope needs a column temp")
        return False
    span = float(np.ptp(readings.temperature))
    if requested and span < 1e-6:
        raise BadValue(
            f"the thermal slope needs different temperatures, not a range of {span:g} °C"
        )
    return span >= MIN_WARMING if requested is None else requested


class _Fit:
    """Gauss–Newton on (m, μ, b_f, b_τ [, ψ] [, a]); linear, hence one step, without ψ."""

    def __init__(self, poses: Poses, gravity: float, yaw: bool, thermal: bool) -> None:
        if not 0.0 < gravity < np.inf:
            raise OutOfRange("gravity", gravity, 0.0, np.inf, "m/s²")
        self.poses = poses
        self.gravity = gravity
        self.yaw = yaw
        self.thermal = thermal
        self.size = _FIXED + yaw + 6 * thermal
        self.reference = 0.0
        self.warmth = np.zeros(len(poses))
        if thermal and poses.temperature is not None:
            self.reference = float(np.average(poses.temperature, weights=poses.count))
            self.warmth = poses.temperature - self.reference
        self.x = np.zeros(self.size)
        if 6 * len(poses) - self.size < 3:
            raise BadValue(f"{len(poses)} poses are too few for {self.size} unknowns")

    def solve(self, force: Array, torque: Array | None = None) -> None:
        """Solve with these weights of the poses; the scale comes from the residual."""
        both = np.stack([force, force if torque is None else torque], axis=1)
        self.share = np.repeat(both, 3, axis=1)  # P × 6
        self.share = self.share / self.share.mean(axis=0)
        # Degrees of freedom of the smaller part.
        self.freedom = float(max(3 * len(self.poses) - 6 - 3 * self.thermal - self.yaw, 1))
        scale = np.ones(6)
        if self.yaw and not self.x[0]:
            self.x[_FIXED] = self._first_yaw()
        for _ in range(20 if self.yaw else 2):
            J, model = self._model()
            weight = np.sqrt(self.share) / scale
            A = J * weight[..., None]
            y = (self.poses.wrench - model) * weight
            step = np.linalg.lstsq(A.reshape(-1, self.size), y.ravel(), rcond=None)[0]
            self.x += step
            self.left = self.poses.wrench - self._model()[1]
            deviation = self._deviation()
            scale = np.where(deviation > 0.0, deviation, 1.0)
        J, _ = self._model()
        self.weight = self.share / scale**2
        A = (J * (np.sqrt(self.share) / scale)[..., None]).reshape(-1, self.size)
        exact = deviation[0] <= 1e-12 and deviation[3] <= 1e-12
        self.covariance = np.zeros((self.size, self.size)) if exact else np.linalg.inv(A.T @ A)

    def correlate(self) -> None:
        """Widen the covariance by common errors of one direction, or of neighbours in a sweep."""
        group, kernels = self.poses.correlations()
        if not kernels or not self.covariance.any():
            return
        J, _ = self._model()
        total, freedom = np.zeros((self.size, self.size)), [self.freedom]
        for part in (slice(0, 3), slice(3, 6)):
            used = np.flatnonzero(np.any(J[:, part], axis=(0, 1)))
            share = self.share[:, part.start]
            both = np.concatenate([J[:, part][:, :, used], self.left[:, part, None]], axis=2)
            mean = _sums(both, group, share)
            own = 1.0 / np.bincount(group, share)
            mean *= own[:, None, None]
            # Visits of one direction differ a little, which must not determine the mass.
            if not self.poses.swept:
                turned = np.count_nonzero(used < _FIXED + self.yaw)
                visits = kernels[0] / kernels[0].sum(axis=1, keepdims=True)
                mean[:, :, :turned] = np.tensordot(visits, mean[:, :, :turned], axes=1)
            errors = find_common_errors(kernels, own, mean[:, :, :-1], mean[:, :, -1])
            rows = J[:, part] * self.weight[:, part, None] @ self.covariance
            if errors is None:
                total += np.einsum("pai,pa,paj->ij", rows, 1.0 / self.weight[:, part], rows)
                continue
            rows = _sums(rows, group, np.ones(len(share)))
            total += np.einsum("pai,pq,qaj->ij", rows, errors.covariance, rows, optimize=True)
            freedom += errors.freedom(rows[:, :, used[used < _FIXED]])
        self.covariance, self.freedom = total, max(min(freedom), 1.0)

    def _deviation(self) -> Array:
        """Weighted root mean square of the residual per degree of freedom, six numbers."""
        extra = self.yaw + 3 * self.thermal
        freedom = 3 * len(self.poses) - np.array([4 + extra, 6 + 3 * self.thermal])
        total = (self.share * self.left**2).sum(axis=0)
        both = np.array([total[:3].sum(), total[3:].sum()])
        return np.repeat(np.sqrt(both / np.maximum(freedom, 1)), 3)

    def weights(self, readings: Readings) -> tuple[Array, Array]:
        """Inverse variances of the poses' means, from noise and from the scatter beyond it."""
        tool, count = self.tool("", ""), len(self.poses)
        noise = _noise(readings, tool, self.poses) ** 2

        def weight(part: slice) -> Array:
            sample = float(noise[part].mean()) / self.poses.count
            scatter = float((self.left[:, part] ** 2).mean()) * count / max(count - 2, 1)
            variance = max(scatter - float(sample.mean()), 0.0) + sample
            return 1.0 / variance if variance.min() > 0.0 else np.ones(count)

        return weight(slice(0, 3)), weight(slice(3, 6))

    def _pull(self) -> Array:
        """P × 3: gravity in sensor axes."""
        psi = self.x[_FIXED] if self.yaw else 0.0
        return -self.gravity * (self.poses.up @ rotation_about_z(psi))

    def _model(self) -> tuple[Array, Array]:
        """Jacobian, P × 6 × size, and modelled readings, P × 6, at the present parameters."""
        g = self._pull()
        mass, moment, bias = self.x[0], self.x[1:4], self.x[4:10]
        J = np.zeros((len(g), 6, self.size))
        J[:, :3, 0] = g
        J[:, 3:, 1:4] = [-skew(pull) for pull in g]
        J[:, :, 4:10] = np.eye(6)
        model = np.hstack([mass * g, np.cross(moment, g)]) + bias
        if self.yaw:
            turn = np.stack([g[:, 1], -g[:, 0], np.zeros(len(g))], axis=1)
            J[:, :3, _FIXED] = mass * turn
            J[:, 3:, _FIXED] = np.cross(moment, turn)
        if self.thermal:
            J[:, :, -6:] = self.warmth[:, None, None] * np.eye(6)
            model = model + np.outer(self.warmth, self.x[-6:])
        return J, model

    def _first_yaw(self) -> float:
        """From f_xy = a (g_x, g_y) + b (g_y, −g_x) + bias, with a = m cos ψ and b = m sin ψ."""
        g, wrench = -self.gravity * self.poses.up, self.poses.wrench
        one, none = np.ones(len(g)), np.zeros(len(g))
        x = np.column_stack([g[:, 0], g[:, 1], none, one, none, none])
        y = np.column_stack([g[:, 1], -g[:, 0], none, none, one, none])
        z = np.column_stack([none, none, g[:, 2], none, none, one])
        A = np.vstack([x, y, z])
        a, b, mass, *_ = np.linalg.lstsq(A, wrench[:, :3].T.ravel(), rcond=None)[0]
        return float(np.arctan2(b, a) if mass >= 0.0 else np.arctan2(-b, -a))

    def tool(self, tool_id: str, sensor_id: str) -> ToolCalibration:
        """The result, with (m, μ) turned into (m, r) to first order."""
        mass, moment, cov = float(self.x[0]), self.x[1:4], self.covariance
        deviation = float(np.sqrt(cov[0, 0]))
        if abs(mass) <= 3.0 * deviation or abs(mass) < 1e-6:
            raise BadValue(
                f"no load was found: the fitted mass is {mass:.3g} kg, standard deviation "
                f"{deviation:.2g} kg"
            )
        com = moment / mass
        change = np.eye(_FIXED)
        change[1:4, 0] = -com / mass
        change[1:4, 1:4] = np.eye(3) / mass
        thermal = None
        if self.thermal:
            thermal = Thermal(self.reference, self.x[-6:].copy(), np.sqrt(np.diag(cov)[-6:]))
        return ToolCalibration(
            mass,
            com,
            bias_force=self.x[4:7].copy(),
            bias_torque=self.x[7:10].copy(),
            covariance=change @ cov[:_FIXED, :_FIXED] @ change.T,
            freedom=self.freedom,
            gravity=self.gravity,
            yaw=float(self.x[_FIXED]) if self.yaw else 0.0,
            yaw_deviation=float(np.sqrt(cov[_FIXED, _FIXED])) if self.yaw else 0.0,
            thermal=thermal,
            tool_id=tool_id,
            sensor_id=sensor_id,
        )


def _sums(values: Array, group: Array, weight: Array) -> Array:
    total = np.zeros((int(group.max()) + 1, *values.shape[1:]))
    np.add.at(total, group, values * weight[:, None, None])
    return total


def _noise(readings: Readings, tool: ToolCalibration, poses: Poses) -> Array:
    """Standard deviation of one reading about its pose's mean, without the weight's change."""
    bias = tool.bias_at(readings.temperature, len(readings))
    rest = readings.wrench - tool.weight(readings.up) - bias
    freedom = len(readings) - len(poses)
    # With one reading per pose, the residual of the fit is the noise.
    if freedom < 6:
        return np.repeat([rms(rest[:, :3]), rms(rest[:, 3:])], 3)
    return np.sqrt(((rest - poses.mean(rest)[poses.member]) ** 2).sum(axis=0) / freedom)


def _advice(tool: ToolCalibration, better: str) -> list[str]:
    """Lines on values that are uncertain or unusual."""
    lines = []
    half = quantile(tool.freedom) * np.sqrt(np.diag(tool.covariance))
    if half[0] > 0.01 * abs(tool.mass):
        share = 100.0 * half[0] / abs(tool.mass)
        lines.append(f"the mass is only known to ± {share:.2g} %{better}")
    if half[1:4].max() > 0.002:
        axis, reach = "xyz"[int(np.argmax(half[1:4]))], 1e3 * half[1:4].max()
        lines.append(f"the centre of mass is only known to ± {reach:.2g} mm ({axis}){better}")
    if abs(tool.mass) > MAX_MASS:
        lines.append(f"the tool weighs {abs(tool.mass):.3g} kg: are the forces in N?")
    distance = np.linalg.norm(tool.com)
    if distance > 0.5:
        lines.append(f"the centre of mass is {distance:.2g} m away: are the torques in N·m?")
    return lines


def _misfits(left: Array, readings: Readings, poses: Poses) -> list[str]:
    """A line on the pose that fits far worse than the others, if there is one."""
    if len(left) < 6:
        return []
    scale = np.repeat([np.median(np.abs(left[:, :3])), np.median(np.abs(left[:, 3:]))], 3) / 0.6745
    if not (scale > 1e-9).all():
        return []
    off = np.abs(left / scale).max(axis=1)
    worst = int(np.argmax(off))
    if off[worst] < OUTLIER_DEVIATIONS:
        return []
    when = readings.time[np.argmax(poses.member == worst)]
    return [
        f"pose {worst + 1} of {len(left)} (from t = {when:.4g} s) is {off[worst]:.0f} times "
        "further off than most: was the tool touched, or did it still move? Leave it out and "
        "calibrate again"
    ]


def _norms(wrench: Array) -> tuple[float, float]:
    return rms(np.linalg.norm(wrench[:, :3], axis=1)), rms(np.linalg.norm(wrench[:, 3:], axis=1))
