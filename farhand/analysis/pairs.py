"""Metrics of a run with several couplings: of each, by the name of its pair, and of all."""

from __future__ import annotations

import numpy as np

from farhand.analysis.metrics import Metrics, RunMetrics, Values
from farhand.arm import Arm
from farhand.loop.session import Session
from farhand.spatial import Array
from farhand.world import World

KINDS = ("position", "joints", "hand", "contact")


class PairsMetrics(RunMetrics):
    """Tracking, force and energy of every coupling and of all together.

    The numbers of one coupling end in the name of its pair, or of its follower if the pair has
    several: ``tracking_error_max_left``.

    Attributes:
        couplings: stream, leader and follower of each, by that name.
    """

    def __init__(self, session: Session, world: World) -> None:
        ends = [(bridge.a.station.name, bridge.b.station.name) for bridge in session.bridges]
        leaders = [leader for leader, _ in ends]
        self.couplings: dict[str, tuple[str, str, str]] = {}
        self._images: dict[str, Arm | None] = {}
        for bridge, (leader, follower) in zip(session.bridges, ends, strict=True):
            own = leaders.count(leader) == 1 and follower.endswith("-follower")
            name = follower.removesuffix("-follower") if own else follower
            self.couplings[name] = (bridge.stream.name, leader, follower)
            arm, joints = bridge.b.station.arm, bridge.laws[-1].port.space == "joints"
            self._images[name] = Arm(arm.model, arm.tool) if joints else None
        running = [f"{kind} {name}" for kind in KINDS for name in self.couplings]
        super().__init__(session, world, *running, "position", "hand", "contact")

    def pull(self) -> None:
        """Take in all records since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        for name, (stream, leader, follower) in self.couplings.items():
            coupling = new[stream][1]
            engaged = coupling[:, columns(stream)["engagement"]][:, 0] > 0.0
            error = coupling[engaged][:, columns(stream)["error"]]
            image = self._images[name]
            if image is None:
                self._add("position", name, np.linalg.norm(error[:, :3], axis=1))
            else:
                self._add("joints", name, np.abs(error).max(axis=1, initial=0.0))
                q = new[follower][1][: len(engaged), columns(follower)["q"]]
                self._add("position", name, Metrics.tool_errors(image, q[engaged], error))
            for kind, station in (("hand", leader), ("contact", follower)):
                wrench = new[station][1][:, columns(station)["wrench_measured_in_world"]]
                self._add(kind, name, np.linalg.norm(wrench[:, :3], axis=1))

    def _add(self, kind: str, name: str, values: Array) -> None:
        self._running[f"{kind} {name}"].add(values)
        if kind in self._running:
            self._running[kind].add(values)

    def values(self) -> Values:
        """Every metric as value and unit."""
        running, found = self._running, Values()
        for name, bridge in zip(self.couplings, self.session.bridges, strict=True):
            position = running[f"position {name}"]
            found |= {
                f"tracking_error_max_{name}": (position.measured, "m"),
                f"tracking_error_rms_{name}": (position.measured_rms, "m"),
                f"joint_error_max_{name}": (running[f"joints {name}"].measured, "rad"),
                f"hand_force_max_{name}": (running[f"hand {name}"].measured, "N"),
                f"contact_force_max_{name}": (running[f"contact {name}"].measured, "N"),
                f"energy_into_coupling_{name}": (bridge.a.energy + bridge.b.energy, "J"),
            }
        into = sum(bridge.a.energy + bridge.b.energy for bridge in self.session.bridges)
        return {
            "tracking_error_max": (running["position"].measured, "m"),
            "tracking_error_rms": (running["position"].measured_rms, "m"),
            "hand_force_max": (running["hand"].measured, "N"),
            "contact_force_max": (running["contact"].measured, "N"),
            **found,
            **self.energy_of_world(),
            "energy_into_coupling": (into, "J"),
            "torque_cut_ticks": (self.cut_ticks(), "-"),
        }
