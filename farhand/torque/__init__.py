"""Motor torque of a whole arm: what a log of free motion says about it, and a model from it."""
