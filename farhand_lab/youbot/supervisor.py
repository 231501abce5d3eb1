"""Supervisor: the published start-up sequence on the youBot rig itself, from a held arm to full force feedback."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.control.tool.torque import TorqueController
from farhand.link.haptic_messages import ArmJoints, HapticState, SpringWrench
from farhand.link.port import OutPort
from farhand.loop.station import Station
from farhand.rigs.rig import Rig
from farhand.rigs.youbot.startup import ControlMode, YoubotStartup

Array = np.ndarray

UNFOLD_SPEED = 0.8
"""How fast the arm's joints go under position control, assumed, [rad/s]."""


class Supervisor:
    """Steps the start-up after every advance of the world and does what it says.

    Motor stop is the arm held where it is; position control moves the posture that is held; torque
    control is the coupling engaged. The spring's stiffness, the force divisor and the speed of rate
    control are the start-up's. The pen feels nothing of the spring before force feedback begins,
    and is led home until then.

    Args:
        rig: the youBot rig in one process, not engaged by its scenario.

    Attributes:
        startup: the sequence; post ``set_initial_position`` to its machine once the pen is home.
    """

    def __init__(self, rig: Rig) -> None:
        self._session = rig.session
        self._leader, self._follower = self._station("leader"), self._station("follower")
        self._bridge = rig.session.bridges[0]
        self._law: Any = self._bridge.laws[0]
        self._homing = self._leader.join()
        self.startup = YoubotStartup(self)
        self.startup.machine.report = rig.session.telemetry.event
        self._pen, self._arm = OutPort("pen", HapticState), OutPort("arm", ArmJoints)
        self._wrench = OutPort("spring", SpringWrench)
        sources: dict[str, OutPort[Any]] = {
            "C1.hap_in": self._pen,
            "C2.hap_in": self._pen,
            "C1.yb_in": self._arm,
        }
        sources["C2.youbot_force"] = self._wrench
        for name, out in sources.items():
            self.startup.ports[name].connect(out)
        self.startup.wire()
        self._last_ns = rig.session.now_ns
        rig.session.commands.post("release")  # whatever a scenario asked for: the sequence decides
        rig.session.worlds.append(self)
        self.startup.start(self._last_ns)

    def set_control_mode(self, mode: ControlMode) -> None:
        """Engage for torque control, part for everything else."""
        if mode is ControlMode.TORQUE:
            self._bridge.engage()
        else:
            self._bridge.release()

    def advance(self, to_ns: int) -> None:
        """One step of the sequence, with what the stations knew at the last tick."""
        dt, self._last_ns = (to_ns - self._last_ns) * 1e-9, to_ns
        pen, arm, startup = self._leader.arm, self._follower.arm, self.startup
        self._pen.write(HapticState(pen.position, np.zeros(3), False, True))
        self._arm.write(ArmJoints(arm.q[-5:]))
        if startup.streaming:
            self._wrench.write(SpringWrench(self._law.spring.wrench))
        startup.step(to_ns)
        self._tune()
        self._homing.wrench[:3] = 0.0 if startup.feedback else startup.pen_force
        if startup.joint_target is not None:
            self._unfold(startup.joint_target, dt)

    def _tune(self) -> None:
        tunables, law = self.startup.tunables, self._law
        law.spring.stiffness, law.spring.rotational_stiffness = tunables.kt.value, tunables.kr.value
        law.spring.refresh()
        law.mapping.hybrid.speed = tunables.v.value
        law.mapping.force_scale = 1.0 / tunables.kf.value if self.startup.feedback else 0.0

    def _unfold(self, target: Array, dt: float) -> None:
        """Move the posture that is held towards the target."""
        controller = self._follower.controller
        assert isinstance(controller, TorqueController)
        if controller.holding:
            q = controller.still.q
            q[-5:] += np.clip(target - q[-5:], -UNFOLD_SPEED * dt, UNFOLD_SPEED * dt)

    def _station(self, name: str) -> Station:
        return next(station for station in self._session.stations if station.name == name)
