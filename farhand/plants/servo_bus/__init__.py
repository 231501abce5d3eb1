"""The servo bus of the humanoid: frames, joints, driver, simulated bus and plants."""
