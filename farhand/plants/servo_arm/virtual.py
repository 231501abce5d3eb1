"""A simulated arm on its bus in virtual time: the driver, byte for byte, without a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from farhand.errors import FileError
from farhand.plants.plant import Sample
from farhand.plants.servo_arm.bus import FIRST_PATIENCE_S, LEAST_PATIENCE_S, ServoBus
from farhand.plants.servo_arm.packets import BITS, PacketSplitter, ServoPacket
from farhand.plants.servo_arm.plant import ServoArmPlant, ServoSettings
from farhand.plants.servo_arm.simulated_arm import SimulatedServoBus

HOST_NS = 300_000
"""Time of host and adaptor per exchange, beside the bits on the line, [ns]; assumed: a USB adaptor
with a poll of 125 µs, and a driver in Python."""


class VirtualServoBus(ServoBus):
    """Exchanges with a simulated bus that take the time of their bits, in virtual time.

    Attributes:
        now_ns: when the last exchange was over, [ns].
        plugged: whether the cable is in.
    """

    def __init__(self, bus: SimulatedServoBus) -> None:
        self.simulated, self.path = bus, f"simulated {bus.arm.arm.name}"
        self.family, self.protocol = bus.arm.arm.family, bus.protocol
        self._splitter = PacketSplitter(self.protocol, statuses=True)
        self.answers = self.missed = 0
        self.byte_ns, self._heard = BITS * 1_000_000_000 // bus.baud, b""
        self.now_ns = bus.arm.world.now_ns
        self.plugged = True

    def close(self) -> None:
        """Nothing is open."""

    def begin(self, *sent: bytes) -> None:
        """See :meth:`ServoBus.begin`."""
        self._splitter.clear()
        self._heard = b"".join(self._feed(packet) for packet in sent)

    def finish(
        self, ids: Sequence[int], size: int = 0, *, patient: bool = False, wait: float | None = None
    ) -> dict[int, ServoPacket]:
        """See :meth:`ServoBus.finish`."""
        heard = self._heard
        self.now_ns += len(heard) * self.byte_ns + (HOST_NS if heard else 0)
        found = {one.id: one for one in self._splitter.feed(heard) if one.id in set(ids)}
        self.answers += len(found)
        self.missed += len(ids) - len(found)
        # the driver waits for the last one in vain
        if ids[-1] not in found:
            self.now_ns += round(1e9 * (FIRST_PATIENCE_S if patient else LEAST_PATIENCE_S))
        return found

    def _feed(self, sent: bytes) -> bytes:
        if not self.plugged:
            raise self._gone(OSError("unplugged"))
        bus = self.simulated
        self.now_ns += len(sent) * self.byte_ns
        bus.arm.advance(self.now_ns)
        return b"".join(bus.feed(sent, self.now_ns))


class VirtualServoPlant(ServoArmPlant):
    """The driver of a servo arm on a simulated bus; its cycles run as time goes on.

    Args:
        name: of the plant in the rig.
        bus: of the simulated arm.
        settings: how torques are sent.
    """

    def __init__(
        self, name: str, bus: SimulatedServoBus, settings: ServoSettings | None = None
    ) -> None:
        self.simulated = bus.arm
        line = VirtualServoBus(bus)
        super().__init__(
            name,
            line.path,
            bus.arm.arm,
            bus.arm.robot,
            settings=settings,
            bus=line,
            clock=lambda: line.now_ns,
        )
        self._line = line
        # configuring took some time, the tick begins at zero
        self._ahead_ns = line.now_ns

    def _start(self) -> None:
        """No thread: reads run the cycles."""

    def _wait(self) -> None:
        """Every read has a new state."""

    def close(self) -> None:
        """Nothing to end."""

    def read(self, now_ns: int) -> Sample:
        """The last reading before ``now_ns``."""
        now_ns += self._ahead_ns
        while self._line.now_ns < now_ns and self.worker.error is None:
            self.worker.calls += 1
            try:
                self._serve(self._line.now_ns)
            # as the thread keeps it
            except FileError as error:
                self.worker.error = error
        if self.worker.error is not None:
            self._line.now_ns = now_ns
            self.simulated.advance(now_ns)
        sample = super().read(now_ns)
        sample.time_ns -= self._ahead_ns
        return sample
