"""Drive a session from your own program: read its signals, give commands, send targets.

The session runs in a process of its own (``farhand serve RIG --name NAME``). This module needs
Python 3.10 and NumPy 1.26 or newer, and none of the libraries that compute.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farhand.errors import BadValue, FarhandError, FileError, UnknownName
from farhand.loop.commands import Outcome
from farhand.loop.telemetry import Reader

Array = NDArray[np.float64]

MAX_MESSAGE_BYTES = 8192
ANSWER_TIMEOUT_S = 5.0
END_TIMEOUT_S = 60.0
POLL_PERIOD_S = 0.02

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class SessionGone(FarhandError):
    """The session is not running, or not any more."""


class Signal(NamedTuple):
    """What a signal is."""

    unit: str  #: of all its numbers
    size: int  #: how many numbers it has
    labels: list[str]  #: one for each of them, or none
    rate: float  #: nominal rate of its stream, [Hz]


class Event(NamedTuple):
    """Something that happened in the session: a command, a trip, a remark."""

    time: float  #: of the session, [s]
    text: str  #: for people
    #: for programs; ``kind`` is ``"command"`` or ``"trip"``, other events may have no data
    data: dict[str, Any]


def attach(name: str, wait: float = 0.0) -> Client:
    """Attach to a session of yours that runs on this machine.

    Args:
        name: as given to ``farhand serve --name``.
        wait: how long to wait for a session that is not there yet, [s].

    Raises:
        SessionGone: no session of that name is running.
    """
    until = time.monotonic() + wait
    while True:
        try:
            return Client(name)
        except SessionGone:
            if time.monotonic() >= until:
                raise
            time.sleep(POLL_PERIOD_S)


def start(
    rig: str,
    *options: str,
    name: str,
    program: Sequence[str] | str | None = None,
    wait: float = 120.0,
) -> Client:
    """Start ``farhand serve`` in a process of its own, and attach to it.

    The session outlives this program, unless you ``end()`` it or leave a ``with`` block.

    Args:
        rig: such as ``"dual-arm"``.
        options: of ``farhand serve``, such as ``"--law", "position-force"``.
        name: of the session.
        program: how ``farhand`` is called, if it is in another environment:
            ``[".venv/bin/farhand"]``.
        wait: how long it may take until the session runs, [s].

    Raises:
        FarhandError: it does not start; the message is its own.
    """
    _check_name(name)
    program = [program] if isinstance(program, str) else list(program or [_own_program()])
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                [*program, "serve", rig, "--name", name, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise FileError(f"cannot start {program[0]}: {error.strerror}") from None
        until = time.monotonic() + wait
        session = None
        try:
            while session is None and process.poll() is None and time.monotonic() < until:
                session = _attach_to(process, name)
        finally:
            # also when it is interrupted: nobody else knows of the process
            if session is None:
                process.kill()
                process.wait()
        if session is not None:
            return session
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    last = lines[-1] if lines else "nothing"
    if time.monotonic() >= until:
        raise FarhandError(f"session {name} did not start in {wait:g} s; it said: {last}")
    raise FarhandError(last if lines else f"{program[0]} ended at once and said nothing")


def _attach_to(process: subprocess.Popen[bytes], name: str) -> Client | None:
    """Attach to a session if it is that process's; or wait for a moment."""
    with contextlib.suppress(SessionGone):
        session = Client(name)
        if session.process_id == process.pid:
            session._process = process
            return session
        session.close()
    time.sleep(POLL_PERIOD_S)
    return None


class Client:
    """A session in another process. Made by :func:`attach` and :func:`start`.

    Reading looks at shared memory and commands go through a socket, so nothing done or left undone
    here delays the session. It may be used by several threads.

    Attributes:
        name: of the session.
        rig: that it runs.
        process_id: of the session's process.
        description: what the session says about itself: rig, law, scenario, seed.
        lost: records that were overwritten before :meth:`read` came; the session keeps the newest
            8192 of each stream.
    """

    def __init__(self, name: str) -> None:
        path = socket_path(name)
        self.name = name
        self.lost = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()
        self._number = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.settimeout(ANSWER_TIMEOUT_S)
            self._socket.connect(str(path))
            check_peer(self._socket)
            hello = json.loads(self._socket.recv(MAX_MESSAGE_BYTES) or b"{}")
            if "refused" in hello:
                raise FarhandError(f"session {name} refused: {hello['refused']}")
            self._reader = Reader(Path(hello["ring"]))
        except (OSError, KeyError, FileError):
            self._socket.close()
            raise self._gone() from None
        except FarhandError:
            self._socket.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.rig, self.process_id = str(hello["rig"]), int(hello["process"])
        self.description: dict[str, Any] = self._reader.header["description"]
        self._reader.skip()
        self._attached = self._reader.place
        self._places: dict[tuple[str, str], list[int]] = {}

    def signals(self) -> dict[str, dict[str, Signal]]:
        """Every signal, by stream and name."""
        return {
            name: {
                one["name"]: Signal(one["unit"], one["size"], one["labels"], stream["rate"])
                for one in stream["channels"]
            }
            for name, stream in self._reader.header["streams"].items()
        }

    def latest(self, stream: str, signal: str) -> tuple[float, Array]:
        """The newest values of a signal, and their time in the session, [s]."""
        self._columns(stream, signal)
        t, values = self.record(stream)
        return t, values[signal]

    def record(self, stream: str) -> tuple[float, dict[str, Array]]:
        """The newest values of all signals of a stream, of one tick, and their time, [s]."""
        self._check_running()
        with self._lock:
            record = self._reader.latest(stream)
        # nobody is let in before the first tick
        assert record is not None
        return record[0] * 1e-9, record[1]

    def read(self, stream: str, signal: str) -> tuple[Array, Array]:
        """Everything since the last call for this signal, or since you attached.

        Returns:
            times in the session, [s], shape (n,); values, shape (n, size).

        Raises:
            SessionGone: the session has ended, and everything that was there has been read.
        """
        part, key = self._columns(stream, signal), (stream, signal)
        with self._lock:
            self._reader.place = self._places.get(key, self._attached)
            times, values, lost = self._reader.drain(stream)
            self._places[key] = self._reader.place
            self.lost += lost
        if not len(times):
            self._check_running()
        return np.multiply(times, 1e-9, dtype=np.float64), values[:, part]

    def events(self) -> list[Event]:
        """What has happened since the last call, or since you attached."""
        key = ("", "events")
        with self._lock:
            self._reader.place = self._places.get(key, self._attached)
            found = self._reader.events_with_data()
            self._places[key] = self._reader.place
        if not found:
            self._check_running()
        return [Event(t_ns * 1e-9, text, data or {}) for t_ns, text, data in found]

    def trips(self) -> dict[str, str]:
        """The stations that are stopped now, with the reason."""
        trips: dict[str, str] = self._ask("trips").pop("trips")
        return trips

    def command(self, text: str) -> Outcome:
        """Give a command, and wait until a tick has carried it out or refused it.

        Args:
            text: ``engage``, ``release``, ``clutch``, ``declutch``, ``give``, ``take``, ``stop``,
                ``reset``, ``set PATH=VALUE``, or ``end``, which ends the session.

        Returns:
            ``done``, and ``text``: what was done, or the reason of the refusal.
        """
        name, _, rest = text.strip().partition(" ")
        path, _, value = rest.partition("=")
        return self._command(name, path.strip(), value.strip())

    def set(self, path: str, value: ArrayLike) -> Outcome:
        """Set a parameter, such as ``wall.stiffness``; as :meth:`command`."""
        return self._command("set", path, value)

    def target(
        self,
        joints: ArrayLike | None = None,
        *,
        tool: ArrayLike | None = None,
        station: str = "follower",
    ) -> Outcome:
        """Send a station somewhere; it takes over from the coupling, and goes there within limits.

        Give targets as often as you like, ten to sixty times a second for a policy. When no more
        come, the station stops at the last one and holds. The command ``engage`` gives the station
        back to the leader, ``release`` lets it rest. After ``give`` the coupling stays, and the
        leader follows the station until a person takes it.

        Args:
            joints: positions, one per joint, [rad] or [m].
            tool: position of the tool in world [m] and its orientation as a quaternion
                (x, y, z, w).
            station: that goes there.
        """
        if (joints is None) == (tool is None):
            raise BadValue("a target is either joints or tool=(x, y, z, qx, qy, qz, qw)")
        kind, values = ("joints", joints) if tool is None else ("tool", tool)
        return self._command("set", f"{station}.target.{kind}", values)

    def end(self) -> None:
        """End the session, and wait until it is gone.

        A process that was started here and does not end within a minute is killed.
        """
        with contextlib.suppress(SessionGone, OSError), self._lock:
            self._command("end")
            self._socket.settimeout(END_TIMEOUT_S)
            while self._socket.recv(MAX_MESSAGE_BYTES):
                pass
        if self._process is not None:
            try:
                self._process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def close(self) -> None:
        """Detach; the session goes on."""
        self._socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self.end()
        self.close()

    def _columns(self, stream: str, signal: str) -> slice:
        columns = self._reader.columns(stream)
        if signal not in columns:
            raise UnknownName(f"signal of stream {stream!r}", signal, columns)
        return columns[signal]

    def _command(self, name: str, path: str = "", value: Any = None) -> Outcome:
        if isinstance(value, np.ndarray | np.generic | list | tuple):
            try:
                value = np.asarray(value).tolist()
            except ValueError:
                raise BadValue(f"the rows of {path} = {value} are of unlike lengths") from None
        answer = self._ask(name, path, value)
        return Outcome(bool(answer["done"]), str(answer["text"]))

    def _ask(self, name: str, path: str = "", value: Any = None) -> dict[str, Any]:
        """What the session answers to one message."""
        with self._lock:
            self._number += 1
            message = {"id": self._number, "name": name, "path": path, "value": value}
            try:
                encoded = json.dumps(message).encode()
            except TypeError:
                raise BadValue(f"{path} = {value!r} is not of numbers or text") from None
            if len(encoded) > MAX_MESSAGE_BYTES:
                raise BadValue(f"a command of {len(encoded)} bytes; at most {MAX_MESSAGE_BYTES}")
            try:
                self._socket.send(encoded)
                answer: dict[str, Any] = {}
                # an answer that came too late for the command before may still be waiting
                while answer.get("id") != self._number:
                    answer = json.loads(self._socket.recv(MAX_MESSAGE_BYTES) or b"null") or {}
                    if not answer:
                        raise self._gone()
            except TimeoutError:
                raise SessionGone(
                    f"session {self.name} did not answer in {ANSWER_TIMEOUT_S:g} s"
                ) from None
            except OSError:
                raise self._gone() from None
        return answer

    def _check_running(self) -> None:
        """Raise if the session has ended, in whatever way."""
        # an answer that waits to be read is no end
        ended = any(events & ~select.POLLIN for _, events in self._poll.poll(0))
        if ended or self._reader.closed:
            raise self._gone()

    def _gone(self) -> SessionGone:
        start = f"start it with: farhand serve RIG --name {self.name}"
        return SessionGone(f"session {self.name} is not running; {start}")


def socket_path(name: str) -> Path:
    """Where the socket of a session is."""
    _check_name(name)
    return runtime_folder() / f"{name}.sock"


def runtime_folder() -> Path:
    """The folder of this user's sessions; nobody else can open it.

    Raises:
        FileError: somebody else owns it or can open it, or it cannot be made.
    """
    given = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    folder = given / "farhand"
    if not (given.is_dir() and os.access(given, os.W_OK)):
        folder = Path(tempfile.gettempdir()) / f"farhand-{os.getuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        # of a link, not of what it points to
        found = folder.lstat()
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}") from None
    private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    if not private or found.st_uid != os.getuid():
        raise FileError(f"{folder} must be a folder that only you can open; remove it")
    return folder


def check_peer(connection: socket.socket) -> None:
    """Refuse a process of another user at the other end.

    Raises:
        FileError: it is not this user's.
    """
    size = struct.calcsize("3i")
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = struct.unpack("3i", peer)
    if user != os.getuid():
        raise FileError(f"the other process is user {user}'s, and this one {os.getuid()}'s")


def _own_program() -> str:
    """``farhand`` of this environment, or the one that a terminal would find."""
    beside = shutil.which("farhand", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("farhand")
    if found is None:
        hint = 'name it: program=["/path/to/environment/bin/farhand"]'
        raise FileError(f"the program farhand was not found; {hint}")
    return found


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        rule = "it must be letters, digits and _.-, at most 64, and begin with one of the first two"
        raise BadValue(f"{name!r} is not a name of a session: {rule}")
