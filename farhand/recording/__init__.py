"""Recordings: MCAP files written outside the tick, and read back."""
