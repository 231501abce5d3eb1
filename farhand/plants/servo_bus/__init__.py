"""The servo bus of the humanoid: frames, joints, a simulated bus, the driver that talks to it or to the real one."""
