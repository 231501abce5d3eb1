"""Soak: hours of virtual time with random operators and random faults, to find what minutes do not show."""
