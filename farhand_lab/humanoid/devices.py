"""The haptic devices: H-23, H-24, H-45."""

from __future__ import annotations

import sys
from dataclasses import replace

import mujoco
import numpy as np

from farhand.arm import Arm
from farhand.plants import JointTorque
from farhand.plants.simulated.haptic import HapticPlant, HapticProfile, Workspace
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.world import Placed, World
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation

Array = np.ndarray

DEVICE_TO_WORLD = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
MS = 1_000_000


def pen(name: str = "omni", **changes: object) -> HapticPlant:
    """A device by itself."""
    robot = load_robot(name)
    profile = replace(HapticProfile.of(robot), **changes)  # type: ignore[arg-type]
    return HapticPlant(World({"pen": Placed(robot)}), "pen", profile)


def push(plant: HapticPlant, force: tuple[float, float, float], milliseconds: int) -> Array:
    """Where the pen is read to be [m] after a rising force along the device's axes [N]."""
    command, start_ns = JointTorque(6), plant.world.now_ns
    for tick in range(milliseconds):
        command.value[:3] = np.array(force) * (tick + 1) / milliseconds
        plant.write(command, start_ns + tick * MS)
        plant.read(start_ns + (tick + 1) * MS)
    return plant.read(plant.world.now_ns).q[:3].copy()


@experiment("H-23")
def omni() -> Finding:
    """Pushed, weighed, measured and overloaded."""
    plant = pen(holds_weight=True)
    profile = plant.profile
    box = np.array([0.080, 0.060, 0.035])
    fits = all(profile.workspace.contains(0.999 * box * sign) for sign in ((1, 1, 1), (-1, 1, -1)))
    fits &= not any(profile.workspace.contains(box * (1.0 + 0.01 * axis)) for axis in np.eye(3))
    stuck = float(np.abs(push(pen(holds_weight=True), (0.24, 0.0, 0.0), 500)).max())
    slid = float(push(plant, (0.35, 0.0, 0.0), 500)[0])
    steps = slid / profile.position_step
    push(plant, (20.0, 0.0, 10.0), 1)
    clipped = float(np.hypot(plant.port.torque[0], plant.port.torque[2]))
    arm = Arm.of(load_robot("omni"))
    tip = float(np.abs(arm.M[:3, :3] - 0.045 * np.eye(3)).max())
    lasting = _lasting(pen(holds_weight=True))
    stiff = profile.axis_stiffness == [1260.0, 2310.0, 1020.0] and profile.stiffness_max == 1020.0
    ok = fits and stuck < 3e-4 and slid > 10.0 * stuck and abs(steps - round(steps)) < 1e-9
    ok = ok and abs(clipped - 3.3) < 1e-9 and tip < 1e-12 and stiff
    ok = ok and abs(lasting - 0.88) < 0.01 and abs(profile.position_step - 5.644e-5) < 1e-8
    note = (
        f"0.24 N moves it {1e3 * stuck:.2f} mm, 0.35 N {1e3 * slid:.1f} mm; "
        f"after 5 min {lasting:.3f} N are left"
    )
    return Finding(clipped, bool(ok), note)


def _lasting(plant: HapticPlant) -> float:
    """Force that is left after five minutes of commands above the peak, [N]."""
    command = JointTorque(6)
    command.value[0] = 5.0
    for tick in range(30_000):
        plant.write(command, tick * 10 * MS)
    return float(abs(plant.port.torque[0]))


@experiment("H-24")
def frames() -> Finding:
    """The Jacobian of the device's model at random poses."""
    arm, rng, power, same = Arm.of(load_robot("omni")), generator("device"), 0.0, True
    for _ in range(100):
        q, v, force = rng.uniform(-0.03, 0.03, 6), rng.normal(size=6), rng.normal(size=3)
        arm.update(q, v)
        same &= bool(np.abs(arm.J[:3, :3] - DEVICE_TO_WORLD).max() < 1e-12)
        same &= bool(np.abs(arm.position - DEVICE_TO_WORLD @ q[:3]).max() < 1e-12)
        at_motors = arm.J[:3, :3].T @ force
        power = max(power, abs(float(force @ arm.twist[:3]) - float(at_motors @ v[:3])))
    model = load_robot("omni").compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    tip = float(np.linalg.norm(data.site("pen_tip").xpos - data.site("tool").xpos))
    ok = same and power < 1e-12 and abs(tip - 0.040) < 1e-12
    return Finding(power, ok, f"tip {1e3 * tip:.0f} mm from the wrist point")


@experiment("H-45")
def profiles() -> Finding:
    """Each by itself, and each in the rig."""
    ok, turns, volumes = True, [], []
    for name, peak in (("omni", 3.3), ("phantom_desktop", 7.4), ("virtuose", 10.0)):
        plant = pen(name, holds_weight=True, coulomb=0.0)
        command = JointTorque(6)
        command.value[:] = (30.0, 0.0, 0.0, 5.0, 0.0, 0.0)
        plant.write(command, MS)
        shown = plant.port.torque.copy()
        rig = build_rig("humanoid", Options(settings=[("rig.device", name)], scenario="rest"))
        ok &= dict(row[:2] for row in rig.parameters())["leader.force.peak"] == peak
        rig.close()
        ok &= bool(abs(shown[0] - peak) < 1e-9)
        turns.append(round(float(shown[3]), 3))
        volumes.append(_volume(plant.profile.workspace))
    ok = ok and turns == [0.0, 0.0, 0.5] and len(set(volumes)) == 3
    listed = ", ".join(f"{volume:.2f}" for volume in volumes)
    note = f"3.3, 7.4, 10 N; torque {turns} N·m; workspaces {listed} dm³"
    return Finding(len(turns), ok, note)


def _volume(workspace: Workspace) -> float:
    """Volume by counting, [dm³]."""
    p = generator("volume").uniform(-0.1, 0.1, (20_000, 3))
    return 8.0 * float(np.mean([workspace.contains(at) for at in p]))


def _turned(spec: mujoco.MjSpec) -> None:
    spec.joint("z").axis = [-1.0, 0.0, 0.0]


MUTATIONS = [
    Mutation("no-clip", "the device shows any force", ("H-23", "H-45")).patch(
        HapticPlant, "_saturate", lambda self, torque, fraction: None
    ),
    Mutation(
        "away-is-towards", "the device's third axis points away from the operator", ("H-24",)
    ).change(
        sys.modules[__name__], "load_robot", lambda whole: lambda name: whole(name).edited(_turned)
    ),
    Mutation("never-warm", "the device's motors never warm up", ("H-23",)).patch(
        HapticPlant, "_warm", lambda self, force, now_ns: None
    ),
    Mutation("round-workspace", "every workspace is an ellipsoid", ("H-23",)).change(
        Workspace, "contains", lambda whole: lambda w, p: whole(replace(w, shape="ellipsoid"), p)
    ),
]
