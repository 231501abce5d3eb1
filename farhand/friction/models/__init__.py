"""Friction models, one file per family."""
