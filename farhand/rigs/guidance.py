"""Guidance: a virtual fixture that pushes on one of a rig's stations, beside what couplings ask of it."""

from __future__ import annotations

from collections.abc import Sequence

from farhand.control.fixtures import Fixture
from farhand.session import Part, Session
from farhand.station import Station


class Guidance:
    """Pushes a station's tool with a fixture, whichever side it is set to.

    Args:
        fixture: live.
        stations: of the rig.
    """

    def __init__(self, fixture: Fixture, stations: Sequence[Station]) -> None:
        self.fixture = fixture
        self._ends = [(station, station.join()) for station in stations]
        self._last_ns = 0

    def step(self, now_ns: int) -> None:
        """Write what the fixture pushes with; nothing on the other side."""
        dt, self._last_ns = (now_ns - self._last_ns) * 1e-9, now_ns
        for station, contribution in self._ends:
            if station.role == self.fixture.side:
                arm = station.arm
                self.fixture.push(arm.position, arm.twist[:3], dt, contribution.wrench[:3])
            else:
                contribution.wrench[:] = 0.0

    def attach(self, session: Session) -> None:
        """Run after the couplings and before the stations act."""
        couplings_end = len(session.stations) + len(session.bridges)
        session.parts.insert(couplings_end, Part(self.step, session.stations[0].period_ns))
