"""Reproduction of the published youBot with a haptic pen: ids Y-01 to Y-60, one file per theme."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
