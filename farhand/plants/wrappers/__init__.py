"""Wrappers: plants around another plant, which filter, instrument, mirror or break it."""
