"""How the kernels of this package are compiled: cached on disk, without the GIL, with division as in IEEE 754."""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of every kernel. A division by zero gives infinity, which counts as "not met"."""
