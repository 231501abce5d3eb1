"""The published ideal plant, and touches on its tool: a push, or a spring to an ideal leader."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.control.controller import ControlRequest
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.paths import Reference, Trajectory
from farhand.plants.plant import Sample
from farhand.spatial import attitude_error
from farhand.world.touches import Tool
from farhand_lab.cooperative.bench import BenchLog

Array = np.ndarray


class ScriptedPush:
    """A wrench on the tool, in world axes [N] and [N·m], from ``start`` to ``end`` [s]."""

    stored = 0.0

    def __init__(self, wrench: Array, start: float = 0.0, end: float = np.inf) -> None:
        self.wrench = np.asarray(wrench, dtype=float)
        self.start, self.end = start, end

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """The wrench at time ``t`` [s]."""
        wrench[:] = self.wrench if self.start <= t < self.end else 0.0


class Leash:
    r"""A spring from an ideal leader, who is always on its path, to the tool.

    .. math:: f = k_e (x_m - x), \qquad \tau = k_t O_e(R, R_m)

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
        """Pull the tool towards the leader's pose at time ``t`` [s]."""
        leader = self.reference
        self.guide.at(t, leader)
        wrench[:3] = self.stiffness * (leader.position - tool.position)
        wrench[3:] = self.torsion * attitude_error(tool.rotation, leader.rotation, "axis-angle")


def ideal(
    controller: TaskController,
    q: Array,
    seconds: float,
    touch: Leash | ScriptedPush | None = None,
    noise: Array | None = None,
    step: float = 0.004,
) -> BenchLog:
    """Run the law in continuous time with every dynamic term cancelled, by fourth-order steps.

    Args:
        controller: without integral action, which would integrate every stage.
        q: start posture, at rest, [rad].
        seconds: how long, [s].
        touch: what touches the tool.
        noise: of the measured wrench, one row per step, [N] and [N·m].
        step: of the integration, [s].
    """
    arm, felt, error = controller.arm, np.zeros(6), np.zeros(6)
    request = ControlRequest()
    request.valid, request.gain = True, 1.0
    tool = Tool(arm.position, arm.rotation, arm.twist)
    sample, ticks = Sample(6, 6), round(seconds / step) + 1
    log, state = BenchLog(ticks), np.concatenate([q, np.zeros(6)])
    reference = touch.reference if isinstance(touch, Leash) else controller.reference

    def rate(t: float, y: Array) -> Array:
        arm.update(y[:6], y[6:])
        if touch is not None:
            touch.push(tool, t, felt)
            request.wrench = felt + error
        torque = controller.step(request, round(t * 1e9)).value
        return np.concatenate([y[6:], np.linalg.solve(arm.M, torque - arm.bias + felt.dot(arm.J))])

    for tick in range(ticks):
        t = tick * step
        if noise is not None:
            error[:] = noise[tick]
        k1 = rate(t, state)
        sample.motion[:] = state
        sample.set_wrench(felt)
        log.note(round(t * 1e9), sample, controller, reference)
        state = advanced(rate, t, state, k1, step)
    return log


def advanced(
    rate: Callable[[float, Array], Array], t: float, state: Array, k1: Array, h: float
) -> Array:
    """The state after a classical fourth-order step whose first slope is ``k1``."""
    k2 = rate(t + 0.5 * h, state + 0.5 * h * k1)
    k3 = rate(t + 0.5 * h, state + 0.5 * h * k2)
    k4 = rate(t + h, state + h * k3)
    return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
