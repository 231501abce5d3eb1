"""Plants from outside the simulated world, in the place of a rig's own: a UR arm, a SpaceMouse, a gamepad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import TrackingController
from farhand.errors import BadValue, Mismatch
from farhand.mapping.ik import Pose, Solver
from farhand.plants.drivers.handle import ROBOT, Device, HandlePlant
from farhand.plants.wrappers.mirrored import MirroredPlant
from farhand.rigs.rig import Options
from farhand.robots import Placement, Robot
from farhand.world import World

SIMULATED = "simulated"
DEVICE_LAW = "unilateral"
"""Law of a leader that cannot be pushed, where the user names none."""


def _spacemouse() -> Device:
    from farhand.plants.drivers.spacemouse import SpaceMouse

    return SpaceMouse()


def _gamepad() -> Device:
    from farhand.plants.drivers.gamepad import Gamepad

    return Gamepad()


DEVICES: dict[str, Callable[[], Device]] = {"spacemouse": _spacemouse, "gamepad": _gamepad}
"""Input devices by name."""


def is_arm(plant: str) -> bool:
    """Whether this plant is a UR arm."""
    return plant.startswith("ur:")


def is_device(plant: str) -> bool:
    """Whether this plant is an input device."""
    return plant in DEVICES


def check(plant: str, options: Options, devices: bool = True, arms: bool = True) -> None:
    """Refuse what is no plant, or what cannot run in virtual time.

    Args:
        plant: as the user named it.
        options: with the clock.
        devices: whether an input device may be in this place.
        arms: whether a UR arm may.
    """
    if plant == SIMULATED:
        return
    if not (devices and is_device(plant) or arms and is_arm(plant) and plant[3:]):
        known = [SIMULATED, *(DEVICES if devices else ()), *(["ur:HOST"] if arms else ())]
        raise BadValue(f"{plant!r} cannot be a plant here; there are: {', '.join(known)}")
    if options.clock is None or options.clock.name != "wall":
        raise Mismatch(f"{plant} runs in wall time: leave --headless away, or add --clock wall")


def leader_robot(plant: str, robot: str) -> str:
    """The robot that stands for the leader: an input device's is a handle in the air."""
    return ROBOT if is_device(plant) else robot


def outside_plant(
    plant: str, name: str, world: World, robot: Robot, placement: Placement, gravity: float
) -> Any:
    """The plant of that name from outside, shown in the world; None for a simulated one."""
    if plant == SIMULATED:
        return None
    if is_device(plant):
        return MirroredPlant(HandlePlant(name, DEVICES[plant]()), world)
    from farhand.plants.drivers.ur import UrPlant

    return MirroredPlant(UrPlant(name, plant[3:], robot, placement, gravity), world)


def velocity_controller(
    arm: Arm, robot: Robot, placement: Placement, rate: float
) -> TrackingController:
    """What makes joint speeds of targets for a UR arm; gains assumed, slow enough for the arm's own servos."""
    limit, step = np.full(6, 0.5), np.full(6, 20.0 / rate)
    pd = LimitedPD(proportional=5.0, derivative=0.0, velocity_limit=limit, step_limit=step)
    solver, there = Solver(robot, 1e-4, 1e-3, step_max=0.5), Arm.of(robot)
    there.update(robot.home, np.zeros(6))
    # every way it goes is compiled before the first tick
    for start in (None, robot.home, robot.home + 1.0):
        solver.solve(Pose(there.position.copy(), there.rotation.copy()), start)
    return TrackingController(arm, solver, placement, robot.limits.velocity, pd, rate)
