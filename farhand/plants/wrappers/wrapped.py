"""Wrapped plant: what plants that stand around another plant have in common."""

from __future__ import annotations

from farhand.plants.plant import Command, Plant


class WrappedPlant:
    """A plant that passes commands on, and says of itself what the plant inside says of itself.

    Args:
        plant: the plant inside.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self.name, self.accepts, self.actuated = plant.name, plant.accepts, plant.actuated
        self.period_ns = plant.period_ns

    @property
    def fault(self) -> str | None:
        """Why the plant switched itself off, or None."""
        return getattr(self._plant, "fault", None)

    def restart(self) -> None:
        """Switch the plant on again if it has switched itself off."""
        if hasattr(self._plant, "restart"):
            self._plant.restart()

    def rearm(self) -> None:
        """Believe sensors again that were distrusted, because a new engagement begins."""
        if hasattr(self._plant, "rearm"):
            self._plant.rearm()

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on."""
        self._plant.write(command, now_ns)
