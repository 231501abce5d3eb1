"""Does a pair of OpenArms shake? Their makers' loop, motor by motor, on two simulated buses.

Each arm has its own bus with real bit times, MIT quantisation and motors that close their own loop.
Every tick the program takes the last answers of both arms and sends each motor the other arm's
position and velocity, the makers' gains, and weight and friction as a torque, as
``enactic/openarm_teleop`` does. Run it with ``python -m farhand_lab.openarm_shaking``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farhand.arm import Arm
from farhand.coupling.openarm import OpenArm
from farhand.coupling.published import published
from farhand.mapping.joint_map import JointMapping
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import MotorArm, load_arm
from farhand.plants.damiao.frames import Mit, Order
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import Drive, SimulatedCanArm
from farhand.spatial import Array

JOINTS = 8
SPEED_LIMIT = 8.0
"""Speed at which the makers' program would stop, [rad/s]."""

KICK_NM, KICK_S = 2.0, 0.03
"""Torque on the leader's second joint at the start, and its length."""

HAND_NM, HAND_NMS = 50.0, 0.5
"""Stiffness and damping of a hand about the second joint, [N·m/rad] and [N·m·s/rad]; 300 N/m and
3 N·s/m at 0.4 m, assumed."""

QUEUE = 10
"""Frames that wait in the program's interface before more are refused (Linux's default)."""

SLOW_HZ = 3.0
"""Frequency below which a motion is no shaking, [Hz]: an arm that moves on by itself."""

STILL = 0.02
"""Root mean square velocity of a joint that does not shake, [rad/s]: one step of a DM8009."""


@dataclass(frozen=True)
class ArmPair:
    """One pair of arms."""

    rate: float = 1000.0  #: of the program, [Hz]
    fd: bool = True  #: whether frames are FD frames
    reading: str = "code"  #: of the friction term, ``code`` or ``file``
    share: float = 1.0  #: of the friction that is fed forward, [-]
    stiffness: float = 1.0  #: over the published one, [-]
    damping: float = 1.0  #: over the published one, [-]
    true_friction: float = 1.0  #: of the arms, over what the makers found, [-]
    velocity_filter: float = 0.0  #: cut-off in the motors, 0 for none, [Hz]
    motor_rate: float = 2000.0  #: of the motors' own loops, [Hz]
    hand: bool = False  #: whether a hand holds the leader at its shoulder
    seconds: float = 2.0


@dataclass(frozen=True)
class ShakingResult:
    """What the arms did in the last half of the time."""

    worst: int  #: joint that moves most, from 1
    speed: float  #: its root mean square velocity, [rad/s]
    frequency: float  #: its strongest frequency, [Hz]
    stopped: float | None  #: when a joint was too fast, or None, [s]
    age: float  #: of the oldest state that the program used, [s]
    oldest: int  #: joint that it was of, from 1

    @property
    def text(self) -> str:
        """What the arms did, in words."""
        if self.stopped is not None:
            return f"runs away, stopped at {self.stopped:.2f} s"
        if self.speed <= STILL:
            return "comes to rest"
        slow = self.frequency < SLOW_HZ
        return "moves on by itself" if slow else f"shakes at {self.frequency:.1f} Hz"


class ProgrammedArm:
    """One arm, and what the program knows of it."""

    def __init__(self, arm: MotorArm, case: ArmPair) -> None:
        drive = Drive(rate=case.motor_rate, velocity_filter=case.velocity_filter)
        self.simulated, self.arm = SimulatedCanArm(arm, drive=drive), arm
        self.model = Arm.of(self.simulated.robot)
        gains = published("openarm", JOINTS, JOINTS)
        engine = self.simulated.world.model
        engine.dof_damping[:] = case.true_friction * gains["viscous"]
        engine.dof_frictionloss[:] = case.true_friction * gains["coulomb"]
        self.q, self.v = self.simulated.q.copy(), np.zeros(JOINTS)
        self.heard_ns, self.age_ns = np.zeros(JOINTS), np.zeros(JOINTS)
        self._numbers = {motor.answer: index for index, motor in enumerate(arm.motors)}

    def listen(self) -> None:
        """Take the answers that have come."""
        while self.simulated.received:
            at_ns, frame = self.simulated.received.popleft()
            index = self._numbers[frame.id]
            self.heard_ns[index] = at_ns
            motor = self.arm.motors[index]
            state = frames.decode_state(frame.data, motor.ranges)
            self.q[index] = motor.zero + motor.ratio * state.q
            self.v[index] = motor.ratio * state.v
        self.age_ns = np.maximum(self.age_ns, self.simulated.now_ns - self.heard_ns)

    def send(self, index: int, data: bytes, fd: bool) -> None:
        """Send one motor a frame, if there is room for it."""
        if len(self.simulated.host.waiting) < QUEUE:
            self.simulated.send(CanFrame(self.arm.motors[index].id, data, fd))

    def chase(self, q: Array, v: Array, law: OpenArm, gains: tuple[Array, Array], fd: bool) -> None:
        """Let the motors go to the other arm's state, with weight and friction fed forward."""
        self.model.update(self.q, np.zeros(JOINTS))
        torque = self.model.gravity + law.friction(self.v)
        # the gripper's friction says nothing about the arm
        torque[-1] = self.model.gravity[-1]
        for index, motor in enumerate(self.arm.motors):
            ratio = motor.ratio
            command = Mit(
                float((q[index] - motor.zero) / ratio),
                float(v[index] / ratio),
                float(gains[0][index] * ratio**2),
                float(gains[1][index] * ratio**2),
                float(torque[index] * ratio),
            )
            self.send(index, frames.encode_mit(command, motor.ranges), fd)


def run(case: ArmPair) -> ShakingResult:
    """Couple two arms, kick the leader's second joint, and look at what is left."""
    arm = replace(load_arm("openarm"), timeout=5.0)
    sides = ProgrammedArm(arm, case), ProgrammedArm(arm, case)
    names = [f"joint{number}" for number in range(JOINTS)]
    law = OpenArm(
        mapping=JointMapping.alike(names, names, slides=[False] * 7 + [True]),
        published=True,
        reading=case.reading,
        friction_share=case.share,
    )
    table = published("openarm", JOINTS, JOINTS)
    gains = case.stiffness * table["stiffness"], case.damping * table["damping"]
    for side in sides:
        for index in range(JOINTS):
            side.send(index, frames.encode_order(Order.ENABLE), case.fd)
    period_ns, start = round(1e9 / case.rate), float(sides[0].q[1])
    speeds: list[Array] = []
    for tick in range(round(case.seconds * case.rate)):
        now_ns = tick * period_ns
        for side in sides:
            side.simulated.advance(now_ns)
            side.listen()
        a, b = sides
        (q_a, v_a), (q_b, v_b) = (a.q.copy(), a.v.copy()), (b.q.copy(), b.v.copy())
        a.chase(q_b, v_b, law, gains, case.fd)
        b.chase(q_a, v_a, law, gains, case.fd)
        kicked = 0.1 < now_ns * 1e-9 < 0.1 + KICK_S
        a.simulated.push[1] = KICK_NM if kicked else 0.0
        if case.hand:
            away, speed = a.simulated.q[1] - start, a.simulated.v[1]
            a.simulated.push[1] -= HAND_NM * away + HAND_NMS * speed
        # slides count as their motors turn
        speeds.append(np.stack([side.simulated.v / np.abs(side.arm.ratios) for side in sides]))
        if np.abs(speeds[-1][:, :7]).max() > SPEED_LIMIT:
            return _judge(speeds, sides, case, now_ns * 1e-9)
    return _judge(speeds, sides, case, None)


def _judge(
    speeds: list[Array],
    sides: tuple[ProgrammedArm, ProgrammedArm],
    case: ArmPair,
    stopped: float | None,
) -> ShakingResult:
    late = np.array(speeds[len(speeds) // 2 :])[:, :, :7]
    late = late - late.mean(axis=0) if stopped is None else late
    size = np.sqrt((late**2).mean(axis=0))
    side, joint = np.unravel_index(int(size.argmax()), size.shape)
    spectrum = np.abs(np.fft.rfft(late[:, side, joint]))
    spectrum[0] = 0.0
    frequency = float(np.fft.rfftfreq(len(late), 1.0 / case.rate)[int(spectrum.argmax())])
    ages = np.maximum(sides[0].age_ns, sides[1].age_ns)
    oldest = int(ages.argmax())
    return ShakingResult(
        int(joint) + 1,
        float(size[side, joint]),
        frequency,
        stopped,
        float(ages[oldest]) * 1e-9,
        oldest + 1,
    )


CASES = {
    "as published, friction as found": ArmPair(),
    "damping halved": ArmPair(damping=0.5),
    "stiffness doubled": ArmPair(stiffness=2.0),
    "motors filter velocity at 10 Hz": ArmPair(velocity_filter=10.0),
    "friction read as in the file": ArmPair(reading="file"),
    **{
        f"CAN 2.0, {rate:g} Hz": ArmPair(rate=rate, fd=False)
        for rate in (400.0, 500.0, 550.0, 1000.0)
    },
    **{
        f"{ratio:.0%} of the friction in truth": ArmPair(true_friction=ratio)
        for ratio in (1.2, 0.9, 0.8, 0.7, 0.5)
    },
    **{
        f"50 % of the friction in truth, {share:.0%} fed forward": ArmPair(
            true_friction=0.5, share=share
        )
        for share in (0.7, 0.6, 0.5, 0.4, 0.3)
    },
    "50 % of the friction in truth, read as in the file": ArmPair(
        true_friction=0.5, reading="file"
    ),
    "hand, friction as found": ArmPair(hand=True),
    "hand, friction as found, file": ArmPair(hand=True, reading="file"),
    "hand, 50 % of the friction in truth": ArmPair(hand=True, true_friction=0.5),
    "hand, 50 % of the friction, file": ArmPair(hand=True, true_friction=0.5, reading="file"),
    "hand, 50 % of the friction, 30 % fed forward": ArmPair(
        hand=True, true_friction=0.5, share=0.3
    ),
}


def main() -> None:
    """Print every case."""
    for name, case in CASES.items():
        found = run(case)
        age = f"oldest answer {1e3 * found.age:.1f} ms (joint {found.oldest})"
        worst = f"joint {found.worst} {found.speed:7.3f} rad/s"
        print(f"{name:55s} {worst}  {found.text:30s} {age}", flush=True)


if __name__ == "__main__":
    main()
