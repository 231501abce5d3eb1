"""The published ideal plant, and what touches its tool: a push, or a spring to a leader that is where it should be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.control.controller import ControlRequest
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.paths import Reference, Trajectory
from farhand.plants.plant import Sample
from farhand.spatial import attitude_error
from farhand.world.touch import Tool
from farhand_lab.cooperative.bench import BenchLog

Array = np.ndarray


class ScriptedPush:
    """A force on the tool that is on for a while.

    Args:
        wrench: in world axes, [N] and [N·m].
        start: when it begins, [s].
        end: when it ends, [s].
    """

    stored = 0.0

    def __init__(self, wrench: Array, start: float = 0.0, end: float = np.inf) -> None:
        self.wrench, self.start, self.end = np.asarray(wrench, dtype=float), start, end

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """The wrench while it lasts."""
        wrench[:] = self.wrench if self.start <= t < self.end else 0.0


class Leash:
    r"""A spring from a moving reference to the tool, :math:`f = k_e (x_m - x),\ \tau = k_t O_e(R, R_m)`.

    The reference is an ideal leader: it is where its trajectory says, whatever pulls on it.

    Args:
        guide: the leader's trajectory.
        stiffness: k_e, [N/m].
        torsion: k_t, [N·m].
    """

    stored = 0.0

    def __init__(self, guide: Trajectory, stiffness: float = 200.0, torsion: float = 5.0) -> None:
        self.guide, self.stiffness, self.torsion = guide, stiffness, torsion
        self.reference = Reference()

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards where the leader is at time ``t`` [s]."""
        self.guide.at(t, self.reference)
        wrench[:3] = self.stiffness * (self.reference.position - tool.position)
        wrench[3:] = self.torsion * attitude_error(
            tool.rotation, self.reference.rotation, "axis-angle"
        )


def ideal(
    controller: TaskController,
    q: Array,
    seconds: float,
    touch: Leash | ScriptedPush | None = None,
    noise: Array | None = None,
    step: float = 0.004,
) -> BenchLog:
    """The published ideal plant: the law in continuous time, every dynamic term cancelled, by fourth-order steps.

    Args:
        controller: without integral action, whose memory would count every stage.
        q: where the arm starts, at rest, [rad].
        seconds: how long, [s].
        touch: what touches the tool.
        noise: of the measured wrench, one row per step, [N] and [N·m].
        step: of the integration, [s].
    """
    arm, asked, felt = controller.arm, ControlRequest(), np.zeros(6)
    asked.valid, asked.gain = True, 1.0
    tool, error = Tool(arm.position, arm.rotation, arm.twist), np.zeros(6)
    sample, ticks = Sample(6, 6), round(seconds / step) + 1
    log, state = BenchLog(ticks), np.concatenate([q, np.zeros(6)])
    reference = touch.reference if isinstance(touch, Leash) else controller.reference

    def rate(t: float, y: Array) -> Array:
        arm.update(y[:6], y[6:])
        if touch is not None:
            touch.push(tool, t, felt)
            asked.wrench = felt + error
        torque = controller.step(asked, round(t * 1e9)).value
        return np.concatenate([y[6:], np.linalg.solve(arm.M, torque - arm.bias + felt.dot(arm.J))])

    for tick in range(ticks):
        t = tick * step
        if noise is not None:
            error[:] = noise[tick]
        k1 = rate(t, state)
        sample.motion[:] = state
        sample.set_wrench(felt)
        log.note(round(t * 1e9), sample, controller, reference)
        state = _advanced(rate, t, state, k1, step)
    return log


def _advanced(
    rate: Callable[[float, Array], Array], t: float, state: Array, k1: Array, h: float
) -> Array:
    """The state after a classical step of fourth order, the first slope being known."""
    k2 = rate(t + 0.5 * h, state + 0.5 * h * k1)
    k3 = rate(t + 0.5 * h, state + 0.5 * h * k2)
    k4 = rate(t + h, state + h * k3)
    return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
