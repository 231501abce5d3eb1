"""Reproduction of the published hazardous-environment system: C-01 to C-63."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
