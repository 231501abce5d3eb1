"""The operator's panel: what the handle, the gripper and the sensor's thermometer say, recorded beside the arms."""

from __future__ import annotations

from farhand.control.force_map import VibrationCue
from farhand.plants.wrist import WristPlant
from farhand.rigs.hazardous_parts.gripper import GripperChannel
from farhand.safety.handle import HandleParts
from farhand.telemetry import Telemetry


class Panel:
    """Records the operator's stream, and decides on the cue in the handle.

    Args:
        telemetry: where it is recorded, before it is frozen.
        parts: of the handle.
        wrist: the follower's wrist.
        cue: when the handle buzzes.
        gripper: the gripper's channel.
        period_ns: time between steps, [ns].
    """

    def __init__(
        self,
        telemetry: Telemetry,
        parts: HandleParts,
        wrist: WristPlant,
        cue: VibrationCue,
        gripper: GripperChannel,
        period_ns: int,
    ) -> None:
        self._parts, self._wrist, self._cue, self._gripper = parts, wrist, cue, gripper
        self._dt = period_ns * 1e-9
        self._stream = stream = telemetry.stream("operator", 1e9 / period_ns)
        self._grip = stream.channel("grip", 1, "N")
        self._gripped = stream.channel("gripped", 1, "-")
        self._buzz = stream.channel("cue", 1, "-")
        self._jaws = stream.channel("gripper", 2, "m, N", ("opening", "force"))
        self._temperature = stream.channel("temperature_of_sensor", 1, "°C")
        self._contact = stream.channel("wrench_contact_raw_in_world", 6, "N, N·m", ("fx", "fy", "fz", "tx", "ty", "tz"))

    def step(self, now_ns: int) -> None:
        """Publish this tick."""
        wrist, contact = self._wrist, self._wrist.contact
        self._grip[0], self._gripped[0] = self._parts.handle.grip, self._parts.deadman.enabled
        if contact is None:
            self._contact[:] = float("nan")
        else:
            self._contact[:] = contact
            self._buzz[0] = self._cue.step(contact[:3], wrist.gauges.acceleration, self._dt)
        self._jaws[0], self._jaws[1] = self._gripper.opening, self._gripper.force
        self._temperature[0] = wrist.gauges.reading
        self._stream.commit(now_ns)
