"""Checks of the foundation's own physics, with the mutations that they must notice."""

from farhand.experiments.foundation import checks
from farhand.experiments.foundation.mutations import MUTATIONS

__all__ = ["MUTATIONS", "checks"]
