"""The explorable: one HTML file in which a reader turns delay, law, layer and wall of real runs.

``python -m farhand_lab.explorable --out out/docs/explorable.html`` runs the dual-arm rig in virtual
time for every cell of a grid (:mod:`farhand_lab.explorable.runs`) and puts the recordings and the
predicted limits into one page (:mod:`farhand_lab.explorable.page`). The page needs no server.
"""
