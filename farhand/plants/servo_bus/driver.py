"""Driver of the servo bus: the order of frames, the meaning of answers, and silence.

:class:`ServoDriver` is the protocol without input or output: its exchanges are generators that
yield a frame and are sent its answer. :class:`SerialLine` runs them on a serial port, the simulated
plant in virtual time.
"""

from __future__ import annotations

import termios
import time
from collections.abc import Generator, Sequence

import numpy as np
import serial

from farhand.errors import FileError
from farhand.plants.drivers.serial_port import open_serial
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.frames import Frame
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.simulated_bus import BusTiming
from farhand.spatial import Array

Exchange = Generator[tuple[Frame, bool], bytes | None, None]
"""Yields a frame and whether to wait for its answer; is sent the answer, or None."""

MAX_MISSED_ANSWERS = 10
"""Answers missed in a row before a servo counts as silent."""

SCAN_TRIES = 5
"""Tries before a servo counts as missing: one answer may be lost."""


class ServoDriver:
    """Commands servos and reads them back; a silent servo stops it.

    A lost answer is replaced by the position sent last.

    Args:
        joints: of the servos.
        start: their assumed positions, [counts].
        patience: answers missed in a row before a servo counts as silent.

    Attributes:
        sent: positions sent last, [counts].
        heard: positions read last, or sent last where nothing was read, [counts].
        assumed: which of :attr:`heard` were not read.
        speed: sent with every reading, 255 for the top speed.
        fault: why it commands no more, or None.
        answers: how many arrived.
        missed: how many did not.
    """

    def __init__(
        self, joints: Sequence[BusJoint], start: Array, patience: int = MAX_MISSED_ANSWERS
    ) -> None:
        self.joints, self.patience = list(joints), patience
        self.sent, self.heard = np.array(start, dtype=float), np.array(start, dtype=float)
        self.assumed = np.ones(len(self.joints), dtype=bool)
        self.speed = 0xFF
        self.fault: str | None = None
        self.answers = self.missed = 0
        self._silences = [0] * len(self.joints)

    def counts(self, q: Array) -> Array:
        """Positions for angles [rad], each limited to its joint and servo, [counts]."""
        counts = []
        for joint, angle in zip(self.joints, q, strict=True):
            low, high = joint.limits
            counts.append(joint.counts(min(max(float(angle), low), high)))
        return np.array(counts, dtype=float)

    def angles(self, counts: Array) -> Array:
        """Angles at positions [counts], [rad]."""
        pairs = zip(self.joints, counts, strict=True)
        return np.array([joint.angle(float(count)) for joint, count in pairs])

    def restart(self) -> None:
        """Try again after a fault."""
        self.fault = None
        self._silences = [0] * len(self.joints)

    def scan(self) -> Exchange:
        """Read every servo, a silent one several times; all must answer before any command."""
        self.restart()
        for index in range(len(self.joints)):
            for _ in range(SCAN_TRIES):
                yield from self._read(index)
                if not self.assumed[index]:
                    break
        silent = [self.joints[index] for index in np.flatnonzero(self.assumed)]
        missing = [f"{joint.id} ({joint.name})" for joint in silent]
        if missing:
            self.fault = f"no answer from servo {', '.join(missing)}"

    def command(self, counts: Array) -> Exchange:
        """Send positions and assume that they are reached, without waiting for answers."""
        for index, joint in enumerate(self.joints):
            if self.fault is not None:
                return
            yield frames.move(joint.id, int(counts[index])), False
            self.sent[index] = self.heard[index] = counts[index]
            self.assumed[index] = True

    def refresh(self, counts: Array) -> Exchange:
        """Send each servo its position and read it back."""
        for index, joint in enumerate(self.joints):
            if self.fault is not None:
                return
            answer = yield frames.move(joint.id, int(counts[index])), True
            self.sent[index] = counts[index]
            self._note(index, frames.position(answer))
            yield from self._read(index)

    def halt(self) -> Exchange:
        """Stop every servo where it is."""
        yield Frame(frames.GO, 0), True

    def let_go(self) -> Exchange:
        """Release every servo, and read where the limb is moved to."""
        yield Frame(frames.RELEASE), True
        for index in range(len(self.joints)):
            yield from self._read(index)

    def nothing(self) -> Exchange:
        """Send nothing."""
        yield from ()

    def _read(self, index: int) -> Exchange:
        answer = yield frames.read(self.joints[index].id, self.speed), True
        position = frames.position(answer)
        self._note(index, position)
        self.assumed[index] = position is None
        self.heard[index] = self.sent[index] if position is None else position

    def _note(self, index: int, position: int | None) -> None:
        """Count an answer, or a missing one."""
        if position is not None:
            self.answers += 1
            self._silences[index] = 0
            return
        self.missed += 1
        self._silences[index] += 1
        if self._silences[index] >= self.patience and self.fault is None:
            joint, times = self.joints[index], self._silences[index]
            self.fault = f"servo {joint.id} ({joint.name}) gave no answer {times} times in a row"


class SerialLine:
    """Runs exchanges on a serial port.

    Args:
        path: of the port, such as ``/dev/ttyUSB0``.
        timing: how long to wait for answers.
        echo: whether the adaptor receives what it sends, because it joins both lines.

    Raises:
        FileError: the port cannot be opened.
    """

    def __init__(self, path: str, timing: BusTiming | None = None, echo: bool = False) -> None:
        self.timing, self._echo = timing or BusTiming(), echo
        self._port = open_serial(
            path, frames.BAUD, f"the servo bus at {path}", stopbits=serial.STOPBITS_TWO
        )
        self._free_ns = 0

    def __enter__(self) -> SerialLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._port.close()

    def run(self, exchange: Exchange) -> None:
        """Run an exchange to its end; this blocks."""
        try:
            frame, wants = next(exchange)
            while True:
                frame, wants = exchange.send(self.transact(frame, wants))
        except StopIteration:
            return

    def transact(self, frame: Frame, wants: bool = True) -> bytes | None:
        """Send one frame, and wait for its answer if ``wants``."""
        port, patience = self._port, self.timing.silent_ns * 1e-9
        if port.timeout != patience:
            port.timeout = patience
        start_ns = max(self._free_ns, time.monotonic_ns())
        # The frame before must have left the line.
        time.sleep(max(0.0, (start_ns - time.monotonic_ns()) * 1e-9))
        try:
            # A late answer must not count as the answer to this frame.
            port.reset_input_buffer()
            port.write(frame.encode())
            if not wants:
                self._free_ns = start_ns + self.timing.sent_ns
                return None
            skipped = frames.LENGTH if self._echo else 0
            answer = port.read(skipped + 2)[skipped:]
        except (OSError, termios.error) as error:
            raise FileError(f"the servo bus is gone: {error.args[-1]}") from None
        return answer if len(answer) == 2 else None
