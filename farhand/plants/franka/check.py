"""Whether an FR3 and this machine are fit to feel contact: link, model, friction, laws."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.coupling import LAWS
from farhand.errors import Mismatch
from farhand.plants.franka.plant import FrankaPlant, probe
from farhand.plants.franka.worker import JOINTS, LATE_S
from farhand.plants.plant import JointTorque
from farhand.robots import Robot
from farhand.spatial import Array

POSTURES = 100
STROKE_RAD, SPEED_RAD_S = 0.05, 0.05
"""How far and how fast a joint goes and comes back."""

BANDWIDTH = 20.0
"""Most of the springs that move it, [rad/s]; less where the loop is slow."""

OK, MARGINAL, NO = "ok", "marginal", "no"
LIMITS = {
    "success": (0.95, 0.8),  # least share of commands in time
    "callback": (LATE_S, 3 * LATE_S),  # 99th percentile, [s]
    "inertia": (0.1, 0.25),  # difference of the mass matrices over their size
    "friction": (2.0, 6.0),  # force at the tool that friction hides, [N]
}
"""Up to where a number is ok, and up to where it is marginal; assumed."""


@dataclass(frozen=True)
class LinkCheck:
    """How evenly states came and how soon they were answered, while the arm was held."""

    rate: float  #: cycles of torque, [Hz]
    jitter: float  #: 99th percentile of how far an interval was from their median, [s]
    callback: float  #: 99th percentile of the time of an answer, [s]
    delay: float  #: longest mean time from a state to the torque that answers it, [s]
    success: float  #: least share of 100 commands that came in time
    lost: int  #: states that did not come
    late: int  #: answers later than the maker's advice


@dataclass(frozen=True)
class ModelCheck:
    """Largest differences between the client's model and ours, at postures within the limits."""

    postures: int
    inertia: float  #: norm of the difference of M over the norm of M, rotors left out
    inertia_most: float  #: of one element of M, [kg·m²]
    coriolis: float  #: of a joint at speeds up to 0.5 rad/s, [N·m]
    gravity: float  #: of a joint, [N·m]
    jacobian: float  #: of one element of the Jacobian, [m] and [-]


@dataclass(frozen=True)
class FrankaCheck:
    """All that was found."""

    host: str
    client: str  #: version of the client
    robot: str
    mass: float  #: of tool and load as the controller has it, [kg]
    own_estimate: bool  #: whether the arm estimates contact by itself
    link: LinkCheck
    model: ModelCheck
    friction: list[float]  #: dry, of each joint, [N·m]
    hidden: float  #: force at the tool that it hides, [N]
    laws: dict[str, str]  #: verdict by law


def compare_models(host: str, robot: Robot, seed: int = 0) -> ModelCheck:
    """The client's model against ours at 100 postures."""
    rng, limits, n = np.random.default_rng(seed), robot.limits, len(robot.home)
    low, high = limits.lower[:JOINTS], limits.upper[:JOINTS]
    room = 0.1 * (high - low)
    q = rng.uniform(low + room, high - room, (POSTURES, JOINTS))
    v = rng.uniform(-0.5, 0.5, q.shape)
    theirs = probe(host, q, v)
    arm, armature = Arm.of(robot), robot.compile().dof_armature[:JOINTS]
    found = np.zeros((POSTURES, 5))
    hand = np.zeros(n - JOINTS)
    for k in range(POSTURES):
        arm.update(np.concatenate([q[k], robot.home[JOINTS:]]), np.concatenate([v[k], hand]))
        M = arm.M[:JOINTS, :JOINTS] - np.diag(armature)
        off = M - theirs["mass_matrix"][k]
        coriolis = (arm.bias - arm.gravity)[:JOINTS] - theirs["coriolis"][k]
        gravity = arm.gravity[:JOINTS] - theirs["gravity"][k]
        jacobian = arm.J[:, :JOINTS] - theirs["jacobian"][k]
        found[k, 0] = np.linalg.norm(off) / np.linalg.norm(M)
        found[k, 1:] = [np.abs(each).max() for each in (off, coriolis, gravity, jacobian)]
    return ModelCheck(POSTURES, *found.max(axis=0).tolist())


class SpringHold:
    """Holds an arm by springs in wall time, and moves one joint of it.

    Args:
        plant: the arm.
        robot: its model.
    """

    def __init__(self, plant: FrankaPlant, robot: Robot) -> None:
        self.plant, self._command = plant, JointTorque(len(robot.home))
        self._arm = Arm.of(robot)
        self.start = plant.read(time.monotonic_ns()).q.copy()
        self._arm.update(self.start, np.zeros(self._arm.nv))
        M, delay = self._arm.M, plant.loop_delay
        self._omega = min(BANDWIDTH, 0.25 / delay)
        free = 1.0 / np.linalg.inv(M).diagonal()
        self._strength = np.minimum(M.diagonal() * self._omega, 0.125 / delay * free)

    def follow(self, joint: int, away: float, seconds: float) -> Array:
        """Move a joint by ``away`` from its start and hold the others; the states meanwhile.

        Raises:
            Mismatch: the arm stops itself.
        """
        plant, arm = self.plant, self._arm
        began, now = time.monotonic(), 0.0
        first = float(plant.read(time.monotonic_ns()).q[joint])
        plant.cycles()
        goal, v_goal = self.start.copy(), np.zeros(arm.nv)
        while now < seconds:
            sample = plant.read(time.monotonic_ns())
            if plant.fault is not None:
                raise Mismatch(f"the arm at {plant.host} stopped: {plant.fault}")
            arm.update(sample.q, sample.v)
            goal[joint] = first + (self.start[joint] + away - first) * now / seconds
            v_goal[joint] = (self.start[joint] + away - first) / seconds
            pull = self._omega * (goal - sample.q) + 2.0 * (v_goal - sample.v)
            self._command.value[:] = self._strength * pull + arm.gravity
            plant.write(self._command, 0)
            time.sleep(0.001)
            now = time.monotonic() - began
        return plant.cycles()


def measure_link(springs: SpringHold, seconds: float) -> LinkCheck:
    """Hold the arm for a while and look at every cycle."""
    states = springs.follow(0, 0.0, seconds)
    driven = states[states["cycles"] > states["cycles"][0] + 200]
    if len(driven) < 100:
        raise Mismatch(f"only {len(states)} cycles within {seconds:g} s: too few to judge the link")
    intervals = 1e-9 * np.diff(driven["time_ns"].astype(float))
    return LinkCheck(
        rate=float(1.0 / intervals.mean()),
        jitter=float(np.percentile(np.abs(intervals - np.median(intervals)), 99)),
        callback=float(np.percentile(driven["callback"], 99)),
        delay=float(driven["delay"].max()),
        success=float(driven["success"].min()),
        lost=int(driven["lost"][-1] - driven["lost"][0]),
        late=int(driven["late"][-1] - driven["late"][0]),
    )


def measure_friction(springs: SpringHold, robot: Robot) -> Array:
    """Dry friction of each joint by 3 degrees there and back, [N·m].

    Half of the difference of the torques that move it there and back again: weight and anything
    else that does not change its sign with the speed drops out.
    """
    limits, start = robot.limits, springs.start
    away = np.where(limits.upper - start > start - limits.lower, STROKE_RAD, -STROKE_RAD)
    found = np.zeros(JOINTS)
    for joint in range(JOINTS):
        torques = []
        for goal in (away[joint], 0.0):
            states = springs.follow(joint, goal, STROKE_RAD / SPEED_RAD_S)
            # the first half has the change of direction in it
            half = states[len(states) // 2 :]
            passed = 1e-9 * float(half["time_ns"][-1] - half["time_ns"][0])
            torques.append((half["impulse"][-1] - half["impulse"][0])[joint] / passed)
        found[joint] = 0.5 * (torques[0] - torques[1]) * np.sign(away[joint])
        springs.follow(joint, 0.0, 0.1)
    return found


def hidden_force(robot: Robot, q: Array, friction: Array) -> float:
    """Force at the tool that friction hides, along the axis where it hides most, [N].

    A force moves the arm as soon as one joint gives way.
    """
    arm = Arm.of(robot)
    arm.update(q, np.zeros(arm.nv))
    levers = np.maximum(np.abs(arm.J[:3, :JOINTS]), 1e-6)
    return float(np.max(np.min(np.maximum(friction, 0.0) / levers, axis=1)))


def judge(link: LinkCheck, model: ModelCheck, hidden: float) -> dict[str, str]:
    """Verdict for every law: by the link, and by the model and friction where it needs them."""

    def grade(what: str, value: float, less: bool = True) -> int:
        good, fair = LIMITS[what]
        return sum(value > limit if less else value < limit for limit in (good, fair))

    always = max(grade("success", link.success, less=False), grade("callback", link.callback))
    found = {}
    for name, law in LAWS.items():
        worst = always
        if "models" in law.needs:
            worst = max(worst, grade("inertia", model.inertia))
        if law.needs & {"observers", "leader-wrench", "follower-wrench"}:
            worst = max(worst, grade("friction", hidden))
        found[name] = (OK, MARGINAL, NO)[worst]
    return found


def check_arm(host: str, robot: Robot, seconds: float = 5.0) -> FrankaCheck:
    """Measure an arm: it is held for ``seconds``, and every joint moves by 3 degrees and back.

    Raises:
        FileError: the client is not installed, or no arm answers.
        Mismatch: the arm does not fit the model, or stops itself.
    """
    asked = probe(host)
    model = compare_models(host, robot)
    plant = FrankaPlant("check", host, robot)
    try:
        springs = SpringHold(plant, robot)
        # until the torques have come in
        springs.follow(0, 0.0, 0.5)
        link = measure_link(springs, seconds)
        friction = measure_friction(springs, robot)
        own = plant.external is not None
    finally:
        plant.close()
    hidden = hidden_force(robot, springs.start, friction)
    verdicts = judge(link, model, hidden)
    return FrankaCheck(
        host,
        asked["client"],
        robot.name,
        asked["mass"],
        own,
        link,
        model,
        friction.tolist(),
        hidden,
        verdicts,
    )
