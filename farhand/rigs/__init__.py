"""Rigs: complete systems, assembled from parts, that start with one command."""

from farhand.rigs.rig import Options, Rig, Scenario, build_rig, rig_names, rig_title, scenarios_of

__all__ = ["Options", "Rig", "Scenario", "build_rig", "rig_names", "rig_title", "scenarios_of"]
