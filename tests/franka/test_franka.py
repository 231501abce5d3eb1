"""The maker's own client and Farhand's plant on arms that others simulate."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants import Brake, JointTorque
from farhand.plants.franka.check import compare_models
from farhand.plants.franka.plant import FrankaPlant, FrankaSettings
from farhand.plants.franka.worker import WATCHING
from farhand.rigs import Options, Rig, build_rig
from farhand.robots import load_robot
from tests.plants.paced import Paced

ROBOT = load_robot("fr3-arm")
PATIENT = 1.0
"""How old a state may be for these tests, [s]: two arms and two clients share a test machine."""


def hold(plant: FrankaPlant, seconds: float, goal: np.ndarray) -> None:
    """Hold an arm by springs, in wall time."""
    arm, command, began = Arm.of(ROBOT), JointTorque(7), time.monotonic()
    while time.monotonic() - began < seconds and plant.fault is None:
        sample = plant.read(time.monotonic_ns())
        arm.update(sample.q, sample.v)
        pull = 225.0 * (goal - sample.q) - 30.0 * sample.v
        command.value[:] = arm.M.diagonal() * pull + arm.gravity
        plant.write(command, 0)
        time.sleep(0.001)


@contextmanager
def pair(leader: str, follower: str, law: str, space: str, **more: object) -> Iterator[Rig]:
    """Both arms coupled in this process."""
    settings: list[tuple[str, object]] = [("rig.space", space)]
    settings += [("rig.leader_plant", leader), ("rig.follower_plant", follower)]
    settings += [(f"{side}.guard.stale", PATIENT) for side in ("leader", "follower")]
    settings += [(name.replace("__", "."), value) for name, value in more.items()]
    options = Options(law=law, scenario="rest", clock=Paced(), settings=settings)
    rig = build_rig("pair", options)
    try:
        yield rig
    finally:
        rig.close()


def trips(rig: Rig) -> list[str]:
    """Why stations have tripped, late ticks left out."""
    return [
        f"{record.where}: {record.trip.kind}: {record.trip.reason}"
        for record in rig.session.trips
        if record.trip.kind != "overrun"
    ]


def plants(rig: Rig) -> list[FrankaPlant]:
    """The arms of the rig."""
    return [station.plant.plant for station in rig.session.stations]


def test_one_arm_is_held_and_moved(simulated) -> None:
    """With both enforcement flags; the simulator says where it really went."""
    arm = simulated()
    before = np.array(arm.ask()["q"])
    plant = FrankaPlant("leader", arm.host, ROBOT, settings=FrankaSettings(patience=0.5))
    try:
        hold(plant, 1.5, before)
        assert plant.fault is None
        np.testing.assert_allclose(arm.ask()["q"], before, atol=0.005)
        goal = before + [0.2, 0.1, 0.0, 0.1, 0.0, 0.0, 0.2]
        hold(plant, 2.0, goal)
        assert plant.fault is None and plant.external is None
        np.testing.assert_allclose(arm.ask()["q"], goal, atol=0.01)
        assert plant.read(0) and plant._state["success"] > 0.9
        plant.write(Brake(7), 0)
        time.sleep(0.5)
        plant.read(0)
        assert plant._state["phase"] == WATCHING and arm.ask()["speed"] < 0.01
    finally:
        plant.close()


def test_our_model_is_that_of_the_clients_service(simulated) -> None:
    """At 100 postures. Both stem from the maker's description of the FR3."""
    arm = simulated()
    found = compare_models(arm.host, ROBOT)
    print(found)
    assert found.postures == 100
