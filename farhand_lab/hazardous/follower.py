"""The follower that the rig builds, fed by an experiment: its wrist and filter, or its drives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.control.joint.loops import LimitedPD
from farhand.parameters import assign
from farhand.plants.plant import Command, JointVelocity, Plant, Sample
from farhand.plants.wrappers.filtered import Smoothing
from farhand.rigs.hazardous import parts
from farhand.rigs.hazardous.following import PLACES, Hazardous, following
from farhand.rigs.hazardous.parts import Follower, make_follower
from farhand.robots import Placement, load_robot
from farhand.sensing import SensorProfile, load_sensor
from farhand.sensing.kalman import steady_gain, time_constant
from farhand.world import Placed, World
from farhand_lab.harness import generator
from farhand_lab.mutation import changed

Array = np.ndarray
Settings = Iterable[tuple[str, object]]

QUIET: Settings = (("sensor.noisy", False), ("sensor.shaken", False), ("sensor.warming", False))
"""Settings that leave the sensor's bias and tool, and nothing that changes with time."""


def build(stream: str, q: Array | None = None, settings: Settings = ()) -> Follower:
    """The rig's follower in a world of its own, at ``q`` [rad] or at home."""
    shape = Hazardous()
    placement = Placement(PLACES["follower"])
    way = following(shape, load_robot("iiwa14"), placement)
    start = way.robot.home if q is None else q
    world = World({"follower": Placed(way.robot, placement, start)}, shape.period_ns, shape.gravity)
    follower = make_follower(world, way, shape, generator(stream))
    for path, value in settings:
        assign(follower.parameters, path, value)
    return follower


def filter_ms() -> float:
    """Time constant of the rig's force filter as shipped, [ms]."""
    smoothing = Smoothing()
    return 1e3 * time_constant(steady_gain(smoothing.trust, 1.0), 1.0 / smoothing.rate)


class FedPlant(Plant):
    """An arm whose sample the experiment writes."""

    def __init__(self, arm: Plant, joints: int) -> None:
        self.name, self.accepts, self.actuated = arm.name, arm.accepts, arm.actuated
        self.sample = Sample(joints, joints)
        self.sample.set_wrench(np.zeros(6))

    def read(self, now_ns: int) -> Sample:
        """What the experiment wrote."""
        self.sample.time_ns = now_ns
        return self.sample

    def write(self, command: Command, now_ns: int) -> None:
        """Nothing moves."""


@dataclass
class WristRecord:
    """What the rig's wrist made of a motion, one row per sample of its sensor."""

    read: Array  #: the sensor's readings, sensor axes, [N] and [N·m]
    unloaded: Array  #: without bias and weight, likewise
    contact: Array  #: the same in world axes; NaN without a measurement
    filtered: Array  #: what the coupling gets, likewise
    acceleration: Array  #: of the joints as the wrist judges it, relative to its largest, [-]


class Wrist:
    """The wrist of the rig's follower and the filter behind it, with motion and contact given.

    Args:
        stream: name of the random numbers.
        settings: below ``follower``, such as ``("sensor.noisy", False)``.
        q: where the arm is until it moves, [rad]; at home by default.
        stepless: with a sensor that has a thousand million times as many counts.
    """

    def __init__(
        self, stream: str, settings: Settings = (), q: Array | None = None, stepless: bool = False
    ) -> None:
        if stepless:
            with changed(parts, "load_sensor", lambda _: _stepless):
                self.follower = build(stream, q, settings)
        else:
            self.follower = build(stream, q, settings)
        self.wrist = self.follower.wrist
        self.rate = self.wrist.gauges.profile.rate  #: of the sensor, [Hz]
        self.fed = FedPlant(self.follower.drives, len(self.follower.drives.port.q))
        self.fed.sample.q[:] = self.follower.drives.port.q
        self.wrist._plant = self.fed
        self.wrist.calibrate()
        self._now_ns = 0

    def run(
        self,
        count: int,
        q: Array | None = None,
        v: Array | None = None,
        push: Array | None = None,
        missing: Array | None = None,
    ) -> WristRecord:
        """Go on for ``count`` samples of the sensor.

        Args:
            count: samples, [-].
            q: configurations, count × joints, [rad]; where the arm is by default.
            v: velocities likewise, [rad/s]; at rest by default.
            push: contact on the tool, count × 6 or six numbers, world axes, [N] and [N·m].
            missing: in which samples there is no wrench; in none by default.
        """
        sample, wrist, plant = self.fed.sample, self.wrist, self.follower.station.plant
        resolution = wrist.gauges.profile.resolution
        pushes = np.broadcast_to(np.zeros(6) if push is None else push, (count, 6))
        read, unloaded, contact, filtered = (np.full((count, 6), np.nan) for _ in range(4))
        record = WristRecord(read, unloaded, contact, filtered, np.zeros(count))
        for k in range(count):
            if q is not None:
                sample.q[:] = q[k]
            sample.v[:] = 0.0 if v is None else v[k]
            sample.set_wrench(None if missing is not None and missing[k] else pushes[k])
            felt = plant.read(self._now_ns).wrench
            record.read[k] = wrist.counts * resolution
            record.unloaded[k] = wrist.conditioner.raw
            record.acceleration[k] = wrist.gauges.acceleration
            if wrist.contact is not None:
                record.contact[k] = wrist.contact
            if felt is not None:
                record.filtered[k] = felt
            self._now_ns += round(1e9 / self.rate)
        return record

    def shaken(self, count: int) -> WristRecord:
        """Go on in one place, with velocities that flip as far as shakes the sensor most."""
        flips = (-1.0) ** np.arange(count)
        return self.run(count, v=1.02 * np.outer(flips, self.steepest))

    @property
    def steepest(self) -> Array:
        """Half of what every joint's velocity can change in a sample of the sensor, [rad/s]."""
        drives = self.follower.parameters["drives"]
        speed = self.follower.drives.world.placed["follower"].robot.limits.velocity
        return 0.5 * drives.step_limit * speed * drives.rate / self.rate


def _stepless(name: str) -> SensorProfile:
    profile = load_sensor(name)
    return replace(profile, counts=1e9 * profile.counts)


class Driven:
    """The follower's drives in the rig's configuration, sent shares of full speed.

    Attributes:
        plant: the arm with its drives.
        limits: of the drives.
        pd: the rig's loop of joint positions.
        period: between commands, [s].
    """

    def __init__(self, q: Array, settings: Settings = ()) -> None:
        self.follower = build("drives", q, settings)
        self.plant = self.follower.drives
        drives: Any = self.follower.parameters["drives"]
        self.limits, self.period = drives, 1.0 / drives.rate
        self.pd: LimitedPD = self.follower.parameters["pd"]
        self.speed = self.plant.world.placed["follower"].robot.limits.velocity
        self._command, self._now_ns = JointVelocity(len(self.speed)), 0

    @property
    def q(self) -> Array:
        """Joint positions, [rad]."""
        return self.plant.port.q.copy()

    @property
    def fault(self) -> str | None:
        """Why the arm is off, or None."""
        return self.plant.fault

    def step(self, share: Array) -> None:
        """Send a velocity and let one period of the drives pass."""
        self._command.value[:] = share * self.speed
        self.plant.write(self._command, self._now_ns)
        self._now_ns += round(1e9 * self.period)
        self.plant.advance(self._now_ns)
