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
from farhand.coupling.openarm import OpenArm, published
from farhand.mapping.joint_map import JointMapping
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import MotorArm, load_arm
from farhand.plants.damiao.frames import Mit, Order
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import Drive, SimulatedArm
from farhand.spatial import Array

JOINTS = 8
SPEED_LIMIT = 8.0
"""Speed at which the makers' program would stop, [rad/s]."""

KICK_NM, KICK_S = 2.0, 0.03
"""Torque on the leader's second joint at the start, and its length."""

STILL = 0.02
"""Root mean square velocity of a joint that does not shake, [rad/s]: one step of a DM8009."""


@dataclass(frozen=True)
class Case:
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
    seconds: float = 2.0


@dataclass(frozen=True)
class Outcome:
    """What the arms did in the last half of the time."""

    worst: int  #: joint that moves most, from 1
    speed: float  #: its root mean square velocity, [rad/s]
    frequency: float  #: its strongest frequency, [Hz]
    stopped: float | None  #: when a joint was too fast, or None, [s]

    @property
    def shakes(self) -> bool:
        """Whether the arms do not come to rest."""
        return self.stopped is not None or self.speed > STILL


class Side:
    """One arm, and what the program knows of it."""

    def __init__(self, arm: MotorArm, case: Case) -> None:
        drive = Drive(rate=case.motor_rate, velocity_filter=case.velocity_filter)
        self.simulated, self.arm = SimulatedArm(arm, drive=drive), arm
        self.model = Arm.of(self.simulated.robot)
        gains = published("openarm", JOINTS, JOINTS)
        engine = self.simulated.world.model
        engine.dof_damping[:] = case.true_friction * gains["viscous"]
        engine.dof_frictionloss[:] = case.true_friction * gains["coulomb"]
        self.q, self.v = self.simulated.q.copy(), np.zeros(JOINTS)
        self._numbers = {motor.answer: index for index, motor in enumerate(arm.motors)}

    def listen(self) -> None:
        """Take the answers that have come."""
        while self.simulated.received:
            _, frame = self.simulated.received.popleft()
            index = self._numbers[frame.id]
            motor = self.arm.motors[index]
            state = frames.decode_state(frame.data, motor.ranges)
            self.q[index] = motor.zero + motor.ratio * state.q
            self.v[index] = motor.ratio * state.v

    def send(self, index: int, data: bytes, fd: bool) -> None:
        """Send one motor a frame."""
        self.simulated.send(CanFrame(self.arm.motors[index].id, data, fd))

    def chase(self, q: Array, v: Array, law: OpenArm, gains: tuple[Array, Array], fd: bool) -> None:
        """Let the motors go to the other arm's state, with weight and friction fed forward."""
        self.model.update(self.q, np.zeros(JOINTS))
        torque = self.model.gravity + law.friction(self.v)
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


def run(case: Case) -> Outcome:
    """Couple two arms, kick the leader's second joint, and look at what is left."""
    arm = replace(load_arm("openarm"), timeout=5.0)
    sides = Side(arm, case), Side(arm, case)
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
    period_ns = round(1e9 / case.rate)
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
        # slides count as their motors turn
        speeds.append(np.stack([side.simulated.v / np.abs(side.arm.ratios) for side in sides]))
        if np.abs(speeds[-1]).max() > SPEED_LIMIT:
            return _judge(speeds, case, now_ns * 1e-9)
    return _judge(speeds, case, None)


def _judge(speeds: list[Array], case: Case, stopped: float | None) -> Outcome:
    late = np.array(speeds[len(speeds) // 2 :])
    late = late - late.mean(axis=0) if stopped is None else late
    size = np.sqrt((late**2).mean(axis=0))
    side, joint = np.unravel_index(int(size.argmax()), size.shape)
    spectrum = np.abs(np.fft.rfft(late[:, side, joint]))
    spectrum[0] = 0.0
    frequency = float(np.fft.rfftfreq(len(late), 1.0 / case.rate)[int(spectrum.argmax())])
    return Outcome(int(joint) + 1, float(size[side, joint]), frequency, stopped)


CASES = {
    "as published, friction as found": Case(),
    "as published, CAN 2.0 at 500 Hz": Case(rate=500.0, fd=False),
    "friction read as in the file": Case(reading="file"),
    "half the friction in truth": Case(true_friction=0.5),
    "a third of the friction fed forward": Case(share=0.3),
    "half the friction in truth, a third fed forward": Case(true_friction=0.5, share=0.3),
    "no friction fed forward": Case(share=0.0),
    "file, half the friction in truth": Case(reading="file", true_friction=0.5),
    "file, a third fed forward": Case(reading="file", share=0.3),
    "motors filter velocity at 30 Hz": Case(velocity_filter=30.0),
    "motors filter velocity at 10 Hz": Case(velocity_filter=10.0),
    "published damping halved": Case(damping=0.5),
    "published stiffness halved": Case(stiffness=0.5),
}


def main() -> None:
    """Print every case."""
    for name, case in CASES.items():
        found = run(case)
        end = "comes to rest" if not found.shakes else f"shakes at {found.frequency:.1f} Hz"
        end = end if found.stopped is None else f"runs away, stopped at {found.stopped:.2f} s"
        print(f"{name:50s} joint {found.worst} {found.speed:7.3f} rad/s  {end}", flush=True)


if __name__ == "__main__":
    main()
