"""Bridges: a law between two stations, in one process or across a link."""
