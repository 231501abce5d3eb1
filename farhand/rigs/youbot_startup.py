"""How the youBot rig comes to life: from everything off to full force feedback, step by step, and back at any time.

======== =========================================================================================================
off      S0: motors stopped, until the device displays forces
homing   S1: a spring leads the pen to its origin, the tool is slack
unfold   S2: the arm goes to its candle pose under position control, every joint within the tolerance
approach S3: torque control, soft spring, setpoints are streamed
engage   S4: nothing pulls any more, force feedback begins
ramp     S5: the spring grows stiff
operate  S6: full bilateral operation
fault    motors stopped, the reason kept until reset
======== =========================================================================================================

Sequence, ports and interlocks are those of the source (spec 000 §2.5, §3.9); silences and timeouts are assumed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from farhand.control.engage import EngageGate, HomingSpring
from farhand.control.gripper_toggle import GripperToggle
from farhand.control.tunables import Tunables
from farhand.link.haptic_messages import ArmJoints, CartesianStiffness, Flag, HapticState, SpringWrench
from farhand.link.port import Flow, InPort, OutPort
from farhand.mapping.axis_map import PEN
from farhand.parameters import parameter
from farhand.safety.machine import Interlock, Machine, State, Transition

Array = np.ndarray

UNFOLDED = np.radians([169.0, 65.0, -146.0, 102.5, 167.5])
"""The arm straight up, "candle" (stated in the source), [rad]."""

PORTS: dict[str, type[Any]] = {
    "C1.hap_in": HapticState,
    "C1.yb_in": ArmJoints,
    "C1.rise_stiff": Flag,
    "C2.hap_in": HapticState,
    "C2.youbot_force": SpringWrench,
    "C2.force_feedback_flag": Flag,
}
"""What must be connected before anything starts, by component and port, with the message it takes."""

ALIVE = frozenset({"homing", "unfold", "approach", "engage", "ramp", "operate"})


class ControlMode(enum.Enum):
    """What the arm's drives do."""

    MOTOR_STOP = "motor stop"
    PLANE_ANGLE = "position"
    TORQUE = "torque"


class Peer(Protocol):
    """The robot, as far as the start-up needs it."""

    def set_control_mode(self, mode: ControlMode) -> None:
        """Switch the arm's drives."""


@dataclass
class YoubotStartup:
    """The bridge's start-up sequence, with everything that is switched on the way.

    Attributes:
        peer: the robot; None is a robot that is not there.
        tolerance: how near every joint must be to the candle pose, [rad].
        unfold_timeout: longest time to get there, [s].
        silence: longest time without a new pen or arm sample, [s].
        force_limit: largest force the pen displays, [N].
        tunables: stiffness, rate speed and force divisor.
        gate: when force feedback begins.
        homing: what leads the pen home before.
        gripper: the pen's button.
        machine: the states.
        ports: inputs by name; :meth:`wire` connects the two flags that stay inside.
        feedback: whether the pen displays the spring's force.
        streaming: whether setpoints may be sent to the controller.
        joint_target: where the arm goes under position control, [rad], or None.
        pen_force: what the pen displays, device axes, [N].
        gripper_command: new command of this tick, [m], or None.
    """

    peer: Peer | None
    tolerance: float = parameter(np.radians(10.0), "rad", "how near the candle pose every joint must be", 0.0, 1.0)
    unfold_timeout: float = parameter(30.0, "s", "longest time to unfold", 0.1, 600.0)  # assumed
    silence: float = parameter(0.1, "s", "longest silence of pen and arm", 0.001, 10.0)  # assumed
    force_limit: float = parameter(12.0, "N", "largest force the pen displays", 0.0, 100.0)  # data sheet, unverified
    tunables: Tunables = field(default_factory=Tunables)
    gate: EngageGate = field(default_factory=EngageGate)
    homing: HomingSpring = field(default_factory=HomingSpring)
    gripper: GripperToggle = field(default_factory=GripperToggle)

    def __post_init__(self) -> None:
        """All off."""
        self.ports: dict[str, InPort[Any]] = {name: InPort(name, kind) for name, kind in PORTS.items()}
        self._rise, self._flag = OutPort("C2.rise_stiff", Flag), OutPort("C1.force_feedback_flag", Flag)
        self.feedback, self.streaming = False, False
        self.joint_target: Array | None = None
        self.pen_force = np.zeros(3)
        self.gripper_command: float | None = None
        self._heard_ns = dict.fromkeys(PORTS, 0)
        self._last: dict[str, Any] = dict.fromkeys(PORTS)
        self._now_ns, self._velocity = 0, np.zeros(3)
        self.machine = self._build()

    def wire(self) -> None:
        """Connect the two flags that the components exchange."""
        self.ports["C1.rise_stiff"].connect(self._rise)
        self.ports["C2.force_feedback_flag"].connect(self._flag)

    def start(self, now_ns: int) -> None:
        """Begin with everything off.

        Raises:
            BadValue: a port is not connected or the robot is not there; all that is missing is named.
        """
        self._now_ns = now_ns
        self.machine.start(now_ns)

    def step(self, now_ns: int) -> None:
        """Read every port once, move on, and compute what the pen, the spring and the gripper are told."""
        dt, self._now_ns = (now_ns - self._now_ns) * 1e-9, now_ns
        self._read(now_ns)
        if self.machine.state == "approach" and self._is_on("C2.force_feedback_flag"):
            wrench = self._last["C2.youbot_force"]
            self.gate.step(None if wrench is None else wrench.wrench[:3], dt)
        self.machine.step(now_ns)
        self.tunables.step(dt)
        pen = self._last["C1.hap_in"]
        self.gripper_command = self.gripper.step(pen.button) if pen is not None and self.streaming else None
        self._display(pen)

    def stop(self, now_ns: int) -> None:
        """Stop the motors and the force feedback, from any state."""
        self._now_ns = now_ns
        self.machine.stop(now_ns)

    @property
    def stiffness(self) -> CartesianStiffness:
        """Of the spring, as it is sent to the controller."""
        return CartesianStiffness(self.tunables.kt.value, self.tunables.kr.value)

    def feedback_force(self, wrench: SpringWrench) -> Array:
        """What the hand feels of the spring's wrench on the tool, device axes, before the device's limit, [N]."""
        return PEN.back(-wrench.wrench[:3]) / self.tunables.kf.value

    def unfolded(self) -> bool | str:
        """Whether every joint of the arm is near the candle pose; if not, which is farthest off."""
        arm = self._last["C1.yb_in"]
        if arm is None:
            return "the arm's joints are not known yet"
        off = np.abs(arm.value - UNFOLDED)
        worst = int(np.argmax(off))
        if off[worst] <= self.tolerance:
            return True
        return f"joint {worst + 1} is {np.degrees(off[worst]):.1f}° off (limit {np.degrees(self.tolerance):g}°)"

    def _build(self) -> Machine:
        states = [
            State("off", enter=self._all_off),
            State("homing"),
            State("unfold", enter=self._unfold, leave=self._unfolded, timeout=lambda: self.unfold_timeout),
            State("approach", enter=self._approach),
            State("engage", enter=self._engage),
            State("ramp", enter=lambda: self.tunables.enter("full")),
            State("operate"),
            State("fault", enter=self._all_off),
        ]
        transitions = [
            Transition("off", "homing", guard=self._displays),
            Transition("homing", "unfold", "set_initial_position"),
            Transition("unfold", "approach", guard=self.unfolded),
            Transition("approach", "engage", guard=lambda: self.gate.open or "the spring still pulls"),
            Transition("engage", "ramp", guard=lambda: self._is_on("C1.rise_stiff")),
            Transition("ramp", "operate", guard=lambda: self.tunables.settled),
        ]
        locks = [Interlock("ports", self._unconnected), Interlock("peer", self._no_peer)]
        locks += [Interlock("silence", self._silent, ALIVE)]
        return Machine("start-up", states, transitions, locks)

    def _read(self, now_ns: int) -> None:
        for name, port in self.ports.items():
            flow, message = port.read()
            if flow is Flow.NEW and message is not None:
                if name == "C1.hap_in" and (before := self._last[name]) is not None:
                    since = max(now_ns - self._heard_ns[name], 1) * 1e-9
                    self._velocity = (message.position - before.position) / since
                self._last[name], self._heard_ns[name] = message, now_ns

    def _display(self, pen: HapticState | None) -> None:
        """The spring's force while engaged, the homing force before, nothing when off."""
        wrench = self._last["C2.youbot_force"]
        if self.feedback and wrench is not None:
            force = self.feedback_force(wrench)
        elif self.machine.state in ALIVE and pen is not None:
            force = self.homing.force(pen.position, self._velocity)
        else:
            force = np.zeros(3)
        size = float(np.linalg.norm(force))
        self.pen_force = force * (self.force_limit / size) if size > self.force_limit else force

    def _displays(self) -> bool | str:
        pen = self._last["C2.hap_in"]
        return bool(pen is not None and pen.displays_force) or "the device does not display forces"

    def _is_on(self, port: str) -> bool:
        return self._last[port] is not None and self._last[port].on

    def _all_off(self) -> None:
        self.feedback, self.streaming, self.joint_target = False, False, None
        self.gate.close()
        self.tunables.enter("slack")
        for flag in (self._rise, self._flag):
            flag.write(Flag(False))
        if self.peer is not None:
            self.peer.set_control_mode(ControlMode.MOTOR_STOP)

    def _unfold(self) -> None:
        self._switch(ControlMode.PLANE_ANGLE)
        self.joint_target = UNFOLDED

    def _unfolded(self) -> None:
        self.joint_target = None

    def _approach(self) -> None:
        self._switch(ControlMode.TORQUE)
        self.tunables.enter("soft")
        self.streaming = True
        self._flag.write(Flag(True))

    def _engage(self) -> None:
        self.feedback = True
        self._rise.write(Flag(True))

    def _switch(self, mode: ControlMode) -> None:
        assert self.peer is not None  # an interlock looks
        self.peer.set_control_mode(mode)

    def _unconnected(self) -> str | None:
        missing = [name for name, port in self.ports.items() if not port.connected]
        return f"not connected: {', '.join(missing)}" if missing else None

    def _no_peer(self) -> str | None:
        ready = self.peer is not None and callable(getattr(self.peer, "set_control_mode", None))
        return None if ready else "the robot is not there, or its control modes cannot be set"

    def _silent(self) -> str | None:
        for name in ("C1.hap_in", "C1.yb_in"):
            age = (self._now_ns - self._heard_ns[name]) * 1e-9
            if age > self.silence:
                return f"{name} has been silent for {age:.3f} s (limit {self.silence:g} s)"
        return None
