"""Metrics: the numbers a run is judged by, gathered exactly over every record however long the run."""

from __future__ import annotations

import math

import numpy as np

from farhand.analysis.history import Gathered, History
from farhand.loop.bridges.linked import LinkedBridge
from farhand.loop.session import Session
from farhand.world import World

Array = np.ndarray

FINAL = 0.5
"""Length of the window at the end of a run over which final values are averaged, [s]."""


LEAST = 1e-6
"""Energy below which an imbalance is not worth a ratio, [J]."""


class Running:
    """Largest value and root mean square of a stream of numbers."""

    def __init__(self) -> None:
        self.largest, self._squares, self._count = 0.0, 0.0, 0

    def add(self, values: Array) -> None:
        """Take more values; those that are not numbers are left out."""
        values = values[np.isfinite(values)]
        if len(values):
            self.largest = max(self.largest, float(values.max()))
            self._squares += float(values @ values)
            self._count += len(values)

    @property
    def measured(self) -> float | None:
        """Largest value, or None where nothing was measured."""
        return self.largest if self._count else None

    @property
    def rms(self) -> float:
        """Root mean square; 0 where nothing was measured."""
        return math.sqrt(self._squares / self._count) if self._count else 0.0

    @property
    def measured_rms(self) -> float | None:
        """Root mean square, or None where nothing was measured."""
        return self.rms if self._count else None


class Metrics(Gathered):
    """Tracking, force, energy and link numbers of a run with a leader and a follower.

    There is no tracking, and its numbers are None, where the two were never coupled.

    Args:
        session: what runs.
        world: its simulated physics.

    Attributes:
        driven: the station whose tool the hand holds.
        other: the one it drives.
    """

    def __init__(self, session: Session, world: World) -> None:
        self.session, self.world = session, world
        self.history = History(session.telemetry.path)
        held = [
            name
            for name, port in world.ports.items()
            if any(touch == "hand" for touch, _, _ in port.touches)
        ]
        self.driven, self.other = (
            ("follower", "leader") if held == ["follower"] else ("leader", "follower")
        )
        names = ("position", "rotation", "hand", "contact", "age", "speed")
        self._running = {name: Running() for name in names}
        self._turns = all(station.controller.controls_orientation for station in session.stations)

    def pull(self) -> None:
        """Take in everything recorded since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        _, coupling = new["coupling"]
        engaged = coupling[:, columns("coupling")["engagement"]][:, 0] > 0.0
        error = coupling[engaged][:, columns("coupling")["error"]]
        self._running["position"].add(np.linalg.norm(error[:, :3], axis=1))
        self._running["rotation"].add(np.linalg.norm(error[:, 3:], axis=1))
        self._running["age"].add(coupling[:, columns("coupling")["age"]].max(axis=1, initial=0.0))
        for name, station in (("hand", self.driven), ("contact", self.other)):
            wrench = new[station][1][:, columns(station)["wrench_measured_in_world"]]
            self._running[name].add(np.linalg.norm(wrench[:, :3], axis=1))
        self._running["speed"].add(
            np.linalg.norm(new["follower"][1][:, columns("follower")["v"]], axis=1)
        )

    def final(self, stream: str, channel: str) -> Array:
        """Mean of a channel over the last :data:`FINAL` seconds."""
        times, values = self.history.times(stream), self.history.signal(stream, channel)
        if not len(times):
            return np.zeros(values.shape[1])
        return values[times >= times[-1] - FINAL].mean(axis=0)

    def result(self) -> dict[str, dict[str, object]]:
        """Every metric as ``{name: {value, unit}}``; the same run in virtual time gives the same numbers to the bit."""
        found: dict[str, tuple[float | None, str]] = {}
        running = self._running
        found["tracking_error_max"] = (running["position"].measured, "m")
        found["tracking_error_rms"] = (running["position"].measured_rms, "m")
        found["rotation_error_max"] = (running["rotation"].measured if self._turns else None, "rad")
        found["hand_force_max"] = (running["hand"].measured, "N")
        found["contact_force_max"] = (running["contact"].measured, "N")
        hand = float(np.linalg.norm(self.final(self.driven, "wrench_measured_in_world")[:3]))
        contact = float(np.linalg.norm(self.final(self.other, "wrench_measured_in_world")[:3]))
        found["hand_force_final"] = (hand, "N")
        found["contact_force_final"] = (contact, "N")
        found["reflection_in_contact"] = (self._reflection(), "-")
        found["follower_speed_max"] = (running["speed"].largest, "rad/s")
        found["follower_speed_final"] = (
            float(np.linalg.norm(self.final("follower", "v"))),
            "rad/s",
        )
        found |= self._energy() | self._link()
        found["torque_cut_ticks"] = (
            float(sum(station.guard.clipped for station in self.session.stations)),
            "-",
        )
        return {
            name: {"value": plain(value), "unit": unit} for name, (value, unit) in found.items()
        }

    def _reflection(self) -> float | None:
        """Force at the hand over force at the contact, where the follower presses steadily; None when it never does."""
        hand = self.history.signal(self.driven, "wrench_measured_in_world")[:, :3]
        contact = self.history.signal(self.other, "wrench_measured_in_world")[:, :3]
        speed = np.linalg.norm(
            self.history.signal("follower", "twist_tool_in_world")[:, :3], axis=1
        )
        leading = np.linalg.norm(
            self.history.signal("leader", "twist_tool_in_world")[:, :3], axis=1
        )
        pressed = np.linalg.norm(contact, axis=1)
        times = self.history.times("coupling")
        if not len(times):
            return None
        engaged = np.interp(
            self.history.times("follower"),
            times,
            self.history.signal("coupling", "engagement")[:, 0],
        )
        steady = (pressed > 5.0) & (speed < 2e-3) & (leading < 2e-3) & (engaged == 1.0)
        if not steady.any():
            return None
        return float(np.median(np.linalg.norm(hand[steady], axis=1) / pressed[steady]))

    def _energy(self) -> dict[str, tuple[float | None, str]]:
        bridge = self.session.bridges[0]
        return {
            **self.energy_of_world(),
            "energy_into_coupling": (bridge.a.energy + bridge.b.energy, "J"),
        }

    def energy_of_world(self) -> dict[str, tuple[float | None, str]]:
        """Work on every robot by cause, and how well the books balance; nothing where something outside moves one."""
        exchanged = self.world.energy_exchanged()
        if self.world.externally_driven:
            return {"energy_balance_error": (None, "-")}
        work = {
            f"energy_{name}_on_{robot}": (value, "J")
            for robot, port in self.world.ports.items()
            for name, value in port.work.items()
        }
        residual = self.world.energy_residual()
        return {**work, "energy_balance_error": (abs(residual) / max(exchanged, LEAST), "-")}

    def _link(self) -> dict[str, tuple[float | None, str]]:
        bridge = self.session.bridges[0]
        if not isinstance(bridge, LinkedBridge):
            return {}
        statistics = [end.endpoint.statistics for end in (bridge.a, bridge.b)]
        received, lost, late = (
            sum(getattr(s, name) for s in statistics) for name in ("received", "lost", "late")
        )
        trip_ns = bridge.a.endpoint.round_trip_ns
        return {
            "link_age_mean": (
                sum(s.age_sum_ns for s in statistics) * 1e-9 / received if received else None,
                "s",
            ),
            "link_age_max": (self._running["age"].largest, "s"),
            "link_loss": (lost / (received + late + lost) if received else None, "-"),
            "link_late": (float(late), "-"),
            "link_round_trip": (trip_ns * 1e-9 if trip_ns is not None else None, "s"),
        }


def plain(value: float | None) -> float | None:
    """A number JSON can hold; not-a-number becomes None."""
    return None if value is None or not math.isfinite(value) else float(value)
