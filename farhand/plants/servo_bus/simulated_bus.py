"""Simulated bus: servos that hear frames and answer them, in virtual time or on a real pseudo-terminal."""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.plants.servo_bus.frames import (
    DONE,
    FAILED,
    FRAME_NS,
    GO,
    ID_ADDRESS,
    LENGTH,
    MOVE_ALL,
    RELEASE,
    SET_SPEED,
    VERSION,
    WRITE,
    Frame,
    Splitter,
)
from farhand.plants.simulated.servo import Servos

Array = np.ndarray

FIRMWARE = 0x10
"""Version that the simulated servos report; assumed."""

WAKING_NS = 60_000
"""How long a sleeping thread takes to wake up, [ns]; measured."""

IDLE_NS = 20_000_000
"""How often a bus without work looks whether it should stop, [ns]."""

POLLING_NS = 2_500_000
"""Share of the latency that is the host's own: a frame so soon after an answer counts as sent right
after it, [ns]."""


@dataclass
class BusTiming:
    """How long things take on the bus."""

    latency: float = parameter(2.65e-3, "s", "from the end of a frame to its answer", 0.0, 1.0)
    # the source has 1 s
    timeout: float = parameter(0.02, "s", "how long an answer is waited for", 1e-3, 1.0)
    read_back: bool = parameter(True, "-", "whether positions are read")
    wait_bytes: int = parameter(7, "-", "bytes waited for without an answer", 5, 7)

    @property
    def answer_ns(self) -> int:
        """From the start of a frame to its answer, [ns]."""
        return FRAME_NS + round(1e9 * self.latency)

    @property
    def silent_ns(self) -> int:
        """From the start of a frame to giving up on its answer, [ns]."""
        return max(round(1e9 * self.timeout), self.answer_ns)

    @property
    def sent_ns(self) -> int:
        """From the start of a frame to the next where no answer is waited for, [ns]."""
        return round(FRAME_NS * self.wait_bytes / LENGTH)


@dataclass
class BusFaults:
    """What goes wrong on the bus."""

    drop: float = parameter(0.0, "-", "share of answers lost", 0.0, 1.0)
    corrupt: float = parameter(0.0, "-", "share of answers that are nonsense", 0.0, 1.0)
    dead: int = parameter(0, "-", "number of a dead servo; 0: none", 0, 127)
    dead_from: int = parameter(0, "-", "frames after which it dies", 0, 1_000_000_000)


class SimulatedBus:
    """Every servo on one line.

    Args:
        servos: what hears; their joints' numbers count.
        faults: what goes wrong.
        rng: which answers are lost.
        where: true positions of the shafts, [counts]; the servos' own references by default, as if
            nothing loaded them.

    Attributes:
        heard: how many frames came by.
        numbers: of the servos on the bus.
    """

    def __init__(
        self,
        servos: Servos,
        faults: BusFaults | None = None,
        rng: np.random.Generator | None = None,
        where: Callable[[], Array] | None = None,
    ) -> None:
        self.servos, self.faults = servos, faults or BusFaults()
        self.numbers = [joint.id for joint in servos.joints]
        self.heard = 0
        self._rng = rng or np.random.default_rng(0)
        self._where = where or (lambda: servos.reference)
        self._commands = {
            SET_SPEED: self._set_speed,
            MOVE_ALL: self._move_all,
            VERSION: self._version,
            GO: self._go,
            RELEASE: self._release,
            WRITE: self._write,
        }

    def hear(self, frame: Frame) -> bytes | None:
        """Act on a frame; two bytes of answer, or None where nobody answers or the answer is lost."""
        self.heard += 1
        if self.servos.loop.voltage < self.servos.loop.brown_out:
            return None
        handler = self._commands.get(frame.command)
        answer = self._move(frame) if handler is None else handler(frame)
        if answer is None or self._rng.random() < self.faults.drop:
            return None
        return (
            bytes(self._rng.integers(0, 256, 2).tolist())
            if self._rng.random() < self.faults.corrupt
            else answer
        )

    def _index(self, number: int) -> int | None:
        dead = number == self.faults.dead and self.heard > self.faults.dead_from
        return None if dead or number not in self.numbers else self.numbers.index(number)

    def _move(self, frame: Frame) -> bytes | None:
        index = self._index(frame.command)
        if index is None:
            return None
        self.servos.move(index, frame.value)
        return self._position(index)

    def _set_speed(self, frame: Frame) -> bytes | None:
        index = self._index(frame.first)
        if index is None:
            return None
        self.servos.speed[index] = frame.second
        return self._position(index)

    def _position(self, index: int) -> bytes:
        return (int(self.servos.read(self._where())[index]) & FAILED).to_bytes(2, "big")

    def _move_all(self, frame: Frame) -> bytes | None:
        for number in self.numbers:
            index = self._index(number)
            if index is not None:
                self.servos.move(index, frame.value)
        return None

    def _version(self, frame: Frame) -> bytes | None:
        # collision
        return (
            bytes((FIRMWARE, self.numbers[0]))
            if len(self.numbers) == 1
            else FAILED.to_bytes(2, "big")
        )

    def _go(self, frame: Frame) -> bytes | None:
        if not frame.first:
            self.servos.target[:] = self.servos.reference
        return bytes((DONE, 0))

    def _release(self, frame: Frame) -> bytes | None:
        self.servos.powered = False
        return bytes((DONE, 0))

    def _write(self, frame: Frame) -> bytes | None:
        if frame.first == ID_ADDRESS and len(self.numbers) == 1:
            self.numbers[0] = frame.second
        return bytes((frame.first, frame.second))


class VirtualLine:
    """The line between a host and a simulated bus in virtual time, one frame at a time.

    Args:
        bus: what hears.
        timing: how long it takes.

    Attributes:
        free_ns: when the host may go on, [ns].
        heard_ns: when the last frame was complete, [ns].
        answer: to the last frame, or None.
    """

    def __init__(self, bus: SimulatedBus, timing: BusTiming) -> None:
        self.bus, self.timing = bus, timing
        self.free_ns = self.heard_ns = 0
        self.answer: bytes | None = None
        self._frame: Frame | None = None
        self._wants, self._start_ns = False, 0

    def send(self, frame: Frame, wants: bool, now_ns: int) -> None:
        """Put a frame on the line; ``wants`` says whether its answer is waited for."""
        self._frame, self._wants, self.answer, self._start_ns = frame, wants, None, now_ns
        self.heard_ns = now_ns + FRAME_NS
        self.free_ns = now_ns + (self.timing.answer_ns if wants else self.timing.sent_ns)

    def done(self, now_ns: int) -> bool:
        """Whether the host may go on at ``now_ns``; the servos act when the frame is complete."""
        if self._frame is not None and now_ns >= min(self.heard_ns, self.free_ns):
            self.answer = self.bus.hear(self._frame)
            self._frame = None
            if self._wants and self.answer is None:
                self.free_ns = self._start_ns + self.timing.silent_ns
        return now_ns >= self.free_ns


class PseudoTerminal:
    """A simulated bus on a pseudo-terminal: any program that speaks to a serial port can open :attr:`path`.

    Frames take their time on the line, one after the other, and answers their latency. The latency
    of the source includes what the host itself takes to poll and to write, so a frame soon after an
    answer is timed from that answer.

    Args:
        bus: what hears; its servos move in wall time.
        timing: latency.

    Attributes:
        path: of the terminal.
        raw: every byte that came in.
    """

    def __init__(self, bus: SimulatedBus, timing: BusTiming | None = None) -> None:
        self.bus, self.timing = bus, timing or BusTiming()
        self.raw = bytearray()
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="servo-bus", daemon=True)

    def __enter__(self) -> PseudoTerminal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(2.0)
        os.close(self._slave)
        os.close(self._master)

    def _serve(self) -> None:
        splitter, waiting = Splitter(), deque[tuple[int, bytes]]()
        moved_ns = line_ns = answered_ns = time.monotonic_ns()
        while not self._stopping.is_set():
            left = waiting[0][0] - time.monotonic_ns() - WAKING_NS if waiting else IDLE_NS
            ready = select.select([self._master], [], [], max(0, left) * 1e-9)[0]
            if not ready and waiting:
                answered_ns, answer = waiting.popleft()
                os.write(self._master, answer)
            if not ready:
                continue
            arrived_ns, raw = time.monotonic_ns(), os.read(self._master, 4096)
            self.raw += raw
            for frame in splitter.feed(raw):
                start_ns = max(line_ns, answered_ns, arrived_ns - POLLING_NS)
                line_ns = start_ns + FRAME_NS
                self.bus.servos.advance((line_ns - moved_ns) * 1e-9)
                moved_ns = line_ns
                said = self.bus.hear(frame)
                if said is not None:
                    waiting.append((start_ns + self.timing.answer_ns, said))
