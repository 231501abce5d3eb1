"""Wrapped plant: the base of plants around another plant."""

from __future__ import annotations

from typing import Any

from farhand.plants.plant import Channels, Command, Plant, Sample


class WrappedPlant(Plant):
    """A plant that forwards every verb to the plant inside; a subclass overrides what it changes.

    What the wrapper may falsify is not forwarded: ``imperfections`` and ``wrench_sigma`` describe the
    samples of the plant inside.

    Args:
        plant: the plant inside.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self.name = plant.name
        self.accepts = plant.accepts
        self.actuated = plant.actuated
        self.period_ns = plant.period_ns

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the plant has switched itself off, or None."""
        return self._plant.fault

    @property
    def force_peak(self) -> float:  # type: ignore[override]
        """Largest force of a haptic device, [N]."""
        return self._plant.force_peak

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of the plant inside."""
        return self._plant.parameters

    def read(self, now_ns: int) -> Sample:
        """The plant's sample."""
        return self._plant.read(now_ns)

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on."""
        self._plant.write(command, now_ns)

    def restart(self) -> None:
        """Restart the plant inside."""
        self._plant.restart()

    def rearm(self) -> None:
        """Rearm the plant inside."""
        self._plant.rearm()

    def record(self, stream: Channels) -> None:
        """Let the plant inside declare its signals."""
        self._plant.record(stream)

    def close(self) -> None:
        """Close the plant inside."""
        self._plant.close()
