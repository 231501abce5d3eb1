"""Checks of the foundation's own physics, with the mutations that they must notice."""

from farhand_lab.foundation import checks
from farhand_lab.foundation.mutations import MUTATIONS

__all__ = ["MUTATIONS", "checks"]
