"""How the kernels of this package are compiled: cached on disk, without the GIL, with division as in IEEE 754."""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of a kernel that Python calls. A division by zero gives infinity, which counts as "not met"."""

inner = njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of a kernel that only other kernels call; it compiles faster."""
