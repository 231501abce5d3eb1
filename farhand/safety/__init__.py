"""Safety: limits, latched trips, and what happens when something is wrong."""

from farhand.safety.guard import Guard, Trip

__all__ = ["Guard", "Trip"]
