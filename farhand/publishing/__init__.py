"""A running session in the tools people already look at: ROS 2, Foxglove and Rerun.

Each destination has a process of its own beside the loop. It reads the telemetry ring as a recorder
does, and gives commands as any other program that attaches to the session.
"""

from farhand.publishing.process import Destination, Publishers, parse_destinations

__all__ = ["Destination", "Publishers", "parse_destinations"]
