"""An arm of Damiao motors in virtual time: driver, bus and motors, without a thread."""

from __future__ import annotations

from farhand.plants.damiao.plant import DamiaoPlant
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.wires import VirtualWire
from farhand.plants.drivers.worker import Stamped
from farhand.plants.plant import Sample


class VirtualDamiaoPlant(DamiaoPlant):
    """The driver on a simulated bus; its cycles run as time goes on.

    Args:
        name: of the plant in the rig.
        arm: the simulated one.
        fd: whether frames are FD frames.
        host: time that program and adaptor need for each frame, either way, [s].
    """

    def __init__(
        self, name: str, arm: SimulatedCanArm, *, fd: bool = True, host: float = 0.0
    ) -> None:
        super().__init__(name, arm.arm, VirtualWire(arm, fd, host), arm.robot)
        self.simulated = arm
        # connecting took some time, the tick begins at zero
        self._ahead_ns = self._due_ns = arm.now_ns
        self._records: list[Stamped] = [self._latest.get()]

    def _start(self) -> None:
        """No thread: reads run the cycles."""

    def close(self) -> None:
        """Nothing to end."""

    def read(self, now_ns: int) -> Sample:
        """The last state that was there at ``now_ns``."""
        now_ns += self._ahead_ns
        while self._due_ns <= now_ns:
            self.simulated.advance(self._due_ns)
            self._cycle(self._due_ns)
            self._records.append(self._latest.get())
            self._due_ns = max(self._due_ns + self.period_ns, self.simulated.now_ns)
        # a cycle may have ended later than this
        while len(self._records) > 1 and self._records[1].value[-2] <= now_ns:
            del self._records[0]
        record, sample, n = self._records[0], self._sample, self._n
        sample.time_ns = round(record.value[-2]) - self._ahead_ns
        sample.motion[:] = record.value[: 2 * n]
        return sample
