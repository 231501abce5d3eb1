"""Real time: privileges of a loop, lateness and sections of its ticks, overruns."""

from farhand.realtime.deadlines import Deadlines
from farhand.realtime.privileges import Grant, real_time
from farhand.realtime.timing import Cycle, Histogram, Meter

__all__ = ["Cycle", "Deadlines", "Grant", "Histogram", "Meter", "real_time"]
