"""Team: wrenches of several arms on one object, and the metrics of such a run.

All of it is ground truth from the simulated world; no arm sees any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from farhand.analysis.metrics import RunMetrics, Running, Values
from farhand.control.tool.internal_force import internal
from farhand.loop.session import Session
from farhand.loop.telemetry import Telemetry
from farhand.world import World

Array = np.ndarray

WINDOW_S = 1.0
"""Time over which an arm's share of the load is averaged."""

STEADY_HEIGHT = 0.01
"""Largest change of height in :data:`WINDOW_S` while an object is carried steadily, [m]."""


class TeamWatch:
    """Records the object's pose and every arm's wrench on it. Call :meth:`step` at every tick.

    Args:
        telemetry: takes the stream ``team``, and one of the object's own.
        world: the simulated physics.
        arms: names of the arms.
        thing: name of the object in the world; None if there is none.
        carried: for each arm, the load it is meant to carry now, [N].
        lag: of the leader behind its path, [m]; None if there is no leader.
        period_ns: time between ticks, [ns].
    """

    def __init__(
        self,
        telemetry: Telemetry,
        world: World,
        arms: Sequence[str],
        thing: str | None,
        carried: Sequence[Callable[[], float]],
        lag: Callable[[], Array] | None,
        period_ns: int,
    ) -> None:
        self._ports = [world.ports[name] for name in arms]
        self._object = world.ports[thing] if thing else None
        self._carried = carried
        self._lag = lag
        rate, n = 1e9 / period_ns, len(arms)
        self._stream = telemetry.stream("team", rate)
        self._wrenches = self._stream.channel("wrench_of_arms_on_object_in_world", 6 * n, "N, N·m")
        self._internal = self._stream.channel("internal_wrench_in_world", 6 * n, "N, N·m")
        self._meant = self._stream.channel("load_meant", n, "N")
        self._tilt = self._stream.channel("tilt", 1, "rad")
        self._error = self._stream.channel("path_error", 3, "m")
        if self._object is not None and thing is not None:
            self._own = telemetry.stream(thing, rate)
            self._q = self._own.channel("q", 7, "m, -")
            self._twist = self._own.channel("twist_tool_in_world", 6, "m/s, rad/s")
            self._upright = self._object.tool.rotation[:, 2].copy()

    def step(self, now_ns: int) -> None:
        """Record the present state."""
        wrenches = np.array([-port.wrench for port in self._ports])
        self._wrenches[:] = wrenches.ravel()
        self._meant[:] = [carried() for carried in self._carried]
        if self._lag is not None:
            self._error[:] = self._lag()
        if self._object is not None:
            tool = self._object.tool
            places = np.array([port.tool.position - tool.position for port in self._ports])
            self._internal[:] = internal(wrenches, places).ravel()
            self._tilt[0] = np.arccos(np.clip(tool.rotation[:, 2] @ self._upright, -1.0, 1.0))
            self._q[:] = self._object.q
            self._twist[:] = tool.twist
            self._own.commit(now_ns)
        self._stream.commit(now_ns)


class TeamMetrics(RunMetrics):
    """Tracking, forces, shares, internal force, tilt and energy of arms that hold one object.

    A share is the vertical force of an arm on the object over its intended load, in steady
    carrying, as the mean of a :data:`WINDOW_S` (:meth:`shares`) or of one record
    (:meth:`momentary`).

    Args:
        session: without a bridge.
        world: its simulated physics.
        arms: names of the arms, as in :class:`TeamWatch`.
        thing: name of the object in the world; None if there is none.
        full: load that each arm is meant to carry, [N].
    """

    _gathered = ("_running", "_forces", "_steps", "_last")

    def __init__(
        self, session: Session, world: World, arms: Sequence[str], thing: str | None, full: Array
    ) -> None:
        super().__init__(session, world, "error", "tilt", "internal", "internal_moment")
        self.arms = list(arms)
        self.thing = thing
        self.full = np.asarray(full, dtype=float)
        self._forces = {name: (Running(), Running()) for name in arms}
        self._steps = {name: 0.0 for name in arms}
        self._last: dict[str, Array] = {}

    def pull(self) -> None:
        """Take in all records since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        _, rows = new["team"]
        if len(rows):
            self._take_team(rows, columns("team"))
        for station in self.session.stations:
            self._take_arm(station.name, new[station.name][1], columns(station.name))

    def _take_team(self, rows: Array, columns: dict[str, slice]) -> None:
        n, running = len(self.arms), self._running
        running["error"].add(np.linalg.norm(rows[:, columns["path_error"]], axis=1))
        running["tilt"].add(rows[:, columns["tilt"]][:, 0])
        inner = rows[:, columns["internal_wrench_in_world"]].reshape(-1, n, 6)
        running["internal"].add(np.linalg.norm(inner[:, :, :3], axis=2).max(axis=1))
        running["internal_moment"].add(np.linalg.norm(inner[:, :, 3:], axis=2).max(axis=1))

    def _take_arm(self, name: str, rows: Array, columns: dict[str, slice]) -> None:
        if not len(rows):
            return
        force, torque = self._forces[name]
        force.add(np.linalg.norm(rows[:, columns["wrench_measured_in_world"]][:, :3], axis=1))
        share = rows[:, columns["torque_commanded"]] / self.world.placed[name].robot.limits.torque
        torque.add(np.abs(share).max(axis=1))
        joined = share if name not in self._last else np.vstack([self._last[name], share])
        if len(joined) > 1:
            self._steps[name] = max(self._steps[name], float(np.abs(np.diff(joined, axis=0)).max()))
        self._last[name] = share[-1]

    def values(self) -> Values:
        """Every metric as value and unit."""
        error = self._running["error"]
        values: Values = {
            "tracking_error_max": (error.largest, "m"),
            "tracking_error_rms": (error.rms, "m"),
        }
        for name, (force, torque) in self._forces.items():
            values[f"force_max_{name}"] = (force.measured, "N")
            values[f"torque_share_max_{name}"] = (torque.measured, "-")
            values[f"torque_step_max_{name}"] = (self._steps[name], "-")
        if self.thing is not None:
            values |= self._of_object()
        values |= self.energy_of_world()
        values["torque_cut_ticks"] = (self.cut_ticks(), "-")
        return values

    def carrying(self) -> Array:
        """Which records belong to steady carrying.

        All arms at full load, off the ground, and a nearly constant height over :data:`WINDOW_S`
        before and after.
        """
        assert self.thing is not None
        times = self.history.times("team")
        meant = self.history.signal("team", "load_meant")
        lifted = self.lifted()
        heights = self.history.signal(self.thing, "q")[:, 2]
        height = np.interp(times, self.history.times(self.thing), heights)
        before, after = (np.interp(times + shift, times, height) for shift in (-WINDOW_S, WINDOW_S))
        full = (meant >= self.full - 1e-9).all(axis=1) & bool(self.full.any())
        off = lifted.sum(axis=1) > 0.9 * self.full.sum()
        level = np.maximum(np.abs(height - before), np.abs(after - height)) < STEADY_HEIGHT
        return full & off & level & (height - height[0] > STEADY_HEIGHT)

    def lifted(self) -> Array:
        """Vertical force of every arm on the object, times × arms, [N]."""
        wrenches = self.history.signal("team", "wrench_of_arms_on_object_in_world")
        return wrenches.reshape(-1, len(self.arms), 6)[:, :, 2]

    def shares(self) -> Array:
        """Load of each arm over its intended load, mean of a :data:`WINDOW_S`, times × arms."""
        times, lifted, steady = self.history.times("team"), self.lifted(), self.carrying()
        total = np.vstack([np.zeros(lifted.shape[1]), np.cumsum(lifted, axis=0)])
        n = max(1, round(WINDOW_S / float(np.median(np.diff(times))))) if len(times) > 1 else 1
        rows = np.arange(n, len(times) + 1)
        means = (total[rows] - total[rows - n]) / n
        whole = np.array([steady[row - n : row].all() for row in rows], dtype=bool)
        return means[whole] / self.full if self.full.any() else means[:0]

    def momentary(self) -> Array:
        """Load of each arm over its intended load in every record, times × arms."""
        lifted = self.lifted()
        return lifted[self.carrying()] / self.full if self.full.any() else lifted[:0]

    def _of_object(self) -> Values:
        running, shares, single = self._running, self.shares(), self.momentary()
        values: Values = {}
        for number, name in enumerate(self.arms):
            mean = float(shares[:, number].mean()) if len(shares) else None
            values[f"share_{name}"] = (mean, "-")
        final = self.final("team", "internal_wrench_in_world").reshape(-1, 6)

        def error(rows: Array) -> float | None:
            return float(np.abs(rows - 1.0).max()) if len(rows) else None

        return {
            **values,
            "share_error_max": (error(shares), "-"),
            "share_error_momentary_max": (error(single), "-"),
            "internal_force_max": (running["internal"].largest, "N"),
            "internal_moment_max": (running["internal_moment"].largest, "N·m"),
            "internal_force_final": (float(np.linalg.norm(final[:, :3], axis=1).max()), "N"),
            "tilt_max": (running["tilt"].largest, "rad"),
        }
