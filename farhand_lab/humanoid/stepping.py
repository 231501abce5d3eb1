"""A full step with real contact: whole-body postures, then servos and ground in MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pinocchio as pin
from scipy.optimize import lsq_linear

from farhand.robots import Robot, load_robot
from farhand_lab.humanoid.body import SIDES, AnkleBand, WrappedBand

Array = np.ndarray

HALF_HIPS = 0.045  # half the distance of the hips, [m]
TIP = 0.090  # from the ankle to the tip of the foot, [m]
HIP = ("hip_flexion", "hip_abduction", "hip_rotation")
LEGS = (*HIP, "knee", "ankle_flexion", "ankle_inversion", "toe")
POSTURES_PER_STANCE = 12
ITERATIONS = 15
TIME_STEP = 1e-3  # [s]
STEPS_PER_RECORD = 20
FALLEN_HEIGHT = 0.20  # of the pelvis above the highest sole; below it the robot lies, [m]

AIR, TOES, FLAT = 0, 1, 2
"""How a foot touches the ground."""
# weights of a foot's pitch, and of toes in line with the foot
PITCH_WEIGHT = {AIR: 0.02, TOES: 1.0, FLAT: 1.0}
TOE_WEIGHT = {AIR: 0.3, TOES: 5e-3, FLAT: 0.3}


@dataclass(frozen=True)
class FootStance:
    """Where the feet are and where the weight is, at the end of a stretch of time."""

    seconds: float  #: how long it takes to get here, [s]
    left: tuple[float, float]  #: x and z of the left sole under its ankle, [m]
    right: tuple[float, float]  #: the same of the right
    cog: tuple[float, float]  #: x and y of the centre of gravity, [m]
    pelvis: float  #: target height of the pelvis, [m]; not reached where legs are too short
    #: of the left and the right foot on the way here: in the air, on its toes, or flat
    contact: tuple[int, int] = (FLAT, FLAT)

    @property
    def numbers(self) -> Array:
        """All that is interpolated."""
        return np.array([*self.left, *self.right, *self.cog, self.pelvis, *self.contact])


@dataclass(frozen=True)
class FullStep:
    """Both feet up on a step, one after the other, slowly enough to stand at every moment.

    The publication ends where the free foot lands, because it has no ground contact. All numbers
    here are assumed.
    """

    height: float = 0.025  #: of the step, [m]
    forward: float = 0.125  #: how far both feet go, [m]
    #: where the step begins, [m] in front of the ankles; just ahead of the toes
    edge: float = 0.095
    clearance: float = 0.020  #: how high above the step a foot passes, [m]
    crouch: float = 0.022  #: how far the pelvis is lowered, [m]
    ahead: float = 0.015  #: how far in front of the ankle the weight stands, [m]
    #: how far from the middle of the foot towards the other the weight stands, [m]
    inward: float = 0.004
    #: how far forward the weight is when the rear heel leaves the ground, over its toes, [m]
    between: float = 0.095
    slow: float = 1.0  #: factor on all times, [-]

    def stances(self) -> list[FootStance]:
        """From standing in front of the step to standing on it."""
        h, d, up = self.height, self.forward, self.height + self.clearance
        side = HALF_HIPS - self.inward
        low, top = 0.382 - self.crouch, 0.382 - self.crouch + self.height
        there = d + self.ahead
        stances = [FootStance(1.0, (0.0, 0.0), (0.0, 0.0), (self.ahead, 0.0), low)]

        def then(seconds: float, **changes: object) -> None:
            stances.append(replace(stances[-1], seconds=seconds, **changes))  # type: ignore[arg-type]

        # over the right foot, lift the left, over the step, down
        then(2.0, cog=(self.ahead, -side))
        then(2.0, left=(0.0, up), contact=(AIR, FLAT))
        then(2.0, left=(d, up))
        then(1.5, left=(d, h))
        # weight on both, then over the left foot with the right one on its toes
        middle = 0.5 * (low + top)
        then(2.5, cog=(self.between, 0.0), pelvis=middle, contact=(FLAT, FLAT))
        then(2.0, cog=(there, side), pelvis=top, contact=(FLAT, TOES))
        # lift the right foot, over the step, down, weight on both
        then(2.0, right=(0.0, up), contact=(FLAT, AIR))
        then(2.0, right=(d, up))
        then(1.5, right=(d, h))
        then(2.0, cog=(there, 0.0), contact=(FLAT, FLAT))
        return stances

    @property
    def duration(self) -> float:
        """Of the whole, [s]."""
        return self.slow * sum(stance.seconds for stance in self.stances())


@dataclass(frozen=True)
class Postures:
    """Configurations of a free-floating robot over time."""

    times: Array  #: shape (n,), [s]
    q: Array  #: in Pinocchio's order, shape (n, nq)
    error: Array  #: how far feet and weight are from where they should be, shape (n,), [m]

    def joints(self, t: float) -> Array:
        """Joint angles at a time, [rad]."""
        i = int(np.clip(np.searchsorted(self.times, t) - 1, 0, len(self.times) - 2))
        share = float(np.clip((t - self.times[i]) / (self.times[i + 1] - self.times[i]), 0.0, 1.0))
        return self.q[i, 7:] + share * (self.q[i + 1, 7:] - self.q[i, 7:])


class StepPlanner:
    """Finds postures by damped least squares over base, legs and toes, within the joints' ranges.

    Feet and weight come first. Pelvis height, an upright pelvis, flat toes and small angles follow
    in that order, with ever smaller weights. Arms, torso and head stay as they are.

    Args:
        robot: a free-floating humanoid; PHUA by default.
    """

    def __init__(self, robot: Robot | None = None) -> None:
        self.robot = robot or load_robot("phua")
        self.model = self.robot.pinocchio()
        self.data = self.model.createData()
        names = list(self.model.names)[2:]
        legs = [names.index(f"{side}_{joint}") for side in SIDES for joint in LEGS]
        self._moving = np.concatenate([np.arange(6), 6 + np.array(legs)])
        frame = pin.FrameType.OP_FRAME
        self._tips = [self.model.getFrameId(f"{side}_foot_tip", frame) for side in SIDES]
        self._lower, self._upper = self.robot.limits.lower[6:], self.robot.limits.upper[6:]
        self._weights = np.array(
            [2e-2 if name.endswith("hip_rotation") else 3e-4 for name in names]
        )
        self._toes = [names.index(f"{side}_toe") for side in SIDES]

    def postures(self, stances: Sequence[FootStance], slow: float = 1.0) -> Postures:
        """Postures along the stances, each solved from the one before."""
        q = pin.neutral(self.model)
        q[2] = stances[0].pelvis
        bent = {"hip_flexion": 0.5, "knee": 0.9, "ankle_flexion": 0.3}
        for number, name in enumerate(list(self.model.names)[2:]):
            q[7 + number] = bent.get(name.partition("_")[2], 0.0)
        now = 0.0
        rows = [(0.0, *self._solve(q, stances[0].numbers))]
        for before, after in zip([stances[0], *stances[:-1]], stances, strict=True):
            for s in np.arange(1, POSTURES_PER_STANCE + 1) / POSTURES_PER_STANCE:
                share = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
                target = before.numbers + share * (after.numbers - before.numbers)
                target[7:] = after.contact
                rows.append((now + s * after.seconds * slow, *self._solve(rows[-1][1], target)))
            now = rows[-1][0]
        times, configurations, errors = zip(*rows, strict=True)
        return Postures(np.array(times), np.stack(configurations), np.array(errors))

    def _solve(self, q: Array, target: Array) -> tuple[Array, float]:
        moving = self._moving
        for _ in range(ITERATIONS):
            error, J, first = self._tasks(q, target)
            step = np.zeros(self.model.nv)
            step[moving] = self._step(J, error, *(limit[moving] for limit in self._room(q)))
            q = pin.integrate(self.model, q, step)
            if float(np.abs(step).max()) < 1e-4:
                break
        return q, float(np.abs(self._tasks(q, target)[0][:first]).max())

    def _room(self, q: Array) -> tuple[Array, Array]:
        """How far every velocity may go down and up in one step: at most 0.2 rad or m."""
        low, high = np.full(self.model.nv, -0.2), np.full(self.model.nv, 0.2)
        low[6:] = np.clip(self._lower - q[7:], -0.2, 0.0)
        high[6:] = np.clip(self._upper - q[7:], 0.0, 0.2)
        return low, high

    @staticmethod
    def _step(J: Array, error: Array, low: Array, high: Array) -> Array:
        """Least-squares step within bounds."""
        step = np.linalg.solve(J.T @ J + 1e-9 * np.eye(J.shape[1]), J.T @ error)
        if (step >= low).all() and (step <= high).all():
            return step
        return lsq_linear(J, error, (low - 1e-9, high + 1e-9), method="bvls").x

    def _tasks(self, q: Array, target: Array) -> tuple[Array, Array, int]:
        """Weighted errors and Jacobian; the first rows are feet and weight."""
        model, data = self.model, self.data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        errors, rows = [], []
        feet = target[[0, 1, 7]], target[[2, 3, 8]]
        for tip, place, y in zip(self._tips, feet, (HALF_HIPS, -HALF_HIPS), strict=True):
            foot = pin.SE3(np.eye(3), np.array([place[0] + TIP, y, place[1]]))
            weight = np.array([1.0, 1.0, 1.0, 1.0, PITCH_WEIGHT[int(place[2])], 1.0])
            errors.append(weight * pin.log6(data.oMf[tip].actInv(foot)).vector)
            rows.append(weight[:, None] * pin.getFrameJacobian(model, data, tip, pin.LOCAL))
        rows.append(pin.jacobianCenterOfMass(model, data, q)[:2])
        errors.append(target[4:6] - data.com[0][:2])
        first = sum(map(len, errors))
        base = np.zeros((4, model.nv))
        base[0, :3] = 0.1 * data.oMi[1].rotation[2]  # height of the pelvis
        base[1:, 3:6] = 0.02 * np.eye(3)
        tilt = -0.02 * pin.log3(data.oMi[1].rotation)
        errors.append(np.concatenate([[0.1 * (target[6] - q[2])], tilt]))
        self._weights[self._toes] = [TOE_WEIGHT[int(contact)] for contact in target[7:]]
        small = np.zeros((len(self._weights), model.nv))
        small[:, 6:] = np.diag(self._weights)
        errors.append(-self._weights * q[7:])
        return np.concatenate(errors), np.vstack([*rows, base, small])[:, self._moving], first


@dataclass(frozen=True)
class StepServos:
    """The joints' servos in a simulation: position with a spring and a damper, up to a torque."""

    stiffness: float = 300.0  #: [N·m/rad]; assumed, the publication gives none
    damping: float = 5.0  #: [N·m·s/rad]; assumed
    armature: float = 0.01  #: inertia of rotor and gears, [kg·m²]; assumed
    limited: bool = False  #: whether the rated torques hold
    bands: bool = False  #: whether rubber bands help at knees and ankles


@dataclass(frozen=True)
class Walk:
    """Records of a simulated step, n of them."""

    soles: Array  #: positions of the left and right sole, shape (n, 2, 3), [m]
    force: Array  #: vertical force of the ground on the left and right foot, shape (n, 2), [N]
    torque: Array  #: of the servos, shape (n, joints), [N·m]
    joints: tuple[str, ...]  #: names of the joints
    fell: float | None  #: when it fell, [s]; None if it did not

    def peak(self, joint: str) -> float:
        """Largest torque of a joint on either side, [N·m]."""
        columns = [number for number, name in enumerate(self.joints) if name.endswith(joint)]
        return float(np.abs(self.torque[:, columns]).max())


def walk(step: FullStep, servos: StepServos) -> Walk:
    """Climb a step in MuJoCo: the planned postures are the servos' set-points."""
    planner = StepPlanner()
    plan = planner.postures(step.stances(), step.slow)
    model, data = _scene(planner.robot, step, servos)
    start = plan.q[0]
    # MuJoCo has the quaternion's real part first, Pinocchio has it last
    data.qpos[:7] = [*start[:3], start[6], *start[3:6]]
    data.qpos[7:] = start[7:]
    mujoco.mj_forward(model, data)
    return _run(model, data, plan)


def _scene(
    robot: Robot, step: FullStep, servos: StepServos
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Floor, step and robot, with soles that collide and a servo at every driven joint."""
    spec = robot.spec()
    spec.option.timestep = TIME_STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    box = mujoco.mjtGeom.mjGEOM_BOX
    rough = {"contype": 1, "conaffinity": 2, "friction": [1.0, 0.01, 1e-4]}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1], **rough)
    size = [0.5, 0.5, max(0.5 * step.height, 1e-4)]
    middle = [step.edge + 0.5, 0.0, 0.5 * step.height]
    spec.worldbody.add_geom(type=box, size=size, pos=middle, **rough)
    sole = rough | {"type": box, "contype": 2, "conaffinity": 1, "mass": 0.0}
    foot = sole | {"size": [0.0575, 0.025, 0.004], "pos": [-0.0025, 0.0, -0.046]}
    toe = sole | {"size": [0.0175, 0.025, 0.004], "pos": [0.0175, 0.0, 0.0]}
    for side in SIDES:
        spec.body(f"{side}_foot").add_geom(**foot)
        spec.body(f"{side}_toe").add_geom(**toe)
    driven = robot.actuated[6:]
    for number, joint in enumerate([one for one in spec.joints if one.name != "root"]):
        joint.armature = servos.armature
        if driven[number]:
            _drive(spec, joint.name, servos, float(robot.limits.torque[6 + number]))
            if servos.bands:
                _band(joint)
        else:
            # the toes' bands, assumed
            joint.stiffness[0], joint.damping[0] = 0.5, 0.05
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
    """Add a band as a joint's own spring; a wrapped band is at rest at a negative angle."""
    knee, ankle = WrappedBand(), AnkleBand()
    if joint.name.endswith("knee"):
        joint.stiffness[0] = knee.stiffness * knee.radius**2
        joint.springref = -knee.pretension / knee.radius
    elif joint.name.endswith("ankle_flexion"):
        joint.stiffness[0] = ankle.stiffness
        joint.springref = ankle.pretension / ankle.stiffness


def _run(model: mujoco.MjModel, data: mujoco.MjData, plan: Postures) -> Walk:
    names = [model.joint(i).name for i in range(1, model.njnt)]
    places = np.array([names.index(model.actuator(i).name) for i in range(model.nu)])
    pelvis = model.body("pelvis").id
    sole_ids = [model.site(f"{side}_sole").id for side in SIDES]
    feet = [{model.body(f"{side}_{part}").id for part in ("foot", "toe")} for side in SIDES]
    records = []
    fell = None
    for number in range(round((plan.times[-1] + 1.0) / TIME_STEP)):
        data.ctrl[:] = plan.joints(number * TIME_STEP)[places]
        mujoco.mj_step(model, data)
        if number % STEPS_PER_RECORD:
            continue
        torque = np.zeros(len(names))
        torque[places] = data.actuator_force
        soles = data.site_xpos[sole_ids].copy()
        records.append((soles, _foot_forces(model, data, feet), torque))
        if data.xpos[pelvis][2] < FALLEN_HEIGHT + float(soles[:, 2].min()):
            fell = data.time
            break
    soles, forces, torques = (np.stack(column) for column in zip(*records, strict=True))
    return Walk(soles, forces, torques, tuple(names), fell)


def _foot_forces(model: mujoco.MjModel, data: mujoco.MjData, feet: list[set[int]]) -> Array:
    """Vertical force on either foot, [N]."""
    force, wrench = np.zeros(2), np.zeros(6)
    for number in range(data.ncon):
        contact = data.contact[number]
        mujoco.mj_contactForce(model, data, number, wrench)
        bodies = {int(model.geom_bodyid[geom]) for geom in contact.geom}
        side = next((index for index, parts in enumerate(feet) if bodies & parts), None)
        if side is not None:
            force[side] += abs(float(contact.frame[2]) * wrench[0])
    return force
