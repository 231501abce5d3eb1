"""The control script that ``ur_rtde`` uploads, as a program of the simulated controller.

The client does not send motions as text. Its script reads a command number and arguments from input
registers, executes the command, and reports in an output register: 1 ready for a command, 2 done.
This is our implementation of that register protocol (ur_rtde 1.6): numbers in :data:`COMMANDS`, one
method each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from farhand.errors import BadValue
from farhand.plants.ur_sim import motions
from farhand.plants.ur_sim.arm import CYCLE, ServoedArm, pose_of, pose_times, pose_vector
from farhand.plants.ur_sim.motions import Motion
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.plants.ur_sim.controller import UrController

READY, DONE = 1, 2
STOP_SCRIPT = 255

REALTIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
"""Commands that are repeated in every cycle while their number is in the register."""

_OFFSET = re.compile(r"(float|int) register offset\s*(\d+)")
_PATH = re.compile(r"move([jlp])\((p?)\[([^\]]*)\],\s*a=([-\d.e]+),\s*v=([-\d.e]+)")


class ControlScript:
    """The program on a controller; the text has the register offset and the moves of a path."""

    name = "rtde_control"

    def __init__(self, controller: UrController, text: str) -> None:
        self.controller = controller
        self.arm: ServoedArm = controller.arm
        offsets = {kind: int(number) for kind, number in _OFFSET.findall(text)}
        self._ints, self._floats = offsets.get("int", 0), offsets.get("float", 0)
        self._path = _PATH.findall(text)
        self._servo: tuple[Array, float, float] | None = None
        self._speed: tuple[bool, Array, float] | None = None
        self._torque: Array | None = None
        self._aside: Motion | None = None
        self._progress, self._operations = 0, 0
        self._solved: tuple[Array, Array] | None = None

    def run(self) -> Iterator[None]:
        """The main loop, until the client ends it."""
        self._report_progress(-1)
        self._report(READY)
        executing = False
        while (number := int(self._int(0))) != STOP_SCRIPT:
            if number in REALTIME:
                yield from COMMANDS.get(number, unknown)(self) or ()
                self._report(READY)
            elif number == 0:
                executing = False
                self._report(READY)
            elif not executing:
                yield from COMMANDS.get(number, unknown)(self) or ()
                self._report(DONE)
                executing = True
            if number != 66:
                self._torque = None
            self._move()
            yield

    def _move(self) -> None:
        """Let the threads of the script move the arm in this cycle."""
        arm = self.arm
        if self._torque is not None:
            arm.push(self._torque)
        elif self._aside is not None:
            if next(self._aside, self) is self:
                self._aside = None
                self._report_progress(-1)
        elif self._servo is not None:
            motions.servoj(arm, *self._servo)
        elif self._speed is not None:
            in_joints, speed, acceleration = self._speed
            (motions.speedj if in_joints else motions.speedl)(arm, speed, acceleration)
        elif arm.torque_mode:
            arm.stop_in_place()
        else:
            arm.slow_down()

    def _take_control(self, thread: str) -> None:
        """Refuse two threads that move the arm at once, as the controller does."""
        threads = {"servo": self._servo, "speed": self._speed, "move": self._aside}
        busy = [name for name, active in threads.items() if active is not None and name != thread]
        if busy:
            both = f"{busy[0]}, then {thread}"
            raise BadValue(f"another thread is already controlling the robot: {both}")

    def servo_joints(self) -> None:
        """servoJ: joints, three unused numbers, lookahead and gain."""
        self._take_control("servo")
        self._servo = (self._six(0), *self._servo_gains())

    def _servo_gains(self) -> tuple[float, float]:
        """Lookahead [s] and gain, within the limits of the script manual."""
        return min(max(self._float(9), 0.03), 0.2), min(max(self._float(10), 100.0), 2000.0)

    def servo_pose(self) -> None:
        """servoL: as servoJ, for a pose."""
        self._take_control("servo")
        pose = self._six(0)
        if self._solved is None or not np.array_equal(self._solved[0], pose):
            self._solved = (pose, motions.inverse_of(self.arm, pose))
        self._servo = (self._solved[1], *self._servo_gains())

    def servo_stop(self) -> Motion:
        """Stop servoing, the tool at a deceleration [m/s²]."""
        self._servo = None
        return motions.stopl(self.arm, self._float(0))

    def speed_joints(self) -> None:
        """speedJ: joint speeds and acceleration."""
        self._take_control("speed")
        self._speed = (True, self._six(0), self._float(6))

    def speed_tool(self) -> None:
        """speedL: a twist of the tool and an acceleration."""
        self._take_control("speed")
        self._speed = (False, self._six(0), self._float(6))

    def speed_stop(self) -> Motion:
        """Stop speedJ or speedL."""
        in_joints, self._speed = self._speed is None or self._speed[0], None
        return (motions.stop if in_joints else motions.stopl)(self.arm, self._float(0))

    def torque(self) -> None:
        """directTorque, without friction scales, which the uploaded script does not pass on."""
        self._take_control("torque")
        self._torque = self._six(0)

    def move(self, target: Callable[[], Motion]) -> Motion | None:
        """Do a move, or start it beside the commands if the client asks for that."""
        self._take_control("move")
        self._halt_aside()
        if self._int(1) != 1:
            return target()
        self._report_progress(0)
        self._aside = target()
        return None

    def _in_joints(self, q: Array) -> Motion:
        return motions.movej(self.arm, q, self._float(6), self._float(7))

    def _in_space(self, position: Array, rotation: Array) -> Motion:
        return motions.movel(self.arm, position, rotation, self._float(6), self._float(7))

    def move_joints(self) -> Motion | None:
        """MoveJ."""
        q = self._six(0)
        return self.move(lambda: self._in_joints(q))

    def move_joints_to_pose(self) -> Motion | None:
        """moveJ_IK."""
        pose = self._six(0)
        return self.move(lambda: self._in_joints(motions.inverse_of(self.arm, pose)))

    def move_tool(self) -> Motion | None:
        """MoveL."""
        pose = self._six(0)
        return self.move(lambda: self._in_space(*pose_of(pose)))

    def move_tool_to_joints(self) -> Motion | None:
        """moveL_FK."""
        q = self._six(0)
        return self.move(lambda: self._in_space(*self.arm.pose(q)))

    def move_path(self) -> Motion | None:
        """The moves in the text of the script, one after the other, each to rest."""
        return self.move(self._along_path)

    def _along_path(self) -> Motion:
        for index, (kind, is_pose, numbers, acceleration, speed) in enumerate(self._path):
            self._report_progress(index)
            at = np.array([float(number) for number in numbers.split(",")])
            v, a = float(speed), float(acceleration)
            if kind == "j":
                q = motions.inverse_of(self.arm, at) if is_pose else at
                yield from motions.movej(self.arm, q, v, a)
            else:
                pose = pose_of(at) if is_pose else self.arm.pose(at)
                yield from motions.movel(self.arm, *pose, v, a)

    def stop_moving(self) -> Motion | None:
        """StopJ and stopL, at once or beside the commands."""
        self._take_control("move")
        self._halt_aside()
        motion = motions.stop(self.arm, self._float(0))
        if self._int(1) != 1:
            return motion
        self._report_progress(0)
        self._aside = motion
        return None

    def _halt_aside(self) -> None:
        if self._aside is not None:
            self._aside = None
            self._report_progress(-1)

    def set_payload(self) -> None:
        """Mass and centre; a centre of zero keeps the old one, as in the uploaded script."""
        self.arm.carry(self._float(0))
        centre = np.array([self._float(index) for index in (1, 2, 3)])
        if centre.any():
            self.arm.payload_cog[:] = centre

    def set_tool(self) -> None:
        """Set the TCP relative to the flange."""
        self.arm.tcp[:] = self._six(0)

    def set_watchdog(self) -> None:
        """Stop the program when the command register is not written often enough."""
        self.controller.watch(f"input_int_register_{self._ints}", self._float(0))

    def protect(self) -> None:
        """Do a protective stop for the client."""
        self.controller.protective_stop("requested by the program")

    def answer(self, values: Array) -> None:
        """Six numbers for the client."""
        self.controller.write_floats(self._floats, values)

    def answer_flag(self, yes: bool) -> None:
        """Yes or no for the client."""
        self.controller.write_int(self._ints + 1, int(yes))

    def answer_matrix(self, matrix: Array) -> None:
        """A 6 × 6 matrix by columns: 24 numbers from register 0, the rest from register 36."""
        flat = matrix.T.reshape(-1)
        self.controller.write_floats(self._floats, flat[:24])
        self.controller.write_floats(self._floats + 36, flat[24:])

    def solvable(self, near: Array | None = None) -> bool:
        """Whether inverse kinematics finds joints for the pose in the registers."""
        try:
            motions.inverse_of(self.arm, self._six(0), near)
        except BadValue:
            return False
        return True

    def history(self) -> None:
        """Joint positions some cycles ago."""
        past = self.arm.history
        self.answer(past[min(max(self._int(1), 0), len(past) - 1)] if past else self.arm.q)

    def _int(self, index: int) -> int:
        return int(self.controller.input_int(self._ints + index))

    def _float(self, index: int) -> float:
        return self.controller.input_float(self._floats + index)

    def _six(self, index: int) -> Array:
        return np.array([self._float(index + offset) for offset in range(6)])

    def _report(self, state: int) -> None:
        self.controller.write_int(self._ints, state)

    def _report_progress(self, value: int) -> None:
        """Progress of a move: bits 0–14 how far, 15 running, 16–22 changes, 24–30 which move."""
        self._progress = (self._progress + 1) % 128
        if value == 0:
            self._operations = (self._operations + 1) % 128
        running = 0x8000 + min(value, 0x7FFF) if value >= 0 else 0
        word = running + (self._progress << 16) + (self._operations << 24)
        self.controller.write_int(self._ints + 2, word)


def unknown(script: ControlScript) -> None:
    """A command that is not simulated ends the program, as an error in a script does."""
    raise BadValue(f"command {script._int(0)} of the control script is not simulated")


Step = Callable[[ControlScript], "Motion | None"]

COMMANDS: dict[int, Step] = {
    1: ControlScript.move_joints,
    2: ControlScript.move_joints_to_pose,
    3: ControlScript.move_tool,
    4: ControlScript.move_tool_to_joints,
    8: lambda s: s.arm.zero_sensor(),
    9: ControlScript.speed_joints,
    10: ControlScript.speed_tool,
    11: ControlScript.servo_joints,
    15: ControlScript.speed_stop,
    16: ControlScript.servo_stop,
    17: ControlScript.set_payload,
    24: ControlScript.servo_pose,
    26: lambda s: s.answer(np.array([CYCLE])),
    27: ControlScript.history,
    29: ControlScript.set_tool,
    30: lambda s: s.answer(motions.inverse_of(s.arm, s._six(0), s._six(6))),
    31: ControlScript.protect,
    33: ControlScript.stop_moving,
    34: ControlScript.stop_moving,
    35: ControlScript.set_watchdog,
    36: lambda s: s.answer_flag(s.solvable()),
    37: lambda s: s.answer_flag(s.controller.within_limits(s._six(0))),
    38: lambda s: s.answer(s.arm.torque - s.arm.weight()),
    39: lambda s: s.answer(pose_times(s._six(0), s._six(6))),
    40: lambda s: s.answer(s.arm.tcp),
    43: lambda s: s.answer(pose_vector(*s.arm.pose(s.arm.q))),
    44: lambda s: s.answer(pose_times(s.controller.flange_pose(s._six(0)), s._six(6))),
    45: ControlScript.move_path,
    46: lambda s: s.answer(motions.inverse_of(s.arm, s._six(0))),
    47: lambda s: s.answer_flag(not s.arm.v_target.any()),
    58: lambda s: s.answer(s.controller.flange_pose(s.arm.q)),
    60: lambda s: s.answer_flag(s.solvable()),
    61: lambda s: s.answer_flag(s.solvable(s._six(6))),
    65: ControlScript.set_payload,
    66: ControlScript.torque,
    67: lambda s: s.answer_matrix(s.controller.model_now().M),
    68: lambda s: s.answer(s.controller.model_now().coriolis),
    69: lambda s: s.answer(s.arm.a_target),
    70: lambda s: s.answer_matrix(s.arm.jacobian(s.arm.q)),
}
"""The commands by number; those that take time return a motion."""
