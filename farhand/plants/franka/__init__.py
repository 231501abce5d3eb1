"""Franka arms by the maker's client: a process of its own at 1 kHz, and the plant beside it."""
