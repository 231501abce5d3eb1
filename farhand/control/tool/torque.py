"""Torque control: the couplings' effort at the tool becomes joint torque, on top of the weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.compiled import bind
from farhand.control.controller import Controller, ControlRequest
from farhand.control.joint.assists import Assist, settings_of
from farhand.control.joint.loops import Still
from farhand.errors import UnknownName
from farhand.parameters import parameter
from farhand.plants.plant import Brake, Channels, Command, JointTorque
from farhand.rigid_body import joint_torque
from farhand.spatial import Array

NOTHING = np.zeros(0)

RELEASE_TIME_S = 0.2
"""Time over which the holding torque fades when an arm may move again, [s]."""


NULL_SPACE_STORE_J = 0.5
"""Energy that the null-space pull may spend before it must have been taken from the arm, [J]."""

MIN_MOBILITY = 1e-6
"""Share of the tool's best mobility below which a direction counts less and less as its own."""


@dataclass
class NullSpaceHold:
    r"""Keep the posture of a redundant arm without the tool feeling it.

    Motions of the joints that leave the tool where it is are damped, and pulled weakly to the
    posture at engagement:

    .. math:: \tau = (M - J^\top \Lambda J)\,(k\,(q_0 - q) - d\,\dot q), \qquad
              J M^{-1} \tau = 0

    :math:`M - J^\top \Lambda J` is symmetric and has no negative eigenvalue, so the damping only
    takes energy. The pull spends what it and the damping have taken, and at most 0.5 J in advance.
    """

    stiffness: float = parameter(10.0, "1/s²", "pull per inertia to the posture", 0.0, 1e3)
    damping: float = parameter(10.0, "1/s", "damping per inertia", 0.0, 200.0)

    def __post_init__(self) -> None:
        self._posture, self.store = np.zeros(0), NULL_SPACE_STORE_J

    def begin(self, arm: Arm) -> None:
        """Keep the present posture."""
        self._posture = arm.q.copy()

    def torque(self, arm: Arm, dt: float) -> Array:
        """Joint torque, [N·m]; the energy of the next ``dt`` [s] is put down."""
        if self.stiffness == 0.0 and self.damping == 0.0:
            return np.zeros(arm.nv)
        J, v = arm.J, arm.v
        mobility, axes = np.linalg.eigh(J @ np.linalg.solve(arm.M, J.T))
        floor = MIN_MOBILITY * mobility[-1]
        # The damped inverse of the mobility never exceeds the inertia, so that the damping stays
        # passive at singular postures.
        inertia = (axes * (mobility / (mobility**2 + floor**2))) @ axes.T
        felt_as = arm.M - J.T @ inertia @ J
        brake = felt_as @ (-self.damping * v)
        pull = felt_as @ (self.stiffness * arm.difference(arm.q, self._posture))
        available = self.store - float(brake @ v) * dt
        spent = float(pull @ v) * dt
        if spent > available:
            pull *= available / spent
            spent = available
        self.store = min(NULL_SPACE_STORE_J, available - spent)
        return brake + pull


def is_redundant(arm: Arm) -> bool:
    """Whether an arm on a fixed base has joint motions that leave its tool where it is."""
    if arm.nq != arm.nv:
        return False
    q, v, rng = arm.q.copy(), arm.v.copy(), np.random.default_rng(0)
    ranks = []
    for _ in range(4):
        arm.update(q + rng.uniform(-0.5, 0.5, arm.nv), np.zeros(arm.nv))
        ranks.append(int(np.linalg.matrix_rank(arm.J, tol=1e-6)))
    arm.update(q, v)
    return max(ranks) < arm.nv


class TorqueController(Controller):
    r"""Joint torque :math:`\tau = J^\top w + g(q)`, with the gravity of the controller's own model.

    Couplings of joints add their torque as it is.

    While no coupling is engaged, the arm is either held still or free to be moved; a tripped one is
    always held.

    Args:
        arm: the controller's model, kept up to date by the station.
        rest: ``"hold"`` or ``"free"`` when not coupled.
        period_ns: time between ticks, [ns].
        can_brake: whether the plant has brakes, for an arm whose state is not known.
        brakes_on_trip: whether a tripped arm is left to its brakes too: those of a real machine
            hold it better than torques through this loop.
        assist: torque against friction, or None.
        null_space: what keeps the posture of a redundant arm while it is coupled; by default a
            :class:`NullSpaceHold`.
    """

    commands = JointTorque
    channel = ("torque_commanded", "N·m")
    arm: Arm

    def __init__(
        self,
        arm: Arm,
        rest: str = "hold",
        period_ns: int = 1_000_000,
        can_brake: bool = False,
        assist: Assist | None = None,
        null_space: NullSpaceHold | None = None,
        brakes_on_trip: bool = False,
    ) -> None:
        if rest not in ("hold", "free"):
            raise UnknownName("rest of an arm", str(rest), ("hold", "free"))
        self.arm, self.rest, self.assist = arm, rest, assist
        self.null_space = (null_space or NullSpaceHold()) if is_redundant(arm) else None
        self._coupled = False
        self.still = Still()
        self.command: Command = JointTorque(arm.nv)
        self._brake, self._can_brake = Brake(arm.nv), can_brake
        self._brakes_on_trip = can_brake and brakes_on_trip
        self._brake.value = self.command.value
        self._dt = period_ns * 1e-9
        self._fade = 0.0
        self._held, self._last_held = np.zeros(arm.nv), np.zeros(arm.nv)
        # torque for a wrench at the tool and the weight, from these two arrays
        self._exert: Callable[[], None]
        self._bound: tuple[Array, ...] = NOTHING, NOTHING

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, its assist, and what keeps the posture of a redundant arm."""
        assist = None if self.assist is None else settings_of(self.assist)
        found = {"still": self.still, "assist": assist, "null_space": self.null_space}
        return {name: part for name, part in found.items() if part is not None}

    def record(self, stream: Channels) -> Array:
        """Declare the torque."""
        self._brake.value = super().record(stream)
        return self._brake.value

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort; without a known state, brakes if the plant has them."""
        arm, torque, gain = self.arm, self.command.value, request.gain
        if self._bound[0] is not request.effort or self._bound[1] is not torque:
            self._bound = request.effort, torque
            self._exert = bind(joint_torque, arm.state, arm.nq, torque, request.effort)
        self._exert()
        if self.assist is not None and request.valid:
            commanded = request.effort @ arm.J
            if request.torque is not None:
                commanded += request.torque
            torque += self.assist.torque(arm, commanded, request.wrench)
        if request.torque is not None:
            torque += request.torque
        elif self.null_space is not None:
            torque += self._keep_posture(self.null_space, request)
        if gain < 1.0 and (request.tripped or self.rest == "hold"):
            self._held[:] = (1.0 - gain) * self._hold(request.valid)
            torque += self._held
        elif self.holding or self._fade > 0.0:
            torque += self._release()
        if self._brakes_on_trip and request.tripped and gain == 0.0:
            # when it is reset, holding starts from where it is then
            self.holding = False
            return self._brake
        return self.command if request.valid or not self._can_brake else self._brake

    def give_up(self) -> None:
        """Carry the last known weight."""
        self.command.value[:] = self.arm.gravity

    def _keep_posture(self, null_space: NullSpaceHold, request: ControlRequest) -> Array | float:
        """Torque in the null space of a redundant arm, as far as it is coupled."""
        if not request.valid or request.gain == 0.0:
            self._coupled &= not request.valid
            return 0.0
        if not self._coupled:
            null_space.begin(self.arm)
            self._coupled = True
        return request.gain * null_space.torque(self.arm, self._dt)

    def _release(self) -> Array:
        """The last holding torque, fading out."""
        if self.holding:
            self.holding, self._fade = False, 1.0
            self._last_held[:] = self._held
        self._fade = max(0.0, self._fade - self._dt / RELEASE_TIME_S)
        np.multiply(self._last_held, self._fade, self._held)
        return self._held

    def _hold(self, valid: bool) -> Array:
        """Torque without gravity that stops and holds; the model predicts it without a sample."""
        if not self.holding:
            self.still.begin(self.arm)
            self.holding = True
        if not valid:
            # the brakes stop the arm; when samples come back, holding starts from there
            if self._can_brake:
                self.holding = False
                return np.zeros(self.arm.nv)
            self.arm.update(self.still.q, self.still.v)
        return self.still.step(self.arm, self._dt)


@dataclass
class Base:
    """The base that carries an arm."""

    enabled: bool = parameter(True, "-", "whether the base takes part")
    joints: int = 3  #: how many of the robot's first joints belong to it


class WholeBodyController(TorqueController):
    r"""Spread a wrench over base and arm at once, by the transposed Jacobian.

    .. math:: \tau = S\,\bigl(J^\top w + g + \textstyle\sum_i \tau_i\bigr)

    S takes out the base's joints while the base is off. The transpose keeps power,
    :math:`\tau\cdot\dot q = w\cdot\nu`, so the hand feels exactly the work that is done. Inertia
    and friction decide which joints move most.

    Args:
        base: whether the base takes part.
        helpers: assists by name, such as friction compensation or joint walls.
    """

    def __init__(
        self,
        arm: Arm,
        rest: str = "hold",
        period_ns: int = 1_000_000,
        can_brake: bool = False,
        base: Base | None = None,
        helpers: Mapping[str, Assist] | None = None,
    ) -> None:
        super().__init__(arm, rest, period_ns, can_brake, null_space=NullSpaceHold(0.0, 0.0))
        self.base, self.helpers = base or Base(), dict(helpers or {})
        self._transposed = np.zeros(arm.nv)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, the base's switch and the helpers."""
        helpers = {name: settings_of(helper) for name, helper in self.helpers.items()}
        return {**super().parts, "base": self.base, **helpers}

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort."""
        command = super().step(request, now_ns)
        torque = command.value
        if request.valid:
            request.effort.dot(self.arm.J, self._transposed)
            for helper in self.helpers.values():
                torque += helper.torque(self.arm, self._transposed, request.wrench)
        if not self.base.enabled:
            torque[: self.base.joints] = 0.0
        return command
