"""Real time: privileges of a loop, lateness and sections of its ticks, overruns."""

from farhand.realtime.cycle import Cycle, Meter
from farhand.realtime.deadlines import Deadlines
from farhand.realtime.histogram import Histogram
from farhand.realtime.privileges import Grant, real_time

__all__ = ["Cycle", "Deadlines", "Grant", "Histogram", "Meter", "real_time"]
