"""Arms on simulated buses, without wall time."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.simulated_arm import ArmBusFaults, SimulatedArm, SimulatedServoBus


class InstantPort:
    """The makers' port handler, with the simulated bus in the place of the serial port.

    Answers are there at once, and a packet has timed out when nothing is left to read.
    """

    is_using = False
    baudrate = 1_000_000

    def __init__(self, bus: SimulatedServoBus) -> None:
        self.bus, self.left = bus, bytearray()

    def clearPort(self):
        self.left.clear()

    def writePort(self, packet):
        self.left += b"".join(self.bus.feed(bytes(packet), self.bus.arm.world.now_ns))
        return len(packet)

    def readPort(self, length):
        taken = list(self.left[:length])
        del self.left[:length]
        return taken

    def setPacketTimeout(self, length):
        pass

    setPacketTimeoutMillis = setPacketTimeout

    def isPacketTimeout(self):
        return not self.left

    def getBaudRate(self):
        return self.baudrate


@pytest.fixture
def bus_of():
    """A simulated bus by the name of its arm."""

    def make(name: str, **faults) -> SimulatedServoBus:
        arm = SimulatedArm(load_arm(name), np.random.default_rng(1))
        return SimulatedServoBus(arm, ArmBusFaults(**faults), np.random.default_rng(2))

    return make
