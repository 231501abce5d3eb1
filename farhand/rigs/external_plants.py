"""External plants in place of a rig's simulated ones: UR arms, input devices, plug-ins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from farhand import plugins
from farhand.arm import Arm
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import TrackingController
from farhand.errors import BadValue, FarhandError, Mismatch, describe_error
from farhand.mapping.ik import Pose, Solver
from farhand.plants import Plant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs.rig import SIMULATED, Options
from farhand.robots import Placement, Robot, is_robot
from farhand.world import World

DEVICE_LAW = "unilateral"
"""Default law of a leader that cannot be pushed."""

GROUP = "farhand.plants"
"""Entry points under which packages bring plants."""


def plant_class(plant: str) -> type[Plant] | None:
    """The class of the plant ``NAME`` or ``NAME:ADDRESS``; None where there is no such plant."""
    name, colon, address = plant.partition(":")
    if name not in plugins.found(GROUP):
        return None
    kind: type[Plant] = plugins.load_subclass(GROUP, name, "plant", Plant)
    fits = bool(address) if kind.address_hint else not colon
    return kind if fits else None


def is_machine(plant: str) -> bool:
    """Whether this names a machine or a device, and not a robot that is simulated."""
    return not is_robot(plant) and (":" in plant or plant in plugins.found(GROUP))


def is_device(plant: str) -> bool:
    """Whether this plant is an input device, which a robot of its own represents."""
    kind = plant_class(plant)
    return kind is not None and kind.stand_in is not None


def check(plant: str, options: Options, devices: bool = True, arms: bool = True) -> None:
    """Refuse an unknown plant, one that this role does not allow, or one in virtual time."""
    if plant == SIMULATED:
        return
    if plant_class(plant) is None or not (devices if is_device(plant) else arms):
        allowed = [use for use, kind in plants() if (arms if kind.stand_in is None else devices)]
        name = plant.partition(":")[0]
        usage = next((one for one in allowed if one.partition(":")[0] == name), None)
        if usage is not None:
            raise BadValue(f"{plant!r} is not how to name this plant: write {usage}")
        if arms and is_robot(plant):
            remedy = "simulate it with --set rig.leader_robot=… or rig.follower_robot=…"
            raise BadValue(f"{plant!r} is a robot, not a plant: {remedy}")
        known = ", ".join([SIMULATED, *allowed])
        raise BadValue(f"{plant!r} cannot be a plant here; there are: {known}")
    if options.clock is None or options.clock.name != "wall":
        raise Mismatch(f"{plant} runs in real time, not in virtual time: use --clock wall")


def plants() -> Iterator[tuple[str, type[Plant]]]:
    """What a user may write after ``--leader`` or ``--follower``, and the class it stands for."""
    for name in sorted(plugins.found(GROUP)):
        kind: type[Plant] = plugins.load_subclass(GROUP, name, "plant", Plant)
        yield f"{name}:{kind.address_hint}" if kind.address_hint else name, kind


def leader_robot(plant: str, robot: str) -> str:
    """The robot that represents the leader: an input device's is a handle in the air."""
    kind = plant_class(plant)
    return robot if kind is None else kind.stand_in or robot


def robot_for(plant: str, role: str, robot: str) -> str:
    """The robot that a machine is taken for in this role; ``robot`` where its driver names none."""
    kind = plant_class(plant)
    return robot if kind is None else kind.robot_at(plant.partition(":")[2], role) or robot


def tick_rate(plant: str) -> float | None:
    """Rate at which a rig with this machine ticks by default, [Hz]; None where it does not care."""
    kind = plant_class(plant)
    return None if kind is None else kind.tick_rate


def open_plant(
    plant: str, name: str, world: World, robot: Robot, placement: Placement, gravity: float
) -> Plant | None:
    """The external plant that the user named, shown in the world; None for a simulated one.

    Raises:
        BadValue: the driver, which may be anybody's, raised something that is no message.
    """
    kind = plant_class(plant)
    if kind is None:
        return None
    address = plant.partition(":")[2]
    try:
        opened = kind.open(address, name=name, robot=robot, placement=placement, gravity=gravity)
    except FarhandError:
        raise
    # A third-party driver may raise anything.
    except Exception as error:
        raise BadValue(f"plant {plant!r} cannot be opened: {describe_error(error)}") from error
    return MirroredPlant(opened, world)


def velocity_controller(
    arm: Arm, robot: Robot, placement: Placement, rate: float
) -> TrackingController:
    """A controller from targets to joint speeds for a UR arm, slow enough for its own servos."""
    limit = np.full(6, 0.5)
    step = np.full(6, 20.0 / rate)
    pd = LimitedPD(proportional=5.0, derivative=0.0, velocity_limit=limit, step_limit=step)
    solver = Solver(robot, 1e-4, 1e-3, step_max=0.5)
    home = Arm.of(robot)
    home.update(robot.home, np.zeros(6))
    # Compile every branch of the solver before the first tick.
    for start in (None, robot.home, robot.home + 1.0):
        solver.solve(Pose(home.position.copy(), home.rotation.copy()), start)
    return TrackingController(arm, solver, placement, robot.limits.velocity, pd, rate)
