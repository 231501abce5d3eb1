"""Safety: limits, latched trips, and what happens when something is wrong."""

from farhand.safety.guard import Guard, Trip
from farhand.safety.watches import Watchdog

__all__ = ["Guard", "Trip", "Watchdog"]
