"""Paths over time, and whether an arm can follow them."""
