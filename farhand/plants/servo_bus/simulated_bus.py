"""Simulated servo bus: servos that answer frames, in virtual time or on a pseudo-terminal.

Positions are counts of the servo, 0.1° of the shaft, 600 to 2400 with the centre at 1500.
"""

from __future__ import annotations

import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.frames import CENTRE, FRAME_NS, HIGHEST, LOWEST, Frame, Splitter
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.terminal import Terminal
from farhand.spatial import Array

FIRMWARE = 0x10
"""Version that the simulated servos report; assumed."""

WAKE_UP_NS = 60_000
"""Time that a sleeping thread takes to wake up, [ns]; measured."""

IDLE_PERIOD_NS = 20_000_000
"""Time after which an idle bus checks whether to stop, [ns]."""

HOST_LATENCY_NS = 2_500_000
"""The host's part of the latency: a frame this soon after an answer counts as sent right after it,
[ns]."""

COUNT = math.radians(0.1)
"""Angle of the shaft per count, [rad]."""

FULL_SPEED = 255
RATED_VOLTAGE = 6.0
"""Voltage of the ratings of torque and speed, [V]."""


@dataclass
class ServoLoop:
    r"""The loop in a servo, at its shaft, and its supply.

    .. math:: \tau = \mathrm{sat}\bigl(K_p\,\mathrm{dead}(\theta_r - \theta) - K_d\,\dot\theta\bigr)
    """

    # Assumed: the source states no gains and no brown-out, a dead zone that is "lowest", and
    # potentiometers that are wrong by 1–3°.
    kp: float = parameter(30.0, "N·m/rad", "proportional gain at the shaft", 0.0, 1e4)
    kd: float = parameter(0.6, "N·m·s/rad", "derivative gain at the shaft", 0.0, 1e3)
    dead_zone: float = parameter(1.0, "counts", "error that moves nothing", 0.0, 100.0)
    pot_error: float = parameter(20.0, "counts", "largest error of the potentiometers", 0.0, 100.0)
    voltage: float = parameter(RATED_VOLTAGE, "V", "supply", 0.0, 12.0)
    brown_out: float = parameter(4.8, "V", "voltage below which servos fail", 0.0, 12.0)

    @property
    def share(self) -> float:
        """Torque and speed over their ratings at this voltage, [-]."""
        return 0.0 if self.voltage < self.brown_out else self.voltage / RATED_VOLTAGE


class Servos:
    r"""Several servos, whose targets may be replaced at any time.

    The reference goes to the target in a straight line at the commanded share of the top speed:

    .. math:: \dot r = \pm v_{top}\,s/255, \qquad r \to p_1

    The potentiometer reads :math:`\theta + A \sin\pi x + B \sin 2\pi x` with :math:`x = (\theta -
    1500)/900`: no error at the centre and at both ends, another shape for every unit.

    Args:
        joints: what they move, with the ratings of the servos.
        start: initial positions, [counts].
        loop: gains, errors and supply.
        rng: draws the errors of the units.

    Attributes:
        reference: r, [counts].
        target: p_1, [counts].
        speed: s, 0 to 255.
        powered: whether they hold.
    """

    def __init__(
        self,
        joints: Sequence[BusJoint],
        start: Array,
        loop: ServoLoop | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        if len(joints) != len(start):
            raise BadValue(f"{len(joints)} servos need as many starts, not {len(start)}")
        rng = rng or np.random.default_rng(0)
        self.joints, self.loop = list(joints), loop or ServoLoop()
        self.reference, self.target = np.array(start, dtype=float), np.array(start, dtype=float)
        self.speed = np.full(len(joints), FULL_SPEED, dtype=float)
        self.top = np.array([joint.speed for joint in joints])
        self.torque_limit = np.array([joint.torque for joint in joints])
        self.powered = True
        self._shape = np.array([_unit(rng) for _ in joints]).T

    def __len__(self) -> int:
        return len(self.joints)

    def move(self, index: int, position: float) -> None:
        """Replace a servo's target, [counts]; a released servo holds again."""
        self.target[index] = min(max(position, LOWEST), HIGHEST)
        self.powered = True

    def advance(self, dt: float) -> None:
        """Advance every reference by ``dt`` [s]."""
        if not self.powered or not self.loop.share:
            return
        step = self.top * self.speed * (self.loop.share * dt / FULL_SPEED)
        np.clip(self.target, self.reference - step, self.reference + step, out=self.reference)

    def torque(self, shaft: Array, rate: Array) -> Array:
        """Torque at the shafts, [N·m], for their positions [counts] and velocities [rad/s]."""
        loop = self.loop
        if not self.powered:
            return np.zeros(len(self))
        error = self.reference - shaft
        beyond = error - np.clip(error, -loop.dead_zone, loop.dead_zone)
        limit = self.torque_limit * loop.share
        wanted: Array = loop.kp * COUNT * beyond - loop.kd * rate
        return wanted.clip(-limit, limit)

    def error(self, shaft: Array) -> Array:
        """Error of the potentiometers at true positions, [counts]."""
        x = (np.asarray(shaft, dtype=float) - CENTRE) / (HIGHEST - CENTRE)
        first, second = self._shape
        bent: Array = first * np.sin(np.pi * x) + second * np.sin(2.0 * np.pi * x)
        return self.loop.pot_error * bent

    def read(self, shaft: Array) -> Array:
        """Readings of the potentiometers at true positions, whole [counts]."""
        reading: Array = np.rint(shaft + self.error(shaft))
        return reading


def _unit(rng: np.random.Generator) -> tuple[float, float]:
    """Shape of one unit's error, whose peak is 50 to 100 % of the loop's ``pot_error``."""
    share = rng.uniform(0.2, 0.8)
    size, signs = rng.uniform(0.5, 1.0), rng.choice([-1.0, 1.0], 2)
    x = np.linspace(-1.0, 1.0, 201)
    first, second = signs[0] * (1.0 - share), signs[1] * share
    peak = np.abs(first * np.sin(np.pi * x) + second * np.sin(2.0 * np.pi * x)).max()
    return size * first / peak, size * second / peak


@dataclass
class BusTiming:
    """Times on the bus."""

    latency: float = parameter(2.65e-3, "s", "from the end of a frame to its answer", 0.0, 1.0)
    # The source waits for 1 s.
    timeout: float = parameter(0.02, "s", "how long an answer is waited for", 1e-3, 1.0)
    read_back: bool = parameter(True, "-", "whether positions are read")
    wait_bytes: int = parameter(7, "-", "bytes waited for without an answer", 5, 7)

    @property
    def answer_ns(self) -> int:
        """From the start of a frame to its answer, [ns]."""
        return FRAME_NS + round(1e9 * self.latency)

    @property
    def silent_ns(self) -> int:
        """From the start of a frame to the end of the wait for its answer, [ns]."""
        return max(round(1e9 * self.timeout), self.answer_ns)

    @property
    def sent_ns(self) -> int:
        """From the start of a frame to the next, without a wait for its answer, [ns]."""
        return round(FRAME_NS * self.wait_bytes / frames.LENGTH)


@dataclass
class BusFaults:
    """Faults of the bus."""

    drop: float = parameter(0.0, "-", "share of answers lost", 0.0, 1.0)
    corrupt: float = parameter(0.0, "-", "share of answers that are nonsense", 0.0, 1.0)
    dead: int = parameter(0, "-", "number of a dead servo; 0: none", 0, 127)
    dead_from: int = parameter(0, "-", "frames after which it dies", 0, 1_000_000_000)


class SimulatedBus:
    """Every servo on one line.

    Args:
        servos: with the numbers of their joints.
        faults: of the bus.
        rng: draws the lost answers.
        where: true positions of the shafts, [counts]; the references of the servos by default, as
            without load.
    """

    def __init__(
        self,
        servos: Servos,
        faults: BusFaults | None = None,
        rng: np.random.Generator | None = None,
        where: Callable[[], Array] | None = None,
    ) -> None:
        self.servos, self.faults = servos, faults or BusFaults()
        self.numbers = [joint.id for joint in servos.joints]  #: of the servos on the bus
        self.heard = 0  #: how many frames were on the line
        self._rng = rng or np.random.default_rng(0)
        self._where = where or (lambda: servos.reference)
        self._commands = {
            frames.SET_SPEED: self._set_speed,
            frames.MOVE_ALL: self._move_all,
            frames.VERSION: self._version,
            frames.GO: self._go,
            frames.RELEASE: self._release,
            frames.WRITE: self._write,
        }

    def hear(self, frame: Frame) -> bytes | None:
        """Execute a frame; two bytes of answer, or None without an answer or if it is lost."""
        self.heard += 1
        if self.servos.loop.voltage < self.servos.loop.brown_out:
            return None
        handler = self._commands.get(frame.command)
        answer = self._move(frame) if handler is None else handler(frame)
        if answer is None or self._rng.random() < self.faults.drop:
            return None
        if self._rng.random() < self.faults.corrupt:
            return bytes(self._rng.integers(0, 256, 2).tolist())
        return answer

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
        return (int(self.servos.read(self._where())[index]) & frames.FAILED).to_bytes(2, "big")

    def _move_all(self, frame: Frame) -> bytes | None:
        for number in self.numbers:
            index = self._index(number)
            if index is not None:
                self.servos.move(index, frame.value)
        return None

    def _version(self, frame: Frame) -> bytes | None:
        # The answers of several servos collide.
        alone = len(self.numbers) == 1
        return bytes((FIRMWARE, self.numbers[0])) if alone else frames.FAILED.to_bytes(2, "big")

    def _go(self, frame: Frame) -> bytes | None:
        if not frame.first:
            self.servos.target[:] = self.servos.reference
        return bytes((frames.DONE, 0))

    def _release(self, frame: Frame) -> bytes | None:
        self.servos.powered = False
        return bytes((frames.DONE, 0))

    def _write(self, frame: Frame) -> bytes | None:
        if frame.first == frames.ID_ADDRESS and len(self.numbers) == 1:
            self.numbers[0] = frame.second
        return bytes((frame.first, frame.second))


class VirtualLine:
    """The line between a host and a simulated bus in virtual time, one frame at a time.

    Attributes:
        free_ns: when the host may continue, [ns].
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
        """Put a frame on the line; ``wants``: whether to wait for its answer."""
        self._frame, self._wants, self.answer, self._start_ns = frame, wants, None, now_ns
        self.heard_ns = now_ns + FRAME_NS
        self.free_ns = now_ns + (self.timing.answer_ns if wants else self.timing.sent_ns)

    def done(self, now_ns: int) -> bool:
        """Whether the host may continue at ``now_ns``; the servos act on a complete frame."""
        if self._frame is not None and now_ns >= min(self.heard_ns, self.free_ns):
            self.answer = self.bus.hear(self._frame)
            self._frame = None
            if self._wants and self.answer is None:
                self.free_ns = self._start_ns + self.timing.silent_ns
        return now_ns >= self.free_ns


class PseudoTerminal:
    """A simulated bus on a pseudo-terminal, which programs open as the serial port :attr:`path`.

    Frames take their time on the line one after the other, and answers their latency. The latency
    of the source includes the time in which the host polls and writes, so a frame soon after an
    answer is timed from that answer. The servos move in wall time.
    """

    def __init__(self, bus: SimulatedBus, timing: BusTiming | None = None) -> None:
        self.bus, self.timing = bus, timing or BusTiming()
        self.raw = bytearray()  #: every byte received
        self._terminal = Terminal()
        self._master, self.path = self._terminal.master, self._terminal.path
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="servo-bus", daemon=True)

    def __enter__(self) -> PseudoTerminal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(2.0)
        self._terminal.close()

    def _serve(self) -> None:
        splitter, waiting = Splitter(), deque[tuple[int, bytes]]()
        moved_ns = line_ns = answered_ns = time.monotonic_ns()
        while not self._stopping.is_set():
            left = waiting[0][0] - time.monotonic_ns() - WAKE_UP_NS if waiting else IDLE_PERIOD_NS
            ready = select.select([self._master], [], [], max(0, left) * 1e-9)[0]
            if not ready and waiting:
                answered_ns, due = waiting.popleft()
                os.write(self._master, due)
            if not ready:
                continue
            arrived_ns, raw = time.monotonic_ns(), os.read(self._master, 4096)
            self.raw += raw
            for frame in splitter.feed(raw):
                start_ns = max(line_ns, answered_ns, arrived_ns - HOST_LATENCY_NS)
                line_ns = start_ns + FRAME_NS
                self.bus.servos.advance((line_ns - moved_ns) * 1e-9)
                moved_ns = line_ns
                answer = self.bus.hear(frame)
                if answer is not None:
                    waiting.append((start_ns + self.timing.answer_ns, answer))
