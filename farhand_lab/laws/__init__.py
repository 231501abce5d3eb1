"""Laws and layers side by side: ids L-01 to L-27, one file per theme, each with its own mutations."""

import importlib
import pkgutil

from farhand_lab.mutation import Mutation

_MODULES = [
    importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
]

MUTATIONS: list[Mutation] = [
    mutation for module in _MODULES for mutation in getattr(module, "MUTATIONS", ())
]
"""Parts broken on purpose, from all themes."""
