"""Analysis: what a run says about tracking, force, energy and time."""
