"""Torque illusion: what a device that drives only its translations can do about a torque on the pen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class TorqueIllusion:
    r"""A force across the pen whose torque about the fingers is the one wanted, alone or shaken.

    .. math:: f = \frac{\tau \times r}{|r|^2}\,(1 + a\,\mathrm{sgn}\sin 2\pi\nu t), \qquad r \times f = \tau_\perp

    r leads from the fingers to the wrist point, where the device pushes. The torque along the pen
    cannot be shown. A force at one point has the mean torque :math:`r \times \bar f`, so one whose
    mean is zero turns nothing on average, however it alternates: ``shake`` changes how it feels,
    never the mean.
    """

    # assumed
    lever: Array = parameter(
        (-0.060, 0.0, 0.0), "m", "from the fingers to the wrist point", -1.0, 1.0
    )
    shake: float = parameter(0.0, "-", "share by which the force alternates", 0.0, 1.0)
    frequency: float = parameter(200.0, "Hz", "of the alternation", 1.0, 1000.0)

    def force(self, torque: Array, t: float, rotation: Array | None = None) -> Array:
        """Force for a torque [N·m] at time t [s], world axes, [N]; ``rotation`` is the pen's, in world."""
        r = self.lever if rotation is None else rotation @ self.lever
        steady = np.cross(torque, r) / float(r @ r)
        return steady * (1.0 + self.shake * (1.0 if (t * self.frequency) % 1.0 < 0.5 else -1.0))

    def shown(self, force: Array, rotation: Array | None = None) -> Array:
        """Torque about the fingers that a force at the wrist point makes, [N·m]."""
        return np.cross(self.lever if rotation is None else rotation @ self.lever, force)
