"""A plant and a rig for Farhand, found by their entry points."""
