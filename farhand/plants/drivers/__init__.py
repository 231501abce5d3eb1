"""Drivers: plants that are real machines and input devices."""
