"""The youBot's bridge with its start-up sequence around the law: from a folded arm to full force feedback."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.bridge import NO_NUMBER, DirectBridge
from farhand.control.joint_move import JointMove
from farhand.coupling import Coupling, Spring
from farhand.coupling.trial import told
from farhand.link.haptic_messages import ArmJoints, HapticState, SpringWrench
from farhand.link.port import OutPort
from farhand.mapping.pen import PenMapping
from farhand.plants.gripper import GripperDrive
from farhand.plants.haptic import HapticPlant
from farhand.rigs.youbot_startup import ALIVE, ControlMode, YoubotStartup
from farhand.station import Station
from farhand.telemetry import Telemetry

Array = np.ndarray

HOME = 0.005
"""How near its origin the pen must be before the arm unfolds, [m]; assumed: an operator looked and typed."""


class Drives:
    """The arm's drives, as far as the start-up switches them: they hold, are led to a pose, or take torque.

    Args:
        still: how the arm is held and led.

    Attributes:
        mode: the present one.
    """

    def __init__(self, still: JointMove) -> None:
        self.mode, self.still = ControlMode.MOTOR_STOP, still

    def set_control_mode(self, mode: ControlMode) -> None:
        """Switch the arm's drives."""
        self.mode = mode


class StartupBridge(DirectBridge):
    """The law between pen and robot, brought to life by the published start-up sequence.

    ``engage`` starts the sequence; ``release`` and every trip stop it. While it runs, the pen shows the homing spring
    and from engagement on the law's effort; the law's spring, if it has one, has the sequence's stiffness.

    Args:
        law: the coupling.
        a: the pen's station.
        b: the robot's, whose controller holds still by a :class:`~farhand.control.joint_move.JointMove`.
        still: that one.
        period_ns: time between evaluations, [ns].

    Attributes:
        startup: the sequence.
        gripper: the robot's, opened and closed by the pen's button.
    """

    def __init__(self, law: Coupling, a: Station, b: Station, still: JointMove, period_ns: int = 1_000_000) -> None:
        super().__init__(law, a, b, period_ns)
        self.drives = Drives(still)
        self.startup = YoubotStartup(self.drives)
        self.gripper: GripperDrive = b.plant.gripper or GripperDrive()  # type: ignore[attr-defined]
        self._outs: dict[str, OutPort[Any]] = {
            "C1.hap_in": OutPort("pen", HapticState),
            "C1.yb_in": OutPort("arm", ArmJoints),
            "C2.youbot_force": OutPort("spring", SpringWrench),
        }
        for name, out in (*self._outs.items(), ("C2.hap_in", self._outs["C1.hap_in"])):
            self.startup.ports[name].connect(out)
        self.startup.wire()
        self._wanted, self._streaming = False, False

    def record(self, telemetry: Telemetry, name: str) -> None:
        """Declare the bridge's channels, the start-up's among them."""
        super().record(telemetry, name)
        self.startup.machine.record(self._stream)
        self._opening = self._stream.channel("gripper", 1, "m")
        self._stiffness = self._stream.channel("stiffness", 2, "N/m, N·m/rad", ("kt", "kr"))

    def release(self) -> None:
        """Stop the sequence: the arm is held, the pen is free."""
        self._wanted = False

    def _engage(self) -> None:
        self._wanted = True

    def _evaluate(self, now_ns: int, dt: float) -> None:
        a, b, startup = self.a, self.b, self.startup
        if a.station.guard.trip is not None or b.station.guard.trip is not None:
            self.release()
        self._publish_sides()
        self._sequence(now_ns)
        a.asked[:] = 0.0
        a.asked[:3] = startup.pen_force
        try:
            if not self._spring(dt):
                b.stop(now_ns, self.law, NO_NUMBER)
        except Exception as error:  # a user's law may raise anything
            b.stop(now_ns, self.law, f"raised {told(error)}")
        a.apply(1.0 if startup.machine.state in ALIVE else 0.0, dt)
        b.apply(1.0 if startup.streaming else 0.0, dt)
        self._opening[0] = self.gripper.step(dt)
        self._stiffness[:] = startup.tunables.kt.value, startup.tunables.kr.value

    def _publish_sides(self) -> None:
        pen, arm = self.a.station, self.b.station.arm
        q, plant = pen.arm.q, pen.plant
        pressed = isinstance(plant, HapticPlant) and plant.buttons.get("gripper", False)
        angles = np.array([-q[5], q[4], -q[3]])  # the wrist turns about x, y, z by −o_z, o_y, −o_x
        self._outs["C1.hap_in"].write(HapticState(q[:3].copy(), angles, pressed, True))
        self._outs["C1.yb_in"].write(ArmJoints(arm.q[-5:]))

    def _sequence(self, now_ns: int) -> None:
        """Start, move on or stop the sequence, and pass on what it says."""
        startup, machine = self.startup, self.startup.machine
        if self._wanted and not machine.running:
            startup.start(now_ns)
        elif not self._wanted and machine.running:
            startup.stop(now_ns)
        if machine.running:
            if machine.state == "homing" and float(np.abs(self.a.station.arm.q[:3]).max()) < HOME:
                machine.post("set_initial_position")
            startup.step(now_ns)
        still = self.drives.still
        still.target = None if startup.joint_target is None else self._posture(startup.joint_target)
        if startup.gripper_command is not None:
            self.gripper.command(startup.gripper_command)

    def _posture(self, joints: Array) -> Array:
        """Where base and arm should be: the base stays."""
        return np.concatenate([self.b.station.arm.q[:-5], joints])

    def _spring(self, dt: float) -> bool:
        """The law while setpoints are streamed, with the sequence's gains; whether its efforts are numbers."""
        startup, law, tunables = self.startup, self.law, self.startup.tunables
        if not startup.streaming:
            self._streaming = False
            self.b.asked[:] = 0.0
            self.b.part()
            return True
        if not self._streaming:
            self._streaming = True
            law.engage(self.a.station.side, self.b.station.side)
        if isinstance(law.mapping, PenMapping):
            law.mapping.hybrid.speed, law.mapping.force_scale = tunables.v.value, 1.0 / tunables.kf.value
        spring = getattr(law, "spring", None)
        if isinstance(spring, Spring):
            spring.stiffness, spring.rotational_stiffness = tunables.kt.value, tunables.kr.value
            spring.refresh()
        on_a, on_b = law.step(self.a.station.side, self.b.station.side, dt)
        valid = self.b.take(on_b) and (not startup.feedback or self.a.take(on_a))
        self._outs["C2.youbot_force"].write(SpringWrench(self.b.asked))
        return valid
