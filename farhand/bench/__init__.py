"""Benchmarks: how long things take, as a ratio to their floor and to a peer measured in the same run."""

from farhand.bench.measure import names, run

__all__ = ["names", "run"]
