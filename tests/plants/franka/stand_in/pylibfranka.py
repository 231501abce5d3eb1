"""A stand-in for the maker's client: seven joints, and faults on request.

The address says what goes wrong: ``arm``, ``arm,reflex=0.3``, ``arm,reflex=0.3,note=FILE``. Times
are in seconds of torque control. It is not the protocol, only the calls that Farhand makes;
``make test-franka`` has the real client.
"""

from __future__ import annotations

import os
import time
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

__version__ = "stand-in"
HOME = [0.0, -0.7853981633974483, 0.0, -2.356194490192345, 0.0, 1.5707963267948966, 0.785398163397]
POSE = [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0.30689057, 0.0, 0.59028205, 1]
SOCKET = 77
INERTIA = [1.0] * 4 + [0.1] * 3


class NetworkException(RuntimeError):
    """No connection."""


class ControlException(RuntimeError):
    """The arm has ended the motion."""


class FrankaException(RuntimeError):
    """Anything else."""


RobotMode = Enum("RobotMode", "Other Idle Move Guiding Reflex UserStopped")
RealtimeConfig = Enum("RealtimeConfig", "kEnforce kIgnore")


class Torques:
    def __init__(self, torques):
        assert len(torques) == 7
        self.tau_J, self.motion_finished = list(torques), False


class Robot:
    def __init__(self, address, config):
        self.faults = dict(part.partition("=")[::2] for part in address.split(",")[1:])
        if "refused" in self.faults:
            raise NetworkException("libfranka: Connection to FCI refused.\nEnable FCI in Desk.")
        if "firmware" in self.faults:
            raise FrankaException(
                "libfranka: Incompatible library version (server version: 9, library version: 10)."
            )
        # a connection that outlives a change of the program keeps the next one out
        if os.path.exists(f"/proc/self/fd/{SOCKET}"):
            raise NetworkException("libfranka: the arm is still connected to somebody")
        os.dup2(2, SOCKET)
        self.note = Path(self.faults["note"]) if "note" in self.faults else None
        self.q, self.v, self.tau = list(HOME), [0.0] * 7, [0.0] * 7
        self.tau_ext = [float(self.faults.get("external", 0.0))] * 7
        self.mode, self.errors = RobotMode.Idle, ""
        if self.note is not None and self.note.exists():
            self.mode, self.errors = RobotMode.Reflex, self.note.read_text()
        if "brake" in self.faults:
            self.mode = RobotMode.Other
        if "stopped" in self.faults:
            self.mode = RobotMode.UserStopped
        self.calls, self.ms, self.due, self.rate = [], 0, time.perf_counter(), 0.0

    def step(self):
        """One cycle of 1 ms."""
        self.due += 1e-3
        ahead = self.due - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -0.1:
            self.due = time.perf_counter()
        self.ms += 1
        rub = float(self.faults.get("friction", 0.0))
        for k in range(7):
            free = self.tau[k] + self.push[k] + 1e3 * INERTIA[k] * self.v[k]
            self.v[k] = 1e-3 * (free - min(rub, max(-rub, free))) / INERTIA[k]
            self.q[k] += 1e-3 * self.v[k]

    @property
    def push(self):
        """Of somebody on joint 1, while the arm is driven."""
        first = float(self.faults.get("push", 0.0)) if self.mode is RobotMode.Move else 0.0
        return [first] + [0.0] * 6

    def state(self):
        ms, pose = self.ms, list(POSE)
        # the hand's tool is below the flange
        pose[14] -= 0.1034 if "hand" in self.faults else 0.0
        return SimpleNamespace(
            q=list(self.q),
            dq=list(self.v),
            tau_J=list(self.tau),
            tau_J_d=list(self.tau),
            tau_ext_hat_filtered=list(self.tau_ext),
            O_F_ext_hat_K=[6.0 * self.tau_ext[0], 0, 0, 0, 0, 0],
            O_T_EE=pose,
            F_T_EE=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
            m_ee=float(self.faults.get("hand", 0.0)),
            m_total=float(self.faults.get("hand", 0.0)),
            robot_mode=self.mode,
            current_errors=self.errors,
            control_command_success_rate=self.rate,
            time=SimpleNamespace(to_sec=lambda: 1e-3 * ms),
        )

    def read_once(self):
        self.step()
        return self.state()

    def start_torque_control(self):
        order = ["set_EE", "set_K", "set_collision_behavior", "set_load"]
        assert [call for call in self.calls if call in order][:4] == order
        assert self.mode is RobotMode.Idle
        self.mode, self.rate = RobotMode.Move, 1.0
        return Control(self)

    def automatic_error_recovery(self):
        time.sleep(0.3)
        if self.note is not None:
            self.note.unlink(missing_ok=True)
        self.mode, self.errors = RobotMode.Idle, ""

    def __getattr__(self, name):
        if not name.startswith("set_"):
            raise AttributeError(name)
        return lambda *values: self.calls.append(name)


class Control:
    def __init__(self, robot):
        self.robot, self.began, self.lost, self.written = robot, robot.ms, 0, False

    def due(self, fault):
        """Whether a fault of this motion has begun."""
        at = self.robot.faults.get(fault)
        return at is not None and self.robot.ms - self.began > 1e3 * float(at)

    def abort(self, reason):
        robot = self.robot
        robot.mode, robot.errors, robot.tau = RobotMode.Reflex, reason, [0.0] * 7
        if robot.note is not None:
            robot.note.write_text(reason)
        raise ControlException(
            "libfranka: Move command aborted: motion aborted by reflex! "
            f'["{reason}"]\ncontrol_command_success_rate: {robot.rate:g}'
        )

    def readOnce(self):  # noqa: N802 - the maker's name
        robot = self.robot
        robot.step()
        if self.due("reflex"):
            self.abort("cartesian_reflex")
        if self.due("gone"):
            raise NetworkException("libfranka: UDP receive: Timeout")
        if self.due("crash"):
            os.abort()
        if self.due("late"):
            # the machine is busy elsewhere for 30 ms
            time.sleep(0.03)
            self.lost = 30
        if self.due("lossy"):
            robot.rate = 0.4
        if self.due("lost"):
            self.lost += 1
            robot.ms += 1
            robot.rate = max(0.0, 1.0 - 0.01 * self.lost)
        if self.lost > 20:
            self.abort("communication_constraints_violation")
        return robot.state(), None

    def writeOnce(self, torques):  # noqa: N802
        robot = self.robot
        if torques.motion_finished:
            # franka-sim takes the end of a motion without a torque for that of the one before
            assert self.written, "a motion has ended before it began"
            robot.mode, robot.rate, robot.tau, robot.v = RobotMode.Idle, 0.0, [0.0] * 7, [0.0] * 7
            return
        step = max(abs(a - b) for a, b in zip(torques.tau_J, robot.tau, strict=True))
        if step > 1.0 + 1e-9:
            self.abort("controller_torque_discontinuity")
        robot.tau, self.written = torques.tau_J, True


class Gripper:
    """Fingers that close until they meet a thing as wide as the address says."""

    def __init__(self, address):
        self.faults = dict(part.partition("=")[::2] for part in address.split(",")[1:])
        if "hand" not in self.faults:
            raise NetworkException("libfranka: Connection error: refused")
        self.width, self.thing = 0.04, float(self.faults.get("thing", 0.0))
        self.held = False

    def read_once(self):
        return SimpleNamespace(width=self.width, max_width=0.08, is_grasped=self.held)

    def move(self, width, speed):
        time.sleep(abs(width - self.width) / speed)
        self.width, self.held = max(width, self.thing), False
        return width >= self.thing

    def grasp(self, width, speed, force, inner, outer):
        assert force == 20.0
        self.held = True
        return True
