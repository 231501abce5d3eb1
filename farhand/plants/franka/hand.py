"""The process that moves a Franka Hand through the maker's client.

The client's calls wait until the fingers have arrived, so the hand has a process of its own beside
that of the arm, and goes in short steps. It has no force input: the force that is asked of its
joint says where the fingers should be, as the other end of the spring that pulls them.

Like :mod:`farhand.plants.franka.worker`, this file runs by its path, also in another Python.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

if __name__ == "__main__":
    sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.abspath(__file__)).rsplit(os.sep, 3)[0]]

import numpy as np

from farhand.ring import RingReader, RingWriter, Span

WATCHING, FAULT = 0, 2  # phases, as of the arm's process
HAND_STATE = np.dtype(
    [
        ("time_ns", "i8"),  # when it came, on the monotonic clock
        ("phase", "i8"),
        ("opening", "f8"),  # of one finger, [m]
        ("grasped", "i8"),
        ("text", "S256"),  # why nothing moves
    ]
)
HAND_COMMAND = np.dtype(
    [
        ("time_ns", "i8"),
        ("end", "i8"),
        ("force", "f8"),  # on one finger, positive opens, [N]
        ("stiffness", "f8"),  # of the spring that pulls the finger, [N/m]
        ("grip", "f8"),  # with which something is held, [N]
    ]
)
HAND_SPANS = (
    Span(0, 8, HAND_STATE.itemsize // 8),
    Span(Span(0, 8, HAND_STATE.itemsize // 8).end, 8, HAND_COMMAND.itemsize // 8),
)
HAND_SIZE = HAND_SPANS[1].end

STEP_M, DEAD_M = 0.006, 0.0015
"""Longest and shortest way of a finger in one step, [m]."""

SPEED_M_S = 0.1
ANSWER_S = 0.01
"""Time in which the tick answers a state with a command, [s]."""


class FrankaHand:
    """One connection to a hand.

    Args:
        memory: shared with the plant.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        self._states = RingWriter(memory, HAND_SPANS[0])
        self._commands = RingReader(np.frombuffer(memory, np.int64), HAND_SPANS[1])
        self._record = np.zeros(1, HAND_STATE)
        self.state = self._record[0]  #: what is published
        self._parent, self._blocked = os.getppid(), False

    def run(self, gripper: Any) -> None:
        """Serve until the plant ends."""
        while True:
            found = gripper.read_once()
            self.state["time_ns"], self.state["opening"] = time.monotonic_ns(), 0.5 * found.width
            self.state["grasped"] = bool(found.is_grasped)
            self.publish()
            # until there is a command that knows this state
            time.sleep(ANSWER_S)
            command = self._command()
            if command["end"]:
                return
            self._follow(gripper, command, 0.5 * found.width, 0.5 * found.max_width)

    def publish(self) -> None:
        """Let the plant see the state."""
        self._states.push(self._record.view(np.uint8).data)

    def _command(self) -> Any:
        words = self._commands.newest()
        command = (np.zeros(1, HAND_COMMAND) if words is None else words.view(HAND_COMMAND))[0]
        command["end"] |= os.getppid() != self._parent
        return command

    def _follow(self, gripper: Any, command: Any, opening: float, widest: float) -> None:
        """One step to where the spring ends; something in between is held."""
        old = command["time_ns"] < self.state["time_ns"] + 0.5e9 * ANSWER_S
        if old or not np.isfinite(command["force"]) or not command["stiffness"]:
            return
        way = float(np.clip(command["force"] / command["stiffness"], -STEP_M, STEP_M))
        goal = min(widest, max(0.0, opening + way))
        closes = goal < opening
        if abs(goal - opening) < DEAD_M or (closes and self._blocked):
            return
        gripper.move(2.0 * goal, SPEED_M_S)
        reached = 0.5 * gripper.read_once().width
        self._blocked = closes and reached - goal > 0.5 * DEAD_M
        if self._blocked:
            # the fingers are wherever the object is, however wide that is
            gripper.grasp(2.0 * reached, SPEED_M_S, float(command["grip"]), 0.08, 0.08)


def serve(host: str, memory: int) -> None:
    """Serve a hand until the plant ends.

    Args:
        host: address of the arm.
        memory: file descriptor of the shared memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import pylibfranka

    hand = FrankaHand(mmap.mmap(memory, HAND_SIZE))
    try:
        hand.run(pylibfranka.Gripper(host))
    # the client's errors have no base class in common
    except Exception as error:
        text = " ".join((str(error) or type(error).__name__).split())
        hand.state["phase"], hand.state["text"] = FAULT, text.encode()[:255]
        hand.publish()


if __name__ == "__main__":
    with suppress(SystemExit):
        serve(sys.argv[1], int(sys.argv[2]))
    os._exit(0)
