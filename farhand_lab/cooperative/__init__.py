"""Reproduction of the published cooperative force control: ids F-01 to F-52, S-01 to S-08, X-01 to X-20, by theme."""

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
