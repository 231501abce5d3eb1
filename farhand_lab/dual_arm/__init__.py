"""Reproduction of the published dual-arm system: ids D-01 to D-60, one file per theme."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
