"""Force sensor: a simulated 6-axis force/torque sensor, from the true contact wrench to raw counts."""

from __future__ import annotations

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.profile import Load, Mounting, SensorProfile
from farhand.spatial import adjoint, skew

Array = np.ndarray


class ForceSensor:
    r"""What a sensor between arm and tool reports, with all that is wrong with it.

    .. math:: w = \sigma\,\big(\mathrm{Ad}_{T_{bs}}^\top\, h_b + w_g(R_s)\big) + b + d + n, \qquad
              \mathrm{counts} = \mathrm{clip}(\mathrm{round}(w / \mathrm{resolution}))

    h_b is the contact wrench in tool axes at the tool point, T_bs the sensor's pose in the tool
    frame, w_g the weight of the sensor's internals and of what is mounted on it, b the static bias,
    d a random walk and n white noise. The inertia of what is mounted is left out: the model is for
    tools that accelerate far less than gravity.

    One sample or many at once: wrenches 6 or n × 6, rotations 3 × 3 or n × 3 × 3, equally spaced in
    time.

    Args:
        profile: the sensor's data sheet.
        mounting: where it sits on the tool.
        load: what is mounted on it beside its own internals.
        bias: static offset b, [N] ×3 and [N·m] ×3; none by default.
        gravity: downward acceleration, [m/s²].
        rng: source of noise and drift; needed unless the profile is silent.

    Attributes:
        drift: d after the last sample, [N] and [N·m].
    """

    def __init__(
        self,
        profile: SensorProfile,
        mounting: Mounting | None = None,
        load: Load | None = None,
        *,
        bias: Array | None = None,
        gravity: float = 9.81,
        rng: np.random.Generator | None = None,
    ) -> None:
        if rng is None and (profile.noise.any() or profile.drift.any()):
            raise BadValue(
                f"sensor {profile.name!r} has noise and needs a random generator (or profile.silent())"
            )
        mounting, load = mounting or Mounting(), profile.internals + (load or Load())
        self.profile = profile
        self.bias = np.zeros(6) if bias is None else np.array(bias, dtype=float)
        self.drift = np.zeros(6)
        self._rng = rng
        self._noisy, self._drifts = bool(profile.noise.any()), bool(profile.drift.any())
        # rows: h_bᵀ to wᵀ
        self._contact = mounting.sign * adjoint(mounting.rotation, mounting.position)
        # rows: world z in tool axes to m g, as read
        weight = -mounting.sign * load.mass * gravity * mounting.rotation
        self._per_up = np.hstack([weight, weight @ skew(load.com).T])
        self._per_unit = 1.0 / profile.resolution

    def read(
        self, wrench_contact_in_world: Array, rotation_tool_in_world: Array, dt: float | None = None
    ) -> Array:
        """Raw counts, whole numbers.

        Args:
            wrench_contact_in_world: by hand or environment on the tool, world axes at the tool
                point, [N], [N·m].
            rotation_tool_in_world: rotation matrix of the tool.
            dt: time since the sample before, [s]; one period of the sensor by default.
        """
        wrench, rotation = np.asarray(wrench_contact_in_world), np.asarray(rotation_tool_in_world)
        # rows times R: Rᵀ f and Rᵀ τ
        in_tool = np.matmul(wrench.reshape(*wrench.shape[:-1], 2, 3), rotation)
        shape = in_tool.shape[:-2]
        reading = in_tool.reshape(*shape, 6) @ self._contact
        reading += rotation[..., 2, :] @ self._per_up
        reading += self.bias
        if self._drifts:
            reading += self._wander(shape, 1.0 / self.profile.rate if dt is None else dt)
        if self._noisy:
            assert self._rng is not None
            reading += self._rng.standard_normal((*shape, 6)) * self.profile.noise
        reading *= self._per_unit
        np.rint(reading, out=reading)
        limit = self.profile.counts
        return np.minimum(np.maximum(reading, -limit, out=reading), limit, out=reading)

    def rest(self, seconds: float) -> None:
        """Let time pass without a sample: only the drift goes on."""
        if self._drifts:
            self._wander((), seconds)

    def _wander(self, shape: tuple[int, ...], dt: float) -> Array:
        assert self._rng is not None
        steps = self._rng.standard_normal((*shape, 6)) * (self.profile.drift * np.sqrt(dt / 3600.0))
        walk = self.drift + (steps.cumsum(axis=0) if shape else steps)
        if walk.size:
            self.drift[:] = walk[-1] if shape else walk
        return walk
