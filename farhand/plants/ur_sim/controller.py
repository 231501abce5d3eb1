"""The simulated controller: modes, programs, safety, registers and control cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.plants.ur_sim.arm import CYCLE, ServoedArm, pose_vector
from farhand.plants.ur_sim.control_script import ControlScript
from farhand.plants.ur_sim.rtde import Exchange
from farhand.plants.ur_sim.script_text import TextProgram
from farhand.spatial import Array

VERSION = (5, 26, 0, 0)
"""Of the simulated controller software, the first with friction scales for direct torque."""

CONTROL_SCRIPT_MARK = "RTDE Control Script"
"""Text in every version of the control script of ``ur_rtde``."""

TARGETS = {"target_TCP_pose", "target_TCP_speed"}
"""Fields that are computed only if some client has requested them."""

SLIDER_TIME_S = 0.5
"""Time in which the speed scaling follows the slider over its whole way; assumed, [s]."""

CURRENT_A, VOLTAGE_V = (0.004, 0.020), (0.0, 10.0)
"""Range of an analog output, by its kind (public description of the outputs)."""

UNLOCK_DELAY_S = 5.0
"""Time before a protective stop can be unlocked (public dashboard description), [s]."""


class RobotMode(IntEnum):
    """Modes of the arm's power, as RTDE numbers them."""

    POWER_OFF = 3
    IDLE = 5
    RUNNING = 7


class SafetyMode(IntEnum):
    """Modes of the safety system that occur here."""

    NORMAL = 1
    PROTECTIVE_STOP = 3


class Runtime(IntEnum):
    """States of the program."""

    STOPPED = 1
    PLAYING = 2
    PAUSED = 4


class UrController:
    """One arm with its programs and its safety; :meth:`cycle` is two milliseconds.

    Args:
        arm: the arm.
        log: called with every event.

    Attributes:
        exchange: the fields that RTDE clients see and set.
        mode: of the arm's power.
        safety: of the safety system.
        runtime: of the program.
        program: name of the program, running or last run.
        reason: of the last protective stop.
        cycles: how many there were.
    """

    def __init__(self, arm: ServoedArm, log: Callable[[str], None] = lambda line: None) -> None:
        self.arm, self.log = arm, log
        self.exchange = Exchange()
        self.mode, self.safety, self.runtime = RobotMode.RUNNING, SafetyMode.NORMAL, Runtime.STOPPED
        self.program, self.reason, self.cycles = "", "", 0
        self._running: Iterator[None] | None = None
        self._watched: tuple[str, int, int, int] | None = None
        self._stopped_at = 0.0
        self._ints = [f"input_int_register_{index}" for index in range(48)]
        self._floats = [f"input_double_register_{index}" for index in range(48)]
        for board, shift in (("standard", 0), ("configurable", 8), ("tool", 16)):
            name = f"{board}_digital_output"
            self.exchange.listeners[name] = partial(self._set_digital, name, shift)
        for index in (0, 1):
            name = f"standard_analog_output_{index}"
            self.exchange.listeners[name] = partial(self._set_analog, index)
        self.exchange.listeners["speed_slider_fraction"] = self._set_slider
        self._constants()
        self._publish()

    @property
    def now(self) -> float:
        """Time since the start, [s]."""
        return self.cycles * CYCLE

    def cycle(self) -> None:
        """Run program, physics and safety, and publish the result."""
        self.cycles += 1
        self._check_watchdog()
        self._follow_slider()
        if self.runtime is Runtime.PLAYING and self._running is not None:
            self._continue(self._running)
        elif self.mode is RobotMode.RUNNING:
            self.arm.slow_down()
        breach = self.arm.cycle()
        if breach is not None and self.safety is SafetyMode.NORMAL:
            self.protective_stop(breach)
        self._publish()

    def _continue(self, running: Iterator[None]) -> None:
        try:
            next(running)
        except StopIteration:
            self.stop()
        # An error in a program ends the program, never the controller.
        except Exception as error:
            self.log(f"program {self.program} stopped: {error}")
            self.stop()

    def upload(self, text: str) -> None:
        """Start a program of a client in place of the running one, or beside it if secondary."""
        if self.mode is not RobotMode.RUNNING or self.safety is not SafetyMode.NORMAL:
            self.log(f"program refused: the arm is {self.mode.name}, safety is {self.safety.name}")
            return
        kind = ControlScript if CONTROL_SCRIPT_MARK in text else TextProgram
        program: ControlScript | TextProgram = kind(self, text)
        if isinstance(program, TextProgram) and program.beside:
            self._run_beside(program)
            return
        self.stop()
        self.program, self._running, self.runtime = program.name, program.run(), Runtime.PLAYING

    def _run_beside(self, program: TextProgram) -> None:
        """Run a secondary program, which takes no time."""
        try:
            for _ in program.run():
                raise BadValue("a secondary program may not take time")
        except Exception as error:
            self.log(f"secondary program {program.name} stopped: {error}")

    def stop(self) -> None:
        """End the program; the arm slows down and stands."""
        self._running, self._watched, self.runtime = None, None, Runtime.STOPPED
        if self.arm.torque_mode:
            self.arm.stop_in_place()

    def pause(self) -> bool:
        """Halt the program where it is; whether there was one."""
        if self.runtime is not Runtime.PLAYING:
            return False
        self.runtime = Runtime.PAUSED
        if self.arm.torque_mode:
            self.arm.stop_in_place()
        return True

    def play(self) -> bool:
        """Continue a paused program; whether there is one and the arm is ready."""
        ready = self.mode is RobotMode.RUNNING and self.safety is SafetyMode.NORMAL
        if not ready or self._running is None:
            return False
        self.runtime = Runtime.PLAYING
        return True

    def power(self, mode: RobotMode) -> None:
        """Switch the arm; its program ends unless it stays running."""
        if mode is not RobotMode.RUNNING:
            self.stop()
        self.mode = mode
        self.arm.power(mode is RobotMode.RUNNING)

    def protective_stop(self, reason: str) -> None:
        """Stop the arm as the safety system does: motors on, program paused, until unlocked."""
        self.log(f"protective stop: {reason}")
        self.safety, self.reason, self._stopped_at = SafetyMode.PROTECTIVE_STOP, reason, self.now
        self.pause()
        self.arm.stop_in_place()

    def unlock(self) -> bool:
        """End a protective stop, at least five seconds after it began."""
        if (
            self.safety is SafetyMode.PROTECTIVE_STOP
            and self.now - self._stopped_at < UNLOCK_DELAY_S
        ):
            return False
        self.safety = SafetyMode.NORMAL
        return True

    def watch(self, name: str, frequency: float) -> None:
        """Stop the program when the input is set less often than this [Hz]; 0 for no watch."""
        if frequency <= 1e-3:
            self._watched = None
            return
        allowed = max(1, round(1.0 / (frequency * CYCLE)))
        self._watched = (name, allowed, self.exchange.writes.get(name, 0), self.cycles)

    def _check_watchdog(self) -> None:
        if self._watched is None or self.runtime is not Runtime.PLAYING:
            return
        name, allowed, seen, since = self._watched
        writes = self.exchange.writes.get(name, 0)
        if writes != seen:
            self._watched = (name, allowed, writes, self.cycles)
        elif self.cycles - since > allowed:
            self.log(f"watchdog: {name} was not set for {allowed * CYCLE:.3f} s; program stopped")
            self.stop()

    def input_int(self, index: int) -> int:
        """Value of an input register."""
        value: Any = self.exchange.values[self._ints[index]]
        return int(value)

    def input_float(self, index: int) -> float:
        """Value of an input register; BadValue if it is not a number."""
        value = float(self.exchange.values[self._floats[index]])  # type: ignore[arg-type]
        if not -1e9 < value < 1e9:
            raise BadValue(f"{self._floats[index]} holds {value:g}")
        return value

    def write_int(self, index: int, value: int) -> None:
        """Set an output register."""
        name = f"output_int_register_{int(index)}"
        if name not in self.exchange.values:
            raise BadValue(f"there is no {name}")
        self.exchange.values[name] = (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)

    def write_floats(self, index: int, numbers: Array) -> None:
        """Set output registers from ``index`` on."""
        for offset, number in enumerate(np.asarray(numbers, dtype=float)):
            name = f"output_double_register_{int(index) + offset}"
            if name not in self.exchange.values:
                raise BadValue(f"there is no {name}")
            self.exchange.values[name] = float(number)

    def within_limits(self, q: Array) -> bool:
        """Whether joints are inside their limits."""
        limits = self.arm.robot.limits
        return bool(((q >= limits.lower) & (q <= limits.upper)).all())

    def flange_pose(self, q: Array) -> Array:
        """Pose of the flange in the base, as the controller writes it."""
        self.arm.believed.update(q, np.zeros(len(q)))
        return pose_vector(self.arm.believed.position, self.arm.believed.rotation)

    def model_now(self) -> Arm:
        """The controller's model at the present state."""
        self.arm.believed.update(self.arm.q, self.arm.v)
        return self.arm.believed

    def _set_digital(self, name: str, shift: int, _bits: object) -> None:
        values = self.exchange.values
        mask, bits = int(values[f"{name}_mask"]) << shift, int(values[name]) << shift  # type: ignore[call-overload]
        before = int(values["actual_digital_output_bits"])  # type: ignore[call-overload]
        values["actual_digital_output_bits"] = (before & ~mask) | (bits & mask)

    def _set_analog(self, index: int, ratio: Any) -> None:
        """Set an analog output where the mask says, to a share of the range of its kind."""
        values: dict[str, Any] = self.exchange.values
        if not (values["standard_analog_output_mask"] >> index & 1 and 0.0 <= ratio <= 1.0):
            return
        voltage = values["standard_analog_output_type"] >> index & 1
        low, high = VOLTAGE_V if voltage else CURRENT_A
        values[f"standard_analog_output{index}"] = low + ratio * (high - low)
        # Bits 0 and 1 are the kinds of the inputs.
        kinds = values["analog_io_types"] & ~(4 << index)
        values["analog_io_types"] = kinds | voltage << (2 + index)

    def _set_slider(self, fraction: Any) -> None:
        if self.exchange.values["speed_slider_mask"] and 0.0 <= fraction <= 1.0:
            self.exchange.values["target_speed_fraction"] = fraction

    def _follow_slider(self) -> None:
        """Let the speed of the programs follow the slider without a jump."""
        target: Any = self.exchange.values["target_speed_fraction"]
        left, most = target - self.arm.speed_scaling, CYCLE / SLIDER_TIME_S
        self.arm.speed_scaling += min(max(left, -most), most)
        self.exchange.values["speed_scaling"] = self.arm.speed_scaling

    def _constants(self) -> None:
        """Publish the fields that change only if a client sets them."""
        self.exchange.values |= {
            "joint_temperatures": (28.0,) * 6,
            "joint_mode": (253,) * 6,
            "speed_scaling": 1.0,
            "target_speed_fraction": 1.0,
            "actual_main_voltage": 48.0,
            "actual_robot_voltage": 48.0,
            "actual_joint_voltage": (48.0,) * 6,
            "tool_temperature": 28.0,
        }

    def _publish(self) -> None:
        """Publish this cycle to the clients."""
        arm = self.arm
        playing = self.runtime is Runtime.PLAYING
        stopped = self.safety is SafetyMode.PROTECTIVE_STOP
        moment = tuple(arm.torque.tolist())
        self.exchange.values |= {
            "timestamp": self.now,
            "actual_q": tuple(arm.q.tolist()),
            "actual_qd": tuple(arm.v.tolist()),
            "target_q": tuple(arm.q_target.tolist()),
            "target_qd": tuple(arm.v_target.tolist()),
            "target_qdd": tuple(arm.a_target.tolist()),
            "target_moment": moment,
            "actual_current_as_torque": moment,
            "actual_TCP_pose": tuple(pose_vector(*arm.pose_now()).tolist()),
            "actual_TCP_speed": tuple(arm.twist_now().tolist()),
            "actual_TCP_force": tuple(arm.wrench.tolist()),
            "ft_raw_wrench": tuple(arm.raw_wrench.tolist()),
            "tcp_force_scalar": float(np.linalg.norm(arm.wrench[:3])),
            "tcp_offset": tuple(arm.tcp.tolist()),
            "payload": arm.payload,
            "payload_cog": tuple(arm.payload_cog.tolist()),
            "robot_mode": int(self.mode),
            "safety_mode": int(self.safety),
            "safety_status": int(self.safety),
            "runtime_state": int(self.runtime),
            "robot_status_bits": int(self.mode is not RobotMode.POWER_OFF) | playing << 1,
            "safety_status_bits": 1 if not stopped else 1 << 2 | 1 << 10,
            "actual_execution_time": CYCLE,
        }
        if self.exchange.asked & TARGETS:
            J, target = arm.jacobian(arm.q_target), arm.pose(arm.q_target)
            self.exchange.values["target_TCP_pose"] = tuple(pose_vector(*target).tolist())
            self.exchange.values["target_TCP_speed"] = tuple((J @ arm.v_target).tolist())
