"""Two sides of a rig as two sessions in virtual time, with a sealed line between them that tests
can cut and bend.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from farhand.link.line import Line
from farhand.link.seal import Seal
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.coupled import terms_of

KEY = bytes(range(32))
TICK = 1e-3  # [s]
TICK_NS = 1_000_000


class Cable:
    """One direction of a wire: delays, drops and keeps a copy of everything, as an attacker on the
    way could.
    """

    def __init__(self) -> None:
        self.cut, self.loss, self.delay_ns, self.now_ns = False, 0.0, 0, 0
        self.rng = np.random.default_rng(5)
        self.passing: deque[tuple[int, bytes]] = deque()
        self.taps: deque[bytes] = deque(maxlen=4000)

    def put(self, datagram: bytes) -> None:
        """What a side sends."""
        self.taps.append(datagram)
        if not self.cut and (self.loss == 0.0 or self.rng.random() > self.loss):
            self.passing.append((self.now_ns + self.delay_ns, datagram))

    def inject(self, datagram: bytes) -> None:
        """What somebody else sends."""
        self.passing.append((self.now_ns, datagram))

    def take(self) -> bytes | None:
        """The next that has arrived."""
        return (
            self.passing.popleft()[1]
            if self.passing and self.passing[0][0] <= self.now_ns
            else None
        )


class CableWire:
    """A side's two cables as a wire."""

    def __init__(self, out: Cable, back: Cable) -> None:
        self.send = self.reply = out.put
        self.receive = back.take

    def confirm(self) -> None:
        """There is only one peer."""

    def close(self) -> None:
        """Nothing to close."""


class Pair:
    """A leader and a follower, each in a session of its own with a clock of its own.

    Attributes:
        to_follower: the cable from the leader.
        to_leader: the cable back.
    """

    def __init__(
        self, keys: tuple[bytes, bytes] = (KEY, KEY), rig: str = "dual-arm", **options: object
    ) -> None:
        self.rig, self.options, self.keys = (
            rig,
            options,
            dict(zip(("leader", "follower"), keys, strict=True)),
        )
        self.to_follower, self.to_leader = Cable(), Cable()
        self.rigs: dict[str, Rig] = {}
        self.lines: dict[str, Line] = {}
        self.closed: list[Rig] = []
        self.frozen: set[str] = set()
        self.now_ns = 0
        self.true_speeds: list[np.ndarray] = []  # of the follower's joints, at every tick [rad/s]
        for role in ("leader", "follower"):
            self.start(role)

    def start(self, role: str, **changed: object) -> None:
        """Start a side, or start it again as if its process had been killed."""
        if role in self.rigs:
            self.closed.append(self.rigs[role])
        quiet = [(f"{role}.plant.{noise}", 0.0) for noise in ("force_noise", "torque_noise")]
        options = {"settings": quiet, **self.options, **changed}
        rig = build_rig(self.rig, Options(side=role, **options))  # type: ignore[arg-type]
        cables = self.to_follower, self.to_leader
        wire = CableWire(*(cables if role == "leader" else cables[::-1]))
        self.rigs[role], self.lines[role] = (
            rig,
            Line(wire, Seal(self.keys[role], role), terms_of(rig)),
        )
        rig.session.bridges[0].end.endpoint.connect(
            self.lines[role], self.lines[role], shared_clock=False
        )
        self.frozen.discard(role)

    def on(self, seconds: float) -> Pair:
        """Let time go on for both, tick by tick; a frozen side stands still."""
        for _ in range(round(seconds / TICK)):
            self.to_follower.now_ns = self.to_leader.now_ns = self.now_ns
            for role, rig in self.rigs.items():
                if role not in self.frozen:
                    rig.session.run(TICK)
            [port] = self.rigs["follower"].world.ports.values()
            self.true_speeds.append(port.v.copy())
            self.now_ns += TICK_NS
            if self.now_ns % (2000 * TICK_NS) == 0:
                self.pull()
        return self.pull()

    def pull(self) -> Pair:
        """Take in what was recorded."""
        for rig in self.rigs.values():
            rig.metrics.pull()
        return self

    def post(self, role: str, command: str) -> Pair:
        """Ask a side for something now."""
        self.rigs[role].session.commands.post(*command.split(maxsplit=1)[:1], *_setting(command))
        return self

    def end(self, role: str):
        """A side's end of the link."""
        return self.rigs[role].session.bridges[0].end

    @property
    def coupled(self) -> tuple[float, float]:
        """How far each side is coupled, leader and follower."""
        return self.end("leader").engagement.gain, self.end("follower").engagement.gain

    def trips(self, role: str) -> list[str]:
        """Reasons of a side's trips, in order."""
        return [record.trip.reason for record in self.rigs[role].session.trips]

    def signal(self, role: str, stream: str, channel: str, last: float) -> np.ndarray:
        """The last so many seconds of one of a side's channels."""
        history = self.rigs[role].metrics.history
        return history.signal(stream, channel)[-round(last / TICK) :]

    def speed(self, role: str = "follower") -> float:
        """Largest joint speed of a side's arm as it is now, [rad/s]."""
        [port] = self.rigs[role].world.ports.values()
        return float(np.abs(port.v).max())

    def close(self) -> None:
        """Give everything back."""
        for rig in (*self.rigs.values(), *self.closed):
            rig.close()


def _setting(command: str) -> tuple[str, ...]:
    name, _, rest = command.partition(" ")
    path, equals, value = rest.partition("=")
    return (path, value) if name == "set" and equals else ()


@pytest.fixture
def pair() -> Iterator[Callable[..., Pair]]:
    """Build a pair: ``pair(law=…, scenario=…, layer=…)``; sensors are silent."""
    pairs: list[Pair] = []

    def build(**options: object) -> Pair:
        options.setdefault("law", "position-force")
        options.setdefault("scenario", "free")
        pairs.append(Pair(**options))  # type: ignore[arg-type]
        return pairs[-1]

    yield build
    for made in pairs:
        made.close()
