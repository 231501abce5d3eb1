"""Laws and layers side by side: ids L-01 to L-27, one file per theme."""

from farhand_lab.mutation import collect

MUTATIONS = collect(__name__)
