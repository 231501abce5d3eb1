"""Reproduction of the published cooperative force control: ids F, S, X and B, by theme."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
