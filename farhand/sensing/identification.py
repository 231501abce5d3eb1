"""Identification: mass, centre of mass, bias, yaw and thermal slope of a sensor with its tool, from any poses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.sensing.misread import (
    HALF,
    beyond_noise,
    check_axes,
    check_orientation,
    drifting,
    mounting,
    scattered,
    spikes,
    torque_axes,
)
from farhand.sensing.poses import Poses, advice_on, at_rest, check_poses, common, poses_of
from farhand.sensing.readings import Readings
from farhand.sensing.tool import Thermal, ToolCalibration, quantile
from farhand.spatial import skew

Array = np.ndarray

WEIGHTINGS = ("auto", "pose", "sample")
"""How poses count: by noise and by how far they scatter beyond it, all alike, or by their number of
readings."""

WARM = 2.0
"""Range of temperatures from which on the thermal slope is fitted, [°C]."""

FAR = 8.0
"""Robust standard deviations from which on a pose is said not to fit the others."""

TURNED = 3.0
"""How many times better a fit with the sensor's yaw must explain the poses to be recommended."""

HEAVIEST = 100.0
"""Mass above which the unit of the forces is asked after, [kg]."""

_FIXED = 10  # m, m r, b_f, b_τ


@dataclass(frozen=True)
class Identification:
    """A tool and how good its calibration is.

    Attributes:
        tool: the result.
        poses: what it came from.
        left: P × 6, what the model does not explain of each pose's mean, [N] and [N·m].
        before: root mean square of the readings, force [N] and torque [N·m].
        after: root mean square of what is left of them, likewise, noise of single readings
            included.
        advice: what to do better, in plain words; empty if nothing.
        left_out: readings that were not used because the tool moved, [-].
    """

    tool: ToolCalibration
    poses: Poses
    left: Array
    before: tuple[float, float]
    after: tuple[float, float]
    advice: tuple[str, ...]
    left_out: int = 0

    @property
    def condition(self) -> float:
        """Of the set of poses, 1 at best, [-]."""
        return self.poses.condition

    @property
    def residual(self) -> tuple[float, float]:
        """Root mean square of :attr:`left` per axis, force [N] and torque [N·m]."""
        return _rms(self.left[:, :3]), _rms(self.left[:, 3:])


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
    r"""Weighted least squares for what the sensor carries; nothing may touch the tool.

    .. math:: f_k = m\,g_k + b_f + a_f \Delta T_k, \qquad \tau_k = \mu \times g_k + b_\tau + a_\tau \Delta T_k, \qquad
              g_k = R_z(\psi)^\top R_k^\top (0, 0, -g_0), \qquad r = \mu / m

    One equation per pose (a stretch of readings with one orientation) for its mean. What the poses
    scatter about the fit, not only the noise of single readings, decides the covariance:
    hysteresis, a sloppy arm or a cable count. Nor are visits of one direction, or neighbours along
    a sweep, taken for independent: what they share is estimated.

    Args:
        readings: at rest in at least three, better six to twelve, directions of gravity.
        gravity: g₀, [m/s²].
        yaw: fit ψ, the turn from the given axes to the sensor's about their common z axis.
        thermal: fit the slopes a; by default if the temperature ranges over :data:`WARM`.
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
    moving, wrong = total - len(readings), spikes(readings)
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
    rest = (
        readings.wrench
        - tool.bias_at(readings.temperature, len(readings))
        - tool.weight(readings.up)
    )
    advice = (*stray, *_remarks(fit, tool, readings, turned))
    return Identification(
        tool, poses, fit.left, _norms(readings.wrench), _norms(rest), advice, moving
    )


def _remarks(fit: _Fit, tool: ToolCalibration, readings: Readings, turned: list[str]) -> list[str]:
    """What is wrong with the poses, the likeliest cause first, and what to do better."""
    left, poses = fit.left, fit.poses
    causes = (
        turned
        or torque_axes(left, tool.noise, poses)
        or drifting(left, tool.noise, readings, poses)
    )
    causes = (
        causes
        or _misfits(left * np.sqrt(fit.share), readings, poses)
        or scattered(left, tool.noise, poses)
    )
    noisy = (beyond_noise(left, tool.noise, poses) < HALF).all()
    better = (
        ""
        if causes
        else ": take more readings per pose, or more poses"
        if noisy
        else ": take more poses"
    )
    return [*causes, *advice_on(poses), *_advice(tool, better)]


def _stray(times: Array) -> list[str]:
    """Says which single readings were left out."""
    if not len(times):
        return []
    words = "reading stands" if len(times) == 1 else "readings stand"
    return [
        f"{len(times)} {words} far out from the neighbours (first at t = {times[0]:.6g} s) and counted for nothing"
    ]


def _turned(fit: _Fit) -> list[str]:
    """What a fit with the sensor's yaw would say, if it explains the poses far better than this one without."""
    if len(fit.poses) < 6:
        return []
    free = _Fit(fit.poses, fit.gravity, True, fit.thermal)
    free.solve(np.ones(len(fit.poses)))
    without, with_it = _rms(fit.left[:, :3]), _rms(free.left[:, :3])
    if without < max(TURNED * with_it, 1e-6):
        return []
    psi = (free.x[_FIXED] + np.pi) % (2.0 * np.pi) - np.pi
    return [
        f"a turn of the sensor by {psi:.3g} rad about its z axis leaves {with_it:.2g} N per pose, not {without:.2g} N: "
        "calibrate with --yaw"
    ]


def _fit_thermal(readings: Readings, wanted: bool | None) -> bool:
    if readings.temperature is None:
        if wanted:
            raise BadValue("the thermal slope needs a column temp")
        return False
    span = float(np.ptp(readings.temperature))
    if wanted and span < 1e-6:
        raise BadValue(
            f"the thermal slope needs temperatures that differ, not {span:g} °C of range"
        )
    return span >= WARM if wanted is None else wanted


class _Fit:
    """Gauss–Newton on the parameters (m, μ, b_f, b_τ [, ψ] [, a]); linear, hence one step, without ψ."""

    def __init__(self, poses: Poses, gravity: float, yaw: bool, thermal: bool) -> None:
        if not 0.0 < gravity < np.inf:
            raise OutOfRange("gravity", gravity, 0.0, np.inf, "m/s²")
        self.poses, self.gravity, self.yaw, self.thermal = poses, gravity, yaw, thermal
        self.size = _FIXED + yaw + 6 * thermal
        temperature = poses.temperature if thermal else None
        self.reference = (
            float(np.average(temperature, weights=poses.count)) if temperature is not None else 0.0
        )
        self.warmth = (
            temperature - self.reference if temperature is not None else np.zeros(len(poses))
        )
        self.x = np.zeros(self.size)
        rows = 6 * len(poses)
        if rows - self.size < 3:
            raise BadValue(f"{len(poses)} poses are too few for {self.size} unknowns")

    def solve(self, force: Array, torque: Array | None = None) -> None:
        """Solve with these weights of the poses, for forces and torques; their scale comes from the residual."""
        # P × 6
        self.share = np.repeat(
            np.stack([force, force if torque is None else torque], axis=1), 3, axis=1
        )
        self.share = self.share / self.share.mean(axis=0)
        # of the smaller part
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
            found = self._deviation()
            scale = np.where(found > 0.0, found, 1.0)
        J, _ = self._model()
        self.weight = self.share / scale**2
        A = (J * (np.sqrt(self.share) / scale)[..., None]).reshape(-1, self.size)
        exact = found[0] <= 1e-12 and found[3] <= 1e-12
        self.covariance = np.zeros((self.size, self.size)) if exact else np.linalg.inv(A.T @ A)

    def correlate(self) -> None:
        """Widen the covariance by what poses of one direction, or neighbours along a sweep, have in common."""
        group, kernels = self.poses.alike()
        if not kernels or not self.covariance.any():
            return
        J, _ = self._model()
        total, freedom = np.zeros((self.size, self.size)), [self.freedom]
        for part in (slice(0, 3), slice(3, 6)):
            used = np.flatnonzero(np.any(J[:, part], axis=(0, 1)))
            share = self.share[:, part.start]
            mean = _sums(
                np.concatenate([J[:, part][:, :, used], self.left[:, part, None]], axis=2),
                group,
                share,
            )
            own = 1.0 / np.bincount(group, share)
            mean *= own[:, None, None]
            # else the little that visits of a direction differ by would tell the mass
            if not self.poses.swept:
                turned = np.count_nonzero(used < _FIXED + self.yaw)
                visits = kernels[0] / kernels[0].sum(axis=1, keepdims=True)
                mean[:, :, :turned] = np.tensordot(visits, mean[:, :, :turned], axes=1)
            found = common(kernels, own, mean[:, :, :-1], mean[:, :, -1])
            rows = J[:, part] * self.weight[:, part, None] @ self.covariance
            if found is None:
                total += np.einsum("pai,pa,paj->ij", rows, 1.0 / self.weight[:, part], rows)
                continue
            rows = _sums(rows, group, np.ones(len(share)))
            total += np.einsum("pai,pq,qaj->ij", rows, found.covariance, rows, optimize=True)
            freedom += found.freedom(rows[:, :, used[used < _FIXED]])
        self.covariance, self.freedom = total, max(min(freedom), 1.0)

    def _deviation(self) -> Array:
        """Weighted root mean square of what is left, over degrees of freedom, of forces and of torques."""
        extra = self.yaw + 3 * self.thermal
        freedom = 3 * len(self.poses) - np.array([4 + extra, 6 + 3 * self.thermal])
        total = (self.share * self.left**2).sum(axis=0)
        return np.repeat(
            np.sqrt(np.array([total[:3].sum(), total[3:].sum()]) / np.maximum(freedom, 1)), 3
        )

    def weights(self, readings: Readings) -> tuple[Array, Array]:
        """Best weights: inverse variance of a pose's mean, from noise and from the scatter beyond it."""
        tool = self.tool("", "")
        noise = _noise(readings, tool, self.poses) ** 2
        found = []
        for part in (slice(0, 3), slice(3, 6)):
            sample = float(noise[part].mean()) / self.poses.count
            scatter = (
                float((self.left[:, part] ** 2).mean())
                * len(self.poses)
                / max(len(self.poses) - 2, 1)
            )
            beyond = max(scatter - float(sample.mean()), 0.0)
            variance = beyond + sample
            found.append(1.0 / variance if variance.min() > 0.0 else np.ones(len(self.poses)))
        return found[0], found[1]

    def _pull(self) -> Array:
        """P × 3: gravity in sensor axes."""
        psi = self.x[_FIXED] if self.yaw else 0.0
        c, s = np.cos(psi), np.sin(psi)
        return -self.gravity * (
            self.poses.up @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        )

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
            J[:, :3, _FIXED], J[:, 3:, _FIXED] = mass * turn, np.cross(moment, turn)
        if self.thermal:
            J[:, :, -6:] = self.warmth[:, None, None] * np.eye(6)
            model = model + np.outer(self.warmth, self.x[-6:])
        return J, model

    def _first_yaw(self) -> float:
        """From the linear form: f_xy = a (g_x, g_y) + b (g_y, −g_x) + bias, with a = m cos ψ and b = m sin ψ."""
        g, wrench = -self.gravity * self.poses.up, self.poses.wrench
        one, none = np.ones(len(g)), np.zeros(len(g))
        A = np.vstack(
            [
                np.column_stack([g[:, 0], g[:, 1], none, one, none, none]),
                np.column_stack([g[:, 1], -g[:, 0], none, none, one, none]),
                np.column_stack([none, none, g[:, 2], none, none, one]),
            ]
        )
        a, b, mass, *_ = np.linalg.lstsq(A, wrench[:, :3].T.ravel(), rcond=None)[0]
        return float(np.arctan2(b, a) if mass >= 0.0 else np.arctan2(-b, -a))

    def tool(self, tool_id: str, sensor_id: str) -> ToolCalibration:
        """The result, with (m, μ) turned into (m, r) to first order."""
        mass, moment, cov = float(self.x[0]), self.x[1:4], self.covariance
        deviation = float(np.sqrt(cov[0, 0]))
        if abs(mass) <= 3.0 * deviation or abs(mass) < 1e-6:
            raise BadValue(
                f"no load to be found: the fitted mass is {mass:.3g} kg, standard deviation {deviation:.2g} kg"
            )
        com = moment / mass
        change = np.eye(_FIXED)
        change[1:4, 0], change[1:4, 1:4] = -com / mass, np.eye(3) / mass
        thermal = None
        if self.thermal:
            thermal = Thermal(self.reference, self.x[-6:].copy(), np.sqrt(np.diag(cov)[-6:]))
        return ToolCalibration(
            mass,
            com,
            self.x[4:7].copy(),
            self.x[7:10].copy(),
            change @ cov[:_FIXED, :_FIXED] @ change.T,
            self.freedom,
            gravity=self.gravity,
            yaw=float(self.x[_FIXED]) if self.yaw else 0.0,
            yaw_deviation=float(np.sqrt(cov[_FIXED, _FIXED])) if self.yaw else 0.0,
            thermal=thermal,
            tool_id=tool_id,
            sensor_id=sensor_id,
        )


def _sums(values: Array, group: Array, weight: Array) -> Array:
    """Weighted sums over the rows of each group."""
    total = np.zeros((int(group.max()) + 1, *values.shape[1:]))
    np.add.at(total, group, values * weight[:, None, None])
    return total


def _noise(readings: Readings, tool: ToolCalibration, poses: Poses) -> Array:
    """Standard deviation of one reading about its pose's mean, the weight's change within the pose taken off."""
    rest = (
        readings.wrench
        - tool.weight(readings.up)
        - tool.bias_at(readings.temperature, len(readings))
    )
    mean = np.zeros((len(poses), 6))
    np.add.at(mean, poses.member, rest)
    mean /= poses.count[:, None]
    freedom = len(readings) - len(poses)
    if freedom < 6:  # one reading per pose: what is left of the fit is the noise
        return np.repeat([_rms(rest[:, :3]), _rms(rest[:, 3:])], 3)
    return np.sqrt(((rest - mean[poses.member]) ** 2).sum(axis=0) / freedom)


def _advice(tool: ToolCalibration, better: str) -> list[str]:
    """What the uncertainty and the numbers themselves tell, and what would make it better."""
    found = []
    half = quantile(tool.freedom) * np.sqrt(np.diag(tool.covariance))
    if half[0] > 0.01 * abs(tool.mass):
        found.append(
            f"the mass is known to ± {100.0 * half[0] / abs(tool.mass):.2g} % only{better}"
        )
    if half[1:4].max() > 0.002:
        axis, reach = "xyz"[int(np.argmax(half[1:4]))], 1e3 * half[1:4].max()
        found.append(f"the centre of mass is known to ± {reach:.2g} mm only ({axis}){better}")
    if abs(tool.mass) > HEAVIEST:
        found.append(f"the tool weighs {abs(tool.mass):.3g} kg: are the forces in N?")
    if np.linalg.norm(tool.com) > 0.5:
        found.append(
            f"the centre of mass lies {np.linalg.norm(tool.com):.2g} m away: are the torques in N·m?"
        )
    return found


def _misfits(left: Array, readings: Readings, poses: Poses) -> list[str]:
    """The pose that fits far worse than the others, if there is one: something touched the tool, or it still moved."""
    if len(left) < 6:
        return []
    scale = np.repeat([np.median(np.abs(left[:, :3])), np.median(np.abs(left[:, 3:]))], 3) / 0.6745
    if not (scale > 1e-9).all():
        return []
    off = np.abs(left / scale).max(axis=1)
    worst = int(np.argmax(off))
    if off[worst] < FAR:
        return []
    when = readings.time[np.argmax(poses.member == worst)]
    return [
        f"pose {worst + 1} of {len(left)} (from t = {when:.4g} s) is {off[worst]:.0f} times further off than most: was "
        "the tool touched, or did it still move? Leave it out and calibrate again"
    ]


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _norms(wrench: Array) -> tuple[float, float]:
    """Root mean square of the lengths of force and torque."""
    return _rms(np.linalg.norm(wrench[:, :3], axis=1)), _rms(np.linalg.norm(wrench[:, 3:], axis=1))
