"""Driver of the servo bus: what is asked in which order, what an answer means, and what to do without one.

:class:`ServoDriver` is the protocol alone, without any input or output: its exchanges are
generators that yield a frame and are sent its answer. :class:`SerialLine` runs them on a serial
port, real or pseudo; the simulated plant runs the same ones in virtual time.
"""

from __future__ import annotations

import math
import os
import termios
import time
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from farhand.errors import FileError, Mismatch
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.frames import Frame
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.simulated_bus import BusTiming

Array = np.ndarray
Exchange = Generator[tuple[Frame, bool], bytes | None, None]
"""Yields a frame and whether its answer is wanted; is sent the answer, or None."""

MAX_MISSED_ANSWERS = 10
"""Answers missed in a row before a servo counts as silent."""

TRIES = 5
"""How often a servo is looked for before it counts as missing: one lost answer is no missing
servo."""


class ServoDriver:
    """Commands servos and reads them back. A lost answer is replaced by what was sent last; a silent servo stops it.

    Args:
        joints: the servos it speaks to.
        start: where they are believed to be, [counts].
        patience: answers missed in a row before a servo counts as silent.

    Attributes:
        sent: positions sent last, [counts].
        heard: positions read last, or sent last where nothing was read, [counts].
        assumed: which of :attr:`heard` were not read.
        speed: sent with every reading, 255 for the top speed.
        fault: why it commands no more, or None.
        answers: how many came.
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
        """Positions for angles [rad], each cut to what its joint and servo allow, [counts]."""
        found = []
        for joint, angle in zip(self.joints, q, strict=True):
            low, high = joint.limits
            found.append(joint.counts(min(max(float(angle), low), high)))
        return np.array(found, dtype=float)

    def angles(self, counts: Array) -> Array:
        """Angles at positions [counts], [rad]."""
        return np.array(
            [joint.angle(float(count)) for joint, count in zip(self.joints, counts, strict=True)]
        )

    def restart(self) -> None:
        """Try again after a fault."""
        self.fault = None
        self._silences = [0] * len(self.joints)

    def scan(self) -> Exchange:
        """Read every servo, one that is silent several times; all must answer for commands to be allowed."""
        self.restart()
        for index in range(len(self.joints)):
            for _ in range(TRIES):
                yield from self._read(index)
                if not self.assumed[index]:
                    break
        missing = [
            f"{joint.id} ({joint.name})"
            for joint, away in zip(self.joints, self.assumed, strict=True)
            if away
        ]
        if missing:
            self.fault = f"no answer from servo {', '.join(missing)}"

    def command(self, counts: Array) -> Exchange:
        """Send positions and believe that they are reached; no answer is waited for."""
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
        """Have every servo stop where it is."""
        yield Frame(frames.GO, 0), True

    def let_go(self) -> Exchange:
        """Have every servo give way, and read where the limb is moved to."""
        yield Frame(frames.RELEASE), True
        for index in range(len(self.joints)):
            yield from self._read(index)

    def nothing(self) -> Exchange:
        """Say nothing at all."""
        yield from ()

    def _read(self, index: int) -> Exchange:
        answer = yield frames.read(self.joints[index].id, self.speed), True
        position = frames.position(answer)
        self._note(index, position)
        self.assumed[index] = position is None
        self.heard[index] = self.sent[index] if position is None else position

    def _note(self, index: int, position: int | None) -> None:
        """Count an answer, or that there was none."""
        if position is not None:
            self.answers += 1
            self._silences[index] = 0
            return
        self.missed += 1
        self._silences[index] += 1
        if self._silences[index] >= self.patience and self.fault is None:
            joint = self.joints[index]
            self.fault = f"servo {joint.id} ({joint.name}) gave no answer {self._silences[index]} times in a row"


class SerialLine:
    """Runs exchanges on a serial port.

    Args:
        path: of the port, such as ``/dev/ttyUSB0`` or a pseudo-terminal's.
        timing: how long answers are waited for.
        echo: whether the adaptor hears what it sends, as one that ties both lines does.

    Raises:
        Mismatch: pyserial is not installed.
        FileError: the port cannot be opened.
    """

    def __init__(self, path: str, timing: BusTiming | None = None, echo: bool = False) -> None:
        self.timing, self._echo = timing or BusTiming(), echo
        self._port = _open(path)
        self._free_ns = 0

    def __enter__(self) -> SerialLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._port.close()

    def run(self, exchange: Exchange) -> None:
        """Carry an exchange out, frame by frame; blocks for as long as it takes."""
        try:
            frame, wants = next(exchange)
            while True:
                frame, wants = exchange.send(self.transact(frame, wants))
        except StopIteration:
            return

    def transact(self, frame: Frame, wants: bool = True) -> bytes | None:
        """Send one frame and wait for its answer, or for its time on the line where none is wanted."""
        port, patience = self._port, self.timing.silent_ns * 1e-9
        if port.timeout != patience:
            port.timeout = patience
        start_ns = max(self._free_ns, time.monotonic_ns())
        # the frame before must have left the line
        time.sleep(max(0.0, (start_ns - time.monotonic_ns()) * 1e-9))
        try:
            port.reset_input_buffer()  # what came too late must not pass for this answer
            port.write(frame.encode())
            if not wants:
                self._free_ns = start_ns + self.timing.sent_ns
                return None
            skipped = frames.LENGTH if self._echo else 0
            answer = port.read(skipped + 2)[skipped:]
        except (OSError, termios.error) as error:
            raise FileError(f"the servo bus went away: {error.args[-1]}") from None
        return answer if len(answer) == 2 else None


def _open(path: str) -> Any:
    try:
        import serial
    except ImportError:
        raise Mismatch("the servo bus needs pyserial: pip install 'farhand[serial]'") from None
    try:
        return serial.Serial(
            path, frames.BAUD, serial.EIGHTBITS, serial.PARITY_NONE, serial.STOPBITS_TWO
        )
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else " ".join(str(error).split())
        raise FileError(f"cannot open the servo bus at {path}: {reason}") from None


def rate(times: Array) -> float:
    """Cycles per second from the times they began at, by the median cycle, [Hz]."""
    return 1.0 / float(np.median(np.diff(times))) if len(times) > 1 else math.nan
