"""Benchmarks: times as ratios to a floor and to a peer measured in the same run."""

from farhand_lab.benchmarks.measure import names, run

__all__ = ["names", "run"]
