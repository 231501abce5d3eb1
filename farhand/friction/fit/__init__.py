"""Friction identified from a user's own log, and the motion to log."""
