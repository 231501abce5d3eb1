"""Dead-man handle: only a hand that grips it moves anything; let go, the leader comes to rest softly and is held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.control.haptic.impedance import CartesianImpedance
from farhand.parameters import parameter
from farhand.spatial import rotation_from_vector

Array = np.ndarray


@dataclass
class DeadMan:
    r"""Turn the leader into a stiff, damped spring while nobody grips the handle.

    On release the spring's target starts at the measured pose with the measured velocity and slows
    down evenly to rest within ``stop``; the force that slows down the leader's mass is fed forward.
    Where the believed mass is wrong the spring makes up for it and stretches. At rest the target
    therefore moves to where the leader has come to: a stretched spring would set it in motion
    again. On a new grip the hold fades within ``fade``. Nothing has to be restarted, however often
    it happens.

    Attributes:
        enabled: whether motion may be sent.
    """

    grip: float = parameter(2.0, "N", "grip force that enables", 0.0, 100.0)
    release: float = parameter(1.0, "N", "grip force below which the handle is let go", 0.0, 100.0)
    stiffness: float = parameter(5000.0, "N/m", "stiffness of the hold", 0.0, 1e5)
    stiffness_turn: float = parameter(
        300.0, "N·m/rad", "rotational stiffness of the hold", 0.0, 1e4
    )
    damping: float = parameter(280.0, "N·s/m", "damping of the hold", 0.0, 1e4)
    damping_turn: float = parameter(8.0, "N·m·s/rad", "rotational damping of the hold", 0.0, 1e3)
    mass: float = parameter(4.0, "kg", "mass that the leader presents to the hand", 0.0, 1000.0)
    inertia: float = parameter(0.05, "kg·m²", "inertia that it presents", 0.0, 100.0)
    stop: float = parameter(0.09, "s", "time to rest after letting go", 0.001, 1.0)
    fade: float = parameter(0.05, "s", "time in which the hold vanishes", 0.001, 1.0)

    def __post_init__(self) -> None:
        """Held until somebody grips."""
        self.enabled = False
        self._position, self._rotation, self._twist = np.zeros(3), np.eye(3), np.zeros(6)
        self._since, self._held, self._stopped = 0.0, False, False

    @property
    def holding(self) -> bool:
        """Whether the leader is held, or the hold has yet to fade."""
        return self._held

    def step(
        self,
        impedance: CartesianImpedance,
        grip: float,
        position: Array,
        rotation: Array,
        twist: Array,
        dt: float,
    ) -> bool:
        """Set the leader's springs as far as the grip demands, and say whether the operator is in control.

        Args:
            impedance: the leader's; left alone while the handle is gripped and the hold has faded.
            grip: grip force, [N]; not a number counts as let go.
            position: of the leader's tool in world, [m].
            rotation: of it in world.
            twist: of it, world axes, [m/s] and [rad/s].
            dt: since the last step, [s].
        """
        gripped = grip > (self.release if self.enabled else self.grip)
        if gripped != self.enabled or not (gripped or self._held):
            self.enabled, self._since = gripped, 0.0
            if not gripped:
                self._held, self._stopped = True, False
                self._position, self._rotation, self._twist = (
                    position.copy(),
                    rotation.copy(),
                    twist.copy(),
                )
        if gripped:
            self._let_go(impedance, position, rotation)
        else:
            self._hold(impedance, position, rotation)
        self._since += dt
        return gripped

    def _hold(self, impedance: CartesianImpedance, position: Array, rotation: Array) -> None:
        """Aim at the point where an even deceleration has led by now; then hold the pose reached."""
        share = self._since / self.stop
        impedance.stiffness = np.repeat([self.stiffness, self.stiffness_turn], 3)
        impedance.damping = np.repeat([self.damping, self.damping_turn], 3)
        if share < 1.0:
            travel = self._twist * self.stop * (share - 0.5 * share * share)
            turned = rotation_from_vector(travel[3:]) @ self._rotation
            impedance.aim(self._position + travel[:3], turned, twist=(1.0 - share) * self._twist)
            impedance.feedforward[:] = (
                np.repeat([self.mass, self.inertia], 3) * self._twist / -self.stop
            )
        elif not self._stopped:
            self._stopped = True
            impedance.aim(position, rotation)

    def _let_go(self, impedance: CartesianImpedance, position: Array, rotation: Array) -> None:
        """Fade the spring with its target left where it was; once gone, touch nothing."""
        if not self._held:
            return
        left = 1.0 - self._since / self.fade
        if left <= 0.0:
            self._held = False
            impedance.stiffness, impedance.damping = np.zeros(6), np.zeros(6)
            impedance.relax(position, rotation)
            return
        impedance.stiffness = left * np.repeat([self.stiffness, self.stiffness_turn], 3)
        impedance.feedforward[:] = 0.0
        impedance.damping = left * np.repeat([self.damping, self.damping_turn], 3)
