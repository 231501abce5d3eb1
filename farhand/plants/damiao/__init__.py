"""Damiao motors on CAN: frames, arms of such motors, a driver, and a simulated bus."""
