"""Side metrics: the numbers of a run of which only one side is in this process."""

from __future__ import annotations

import numpy as np

from farhand.analysis.history import Gathered, History
from farhand.analysis.metrics import FINAL, LEAST, Running, plain
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.session import Session
from farhand.world import World

Array = np.ndarray


class SideMetrics(Gathered):
    """Tracking, force, energy and link as one side knows them.

    Args:
        session: what runs, with one station and one end of a coupling.
        world: its simulated physics.

    Attributes:
        side: name of the station.
        history: the signals of the run.
    """

    def __init__(self, session: Session, world: World) -> None:
        self.session, self.world = session, world
        self.history = History(session.telemetry.path)
        self.side = session.stations[0].name
        bridge = session.bridges[0]
        assert isinstance(bridge, RemoteBridge)
        self.bridge = bridge
        names = ("position", "rotation", "force", "speed", "age", "round_trip")
        self._running = {name: Running() for name in names}

    def pull(self) -> None:
        """Take in everything recorded since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        coupling, at = new["coupling"][1], columns("coupling")
        engaged = coupling[:, at["engagement"]][:, 0] > 0.0
        error = coupling[engaged][:, at["error"]]
        self._running["position"].add(np.linalg.norm(error[:, :3], axis=1))
        self._running["rotation"].add(np.linalg.norm(error[:, 3:], axis=1))
        # what nobody acts on may be of any age
        self._running["age"].add(coupling[engaged][:, at["link_age"]][:, 0])
        self._running["round_trip"].add(coupling[:, at["link_round_trip"]][:, 0])
        station, at = new[self.side][1], columns(self.side)
        self._running["force"].add(
            np.linalg.norm(station[:, at["wrench_measured_in_world"]][:, :3], axis=1)
        )
        self._running["speed"].add(np.linalg.norm(station[:, at["v"]], axis=1))

    def final(self, stream: str, channel: str) -> Array:
        """Mean of a channel over the end of the run."""
        times, values = self.history.times(stream), self.history.signal(stream, channel)
        return (
            values[times >= times[-1] - FINAL].mean(axis=0)
            if len(times)
            else np.zeros(values.shape[1])
        )

    def result(self) -> dict[str, dict[str, object]]:
        """Every metric as ``{name: {value, unit}}``."""
        running = self._running
        felt = "hand" if self.side == "leader" else "contact"
        final = float(np.linalg.norm(self.final(self.side, "wrench_measured_in_world")[:3]))
        found: dict[str, tuple[float | None, str]] = {
            "tracking_error_max": (running["position"].measured, "m"),
            "tracking_error_rms": (running["position"].measured_rms, "m"),
            "rotation_error_max": (running["rotation"].measured, "rad"),
            f"{felt}_force_max": (running["force"].measured, "N"),
            f"{felt}_force_final": (final, "N"),
            f"{felt}_force_ripple": (self._ripple(), "N"),
            f"{self.side}_speed_max": (running["speed"].largest, "rad/s"),
            f"{self.side}_speed_final": (
                float(np.linalg.norm(self.final(self.side, "v"))),
                "rad/s",
            ),
            "coupled_share": (self._coupled(), "-"),
            "energy_into_coupling": (self.bridge.end.energy, "J"),
        }
        found |= self._energy() | self._link()
        return {
            name: {"value": plain(value), "unit": unit} for name, (value, unit) in found.items()
        }

    def _ripple(self) -> float | None:
        """Difference between the largest and the smallest force at the end of the run."""
        times, wrench = (
            self.history.times(self.side),
            self.history.signal(self.side, "wrench_measured_in_world"),
        )
        force = (
            np.linalg.norm(wrench[times >= times[-1] - FINAL][:, :3], axis=1)
            if len(times)
            else np.zeros(0)
        )
        return float(np.ptp(force)) if len(force) else None

    def _coupled(self) -> float:
        """Share of the run in which this side was coupled."""
        gain = self.history.signal("coupling", "engagement")[:, 0]
        return float((gain > 0.0).mean()) if len(gain) else 0.0

    def _energy(self) -> dict[str, tuple[float | None, str]]:
        [port] = self.world.ports.values()
        work: dict[str, tuple[float | None, str]] = {
            f"energy_{name}_on_{self.side}": (value, "J") for name, value in port.work.items()
        }
        residual, exchanged = self.world.energy_residual(), self.world.energy_exchanged()
        return work | {"energy_balance_error": (abs(residual) / max(exchanged, LEAST), "-")}

    def _link(self) -> dict[str, tuple[float | None, str]]:
        endpoint, live = self.bridge.end.endpoint, self.bridge.live
        statistics = endpoint.statistics
        received, mean = statistics.received, statistics.age_mean_ns
        return {
            "link_received": (float(received), "-"),
            "link_loss": (statistics.loss, "-"),
            "link_late": (float(statistics.late), "-"),
            "link_malformed": (float(statistics.malformed), "-"),
            "link_age_mean": (None if mean is None else mean * 1e-9, "s"),
            "link_age_max": (self._running["age"].measured, "s"),
            "link_round_trip_rms": (self._running["round_trip"].rms if received else None, "s"),
            "link_round_trip_max": (self._running["round_trip"].measured, "s"),
            "clock_offset": (live.offset, "s"),
        }
