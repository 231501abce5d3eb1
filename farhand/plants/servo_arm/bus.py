"""Host's side of a servo bus: exchanges on a serial port, and what came of them."""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Mapping, Sequence

from farhand.errors import FileError
from farhand.plants.drivers.serial_port import open_serial
from farhand.plants.servo_arm.description import Family, Register
from farhand.plants.servo_arm.packets import BITS, BROADCAST, PING, PacketSplitter, ServoPacket

FIRST_PATIENCE_S = 0.05
"""How long answers that must come are waited for, [s]."""

LEAST_PATIENCE_S, MOST_PATIENCE_S = 0.004, 0.02
"""How long others are. Adaptors hold bytes back for up to 16 ms; a pause of the machine must not
make lost answers so dear that two of them are a sample that is too old."""

TRIES = 4
"""Tries of an exchange that must succeed, such as one that configures a servo."""


class BusGone(FileError):
    """The serial port is gone."""


class ServoBus:
    """A serial port with servos.

    What an answer says is in the packets. No answer, or one with a wrong checksum, is no error: it
    is counted, and missing in what is returned. How long an answer is waited for follows from how
    long answers have taken.

    Args:
        path: of the port.
        family: of the servos.
        baud: bits per second.

    Attributes:
        answers: how many arrived.
        missed: how many did not, or were corrupt.
        patience: how long an answer is waited for beyond its time on the line, [s].
        byte_ns: time of a byte on the line, [ns].

    Raises:
        FileError: the port cannot be opened.
    """

    def __init__(self, path: str, family: Family, baud: int = 1_000_000) -> None:
        self.path, self.family, self.protocol = path, family, family.protocol
        self._port = open_serial(path, baud, f"the servo bus at {path}", timeout=0, exclusive=True)
        self._fd = self._port.fileno()
        self.byte_ns = BITS * 1_000_000_000 // baud
        self._splitter = PacketSplitter(self.protocol, statuses=True)
        self._slowest = MOST_PATIENCE_S / 3.0
        self.answers = self.missed = 0

    @property
    def patience(self) -> float:
        """How long an answer is waited for beyond its time on the line, [s]."""
        return max(3.0 * self._slowest, LEAST_PATIENCE_S)

    @property
    def corrupt(self) -> int:
        """Packets whose checksum was wrong."""
        return self._splitter.corrupt

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def __enter__(self) -> ServoBus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ping(self, id_: int) -> bool:
        """Whether a servo answers."""
        return bool(self.exchange(self.protocol.ping(id_), [id_], patient=True))

    def scan(self) -> list[int]:
        """The ids of all servos that answer a call to all."""
        sent = self.protocol.instruction(BROADCAST, PING)
        return sorted(self.exchange(sent, range(BROADCAST), size=3, wait=0.3))

    def read(self, id_: int, name: str, tries: int = 1) -> int | None:
        """A register of a servo; None without an answer."""
        register = self.family[name]
        sent = self.protocol.read(id_, register.at, register.size)
        for _ in range(tries):
            answer = self.exchange(sent, [id_], register.size, patient=tries > 1).get(id_)
            if answer is not None and len(answer.data) == register.size:
                return register.decode(answer.data)
        return None

    def write(
        self, id_: int, name: str, value: int, tries: int = TRIES, *, patient: bool = True
    ) -> None:
        """Set a register of a servo.

        Raises:
            FileError: it does not answer, or refuses.
        """
        register = self.family[name]
        sent = self.protocol.write(id_, register.at, register.encode(value))
        answer = None
        for _ in range(tries):
            answer = self.exchange(sent, [id_], patient=patient).get(id_)
            if answer is not None:
                break
        if answer is None:
            raise FileError(f"servo {id_} at {self.path} does not answer when {name} is set")
        # bit 7 is an alarm, not a refusal; Feetech has alarms only
        if self.protocol.address_bytes == 2 and answer.code & 0x7F:
            raise FileError(f"servo {id_} at {self.path} refuses {name} = {value}: {answer.code}")

    def sync_read(self, ids: Sequence[int], at: int, size: int) -> dict[int, ServoPacket]:
        """The same registers of several servos, by id; who did not answer is missing."""
        return self.exchange(self.protocol.sync_read(ids, at, size), ids, size)

    def sync_write(self, register: Register, values: Mapping[int, bytes]) -> None:
        """Set registers from ``register`` on, of several servos; nobody answers."""
        self.begin(self.protocol.sync_write(register.at, values))

    def exchange(
        self,
        sent: bytes,
        ids: Sequence[int],
        size: int = 0,
        *,
        patient: bool = False,
        wait: float | None = None,
    ) -> dict[int, ServoPacket]:
        """Send a packet and collect the answers of these servos, each with ``size`` bytes of data.

        A ``patient`` one waits long, because it must succeed. With ``wait`` [s], answers are
        collected for that long, and none is expected.
        """
        self.begin(sent)
        return self.finish(ids, size, patient=patient, wait=wait)

    def begin(self, *sent: bytes) -> None:
        """Send packets one behind the other, of which the last may be answered."""
        self._splitter.clear()
        self._drain()
        self._sent = b"".join(sent)
        self._began = time.monotonic()
        self._send(self._sent)

    def finish(
        self, ids: Sequence[int], size: int = 0, *, patient: bool = False, wait: float | None = None
    ) -> dict[int, ServoPacket]:
        """Collect the answers to what was sent; see :meth:`exchange`."""
        expected = 0 if wait is not None else len(ids)
        length = expected * (self.protocol.overhead + size)
        line = 1e-9 * (len(self._sent) + length) * self.byte_ns
        patience = FIRST_PATIENCE_S if patient else self.patience
        until = self._began + (wait if wait is not None else line + patience)
        found: dict[int, ServoPacket] = {}
        echo, raw = self._sent, b""
        while True:
            more = self._receive(until - time.monotonic())
            if not more:
                break
            # some adaptors hear what they send
            more, echo = more.removeprefix(echo), b""
            raw = raw + more if len(raw) < length else raw
            whole = self.protocol.answers(raw, ids, size) if len(raw) == length else None
            if whole is not None:
                found = {packet.id: packet for packet in whole}
                break
            for packet in self._splitter.feed(more):
                if packet.id in ids and (not expected or len(packet.data) >= size):
                    found[packet.id] = packet
            # they answer in the order in which they were asked; noise may go on for ever
            if (expected and ids[-1] in found) or time.monotonic() > until:
                break
        self.answers += len(found)
        self.missed += max(0, expected - len(found))
        if expected and len(found) == expected:
            took = time.monotonic() - self._began - line
            self._slowest = min(max(took, 0.99 * self._slowest), MOST_PATIENCE_S / 3.0)
        return found

    def _send(self, raw: bytes) -> None:
        try:
            os.write(self._fd, raw)
        except BlockingIOError:
            # the adaptor takes nothing for a while: a packet is lost, and nobody answers
            pass
        except OSError as error:
            raise self._gone(error) from None

    def _receive(self, seconds: float) -> bytes:
        """What comes within this time; empty for nothing."""
        try:
            if not select.select([self._fd], [], [], max(0.0, seconds))[0]:
                return b""
            raw = os.read(self._fd, 4096)
        except (OSError, ValueError) as error:
            raise self._gone(error) from None
        if not raw:
            raise self._gone(OSError("end of file"))
        return raw

    def _drain(self) -> None:
        """Forget late answers, which must not count as answers to the next packet."""
        try:
            termios.tcflush(self._fd, termios.TCIFLUSH)
        except termios.error as error:
            raise self._gone(error) from None

    def _gone(self, error: Exception) -> BusGone:
        return BusGone(f"the servo bus at {self.path} is gone: {error.args[-1]}")
