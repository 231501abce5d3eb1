"""Soak: hours of virtual time with random operators and random faults."""
