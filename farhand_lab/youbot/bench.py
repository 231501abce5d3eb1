"""Test bench: a pen, a hand, a tool on a spring, and the bridge between them.

The tool is a damped point mass that turns as commanded; the arm's joints follow position commands
at a bounded speed. Values without a source are assumed (sources/youbot §2.9).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from farhand.coupling import PositionPosition
from farhand.link.messages import ArmJoints, HapticState, OutPort, SpringWrench
from farhand.mapping.pen import PenMapping
from farhand.rigs.youbot.parts import YouBot, make_law
from farhand.rigs.youbot.startup import ControlMode, YoubotStartup

Array = np.ndarray

TICK_NS = 1_000_000
TICK = 1e-3  # [s]
PEN_MASS, PEN_DAMPING = 0.3, 0.5  # of the device [kg], [N·s/m]
# What the arm presents at its tip, ζ = 0.7 at 700 N/m [kg], [N·s/m]
TOOL_MASS, TOOL_DAMPING = 3.0, 64.0
HAND = (5.0, 200.0)  # passive operator [N·s/m], [N/m]
JOINT_SPEED = 1.5  # of the arm's joints under position control; their limit is 1.57 [rad/s]
FOLDED = np.radians([10.0, 5.0, -10.0, 10.0, 20.0])


def rig_law() -> PositionPosition:
    """The rig's law as it is shipped, with the pen's map and the published spring."""
    law = make_law(PositionPosition, YouBot())
    assert isinstance(law, PositionPosition)
    return law


class BenchArm:
    """The arm's drives: they keep their modes and follow a joint target in position mode."""

    def __init__(self) -> None:
        self.modes: list[ControlMode] = []
        self.q = FOLDED.copy()

    @property
    def mode(self) -> ControlMode:
        """The present mode; stopped at first."""
        return self.modes[-1] if self.modes else ControlMode.MOTOR_STOP

    def set_control_mode(self, mode: ControlMode) -> None:
        """Switch, and remember."""
        self.modes.append(mode)

    def follow(self, target: Array | None, dt: float) -> None:
        """Move towards the target if the mode says so."""
        if target is not None and self.mode is ControlMode.PLANE_ANGLE:
            self.q += np.clip(target - self.q, -JOINT_SPEED * dt, JOINT_SPEED * dt)


class BenchRow(NamedTuple):
    """One tick: state of the start-up, forces [N] and stiffness [N/m], [N·m/rad]."""

    state: str
    pen_force: Array
    spring_force: Array
    kt: float
    kr: float


class PenBench:
    """Everything, ticked at 1 kHz; from the approach on, a hand holds the pen.

    Args:
        pen: where the pen starts, device axes, [m].
        startup: the start-up sequence; a new one if None.
    """

    def __init__(self, pen: Array, startup: YoubotStartup | None = None) -> None:
        self.arm = BenchArm()
        self.startup = startup or YoubotStartup(self.arm)
        self.pen, self.pen_velocity = np.array(pen, dtype=float), np.zeros(3)
        self.tool, self.tool_velocity = np.array([0.30, 0.02, 0.45]), np.zeros(3)
        self.intended = np.zeros(3)
        self.button = self.displays = False
        law = rig_law()
        assert isinstance(law.mapping, PenMapping)
        self.mapping, self.spring = law.mapping, law.spring
        self.history: list[BenchRow] = []
        self.now_ns, self._streaming = 0, False
        self._pen_out, self._arm_out = OutPort("haptic", HapticState), OutPort("arm", ArmJoints)
        self._wrench_out = OutPort("wrench", SpringWrench)
        ports = self.startup.ports
        ports["C1.hap_in"].connect(self._pen_out)
        ports["C2.hap_in"].connect(self._pen_out)
        ports["C1.yb_in"].connect(self._arm_out)
        ports["C2.youbot_force"].connect(self._wrench_out)
        self.startup.wire()

    @property
    def state(self) -> str:
        """Of the start-up."""
        return self.startup.machine.state

    def run(self, seconds: float, until: str = "") -> bool:
        """Tick for this long, or until a state is reached; whether it was."""
        for _ in range(round(seconds / TICK)):
            self.tick()
            if until and self.state == until:
                return True
        return not until

    def tick(self) -> None:
        """One millisecond: sense, bridge, controller, physics."""
        self.now_ns += TICK_NS
        startup = self.startup
        self._pen_out.write(HapticState(self.pen, np.zeros(3), self.button, self.displays))
        self._arm_out.write(ArmJoints(self.arm.q))
        startup.step(self.now_ns)
        force = self._spring_force()
        kt, kr = startup.stiffness.kt, startup.stiffness.kr
        self.history.append(BenchRow(self.state, startup.pen_force, force, kt, kr))
        self.arm.follow(startup.joint_target, TICK)
        self._move(force)

    def _spring_force(self) -> Array:
        """Force of the spring on the tool while setpoints are streamed, also sent, [N]."""
        startup = self.startup
        if not startup.streaming:
            self._streaming = False
            return np.zeros(3)
        if not self._streaming:
            self._streaming = True
            self.mapping.capture(self.pen, np.eye(3), self.tool, np.eye(3))
        self.mapping.hybrid.speed = startup.tunables.v.value
        self.mapping.forward(self.pen, np.eye(3), np.zeros(6), TICK)
        self.spring.stiffness = startup.stiffness.kt
        self.spring.rotational_stiffness = startup.stiffness.kr
        self.spring.refresh()
        # The tool is a point that turns as commanded, and its own damper stands for the spring's
        error = np.concatenate([self.mapping.position - self.tool, np.zeros(3)])
        wrench = self.spring.pull(error, np.zeros(6)).copy()
        self._wrench_out.write(SpringWrench(wrench))
        return wrench[:3]

    def _move(self, force: Array) -> None:
        """Semi-implicit steps of the pen with its hand and of the tool."""
        push = self.startup.pen_force - PEN_DAMPING * self.pen_velocity
        mass = PEN_MASS
        if self.startup.streaming:
            push = push - HAND[0] * self.pen_velocity + HAND[1] * (self.intended - self.pen)
            mass += 1.0
        self.pen_velocity = self.pen_velocity + TICK * push / mass
        self.pen = self.pen + TICK * self.pen_velocity
        if self.arm.mode is ControlMode.TORQUE:
            pull = force - TOOL_DAMPING * self.tool_velocity
            self.tool_velocity = self.tool_velocity + TICK * pull / TOOL_MASS
            self.tool = self.tool + TICK * self.tool_velocity

    def column(self, name: str) -> Array:
        """One column of the history."""
        return np.array([getattr(row, name) for row in self.history])


def started(pen: tuple[float, float, float] = (0.03, -0.02, 0.02)) -> PenBench:
    """A bench that was started, with the device displaying forces."""
    bench = PenBench(np.array(pen))
    bench.startup.start(0)
    bench.displays = True
    return bench
