"""Farhand: bilateral teleoperation in Python. A leader moves, a follower does the same, and touch comes back."""

__version__ = "0.1.0"
