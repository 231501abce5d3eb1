"""Ground: the full step in MuJoCo. A free body with servos at its joints; floor and step only push and rub."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.robots import Robot
from farhand_lab.humanoid.body.bands import AnkleBand, WrappedBand
from farhand_lab.humanoid.body.stepping import FullStep, Postures, StepPlanner

Array = np.ndarray

STEP = 1e-3  # [s]
EVERY = 20  # steps between two looks
FALLEN = 0.20  # [m], pelvis above the highest sole; below it the robot lies


@dataclass(frozen=True)
class StepServos:
    """The joints' servos in a simulation: position with a spring and a damper, up to a torque.

    Attributes:
        stiffness: [N·m/rad]; assumed, the publication gives none.
        damping: [N·m·s/rad]; assumed.
        armature: inertia of rotor and gears, [kg·m²]; assumed.
        limited: whether the rated torques hold.
        bands: whether rubber bands help at knees and ankles.
    """

    stiffness: float = 300.0
    damping: float = 5.0
    armature: float = 0.01
    limited: bool = False
    bands: bool = False


@dataclass(frozen=True)
class Walk:
    """What a simulated step left behind, n looks.

    Attributes:
        times: [s].
        pelvis: position of the pelvis, shape (n, 3), [m].
        soles: positions of the left and right sole, shape (n, 2, 3), [m].
        force: vertical force of the ground on the left and right foot, shape (n, 2), [N].
        cop: centre of pressure of all contacts, x and y, shape (n, 2), [m]; NaN in the air.
        torque: of the servos, shape (n, joints), [N·m].
        joints: names of the joints.
        fell: when it fell, [s]; None if it did not.
    """

    times: Array
    pelvis: Array
    soles: Array
    force: Array
    cop: Array
    torque: Array
    joints: tuple[str, ...]
    fell: float | None

    def peak(self, joint: str) -> float:
        """Largest torque of a joint on either side, [N·m]."""
        columns = [number for number, name in enumerate(self.joints) if name.endswith(joint)]
        return float(np.abs(self.torque[:, columns]).max())


def walk(
    step: FullStep, servos: StepServos = StepServos(), stepper: StepPlanner | None = None
) -> Walk:  # noqa: B008
    """Climb a step in MuJoCo: the postures of the plan are the servos' set-points, contact does the rest."""
    stepper = stepper or StepPlanner()
    plan = stepper.postures(step.stances(), step.slow)
    model, data = _scene(stepper.robot, step, servos)
    start = plan.q[0]
    data.qpos[:7] = [*start[:3], start[6], *start[3:6]]
    data.qpos[7:] = start[7:]
    mujoco.mj_forward(model, data)
    return _run(model, data, plan, step)


def _scene(
    robot: Robot, step: FullStep, servos: StepServos
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Floor, step and robot, with soles that collide and a servo at every driven joint."""
    spec = robot.spec()
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    rough = {"contype": 1, "conaffinity": 2, "friction": [1.0, 0.01, 1e-4]}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1], **rough)
    size = [0.5, 0.5, max(0.5 * step.height, 1e-4)]
    middle = [step.edge + 0.5, 0.0, 0.5 * step.height]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=middle, **rough)
    sole = rough | {"type": mujoco.mjtGeom.mjGEOM_BOX, "contype": 2, "conaffinity": 1, "mass": 0.0}
    for side in ("left", "right"):
        spec.body(f"{side}_foot").add_geom(
            size=[0.0575, 0.025, 0.004], pos=[-0.0025, 0.0, -0.046], **sole
        )
        spec.body(f"{side}_toe").add_geom(
            size=[0.0175, 0.025, 0.004], pos=[0.0175, 0.0, 0.0], **sole
        )
    driven = robot.actuated[6:]
    for number, joint in enumerate([one for one in spec.joints if one.name != "root"]):
        joint.armature = servos.armature
        if not driven[number]:
            joint.stiffness[0], joint.damping[0] = 0.5, 0.05  # the toes' bands, assumed
            continue
        _drive(spec, joint.name, servos, float(robot.limits.torque[6 + number]))
        if servos.bands:
            _band(joint)
    model = spec.compile()
    return model, mujoco.MjData(model)


def _drive(spec: mujoco.MjSpec, joint: str, servos: StepServos, rated: float) -> None:
    servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    servo.gainprm[0] = servos.stiffness
    servo.biasprm[1], servo.biasprm[2] = -servos.stiffness, -servos.damping
    if servos.limited:
        servo.forcelimited, servo.forcerange = True, [-rated, rated]


def _band(joint: mujoco.MjsJoint) -> None:
    """The bands as a joint's own spring; a wrapped band is linear in the angle, so its rest lies at a negative one."""
    knee, ankle = WrappedBand(), AnkleBand()
    if joint.name.endswith("knee"):
        joint.stiffness[0], joint.springref = (
            knee.stiffness * knee.radius**2,
            -knee.pretension / knee.radius,
        )
    elif joint.name.endswith("ankle_flexion"):
        joint.stiffness[0], joint.springref = ankle.stiffness, ankle.pretension / ankle.stiffness


def _run(model: mujoco.MjModel, data: mujoco.MjData, plan: Postures, step: FullStep) -> Walk:
    names = [model.joint(i).name for i in range(1, model.njnt)]
    places = np.array([names.index(model.actuator(i).name) for i in range(model.nu)])
    pelvis, soles = (
        model.body("pelvis").id,
        [model.site(f"{side}_sole").id for side in ("left", "right")],
    )
    feet = [
        [model.body(f"{side}_{part}").id for part in ("foot", "toe")] for side in ("left", "right")
    ]
    looks: list[tuple[Array, ...]] = []
    fell, count = None, round((plan.times[-1] + 1.0) / STEP)
    for number in range(count):
        data.ctrl[:] = plan.joints(number * STEP)[places]
        mujoco.mj_step(model, data)
        if number % EVERY:
            continue
        force, cop = _pressure(model, data, feet)
        torque = np.zeros(len(names))
        torque[places] = data.actuator_force
        looks.append(
            (
                np.array(data.time),
                data.xpos[pelvis].copy(),
                data.site_xpos[soles].copy(),
                force,
                cop,
                torque,
            )
        )
        if looks[-1][1][2] < FALLEN + float(looks[-1][2][:, 2].min()):
            fell = data.time
            break
    times, where, placed, force, cop, torque = (
        np.stack(column) for column in zip(*looks, strict=True)
    )
    return Walk(times, where, placed, force, cop, torque, tuple(names), fell)


def _pressure(
    model: mujoco.MjModel, data: mujoco.MjData, feet: list[list[int]]
) -> tuple[Array, Array]:
    """Vertical force on either foot and the centre of pressure of all contacts."""
    force, moment, wrench = np.zeros(2), np.zeros(2), np.zeros(6)
    for number in range(data.ncon):
        contact = data.contact[number]
        mujoco.mj_contactForce(model, data, number, wrench)
        body = {int(model.geom_bodyid[geom]) for geom in contact.geom}
        side = next((index for index, parts in enumerate(feet) if body & set(parts)), None)
        if side is None:
            continue
        up = abs(float(contact.frame[2]) * wrench[0])
        force[side] += up
        moment += up * contact.pos[:2]
    total = float(force.sum())
    return force, moment / total if total > 1e-6 else np.full(2, np.nan)
