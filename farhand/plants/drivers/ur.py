"""Universal Robots driver: a UR arm as a plant, by the ``ur_rtde`` client (extra ``ur``).

The client has its own threads. One more thread here publishes the newest state for the tick and
gives the newest command to the client, because a call of the client may wait for the controller.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.errors import FileError, Mismatch
from farhand.parameters import parameter
from farhand.plants import Brake, Command, JointPosition, JointTorque, JointVelocity, Plant, Sample
from farhand.plants.drivers.worker import Latest, Stamped, Worker, urgent
from farhand.robots import Placement, Robot
from farhand.spatial import Array, rotation_from_quaternion

POLL_RATE_HZ = 1000.0
"""How often the thread checks for a new state, [Hz]: twice the rate of the controller."""

SPEED_COMMANDS = (JointVelocity, Brake)
"""Commands that are sent as joint speeds: standing still is a speed of zero."""

RUNNING = 7
"""Robot mode in which an arm can move."""

RTDE_PORT = 30004
REPLY_TIMEOUT_S = 3.0
"""Time for a controller to answer the first request, [s]."""


@dataclass
class UrSettings:
    """What the controller is set to before anything moves, and how commands are sent."""

    payload: float = parameter(0.0, "kg", "mass at the flange", 0.0, 30.0)
    payload_centre: Array = parameter((0.0, 0.0, 0.0), "m", "its centre in flange axes", -1.0, 1.0)
    zero_sensor: bool = parameter(True, "-", "whether the force sensor is zeroed at the start")
    watchdog: float = parameter(10.0, "Hz", "least rate of commands", 1.0, 500.0)
    patience: float = parameter(0.05, "s", "oldest command that is repeated", 0.002, 1.0)
    acceleration: float = parameter(20.0, "rad/s²", "of joint speeds", 0.1, 40.0)
    deceleration: float = parameter(10.0, "rad/s²", "of a stop", 0.1, 40.0)
    lookahead: float = parameter(0.03, "s", "of joint positions", 0.03, 0.2)
    gain: float = parameter(600.0, "-", "of joint positions", 100.0, 2000.0)
    torque: float = parameter(0.8, "-", "largest share of the joint torques", 0.0, 1.0)
    speed: float = parameter(0.9, "-", "largest share of the joint speeds", 0.0, 1.0)
    mismatch: float = parameter(0.02, "m", "between the arm's tool and the model's", 0.0, 1.0)


class UrPlant(Plant):
    """A UR arm, real or simulated.

    Payload and tool are set first, the model is compared with the arm, and the watchdog of the
    controller is set before the first command. Joint torque is sent without the weight, which the
    controller adds. When the link is lost, the samples grow old, which the guard notices, and the
    watchdog of the controller stops the arm. Without new commands of the tick the arm stops too.

    Args:
        name: of the plant in the rig.
        host: address of the controller.
        robot: the model of the arm.
        placement: where its base stands.
        gravity: downward acceleration in the commanded joint torques, [m/s²].
        settings: of the controller.

    Raises:
        FileError: the client is not installed, or no controller answers.
        Mismatch: the arm is not ready, or does not fit the model.
    """

    accepts: frozenset[type[Command]] = frozenset(
        {JointTorque, JointVelocity, JointPosition, Brake}
    )
    address_hint = "HOST"
    period_ns = 2_000_000

    def __init__(
        self,
        name: str,
        host: str,
        robot: Robot,
        placement: Placement | None = None,
        gravity: float = 9.81,
        settings: UrSettings | None = None,
    ) -> None:
        self.name, self.host, self.settings = name, host, settings or UrSettings()
        self.actuated = robot.actuated
        placement = placement or Placement()
        self._arm = Arm.of(robot, placement, gravity)
        self._base = np.array(placement.position)
        self._R_base = rotation_from_quaternion(np.array(placement.quaternion))
        self._most, self._fastest = robot.limits.torque, robot.limits.velocity
        self._sample = Sample(6, 6)
        self.device_time = 0.0  #: of the latest sample on the controller's clock, [s]
        self._asked: tuple[type[Command], list[float], int] | None = None
        self._mode: type[Command] | None = None
        self._restart = self._watched = False
        self._refusal = ""
        with urgent():
            self._receive, self._control = _connect(host)
        try:
            self._prepare()
        except Exception:
            self._disconnect()
            raise
        self._latest = Latest(name, self._state())
        self._worker = Worker(f"ur {name}", self._exchange, POLL_RATE_HZ)
        with urgent():
            self._worker.start()

    @classmethod
    def open(
        cls, address: str, *, name: str, robot: Robot, placement: Placement, gravity: float
    ) -> UrPlant:
        """The arm whose controller has this address."""
        return cls(name, address, robot, placement, gravity)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of it."""
        return {"plant": self.settings}

    def read(self, now_ns: int) -> Sample:
        """The latest sample; its time is now less its age."""
        record: Stamped = self._latest.get()
        sample, value = self._sample, record.value
        sample.time_ns = now_ns - record.age_ns(time.monotonic_ns())
        sample.motion[:] = value[:12]
        wrench = value[12:18]
        sample.set_wrench(np.concatenate([self._R_base @ wrench[:3], self._R_base @ wrench[3:]]))
        self.device_time = float(value[18])
        if self._worker.error is not None:
            self.fault = f"the client of {self.host} failed: {self._worker.error}"
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Leave the command for the thread."""
        kind, value = type(command), command.value
        if kind is JointTorque:
            self._arm.update(self._sample.q, self._sample.v)
            most = self.settings.torque * self._most
            value = np.clip(value - self._arm.gravity, -most, most)
        elif kind is JointVelocity:
            most = self.settings.speed * self._fastest
            value = np.clip(value, -most, most)
        self._asked = (kind, value.tolist(), time.monotonic_ns())

    def restart(self) -> None:
        """Let the thread unlock a protective stop and upload the control script again."""
        self._restart = True

    def close(self) -> None:
        """Stop the arm and disconnect from the controller."""
        self._worker.stop()
        if self._control.isConnected():
            self._halt()
            self._control.stopScript()
        self._disconnect()

    def _prepare(self) -> None:
        """Refuse an arm that is not ready or does not fit the model; set tool and payload."""
        receive, control, settings = self._receive, self._control, self.settings
        arm, mode = f"the arm at {self.host}", receive.getRobotMode()
        if mode != RUNNING:
            raise Mismatch(f"{arm} is in robot mode {mode}, not {RUNNING} (running)")
        if receive.isProtectiveStopped() or receive.isEmergencyStopped():
            raise Mismatch(f"{arm} is stopped by its safety system: find the cause, then unlock it")
        control.setTcp([0.0] * 6)
        control.setPayload(settings.payload, settings.payload_centre.tolist())
        # The pose with this tool arrives some cycles later.
        self._wait(5)
        self._arm.update(np.array(receive.getActualQ()), np.zeros(6))
        there = self._base + self._R_base @ np.array(receive.getActualTCPPose()[:3])
        off = float(np.linalg.norm(there - self._arm.position))
        if off > settings.mismatch:
            raise Mismatch(
                f"the tool of {arm} is {1e3 * off:.1f} mm from the model's, "
                f"limit {1e3 * settings.mismatch:g} mm: another robot, or another parameter set"
            )
        if settings.zero_sensor:
            control.zeroFtSensor()

    def _wait(self, cycles: int) -> None:
        """Wait for some cycles of the controller, at most 1 s."""
        until, latest = self._receive.getTimestamp() + cycles * 0.002, time.monotonic() + 1.0
        while self._receive.getTimestamp() < until and time.monotonic() < latest:
            time.sleep(0.001)

    def _state(self) -> Array:
        receive = self._receive
        q, v, wrench = receive.getActualQ(), receive.getActualQd(), receive.getActualTCPForce()
        return np.array([*q, *v, *wrench, receive.getTimestamp()])

    def _exchange(self, now_ns: int) -> None:
        """Publish the new state and send the newest command, once per cycle of the controller."""
        if self._receive.getTimestamp() == self._latest.get().value[18]:
            return
        self._latest.put(self._state())
        self.fault = self._find_fault()
        if self._restart:
            self._restart = False
            self._recover()
        elif self.fault is None:
            self._command(now_ns)

    def _find_fault(self) -> str | None:
        receive = self._receive
        if receive.isEmergencyStopped():
            return "emergency stop"
        if receive.isProtectiveStopped():
            return f"protective stop; {self._refusal}" if self._refusal else "protective stop"
        return None if self._control.isProgramRunning() else "the control script does not run"

    def _command(self, now_ns: int) -> None:
        kind, value, written_ns = self._asked or (Brake, [], 0)
        if now_ns - written_ns > self.settings.patience * 1e9 or not all(map(math.isfinite, value)):
            kind = Brake
        if kind is not Brake and not self._watched:
            self._watched = self._control.setWatchdog(self.settings.watchdog)
        if kind is not self._mode:
            if self._mode is not None:
                self._leave(self._mode, kind)
            self._mode = kind
        self._sends[kind](self, value)

    def _leave(self, old: type[Command], new: type[Command]) -> None:
        """End the motion thread of the control script, because only one may move the arm.

        Torque has no such thread: it acts for one cycle, and the next command replaces it.
        """
        if old is JointPosition:
            self._control.servoStop(self.settings.deceleration)
        elif old in SPEED_COMMANDS and new not in SPEED_COMMANDS:
            self._control.speedStop(self.settings.deceleration)

    def _halt(self) -> None:
        if self._mode is JointTorque:
            self._control.stopJ(self.settings.deceleration)
        elif self._mode is not None:
            self._leave(self._mode, JointTorque)
        self._mode = None

    def _send_velocity(self, value: list[float]) -> None:
        self._control.speedJ(value, self.settings.acceleration, 0.0)

    def _send_position(self, value: list[float]) -> None:
        self._control.servoJ(value, 0.0, 0.0, 0.002, self.settings.lookahead, self.settings.gain)

    def _send_torque(self, value: list[float]) -> None:
        self._control.directTorque(value, [], [])

    def _send_still(self, value: list[float]) -> None:
        self._control.speedJ([0.0] * 6, self.settings.deceleration, 0.0)

    _sends: dict[type[Command], Callable[[UrPlant, list[float]], None]] = {
        JointVelocity: _send_velocity,
        JointPosition: _send_position,
        JointTorque: _send_torque,
        Brake: _send_still,
    }

    def _recover(self) -> None:
        self._refusal = _unlock(self.host) if self._receive.isProtectiveStopped() else ""
        if self._refusal:
            return
        # Until the controller is ready for a program.
        time.sleep(0.05)
        if not self._control.isProgramRunning():
            self._control.reuploadScript()
        self._asked, self._mode, self._watched = None, None, False

    def _disconnect(self) -> None:
        self._control.disconnect()
        self._receive.disconnect()


def _unlock(host: str) -> str:
    """Unlock a protective stop; the reason if the controller refuses, else empty.

    The dashboard connection of the control interface is dead after some seconds of silence, so a
    new one is opened.
    """
    from dashboard_client import DashboardClient

    dashboard = DashboardClient(host)
    try:
        dashboard.connect()
        dashboard.unlockProtectiveStop()
    # The client has no error class of its own for a refusal.
    except Exception as error:
        return " ".join(str(error).split())
    finally:
        dashboard.disconnect()
    return ""


def _connect(host: str) -> tuple[Any, Any]:
    """The client's two halves."""
    try:
        from rtde_control import RTDEControlInterface
        from rtde_receive import RTDEReceiveInterface
    except ImportError:
        raise FileError("a UR arm needs the package ur_rtde: pip install 'farhand[ur]'") from None
    _ask_version(host)
    try:
        return RTDEReceiveInterface(host), RTDEControlInterface(host)
    # The client raises several classes.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FileError(f"the UR controller at {host} refuses the client: {reason}") from None


def _ask_version(host: str) -> None:
    """Ask for RTDE version 2 once: the client would wait forever at an open, silent port.

    Raises:
        FileError: nothing answers in time, or not as a controller does.
    """
    port = f"no UR controller at {host}: port {RTDE_PORT}"
    try:
        with socket.create_connection((host, RTDE_PORT), REPLY_TIMEOUT_S) as asking:
            asking.sendall(bytes((0, 5, ord("V"), 0, 2)))
            answer = asking.recv(4)
    except TimeoutError:
        raise FileError(f"{port} does not answer within {REPLY_TIMEOUT_S:g} s") from None
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{port}: {reason}") from None
    if answer[2:3] != b"V":
        raise FileError(f"{port} does not speak RTDE")
