"""Payload: the load an arm carries, merged into the controller's model and removed exactly."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.errors import OutOfRange
from farhand.sensing.profile import Load
from farhand.spatial import Array


class Payload:
    """A mass on the last link of an arm's model that may come and go.

    Args:
        arm: the model that is changed; the controller's, not the plant's.
        limit: largest mass without the tool, [kg].
    """

    def __init__(self, arm: Arm, limit: float = np.inf) -> None:
        self.load = Load()
        self._arm, self._limit = arm, limit
        frame = arm.model.frames[arm.model.getFrameId(arm.tool, pin.FrameType.OP_FRAME)]
        self._joint, self._tool = frame.parentJoint, frame.placement
        self._bare = arm.model.inertias[self._joint].copy()

    def merge(self, load: Load, inertia: Array | None = None) -> None:
        """Carry a load from now on, in place of any before.

        Args:
            load: mass and centre of mass in the tool frame.
            inertia: about the centre of mass, tool axes, [kg·m²]; that of a point if not given.
        """
        if not 0.0 <= load.mass <= self._limit:
            raise OutOfRange("mass of the load", f"{load.mass:g}", 0.0, self._limit, "kg")
        tensor = np.zeros((3, 3)) if inertia is None else inertia
        body = pin.Inertia(load.mass, np.asarray(load.com, dtype=float), tensor)
        self._arm.model.inertias[self._joint] = self._bare + self._tool.act(body)
        self._arm.refresh()
        self.load = load

    def remove(self) -> None:
        """Carry nothing: the model is as it was, to the bit."""
        self._arm.model.inertias[self._joint] = self._bare.copy()
        self._arm.refresh()
        self.load = Load()
