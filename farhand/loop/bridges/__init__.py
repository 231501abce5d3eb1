"""Bridges: a law between two stations, in one process, across an emulated link, or one end of a real one."""
