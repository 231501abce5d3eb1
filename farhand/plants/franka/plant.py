"""Franka plant: an FR3 by the maker's own client ``pylibfranka`` (extra ``franka``)."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from farhand.arm import Arm
from farhand.errors import FileError, Mismatch
from farhand.parameters import parameter
from farhand.plants.franka import hand, worker
from farhand.plants.franka.hand import HAND_COMMAND, HAND_SPANS, HAND_STATE
from farhand.plants.franka.worker import COMMAND, JOINTS, SPANS, STATE
from farhand.plants.plant import Brake, Channels, Command, JointTorque, Plant, Sample
from farhand.ring import RingReader, RingWriter, Span
from farhand.robots import Placement, Robot
from farhand.spatial import Array, rotation_from_quaternion

PYTHON = "FARHAND_FRANKA_PYTHON"
"""Environment variable with the Python that has ``pylibfranka``, where Farhand's own has not."""

START_S = 20.0
"""Longest time until the arm's first state, [s]: the client waits for a connection by itself."""

RECOVERY_S = 10.0
"""Longest time of a recovery, during which the arm stands, held by its own controller, [s]."""

CLOSE_S = 3.0
"""Longest time until an arm stands and its process has ended, [s]."""

MEASURED_CYCLES = 100
FLANGE_M = 0.107
"""From the frame of link 7 to the flange, [m]."""

PROBE_S = 30.0
HAND_MASS_KG = 0.3
"""Mass at the flange above which a hand is mounted, [kg]; the maker's has 0.73 kg."""


@dataclass
class FrankaSettings:
    """What the arm is set to before it moves, and how torques are sent."""

    torque: float = parameter(0.8, "-", "largest share of the joint torques", 0.0, 1.0)
    torque_rate: float = parameter(900.0, "N·m/s", "fastest change of a torque", 1.0, 1000.0)
    patience: float = parameter(0.05, "s", "oldest command that is repeated", 0.002, 1.0)
    most_delay: float = parameter(
        0.025, "s", "mean time from a state to its torque above which it stops", 0.002, 1.0
    )
    least_success: float = parameter(
        0.5, "-", "share of commands in time below which it stops", 0.0, 1.0
    )
    damping: Array = parameter(
        (30.0, 30.0, 30.0, 30.0, 5.0, 5.0, 5.0), "N·m·s/rad", "that stops the arm", 0.0, 100.0
    )
    hand_stiffness: float = parameter(55.0, "N/m", "of the law at a finger", 1.0, 1e4)
    grip: float = parameter(20.0, "N", "with which the hand holds things", 0.0, 70.0)
    load: float = parameter(0.0, "kg", "mass held, beside the tool set in Desk", 0.0, 3.0)
    load_centre: Array = parameter((0.0, 0.0, 0.0), "m", "its centre from the flange", -1.0, 1.0)
    load_inertia: Array = parameter((0.0, 0.0, 0.0), "kg·m²", "about its centre", 0.0, 1.0)
    collision_torque: Array = parameter(
        (40.0, 40.0, 40.0, 40.0, 10.0, 10.0, 10.0), "N·m", "at which it stops itself", 1.0, 100.0
    )
    collision_force: Array = parameter(
        (60.0, 60.0, 60.0, 15.0, 15.0, 15.0), "N, N·m", "at which it stops itself", 1.0, 200.0
    )
    external: str = parameter(
        "auto", "-", "who estimates contact", choices=("auto", "arm", "observer")
    )
    mismatch: float = parameter(0.02, "m", "between the arm's tool and the model's", 0.0, 1.0)


class Served:
    """A process that speaks with a part of the arm, and memory that both have.

    Args:
        name: of the plant, for the memory.
        script: what it runs.
        host: address of the arm.
        spans: where states and commands lie in the memory.
        kinds: of one state and of one command.
        more: further arguments.
    """

    def __init__(
        self,
        name: str,
        script: str,
        host: str,
        spans: tuple[Span, Span],
        kinds: tuple[np.dtype[Any], np.dtype[Any]],
        more: Sequence[str] = (),
    ) -> None:
        self.host, self._kind, size = host, kinds[0], spans[1].end
        self._said = tempfile.TemporaryFile()
        memory = os.memfd_create(f"franka-{name}")
        try:
            os.ftruncate(memory, size)
            shared = mmap.mmap(memory, size)
            words = np.frombuffer(shared, np.int64)
            self._states, self._every = RingReader(words, spans[0]), RingReader(words, spans[0])
            self._commands = RingWriter(shared, spans[1])
            self._record = np.zeros(1, kinds[1])
            self.command = self._record[0]  #: what :meth:`send` sends
            self._bytes = self._record.view(np.uint8).data
            self.process = subprocess.Popen(
                [python(), script, host, str(memory), *more],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=(memory,),
            )
        except OSError as error:
            raise FileError(f"{PYTHON} names no Python that starts: {error}") from None
        finally:
            os.close(memory)

    def send(self) -> None:
        """Leave the command for the process."""
        self.command["time_ns"] = time.monotonic_ns()
        self._commands.push(self._bytes)

    def newest(self) -> Any:
        """The last state; None before the first."""
        words = self._states.newest()
        return None if words is None else words.view(self._kind)[0]

    def cycles(self, begin: bool) -> Array:
        """All states since the last call, as far as they are kept; or since the process began."""
        if begin:
            self._every.position = 0
        found: Array = self._every.take()[0].view(self._kind)[:, 0]
        return found

    def first(self, what: str) -> Any:
        """The first state.

        Raises:
            FileError: the process ends instead, or says why it cannot reach its part of the arm.
        """
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            state = self.newest()
            if state is not None and state["phase"] == worker.FAULT and not state["time_ns"]:
                raise FileError(f"no {what} at {self.host}: {reason(state)}")
            if state is not None:
                return state
            if self.process.poll() is not None:
                raise FileError(failure(self._said, self.host))
            time.sleep(0.005)
        raise FileError(f"no {what} at {self.host}: no answer within {START_S:g} s")

    def fault(self, what: str) -> str | None:
        """Why it does nothing any more, or None."""
        if (code := self.process.poll()) is not None:
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            return f"the process for the {what} at {self.host} ended {how}"
        state = self.newest()
        failed = state is not None and state["phase"] == worker.FAULT
        return reason(state) if failed else None

    def close(self) -> None:
        """End it after :meth:`send` has told it so."""
        try:
            self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._said.close()


class FrankaPlant(Plant):
    """An FR3, real or simulated, served by a process of its own at 1 kHz.

    Joint torque is sent without the weight and without the friction of the motors, which the arm
    compensates by itself. The arm's own estimate of external torque is used where it is real: one
    that is zero in every joint is not. A model with an eighth joint has a hand: see
    :mod:`farhand.plants.franka.hand`.

    Args:
        name: of the plant in the rig.
        host: address of the arm.
        robot: the model of the arm.
        placement: where its base stands.
        gravity: downward acceleration in the commanded joint torques, [m/s²].
        settings: of the arm.

    Raises:
        FileError: the client is not installed, or no arm answers.
        Mismatch: the arm cannot be driven, or does not fit the model.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque, Brake})
    address_hint = "HOST"
    robots = {"leader": "fr3", "follower": "fr3"}
    compensates_friction = True

    def __init__(
        self,
        name: str,
        host: str,
        robot: Robot,
        placement: Placement | None = None,
        gravity: float = 9.81,
        settings: FrankaSettings | None = None,
    ) -> None:
        n = len(robot.home)
        if n not in (JOINTS, JOINTS + 1):
            raise Mismatch(
                f"a Franka arm has {JOINTS} joints, and 1 of a hand; {robot.name} has {n}"
            )
        self.name, self.host, self.settings = name, host, settings or FrankaSettings()
        self.actuated = robot.actuated
        placement = placement or Placement()
        self._arm = Arm.of(robot, placement, gravity)
        self._R_base = rotation_from_quaternion(np.array(placement.quaternion))
        self._most = robot.limits.torque[:JOINTS].copy()
        self._sample = Sample(n, n)
        self._sample.q[:] = robot.home
        self.acted = np.zeros(n)
        self.external: Array | None = None
        self._external = np.zeros(n)
        self._resets = self._asked_ns = self._counted = 0
        self._recorded: tuple[Array, ...] | None = None
        self._hand: Served | None = None
        self._open()
        try:
            self._last = self._state = self._served.first("Franka arm")
            self._check(robot)
            self._measure_cycle()
            if n > JOINTS:
                self._hand = self._open_hand()
                self._sample.q[JOINTS] = self._hand.first("Franka Hand")["opening"]
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls, address: str, *, name: str, robot: Robot, placement: Placement, gravity: float
    ) -> FrankaPlant:
        """The arm that has this address."""
        return cls(name, address, robot, placement, gravity)

    @classmethod
    def robot_at(cls, address: str, role: str) -> str:
        """With a hand or without one, as the arm's own settings say."""
        return "fr3" if probe(address)["tool_mass"] > HAND_MASS_KG else "fr3-arm"

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of it."""
        return {"plant": self.settings}

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the arm stands, or None."""
        if self._recovering:
            return None
        found = self._served.fault("Franka arm")
        return found or (None if self._hand is None else self._hand.fault("Franka Hand"))

    @property
    def _recovering(self) -> bool:
        asked = self._resets > self._state["resets"]
        return bool(asked and time.monotonic_ns() - self._asked_ns < RECOVERY_S * 1e9)

    def restart(self) -> None:
        """Let the arm's controller recover from a fault; meanwhile it holds the arm."""
        if self.fault is None:
            return
        if self._served.process.poll() is not None:
            self._served.close()
            self._open()
        if self._hand is not None and self._hand.fault("Franka Hand"):
            self._hand.close()
            self._hand = self._open_hand()
        self._resets += 1
        self._asked_ns = time.monotonic_ns()
        self._send(worker.HOLD)

    def record(self, stream: Channels) -> None:
        """Publish the measured torques and how well the cycles are kept."""
        self._recorded = (
            stream.channel("torque_measured", JOINTS, "N·m"),
            stream.channel("torque_external_of_arm", JOINTS, "N·m"),
            stream.channel("command_success", 1, "-"),
            stream.channel("states_lost", 1, "-"),
            stream.channel("answers_late", 1, "-"),
            stream.channel("loop_delay", 1, "s"),
        )

    def read(self, now_ns: int) -> Sample:
        """The latest state; its time is now less its age."""
        sample, newest = self._sample, self._served.newest()
        state = self._state = self._state if newest is None else newest
        if self._hand is not None and (fingers := self._hand.newest()) is not None:
            sample.q[JOINTS] = fingers["opening"]
        # the arm stands while it recovers, and the client is silent
        age_ns = 0 if self._recovering else time.monotonic_ns() - int(state["time_ns"])
        sample.time_ns = now_ns - age_ns
        # a new process that does not reach the arm knows nothing
        if state["time_ns"]:
            sample.q[:JOINTS], sample.v[:JOINTS] = state["q"], state["v"]
        self.acted_time = 1e-9 * float(state["time_ns"] - self._last["time_ns"])
        if self.acted_time > 0.0:
            self._arm.update(sample.q, sample.v)
            self._account(state)
        self._estimate(state)
        if self._recorded is not None:
            for channel, name in zip(self._recorded, RECORDED, strict=True):
                channel[:] = state[name]
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Leave the command for the process."""
        if type(command) is Brake:
            self._send(worker.HOLD)
            return
        most = self.settings.torque * self._most
        torque = command.value[:JOINTS] - self._arm.gravity[:JOINTS]
        self._served.command["torque"] = np.clip(torque, -most, most)
        self._served.command["answers_ns"] = self._state["time_ns"]
        self._send(worker.DRIVE)
        if self._hand is not None:
            fingers, settings = self._hand.command, self.settings
            fingers["force"] = command.value[JOINTS] - self._arm.gravity[JOINTS]
            fingers["stiffness"], fingers["grip"] = settings.hand_stiffness, settings.grip
            self._hand.send()

    def cycles(self) -> Array:
        """All states since the last call, as far as they are kept; for those who look at each."""
        begin = self._counted != self._state["resets"]
        self._counted = int(self._state["resets"])
        return self._served.cycles(begin)

    def close(self) -> None:
        """Stop the arm and end the process."""
        if self._hand is not None:
            self._hand.command["end"] = 1
            self._hand.send()
        self._send(worker.END)
        for served in (self._served, self._hand):
            if served is not None:
                served.close()

    def _open(self) -> None:
        """Start the process of the arm."""
        kinds, more = (STATE, COMMAND), [str(self._resets)]
        self._served = Served(self.name, worker.__file__, self.host, SPANS, kinds, more)

    def _open_hand(self) -> Served:
        kinds = HAND_STATE, HAND_COMMAND
        return Served(f"{self.name}-hand", hand.__file__, self.host, HAND_SPANS, kinds)

    def _measure_cycle(self) -> None:
        """How often states come, and from that how late torques answer them."""
        states = self._served.cycles(begin=True)
        while len(states) < MEASURED_CYCLES and self._served.fault("Franka arm") is None:
            time.sleep(0.01)
            states = self._served.cycles(begin=True)
        passed = int(states["time_ns"][-1] - states["time_ns"][0])
        self.period_ns = max(1_000_000, passed // max(1, len(states) - 1))
        # from a state to the tick, to the next cycle with the answer, and to the motors
        self.loop_delay = 3e-9 * self.period_ns

    def _check(self, robot: Robot) -> None:
        """Refuse an arm whose tool is not where the model has it."""
        state, arm = self._state, self._arm
        q = np.concatenate([state["q"], robot.home[JOINTS:]])
        arm.update(q, np.zeros(len(q)))
        there = arm_position(arm, robot)
        place, axis = state["pose"][12:15], state["pose"][8:11]
        # franka-sim gives link 7 in place of the flange
        places = place, place + FLANGE_M * axis
        off = min(float(np.linalg.norm(one - there)) for one in places)
        if off > self.settings.mismatch:
            raise Mismatch(
                f"the tool of the arm at {self.host} is {1e3 * off:.1f} mm from that of "
                f"{robot.name}, limit {1e3 * self.settings.mismatch:g} mm: set its end effector in "
                "Desk, or name its model with rig.leader_robot or rig.follower_robot"
            )

    def _account(self, state: Any) -> None:
        """What the motors have done since the last sample, the weight included."""
        done = (state["impulse"] - self._last["impulse"]) / self.acted_time
        assert self.acted is not None
        self.acted[:JOINTS] = done + self._arm.gravity[:JOINTS]
        self.acted[JOINTS:] = self._arm.gravity[JOINTS:]
        self._last = state

    def _estimate(self, state: Any) -> None:
        """Offer the arm's own estimates, if they are real."""
        which = self.settings.external
        if which == "observer" or (which == "auto" and not state["external"].any()):
            self.external = None
            self._sample.set_wrench(None)
            return
        self._external[:JOINTS] = state["external"]
        self.external = self._external
        wrench = np.concatenate([self._R_base @ part for part in np.split(state["wrench"], 2)])
        # near a singular posture the arm has no estimate of it, and says zero
        self._sample.set_wrench(wrench if wrench.any() else None)

    def _send(self, kind: int) -> None:
        command, settings = self._served.command, self.settings
        command["kind"], command["resets"] = kind, self._resets
        for name in SENT:
            command[name] = getattr(settings, name)
        self._served.send()


RECORDED = ("torque", "external", "success", "lost", "late", "delay")
"""What is recorded of a state."""

SENT = ("torque_rate", "patience", "most_delay", "least_success", "damping", *worker.SETUP)
"""Settings that go to the process with every command."""


def arm_position(arm: Arm, robot: Robot) -> Array:
    """Position of the tool in the arm's own base, wherever that stands, [m]."""
    at_home = Arm.of(robot)
    at_home.update(arm.q, np.zeros(arm.nv))
    return at_home.position


def reason(state: Any) -> str:
    """Why nothing moves; a long text may be cut within a letter."""
    return str(state["text"].decode(errors="ignore"))


def python() -> str:
    """The Python that has the client."""
    return os.environ.get(PYTHON) or sys.executable


def failure(said: IO[bytes], host: str) -> str:
    """Why the process ended, in one line."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    if "No module named 'pylibfranka'" in lines[-1]:
        return (
            "a Franka arm needs the package pylibfranka: pip install 'farhand[franka]', or let "
            f"{PYTHON} name a Python that has it"
        )
    return f"the process for the Franka arm at {host} failed: {lines[-1]}"


def probe(host: str, q: Any = (), v: Any = ()) -> dict[str, Any]:
    """State of an arm that nobody drives, and the client's model at postures.

    Args:
        host: address of the arm.
        q: joint positions, a row per posture, [rad].
        v: joint velocities there, [rad/s].

    Raises:
        FileError: the client is not installed, or no arm answers.
    """
    asked = json.dumps({"q": np.asarray(q).tolist(), "v": np.asarray(v).tolist()})
    command = [python(), worker.__file__, "probe", host]
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                command, input=asked.encode(), stdout=subprocess.PIPE, stderr=said, timeout=PROBE_S
            )
        except OSError as error:
            raise FileError(f"{PYTHON} names no Python that starts: {error}") from None
        except subprocess.TimeoutExpired:
            raise FileError(f"the arm at {host} does not answer within {PROBE_S:g} s") from None
        if done.returncode != 0:
            raise FileError(failure(said, host))
    answer: dict[str, Any] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return answer
