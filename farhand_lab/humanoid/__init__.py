"""Reproduction of the published humanoid that is taught by hand: ids H-01 to H-47, by theme."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
