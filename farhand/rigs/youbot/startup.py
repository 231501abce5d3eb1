"""The youBot's start-up: from everything off to full force feedback, step by step.

- ``off`` (S0): motors stopped, until the device displays forces.
- ``homing`` (S1): a spring leads the pen to its origin, the tool is slack.
- ``unfold`` (S2): position control moves every joint of the arm to its candle pose.
- ``approach`` (S3): torque control, soft spring, setpoints are streamed.
- ``engage`` (S4): nothing pulls any more, force feedback begins.
- ``ramp`` (S5): the spring grows stiff.
- ``operate`` (S6): full bilateral operation.
- ``fault``: motors stopped, the reason kept until reset.

Sequence, ports and interlocks are published (sources/youbot §2.5, §3.9); silences and timeouts are
assumed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from farhand.control.haptic.engage import EngageGate, HomingSpring, Tunables
from farhand.control.haptic.gripper import GripperToggle
from farhand.control.joint.loops import JointMove
from farhand.coupling import Coupling, SpringCoupling
from farhand.coupling.trial import raised
from farhand.link.messages import (
    ArmJoints,
    CartesianStiffness,
    FlagMessage,
    Flow,
    HapticState,
    InPort,
    OutPort,
    SpringWrench,
)
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.bridges.end import NOT_A_NUMBER
from farhand.loop.station import Station
from farhand.mapping.pen import PEN, PenMapping
from farhand.parameters import parameter
from farhand.plants.simulated.grippers import GripperDrive
from farhand.plants.simulated.haptic import HapticPlant
from farhand.safety.machine import Interlock, Machine, State, Transition

Array = np.ndarray

UNFOLDED = np.radians([169.0, 65.0, -146.0, 102.5, 167.5])
"""The arm straight up, "candle" (stated in the source), [rad]."""

PORTS: dict[str, type[Any]] = {
    "C1.hap_in": HapticState,
    "C1.yb_in": ArmJoints,
    "C1.rise_stiff": FlagMessage,
    "C2.hap_in": HapticState,
    "C2.youbot_force": SpringWrench,
    "C2.force_feedback_flag": FlagMessage,
}
"""What must be connected before anything starts, by component and port, with the message it
takes."""

ALIVE = frozenset({"homing", "unfold", "approach", "engage", "ramp", "operate"})


class ControlMode(enum.Enum):
    """What the arm's drives do."""

    MOTOR_STOP = "motor stop"
    PLANE_ANGLE = "position"
    TORQUE = "torque"


class StartupPeer(Protocol):
    """The robot, as far as the start-up needs it."""

    def set_control_mode(self, mode: ControlMode) -> None:
        """Switch the arm's drives."""


@dataclass
class YoubotStartup:
    """The bridge's start-up sequence, with everything that is switched on the way.

    Attributes:
        peer: the robot; None is a robot that is not there.
        homing: spring that leads the pen home before.
        gripper: the pen's button.
        ports: inputs by name; :meth:`wire` connects the two flags that stay inside.
        feedback: whether the pen displays the spring's force.
        streaming: whether setpoints may be sent to the controller.
        joint_target: where the arm goes under position control, [rad], or None.
        pen_force: what the pen displays, device axes, [N].
        gripper_command: new command of this tick, [m], or None.
    """

    peer: StartupPeer | None
    tolerance: float = parameter(
        np.radians(10.0), "rad", "how near the candle pose every joint must be", 0.0, 1.0
    )
    unfold_timeout: float = parameter(30.0, "s", "longest time to unfold", 0.1, 600.0)  # assumed
    silence: float = parameter(0.1, "s", "longest silence of pen and arm", 0.001, 10.0)  # assumed
    # data sheet, unverified
    force_limit: float = parameter(12.0, "N", "largest force the pen displays", 0.0, 100.0)
    tunables: Tunables = field(default_factory=Tunables)
    gate: EngageGate = field(default_factory=EngageGate)
    homing: HomingSpring = field(default_factory=HomingSpring)
    gripper: GripperToggle = field(default_factory=GripperToggle)

    def __post_init__(self) -> None:
        """Begin with everything off."""
        self.ports: dict[str, InPort[Any]] = {n: InPort(n, kind) for n, kind in PORTS.items()}
        self._rise = OutPort("C2.rise_stiff", FlagMessage)
        self._flag = OutPort("C1.force_feedback_flag", FlagMessage)
        self.feedback = False
        self.streaming = False
        self.joint_target: Array | None = None
        self.pen_force = np.zeros(3)
        self.gripper_command: float | None = None
        self._heard_ns = dict.fromkeys(PORTS, 0)
        self._last: dict[str, Any] = dict.fromkeys(PORTS)
        self._now_ns = 0
        self._velocity = np.zeros(3)
        self.machine = self._build()

    def wire(self) -> None:
        """Connect the two flags that the components exchange."""
        self.ports["C1.rise_stiff"].connect(self._rise)
        self.ports["C2.force_feedback_flag"].connect(self._flag)

    def start(self, now_ns: int) -> None:
        """Begin with everything off.

        Raises:
            BadValue: ports are not connected, or the robot is missing; the message names them.
        """
        self._now_ns = now_ns
        self.machine.start(now_ns)

    def step(self, now_ns: int) -> None:
        """Read every port once, move on, and compute commands for pen, spring and gripper."""
        dt = (now_ns - self._now_ns) * 1e-9
        self._now_ns = now_ns
        self._read(now_ns)
        if self.machine.state == "approach" and self._is_on("C2.force_feedback_flag"):
            wrench = self._last["C2.youbot_force"]
            self.gate.step(None if wrench is None else wrench.wrench[:3], dt)
        self.machine.step(now_ns)
        self.tunables.step(dt)
        pen = self._last["C1.hap_in"]
        live = pen is not None and self.streaming
        self.gripper_command = self.gripper.step(pen.button) if live else None
        self._display(pen)

    def stop(self, now_ns: int) -> None:
        """Stop the motors and the force feedback, from any state."""
        self._now_ns = now_ns
        self.machine.stop(now_ns)

    @property
    def stiffness(self) -> CartesianStiffness:
        """Stiffness of the spring, as sent to the controller."""
        return CartesianStiffness(self.tunables.kt.value, self.tunables.kr.value)

    def feedback_force(self, wrench: SpringWrench) -> Array:
        """Force of the spring on the hand, device axes, before the device's limit, [N]."""
        return PEN.back(-wrench.wrench[:3]) / self.tunables.kf.value

    def unfolded(self) -> bool | str:
        """Whether every joint is near the candle pose; if not, which one is farthest off."""
        arm = self._last["C1.yb_in"]
        if arm is None:
            return "the arm's joints are not known yet"
        off = np.abs(arm.value - UNFOLDED)
        worst = int(np.argmax(off))
        if off[worst] <= self.tolerance:
            return True
        limit = f"(limit {np.degrees(self.tolerance):g}°)"
        return f"joint {worst + 1} is {np.degrees(off[worst]):.1f}° off {limit}"

    def _build(self) -> Machine:
        longest = lambda: self.unfold_timeout  # noqa: E731
        released = lambda: self.gate.open or "the spring still pulls"  # noqa: E731
        states = [
            State("off", enter=self._all_off),
            State("homing"),
            State("unfold", enter=self._unfold, leave=self._unfolded, timeout=longest),
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
            Transition("approach", "engage", guard=released),
            Transition("engage", "ramp", guard=lambda: self._is_on("C1.rise_stiff")),
            Transition("ramp", "operate", guard=lambda: self.tunables.settled),
        ]
        locks = [
            Interlock("ports", self._unconnected),
            Interlock("peer", self._no_peer),
            Interlock("silence", self._silent, ALIVE),
        ]
        return Machine("start-up", states, transitions, locks)

    def _read(self, now_ns: int) -> None:
        for name, port in self.ports.items():
            flow, message = port.read()
            if flow is Flow.NEW and message is not None:
                if name == "C1.hap_in" and (before := self._last[name]) is not None:
                    since = max(now_ns - self._heard_ns[name], 1) * 1e-9
                    self._velocity = (message.position - before.position) / since
                self._last[name] = message
                self._heard_ns[name] = now_ns

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
        self.feedback = self.streaming = False
        self.joint_target = None
        self.gate.close()
        self.tunables.enter("slack")
        for flag in (self._rise, self._flag):
            flag.write(FlagMessage(False))
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
        self._flag.write(FlagMessage(True))

    def _engage(self) -> None:
        self.feedback = True
        self._rise.write(FlagMessage(True))

    def _switch(self, mode: ControlMode) -> None:
        # An interlock has checked it.
        assert self.peer is not None
        self.peer.set_control_mode(mode)

    def _unconnected(self) -> str | None:
        missing = [name for name, port in self.ports.items() if not port.connected]
        return f"not connected: {', '.join(missing)}" if missing else None

    def _no_peer(self) -> str | None:
        return None if self.peer is not None else "the robot is not there"

    def _silent(self) -> str | None:
        for name in ("C1.hap_in", "C1.yb_in"):
            age = (self._now_ns - self._heard_ns[name]) * 1e-9
            if age > self.silence:
                return f"{name} has been silent for {age:.3f} s (limit {self.silence:g} s)"
        return None


HOME_RADIUS_M = 0.005
"""How near its origin the pen must be before the arm unfolds; assumed: an operator decided it."""


class YoubotDrives:
    """The arm's drives as the start-up switches them; ``still`` holds the arm or moves it."""

    def __init__(self, still: JointMove) -> None:
        self.mode = ControlMode.MOTOR_STOP
        self.still = still

    def set_control_mode(self, mode: ControlMode) -> None:
        """Switch the arm's drives."""
        self.mode = mode


class StartupBridge(DirectBridge):
    """The law between pen and robot, started by the published start-up sequence.

    ``engage`` starts the sequence; ``release`` and every trip stop it. While it runs, the pen shows
    the homing spring and from engagement on the law's effort; the law's spring, if it has one, has
    the sequence's stiffness.

    Args:
        law: the coupling.
        a: the pen's station.
        b: the robot's station.
        still: how the robot's controller holds still.
        period_ns: time between evaluations, [ns].

    Attributes:
        startup: the sequence.
        gripper: the robot's, opened and closed by the pen's button.
    """

    def __init__(
        self, law: Coupling, a: Station, b: Station, still: JointMove, *, period_ns: int = 1_000_000
    ) -> None:
        super().__init__(law, a, b, period_ns=period_ns)
        self.drives = YoubotDrives(still)
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
        self._requested = False
        self._streaming = False
        self.startup.machine.record(self.stream)
        self._opening = self.stream.channel("gripper", 1, "m")
        self._stiffness = self.stream.channel("stiffness", 2, "N/m, N·m/rad", ("kt", "kr"))

    def release(self) -> None:
        """Stop the sequence: the arm is held, the pen is free."""
        self._requested = False

    def _engage(self) -> None:
        self._requested = True

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
                b.stop(now_ns, self.law, NOT_A_NUMBER)
        # A user's law may raise anything.
        except Exception as error:
            b.stop(now_ns, self.law, raised(error))
        a.apply(1.0 if startup.machine.state in ALIVE else 0.0, dt)
        b.apply(1.0 if startup.streaming else 0.0, dt)
        self._opening[0] = self.gripper.step(dt)
        self._stiffness[:] = startup.tunables.kt.value, startup.tunables.kr.value

    def _publish_sides(self) -> None:
        pen, arm = self.a.station, self.b.station.arm
        q, plant = pen.arm.q, pen.plant
        pressed = isinstance(plant, HapticPlant) and plant.buttons.get("gripper", False)
        # The wrist turns about x, y, z by −o_z, o_y, −o_x.
        angles = np.array([-q[5], q[4], -q[3]])
        self._outs["C1.hap_in"].write(HapticState(q[:3].copy(), angles, pressed, True))
        self._outs["C1.yb_in"].write(ArmJoints(arm.q[-5:]))

    def _sequence(self, now_ns: int) -> None:
        """Start, step or stop the sequence, and pass on its commands."""
        startup, machine = self.startup, self.startup.machine
        if self._requested and not machine.running:
            startup.start(now_ns)
        elif not self._requested and machine.running:
            startup.stop(now_ns)
        if machine.running:
            if (
                machine.state == "homing"
                and float(np.abs(self.a.station.arm.q[:3]).max()) < HOME_RADIUS_M
            ):
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
        """Step the law while setpoints are streamed; whether its efforts are numbers."""
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
            law.mapping.hybrid.speed = tunables.v.value
            law.mapping.force_scale = 1.0 / tunables.kf.value
        if isinstance(law, SpringCoupling):
            law.spring.stiffness = tunables.kt.value
            law.spring.rotational_stiffness = tunables.kr.value
            law.spring.refresh()
        on_a, on_b = law.step(self.a.station.side, self.b.station.side, dt)
        valid = self.b.take(on_b) and (not startup.feedback or self.a.take(on_a))
        self._outs["C2.youbot_force"].write(SpringWrench(self.b.asked))
        return valid
