"""Metrics: the numbers of a run, gathered over every record; of both sides, or of one process."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from farhand.analysis.history import Gathered, History
from farhand.arm import Arm
from farhand.coupling import Coupling
from farhand.loop.bridges.linked import LinkedBridge
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.session import Session
from farhand.world import World

Array = np.ndarray
Values = dict[str, tuple[float | None, str]]
"""Value and unit by name."""

FINAL_S = 0.5
"""Length of the window at the end of a run over which final values are averaged."""

SPARSE = 10
"""One record out of this many is looked at where each costs a computation."""

MIN_ENERGY = 1e-6
"""Energy below which an imbalance is not worth a ratio, [J]."""

LEAST_PRESS = (5.0, 0.025)
"""A contact counts from this force on, [N], or from this share of a light follower's weight."""


class Running:
    """Largest value and root mean square of a stream of numbers."""

    def __init__(self) -> None:
        self.largest = self._squares = 0.0
        self._count = 0

    def add(self, values: Array) -> None:
        """Add values; those that are not numbers are left out."""
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


class RunMetrics(Gathered, ABC):
    """What the metrics of all kinds of runs share."""

    def __init__(self, session: Session, world: World, *running: str) -> None:
        self.session = session
        self.world = world
        self.history = History(session.telemetry.path)
        self._running = {name: Running() for name in running}

    @abstractmethod
    def pull(self) -> None:
        """Take in all records since the last call; call between ticks."""

    @abstractmethod
    def values(self) -> Values:
        """Every metric as value and unit; equal to the bit for equal runs in virtual time."""

    def result(self) -> dict[str, dict[str, object]]:
        """Every metric as ``{name: {value, unit}}``."""
        values = self.values().items()
        return {name: {"value": plain(value), "unit": unit} for name, (value, unit) in values}

    def final(self, stream: str, channel: str) -> Array:
        """Mean of a channel over the last :data:`FINAL_S` seconds."""
        times, values = self.history.times(stream), self.history.signal(stream, channel)
        if not len(times):
            return np.zeros(values.shape[1])
        return values[times >= times[-1] - FINAL_S].mean(axis=0)

    def final_force(self, station: str) -> float:
        """Length of the mean force at a station over the end of the run, [N]."""
        return float(np.linalg.norm(self.final(station, "wrench_measured_in_world")[:3]))

    def final_speed(self, station: str) -> float:
        """Length of the mean joint velocity over the end of the run, [rad/s]."""
        return float(np.linalg.norm(self.final(station, "v")))

    def cut_ticks(self) -> float:
        """Ticks in which a guard limited the torque."""
        return float(sum(station.guard.clipped for station in self.session.stations))

    def energy_of_world(self) -> Values:
        """Work on every robot by cause, and the balance error; None if driven from outside."""
        exchanged = self.world.energy_exchanged()
        if self.world.externally_driven:
            return {"energy_balance_error": (None, "-")}
        work: Values = {
            f"energy_{name}_on_{robot}": (value, "J")
            for robot, port in self.world.ports.items()
            for name, value in port.work.items()
        }
        residual = self.world.energy_residual()
        return {**work, "energy_balance_error": (abs(residual) / max(exchanged, MIN_ENERGY), "-")}

    def coupled_share(self) -> float:
        """Share of the run in which the first coupling was engaged, [-]."""
        gain = self.history.signal("coupling", "engagement")[:, 0]
        return float((gain > 0.0).mean()) if len(gain) else 0.0


class Metrics(RunMetrics):
    """Tracking, force, energy and link numbers of a run with a leader and a follower.

    There is no tracking, and its numbers are None, where the two were never coupled.

    Attributes:
        driven: the station whose tool the hand holds.
        other: the one it drives.
    """

    def __init__(self, session: Session, world: World) -> None:
        names = ("position", "rotation", "joints", "gripper", "hand", "contact", "age", "speed")
        super().__init__(session, world, *names)
        held = [
            name
            for name, port in world.ports.items()
            if any(touch == "hand" for touch, _, _ in port.touches)
        ]
        ends = ("leader", "follower")
        self.driven, self.other = ends[::-1] if held == ["follower"] else ends
        self._turns = all(station.controller.controls_orientation for station in session.stations)
        arm = next(one.arm for one in session.stations if one.name == "follower")
        self._weight = float(arm.model.gravity.linear @ arm.model.gravity.linear) ** 0.5
        self._weight *= sum(inertia.mass for inertia in arm.model.inertias)  # [N]
        #: the follower's kinematics, where joints are coupled: they say how far its tool is off
        self._image: Arm | None = None
        self.joints = coupled_joints(session.bridges[0].laws[-1])
        if self.joints:
            self._image, self._turns = Arm(arm.model, arm.tool), False

    def pull(self) -> None:
        """Take in all records since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        _, coupling = new["coupling"]
        engaged = coupling[:, columns("coupling")["engagement"]][:, 0] > 0.0
        error = coupling[:, columns("coupling")["error"]][engaged]
        if self._image is None:
            self._running["position"].add(np.linalg.norm(error[:, :3], axis=1))
            self._running["rotation"].add(np.linalg.norm(error[:, 3:], axis=1))
        else:
            away, gripper = np.abs(error), self._gripper
            self._running["joints"].add(away[:, :gripper].max(axis=1, initial=0.0))
            self._running["gripper"].add(away[:, gripper:].max(axis=1, initial=0.0))
            # in real time the streams are read one after the other: one may be a record ahead
            q = new["follower"][1][: len(engaged), columns("follower")["q"]]
            both = engaged[: len(q)]
            errors = self.tool_errors(self._image, q[both], error[: int(both.sum())])
            self._running["position"].add(errors)
        self._running["age"].add(coupling[:, columns("coupling")["age"]].max(axis=1, initial=0.0))
        for name, station in (("hand", self.driven), ("contact", self.other)):
            wrench = new[station][1][:, columns(station)["wrench_measured_in_world"]]
            self._running[name].add(np.linalg.norm(wrench[:, :3], axis=1))
        speed = new["follower"][1][:, columns("follower")["v"]]
        self._running["speed"].add(np.linalg.norm(speed, axis=1))

    @property
    def _gripper(self) -> int:
        """Number of joints before the gripper, which is the last where there is one."""
        return len(self.joints) - ("gripper" in self.joints[-1:])

    @staticmethod
    def tool_errors(image: Arm, q: Array, error: Array) -> Array:
        """How far the tool is from where the leader's joints would put it, every tenth, [m]."""
        still, distances = np.zeros(image.nv), []
        for joints, away in zip(q[::SPARSE], error[::SPARSE], strict=True):
            image.update(joints, still)
            before = image.position.copy()
            image.update(joints + away, still)
            distances.append(float(np.linalg.norm(image.position - before)))
        return np.array(distances)

    def values(self) -> Values:
        """Every metric as value and unit."""
        running, bridge = self._running, self.session.bridges[0]
        return {
            **(self._of_joints() if self.joints else {}),
            "tracking_error_max": (running["position"].measured, "m"),
            "tracking_error_rms": (running["position"].measured_rms, "m"),
            "rotation_error_max": (running["rotation"].measured if self._turns else None, "rad"),
            "coupled_share": (self.coupled_share(), "-"),
            "hand_force_max": (running["hand"].measured, "N"),
            "contact_force_max": (running["contact"].measured, "N"),
            "hand_force_final": (self.final_force(self.driven), "N"),
            "contact_force_final": (self.final_force(self.other), "N"),
            "reflection_in_contact": (self._reflection(), "-"),
            "follower_speed_max": (running["speed"].largest, "rad/s"),
            "follower_speed_final": (self.final_speed("follower"), "rad/s"),
            **self.energy_of_world(),
            "energy_into_coupling": (bridge.a.energy + bridge.b.energy, "J"),
            **self._link(),
            "torque_cut_ticks": (self.cut_ticks(), "-"),
        }

    def _of_joints(self) -> Values:
        """How far the follower's joints are off, and what its gripper holds."""
        values: Values = {"joint_error_max": (self._running["joints"].measured, "rad")}
        arm = slice(None, -1 if self._gripper < len(self.joints) else None)
        for name, end in (("leader", "hand"), ("follower", "contact")):
            torque = np.abs(self.history.signal(name, "torque_external")[:, arm])
            known = torque[np.isfinite(torque)]
            values[f"{end}_torque_max"] = (float(known.max()) if len(known) else None, "N·m")
        if self._gripper == len(self.joints):
            return values
        mapping = self.session.bridges[0].laws[-1].mapping
        unit, effort = ("m", "N") if mapping.slides[-1] else ("rad", "N·m")
        hand, object_ = (
            np.abs(self.history.signal(name, "torque_external")[:, -1])
            for name in ("leader", "follower")
        )
        # what the object pushes with, as the leader's gripper would feel all of it
        whole = abs(float(mapping.signs[-1])) * mapping.force_scale * object_
        slow = np.abs(self.history.signal("follower", "v")[:, -1]) < 2e-3
        size = min(len(hand), len(whole), len(slow))
        least = max(0.5 * object_.max(initial=0.0), self._dry())
        held = slow[:size] & (object_[:size] > least) & self._gripped()
        share = hand[:size][held] / whole[:size][held] if mapping.force_scale and held.any() else []
        return values | {
            "gripper_error_max": (self._running["gripper"].measured, unit),
            "grip_effort_max": (float(np.max(object_, initial=0.0)), effort),
            "grip_reflection": (float(np.median(share)) if len(share) else None, "-"),
        }

    def _dry(self) -> float:
        """What the observer may take for an object: twice the gripper's dry friction."""
        placed = self.world.placed.get("follower")
        return 2.0 * float(placed.robot.compile().dof_frictionloss[-1]) if placed else 0.0

    def _gripped(self) -> bool:
        """Whether the simulated object was touched; that of a machine may have been."""
        port = self.world.ports.get("follower")
        return port is None or port.push is None or port.work.get("push") != 0.0

    def _reflection(self) -> float | None:
        """Force at the hand over that at the contact while the follower presses steadily."""
        history = self.history
        hand = history.signal(self.driven, "wrench_measured_in_world")[:, :3]
        contact = history.signal(self.other, "wrench_measured_in_world")[:, :3]
        speed, leading = (
            np.linalg.norm(history.signal(name, "twist_tool_in_world")[:, :3], axis=1)
            for name in ("follower", "leader")
        )
        pressed = np.linalg.norm(contact, axis=1)
        times = history.times("coupling")
        if not len(times):
            return None
        gain = history.signal("coupling", "engagement")[:, 0]
        engaged = np.interp(history.times("follower"), times, gain)
        least = min(LEAST_PRESS[0], LEAST_PRESS[1] * self._weight)
        steady = (pressed > least) & (speed < 2e-3) & (leading < 2e-3) & (engaged == 1.0)
        if not steady.any():
            return None
        return float(np.median(np.linalg.norm(hand[steady], axis=1) / pressed[steady]))

    def _link(self) -> Values:
        bridge = self.session.bridges[0]
        if not isinstance(bridge, LinkedBridge):
            return {}
        statistics = [end.endpoint.statistics for end in (bridge.a, bridge.b)]
        received = sum(one.received for one in statistics)
        lost = sum(one.lost for one in statistics)
        late = sum(one.late for one in statistics)
        age_ns = sum(one.age_sum_ns for one in statistics)
        trip_ns = bridge.a.endpoint.round_trip_ns
        return {
            "link_age_mean": (age_ns * 1e-9 / received if received else None, "s"),
            "link_age_max": (self._running["age"].largest, "s"),
            "link_loss": (lost / (received + late + lost) if received else None, "-"),
            "link_late": (float(late), "-"),
            "link_round_trip": (trip_ns * 1e-9 if trip_ns is not None else None, "s"),
        }


class SideMetrics(RunMetrics):
    """Tracking, force, energy and link numbers of one side, where the other runs elsewhere."""

    def __init__(self, session: Session, world: World) -> None:
        names = ("position", "rotation", "joints", "force", "speed", "age", "round_trip")
        super().__init__(session, world, *names)
        self.side = session.stations[0].name  #: name of the station
        bridge = session.bridges[0]
        assert isinstance(bridge, RemoteBridge)
        self.bridge, self.joints = bridge, coupled_joints(bridge.laws[-1])

    def pull(self) -> None:
        """Take in all records since the last call; call between ticks."""
        new = self.history.pull()
        columns = self.history.reader.columns
        coupling, at = new["coupling"][1], columns("coupling")
        engaged = coupling[:, at["engagement"]][:, 0] > 0.0
        error = coupling[:, at["error"]][engaged]
        if self.joints:
            self._running["joints"].add(np.abs(error).max(axis=1, initial=0.0))
        else:
            self._running["position"].add(np.linalg.norm(error[:, :3], axis=1))
            self._running["rotation"].add(np.linalg.norm(error[:, 3:], axis=1))
        # A packet that nobody acts on may be of any age.
        self._running["age"].add(coupling[:, at["link_age"]][engaged, 0])
        self._running["round_trip"].add(coupling[:, at["link_round_trip"]][:, 0])
        station, at = new[self.side][1], columns(self.side)
        force = station[:, at["wrench_measured_in_world"]][:, :3]
        self._running["force"].add(np.linalg.norm(force, axis=1))
        self._running["speed"].add(np.linalg.norm(station[:, at["v"]], axis=1))

    def values(self) -> Values:
        """Every metric as value and unit."""
        running, side = self._running, self.side
        felt = "hand" if side == "leader" else "contact"
        of_joints = {"joint_error_max": (running["joints"].measured, "rad")} if self.joints else {}
        return {
            **of_joints,
            "tracking_error_max": (running["position"].measured, "m"),
            "tracking_error_rms": (running["position"].measured_rms, "m"),
            "rotation_error_max": (running["rotation"].measured, "rad"),
            f"{felt}_force_max": (running["force"].measured, "N"),
            f"{felt}_force_final": (self.final_force(side), "N"),
            f"{felt}_force_ripple": (self._ripple(), "N"),
            f"{side}_speed_max": (running["speed"].largest, "rad/s"),
            f"{side}_speed_final": (self.final_speed(side), "rad/s"),
            "coupled_share": (self.coupled_share(), "-"),
            "energy_into_coupling": (self.bridge.end.energy, "J"),
            **self._energy(),
            **self._link(),
        }

    def _ripple(self) -> float | None:
        """Difference between the largest and the smallest force at the end of the run."""
        times = self.history.times(self.side)
        if not len(times):
            return None
        wrench = self.history.signal(self.side, "wrench_measured_in_world")
        force = np.linalg.norm(wrench[times >= times[-1] - FINAL_S][:, :3], axis=1)
        return float(np.ptp(force))

    def _energy(self) -> Values:
        [port] = self.world.ports.values()
        work: Values = {
            f"energy_{name}_on_{self.side}": (value, "J") for name, value in port.work.items()
        }
        residual, exchanged = self.world.energy_residual(), self.world.energy_exchanged()
        error = abs(residual) / max(exchanged, MIN_ENERGY)
        return {**work, "energy_balance_error": (error, "-")}

    def _link(self) -> Values:
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


def coupled_joints(law: Coupling) -> tuple[str, ...]:
    """Names of the follower's joints that a law couples; none of a law that couples tools."""
    return law.mapping.names if law.port.space == "joints" else ()


def plain(value: float | None) -> float | None:
    """A number that JSON can hold; not-a-number becomes None."""
    return None if value is None or not math.isfinite(value) else float(value)
