"""The process that speaks with a Franka arm through the maker's client, once per cycle of 1 ms.

The client keeps Python's lock while it waits for the arm, so it cannot share a process with a tick.
This file runs by its path, also in another Python than Farhand's: it needs NumPy and
``pylibfranka`` only. State and command cross shared memory; neither side ever waits.

As long as commands are new the arm gets their torques. Otherwise it is slowed down by damping, then
the motion is ended and the arm's own controller holds it. After a fault nothing moves; a reset
replaces this process by a new one, which lets the controller recover: objects that the client
leaves behind after an error end the process when they are deleted.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

if __name__ == "__main__":
    # the folder of this file has no modules to import; Farhand's own come after this Python's
    sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.abspath(__file__)).rsplit(os.sep, 3)[0]]

import numpy as np

from farhand.ring import RingReader, RingWriter, Span

JOINTS = 7
WATCHING, DRIVING, FAULT, ENDED = range(4)  # phases
HOLD, DRIVE, END = range(3)  # kinds of commands

STATE = np.dtype(
    [
        ("time_ns", "i8"),  # when it came, on the monotonic clock
        ("phase", "i8"),
        ("resets", "i8"),  # how many were carried out
        ("cycles", "i8"),  # of torque
        ("lost", "i8"),  # states that did not come
        ("late", "i8"),  # answers that took longer than LATE_S
        ("callback", "f8"),  # how long the answer to the state before took, [s]
        ("robot_time", "f8"),  # of the controller, [s]
        ("success", "f8"),  # share of the last 100 commands that the controller got in time
        ("delay", "f8"),  # from a state to the torque that answers it, mean of some 100 cycles, [s]
        ("mass", "f8"),  # that the controller takes for that of tool and load, [kg]
        ("q", "f8", JOINTS),
        ("v", "f8", JOINTS),
        ("torque", "f8", JOINTS),  # measured
        ("external", "f8", JOINTS),  # as the controller estimates it, on the arm
        ("wrench", "f8", 6),  # as the controller estimates it, on the tool, base axes
        ("impulse", "f8", JOINTS),  # of the torques sent so far, [N·m·s]
        ("pose", "f8", 16),  # of the tool in the base, by columns
        ("text", "S512"),  # why nothing moves
    ]
)
COMMAND = np.dtype(
    [
        ("time_ns", "i8"),  # when it was written
        ("kind", "i8"),
        ("resets", "i8"),  # how many were asked for
        ("answers_ns", "i8"),  # when the state came that the torque answers
        ("torque", "f8", JOINTS),  # without the weight
        ("torque_rate", "f8"),
        ("patience", "f8"),
        ("most_delay", "f8"),
        ("least_success", "f8"),
        ("damping", "f8", JOINTS),
        ("load", "f8"),
        ("load_centre", "f8", 3),
        ("load_inertia", "f8", 3),
        ("collision_torque", "f8", JOINTS),
        ("collision_force", "f8", 6),
    ]
)
SETUP = ("load", "load_centre", "load_inertia", "collision_torque", "collision_force")
"""What the controller is set to before it moves."""

STATES = 4096
"""Cycles that are kept for those who look at every one."""

SPANS = (
    Span(0, STATES, STATE.itemsize // 8),
    Span(Span(0, STATES, STATE.itemsize // 8).end, 8, COMMAND.itemsize // 8),
)
"""Where states and commands lie in the shared memory."""

SIZE = SPANS[1].end

CYCLE_S = 1e-3
FADE_S = 0.2
"""Time over which the torques come in when the arm is let go by its own controller, [s]."""

LATE_S = 300e-6
"""The maker's advice for the time of one answer, [s]."""

WINDOW = 200
"""Cycles of a motion after which the share of commands in time counts."""

STANDING_RAD_S = 0.01
STOP_S = 1.0
"""Longest time that damping may take before the motion is ended anyway, [s]."""

IDENTITY = np.eye(4).ravel().tolist()
MODES = {
    "UserStopped": "the user stop is pressed",
    "Guiding": "the arm is being guided by hand",
    "Other": "the arm is not ready: its brakes are closed, or it is in another mode",
}
"""Why an arm in this mode cannot be driven."""


class FrankaWorker:
    """One connection to an arm.

    Args:
        franka: the client's module.
        host: address of the arm.
        memory: shared with the plant.
        resets: how many resets were carried out before, by the processes before this one.
    """

    def __init__(self, franka: Any, host: str, memory: mmap.mmap, resets: int) -> None:
        self._franka = franka
        self._states = RingWriter(memory, SPANS[0])
        self._commands = RingReader(np.frombuffer(memory, np.int64), SPANS[1])
        self._record = np.zeros(1, STATE)
        self.state = self._record[0]  #: what is published
        self._bytes = self._record.view(np.uint8).data
        self.state["resets"] = resets
        self._sent, self._fade, self._last_ms = np.zeros(JOINTS), 0.0, 0
        self._prepared: bytes | None = None
        self._parent = os.getppid()
        self._host = host

    def run(self) -> None:
        """Serve until the plant ends or asks for another connection."""
        robot = self._connect()
        self.state["phase"] = WATCHING
        while True:
            command = self._command()
            if command["kind"] == END:
                break
            self._take(robot.read_once())
            wanted = self._is_wanted(command, time.monotonic_ns())
            if why := self._unfit(wanted):
                self.fail(why)
            if wanted:
                self._prepare(robot, command)
                self._drive(robot)
            self._publish()
        self.state["phase"] = ENDED
        self._publish()

    def fail(self, why: str) -> None:
        """Say why nothing moves any more, until a reset replaces this process."""
        self.state["phase"], self.state["text"] = FAULT, one_line(why).encode()[:511]
        self._publish()
        while self._command()["kind"] != END:
            time.sleep(0.005)
        raise SystemExit

    def _connect(self) -> Any:
        franka = self._franka
        # the client refuses to run without a real-time kernel, if it is asked to
        level = franka.RealtimeConfig.kEnforce if has_realtime() else franka.RealtimeConfig.kIgnore
        robot = franka.Robot(self._host, level)
        state = robot.read_once()
        if self.state["resets"] and (state.current_errors or mode_of(state) == "Reflex"):
            robot.automatic_error_recovery()
        # the tool and the frame of its stiffness as the arm's own settings have them
        robot.set_EE(IDENTITY)
        robot.set_K(IDENTITY)
        return robot

    def _unfit(self, wanted: bool) -> str:
        """Why an arm that is watched cannot be driven; empty if it can."""
        mode = self._mode
        if mode == "Reflex":
            return f"reflex: {self._errors or 'no reason given'}"
        # an arm that nobody wants to move may stand with closed brakes
        return MODES.get(mode, "") if wanted else ""

    def _is_wanted(self, command: Any, now_ns: int) -> bool:
        """Whether a command asks for torque, and is not too old."""
        new = now_ns - command["time_ns"] < 1e9 * command["patience"]
        return bool(command["kind"] == DRIVE and new and np.isfinite(command["torque"]).all())

    def _prepare(self, robot: Any, command: Any) -> None:
        """Set load and collision behaviour, if they are new: no motion may run meanwhile."""
        wanted = b"".join(command[name].tobytes() for name in SETUP)
        if wanted == self._prepared:
            return
        torque, force = (command[name].tolist() for name in SETUP[3:])
        robot.set_collision_behavior(torque, torque, force, force)
        inertia = np.diag(command["load_inertia"]).ravel().tolist()
        robot.set_load(float(command["load"]), command["load_centre"].tolist(), inertia)
        self._prepared = wanted

    def _drive(self, robot: Any) -> None:
        """Torque control, until the plant wants the arm to stand or the link is too bad."""
        control = robot.start_torque_control()
        self.state["phase"], self.state["delay"], self._fade = DRIVING, 0.0, 0.0
        first, stopping_ns, why = int(self.state["cycles"]), 0, ""
        while True:
            found, _ = control.readOnce()
            self._take(found, driving=self.state["cycles"] > first)
            command, now_ns = self._command(), int(self.state["time_ns"])
            torque = None if why else self._torque(command, found, now_ns)
            if torque is None:
                stopping_ns = stopping_ns or now_ns
                standing = np.abs(self.state["v"]).max() < STANDING_RAD_S
                # a motion has one torque at least: its end would be taken for that of another
                begun = self.state["cycles"] > first
                if begun and (standing or now_ns - stopping_ns > STOP_S * 1e9):
                    break
                torque = self._limited(-command["damping"] * self.state["v"], command, found)
            else:
                stopping_ns = 0
            self._sent = torque
            control.writeOnce(self._franka.Torques(torque.tolist()))
            self._clock(now_ns)
            if not stopping_ns:
                self._clock_loop(command)
            self._publish()
            if self.state["cycles"] > first + WINDOW:
                why = why or self._too_slow(command)
        self._end(control)
        self.state["phase"] = WATCHING
        if why:
            self.fail(why)

    def _end(self, control: Any) -> None:
        """End the motion; the arm's own controller holds it."""
        last = self._franka.Torques(self._sent.tolist())
        last.motion_finished = True
        control.writeOnce(last)
        self._sent = np.zeros(JOINTS)

    def _torque(self, command: Any, found: Any, now_ns: int) -> Any:
        """Torque to send; None if the arm should stand instead."""
        if not self._is_wanted(command, now_ns):
            self._fade = 0.0
            return None
        self._fade = min(1.0, self._fade + CYCLE_S / FADE_S)
        share = self._fade**2 * (3.0 - 2.0 * self._fade)
        return self._limited(share * command["torque"], command, found)

    def _limited(self, torque: Any, command: Any, found: Any) -> Any:
        """No farther from the last torque that the controller got than a cycle may change it."""
        last, most = np.array(found.tau_J_d), CYCLE_S * command["torque_rate"]
        return last + np.clip(torque - last, -most, most)

    def _command(self) -> Any:
        """The last command; an end if the plant is gone, and a new process for a reset."""
        words = self._commands.newest()
        command = (np.zeros(1, COMMAND) if words is None else words.view(COMMAND))[0]
        if os.getppid() != self._parent:
            command["kind"] = END
        elif command["resets"] > self.state["resets"] and self.state["phase"] != DRIVING:
            replace_process(int(command["resets"]))
        return command

    def _take(self, found: Any, driving: bool = False) -> None:
        """Copy what the arm says."""
        state, now_ns = self.state, time.monotonic_ns()
        if driving:
            state["impulse"] += self._sent * (1e-9 * (now_ns - int(state["time_ns"])))
        seconds = found.time.to_sec()
        at_ms = round(1e3 * seconds)
        if self._last_ms and driving:
            state["lost"] += max(0, at_ms - self._last_ms - 1)
        self._last_ms = at_ms
        state["time_ns"], state["robot_time"] = now_ns, seconds
        state["success"] = found.control_command_success_rate
        state["mass"] = found.m_total
        state["q"], state["v"], state["torque"] = found.q, found.dq, found.tau_J
        # the client counts what the arm exerts as positive
        state["external"] = np.negative(found.tau_ext_hat_filtered)
        state["wrench"] = np.negative(found.O_F_ext_hat_K)
        state["pose"] = found.O_T_EE
        if not driving:
            self._mode, self._errors = mode_of(found), str(found.current_errors).strip("[]")

    def _clock(self, began_ns: int) -> None:
        """Note how long the answer took."""
        state = self.state
        state["callback"] = 1e-9 * (time.monotonic_ns() - began_ns)
        state["late"] += int(state["callback"] > LATE_S)
        state["cycles"] += 1

    def _clock_loop(self, command: Any) -> None:
        """Note how old the state is that the torque answers; a cycle is its way there and back."""
        state = self.state
        delay = 1e-9 * (time.monotonic_ns() - command["answers_ns"]) + CYCLE_S
        state["delay"] += 0.01 * (delay - state["delay"]) if state["delay"] else delay

    def _too_slow(self, command: Any) -> str:
        """Why the link or this machine is too slow to drive the arm; empty if it is not."""
        share, least = self.state["success"], command["least_success"]
        if share < least:
            return (
                f"only {share:.0%} of the last 100 commands came in time, {least:.0%} are "
                "needed: this machine or its network is too slow"
            )
        delay, most = self.state["delay"], command["most_delay"]
        if delay > most:
            return (
                f"{1e3 * delay:.0f} ms from a state to the torque that answers it, limit "
                f"{1e3 * most:g} ms (plant.most_delay): this machine is too slow"
            )
        return ""

    def _publish(self) -> None:
        self._states.push(self._bytes)


def mode_of(state: Any) -> str:
    """Name of the arm's mode."""
    return str(state.robot_mode).rsplit(".", 1)[-1]


def one_line(text: str) -> str:
    """The words of a message, without line breaks."""
    return " ".join(text.split())


def has_realtime() -> bool:
    """Whether the kernel is a real-time one, as the client judges it."""
    with suppress(OSError), open("/sys/kernel/realtime") as file:
        return file.read().strip() == "1"
    return False


def replace_process(resets: int) -> None:
    """Begin again in a new process with the same number and the same memory."""
    host, memory, _ = sys.argv[1:4]
    script = os.path.abspath(__file__)
    # the arm takes no second connection while the client's sockets are open
    os.closerange(3, int(memory))
    os.closerange(int(memory) + 1, 1024)
    os.execv(sys.executable, [sys.executable, script, host, memory, str(resets)])


def serve(host: str, memory: int, resets: int) -> None:
    """Serve an arm until the plant ends.

    Args:
        host: address of the arm.
        memory: file descriptor of the shared memory.
        resets: how many resets were carried out before.
    """
    # Ctrl-C is for the plant, which ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import pylibfranka

    worker = FrankaWorker(pylibfranka, host, mmap.mmap(memory, SIZE), resets)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        worker.run()
    # the client's errors have no base class in common
    except Exception as error:
        worker.fail(str(error) or type(error).__name__)


def probe(host: str, asked: dict[str, Any]) -> dict[str, Any]:
    """State of an arm, and what the client's model says at postures.

    Args:
        host: address of the arm.
        asked: ``q`` and ``v``, a row per posture.
    """
    import pylibfranka as franka

    robot = franka.Robot(host, franka.RealtimeConfig.kIgnore)
    state = robot.read_once()
    found: dict[str, Any] = {
        "client": getattr(franka, "__version__", ""),
        "mode": mode_of(state),
        "errors": str(state.current_errors),
        "tool": list(state.F_T_EE),
        "tool_mass": state.m_ee,
        "mass": state.m_total,
        "q": list(state.q),
        "mass_matrix": [],
        "coriolis": [],
        "gravity": [],
        "jacobian": [],
    }
    if asked["q"]:
        model = robot.load_model()
        # as an arm has it; franka-sim leaves it at zero
        state.O_ddP_O = [0.0, 0.0, -9.81]
        for q, v in zip(asked["q"], asked["v"], strict=True):
            state.q, state.dq = q, v
            found["mass_matrix"].append(np.array(model.mass(state)).reshape(7, 7).T.tolist())
            found["coriolis"].append(list(model.coriolis(state)))
            found["gravity"].append(list(model.gravity(state)))
            jacobian = np.array(model.zero_jacobian(state))
            found["jacobian"].append(jacobian.reshape(7, 6).T.tolist())
    return found


if __name__ == "__main__":
    if sys.argv[1] == "probe":
        answer = probe(sys.argv[2], json.load(sys.stdin))
        # what the client itself prints must not be taken for the answer
        print("\n" + json.dumps(answer), flush=True)
    else:
        with suppress(SystemExit):
            serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    # no destructors of the client: they wait for the arm, and end the process if it does not answer
    sys.stdout.flush()
    os._exit(0)
