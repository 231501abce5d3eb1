"""Reproduction of the published hazardous-environment system: ids C-01 to C-63, one file per theme."""

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
