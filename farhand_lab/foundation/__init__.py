"""Checks of the foundation's own physics, with the mutations that they must notice."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
