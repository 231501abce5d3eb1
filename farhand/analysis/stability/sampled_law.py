"""A law as numbers: how its efforts depend on position, velocity and force of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.coupling.admittance import Admittance
from farhand.coupling.port import Port
from farhand.coupling.trial import complaint, raised
from farhand.errors import BadValue, Mismatch
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

SIGNALS = ("position", "velocity", "force")
STEPS = {"position": 1e-5, "velocity": 1e-4, "force": 1e-2}
"""Differences by which a law is probed, [m] and [rad], [m/s] and [rad/s], [N] and [N·m]."""

FAR_M, FAR_N = 1e-2, 20.0
"""Distance and force at the tools at which a law's gains are compared with those near rest."""

MAX_GAIN_CHANGE = 0.2
"""Share by which the gains of a law that counts as linear may differ there, [-]."""

LawTable = Sequence[Sequence[Array]]
"""∂(effort on a side) over the signals of a side (positions, velocities, efforts): [on][of]."""


@dataclass(frozen=True)
class SampledLaw:
    """A law's efforts along one axis, linear in what it sees."""

    on_leader: Array  #: ∂w_a over (x_a, v_a, h_a) and (x_b, v_b, h_b), 2 × 3, [N/m], [N·s/m], [-]
    on_follower: Array  #: ∂w_b over the same, 2 × 3

    @property
    def local(self) -> Array:
        """Gains from the own side: rows leader, follower; columns position, velocity, force."""
        return np.array([self.on_leader[0], self.on_follower[1]])

    @property
    def remote(self) -> Array:
        """Gains from the other side, over the link; rows and columns likewise."""
        return np.array([self.on_leader[1], self.on_follower[0]])


def sample_law(law: Coupling, a: Side, b: Side, axis: Array) -> SampledLaw:
    """Linearise a law along one axis about the present state of both sides, which must be at rest.

    A mapping that turns the leader's axes turns the axis at the leader likewise.

    Args:
        law: any law; it is engaged here, so pass a copy of one that runs. Its memory is held still.
        a: the leader.
        b: the follower.
        axis: unit vector in world, at the follower, into the wall.

    Raises:
        BadValue: the axis is not a unit vector.
        Mismatch: the law raises, or does not return numbers.
    """
    axis = np.asarray(axis, dtype=float)
    if axis.shape != (3,) or not abs(float(axis @ axis) - 1.0) < 1e-6:
        raise BadValue(f"the axis of a sampled law must be a unit vector, not {axis.tolist()}")
    whole = probe_law(law, a, b)
    at_leader = law.port.direction(law.mapping, a, b, axis)
    axes = at_leader / np.linalg.norm(at_leader), axis
    moved, pushed = zip(
        *(_along(law.port, side, n) for side, n in zip((a, b), axes, strict=True)), strict=True
    )
    along = np.zeros((2, 2, 3))
    for on in range(2):
        for of in range(2):
            felt = (moved[on] @ whole[on][of]).reshape(3, -1)
            along[on, of] = felt[0] @ moved[of], felt[1] @ moved[of], felt[2] @ pushed[of]
    return SampledLaw(along[0], along[1])


def _along(port: Port, side: Side, axis: Array) -> tuple[Array, Array]:
    """A unit motion and a unit force of a tool along an axis, at the port."""
    if port.space == "tool":
        both = np.concatenate([axis, np.zeros(3)])
        return both, both
    assert side.arm is not None
    pushed = side.arm.J[:3].T @ axis
    moved = np.linalg.solve(side.arm.M, pushed)
    return moved / float(pushed @ moved), pushed


@dataclass(frozen=True)
class Memory:
    """A law's memory from tick to tick: s' = P s + Q_a y_a + Q_b y_b, w_a += N s.

    It is kept at the leader's end; the follower's effort must not depend on it.
    """

    P: Array  #: of the memory itself, n × n
    Q: Sequence[Array]  #: of the signals of leader and follower, n × 18 each
    N: Array  #: of the effort on the leader, 6 × n


def probe_law(law: Coupling, a: Side, b: Side, dt: float = 1e-3) -> LawTable:
    """Derivatives of both efforts by pose, twist and wrench of both sides, 6 × 18 each.

    Of a law that couples joints: by their positions, velocities and external torques.

    Central differences. Poses and wrenches are shifted alone. Velocities are probed by moving the
    joints such that the tool moves along one direction, because laws that use an arm's model look
    at its joints; what the joints cannot do is left out. A law with memory starts from the same
    memory every time. Arguments and errors: see :func:`sample_law`; ``dt`` is the time step, [s].
    """
    return _probe(law, a, b, dt)[0]


def probe_target(law: Coupling, a: Side, b: Side, dt: float = 1e-3) -> Array:
    """Derivative of the pose that a law wants for the follower's tool by the leader's pose, 6 × 6.

    Arguments and errors: see :func:`probe_law`.
    """
    table = np.zeros((6, 6))
    for direction in range(6):
        ends = []
        for step in (STEPS["position"], -STEPS["position"]):
            rotation = a.rotation.copy()
            by = step * np.eye(6)[direction]
            _shift(a, "position", by)
            _efforts(law, (a, b), dt)
            target = law.step(a, b, dt)[1].target
            if target is None:
                raise _unpredictable(law, "names no pose for an arm that takes no torques")
            turned = rotation_vector(target.rotation @ b.rotation.T)
            ends.append(np.concatenate([target.position, turned]))
            a.position -= by[:3]
            a.rotation[:] = rotation
        table[:, direction] = (ends[0] - ends[1]) / (2.0 * STEPS["position"])
    return table


def is_linear(law: Coupling, a: Side, b: Side, dt: float = 1e-3, forces: bool = False) -> bool:
    """Whether a law's efforts rise with distance at the tools as they do near rest.

    With ``forces``, also whether the leader's does with the force on the follower's tool.

    A dead band or a stop does not; a prediction from small changes then holds for small motions
    only. Arguments and errors: see :func:`probe_law`.
    """
    table, sizes = probe_law(law, a, b, dt), _sizes(law)
    directions = 3 if law.port.space == "tool" else sizes[0]
    near = np.vstack([table[on][0][:, :directions] for on in range(2)])
    far = np.zeros_like(near)
    for direction in range(directions):
        by = FAR_M * np.eye(sizes[0])[direction]
        efforts, _ = _difference(law, (a, b), a, "position", by, dt)
        far[:, direction] = np.concatenate(efforts)
    if not _alike(near, far):
        return False
    if not forces:
        return True
    # A map of forces may bend what comes back.
    near = table[0][1][:3, 12:15]
    far = np.zeros_like(near)
    for direction in range(3):
        by = FAR_N * np.eye(6)[direction]
        far[:, direction] = _difference(law, (a, b), b, "force", by, dt)[0][0][:3]
    return _alike(near, far)


def _alike(near: Array, far: Array) -> bool:
    """Whether gains near rest and far from it are nearly the same."""
    largest = max(float(np.abs(near).max()), float(np.abs(far).max()))
    return bool(np.abs(far - near).max() <= MAX_GAIN_CHANGE * largest)


def probe_memory(law: Coupling, a: Side, b: Side, dt: float = 1e-3) -> Memory | None:
    """The memory of a law with a handle; None for a law without.

    Raises:
        Mismatch: the follower's effort depends on it too; or as of :func:`probe_law`.
    """
    if not isinstance(law, Admittance):
        return None
    Q = _probe(law, a, b, dt)[1]
    sizes, n = _sizes(law), 2 * law.port.leader_size
    P, N = np.zeros((n, n)), [np.zeros((size, n)) for size in sizes]
    for column in range(n):
        h = STEPS["position" if column < n // 2 else "velocity"]
        (up, after_up), (down, after_down) = (
            _answer(law, (a, b), dt, step * np.eye(n)[column]) for step in (h, -h)
        )
        for on in range(2):
            N[on][:, column] = (up[on] - down[on]) / (2.0 * h)
        P[:, column] = (after_up - after_down) / (2.0 * h)
    if np.abs(N[1]).max() > 1e-6 * max(1.0, float(np.abs(N[0]).max())):
        raise Mismatch(
            f"the memory of law {law.name!r} acts on the follower too; farhand run shows whether "
            "it shakes"
        )
    return Memory(P, Q, N[0])


def _sizes(law: Coupling) -> tuple[int, int]:
    """How many numbers the law's efforts on leader and follower have."""
    return law.port.leader_size, law.port.size


def _probe(law: Coupling, a: Side, b: Side, dt: float) -> tuple[LawTable, list[Array]]:
    """Efforts and memory over the signals of both sides."""
    try:
        law.engage(a, b)
        law.settle()
    except Exception as error:  # your law may raise anything
        raise _unpredictable(law, raised(error)) from error
    sizes = _sizes(law)
    for side, size in zip((a, b), sizes, strict=True):
        side.wrench, side.torque = np.zeros(6), np.zeros(size)
    answers = [[np.zeros((on, 3 * of)) for of in sizes] for on in sizes]
    memory = [np.zeros((2 * sizes[0], 3 * of)) for of in sizes]
    for number, (side, size) in enumerate(zip((a, b), sizes, strict=True)):
        for kind, signal in enumerate(SIGNALS):
            for direction in range(size):
                column = size * kind + direction
                by = STEPS[signal] * np.eye(size)[direction]
                efforts, kept = _difference(law, (a, b), side, signal, by, dt)
                for on in range(2):
                    answers[on][number][:, column] = efforts[on]
                memory[number][:, column] = kept
    return answers, memory


def _difference(
    law: Coupling, sides: tuple[Side, Side], side: Side, signal: str, by: Array, dt: float
) -> tuple[list[Array], Array]:
    """Central difference of both efforts and of the memory for one signal of one side."""
    answers, h = [], float(np.abs(by).max())
    shift = _shift if law.port.space == "tool" else _shift_joints
    for step in (by, -by):
        rotation = side.rotation.copy()
        shift(side, signal, step)
        answers.append(_answer(law, sides, dt))
        shift(side, signal, -step)
        side.rotation[:] = rotation
    (up, after_up), (down, after_down) = answers
    efforts = [(one - other) / (2.0 * h) for one, other in zip(up, down, strict=True)]
    return efforts, (after_up - after_down) / (2.0 * h)


def _answer(
    law: Coupling, sides: tuple[Side, Side], dt: float, memory: Array | None = None
) -> tuple[list[Array], Array]:
    """Both efforts, and how the law's handle moved; the handle is then restored."""
    n = law.port.leader_size
    if not isinstance(law, Admittance):
        return _efforts(law, sides, dt), np.zeros(2 * n)
    handle = law.handle
    before: Any = law.port.handle()
    before.take(handle)
    if memory is not None:
        handle.shift(memory[:n])
        handle.rate += memory[n:]
    efforts = _efforts(law, sides, dt)
    after = np.concatenate([handle.error(before), handle.rate - before.rate])
    handle.take(before)
    return efforts, after


def _efforts(law: Coupling, sides: tuple[Side, Side], dt: float) -> list[Array]:
    """Both efforts of a law, [N] and [N·m]."""
    try:
        answer = law.step(*sides, dt)
    except Exception as error:  # your law may raise anything
        raise _unpredictable(law, raised(error)) from error
    wrong = complaint(answer, _sizes(law))
    if wrong is not None:
        raise _unpredictable(law, wrong)
    efforts = [np.array(effort.wrench, dtype=float) for effort in answer]
    if not all(np.isfinite(effort).all() for effort in efforts):
        raise _unpredictable(law, "returned an effort that is not a number")
    return efforts


def _unpredictable(law: Coupling, why: str) -> Mismatch:
    return Mismatch(f"law {law.name!r} {why}; its stability cannot be predicted")


def _shift(side: Side, signal: str, by: Array) -> None:
    """Change one signal of a side by a step along or about an axis."""
    arm = side.arm
    if signal == "velocity" and arm is not None:
        arm.update(arm.q.copy(), arm.v + np.linalg.pinv(arm.J, rcond=1e-3) @ by)
    elif signal == "velocity":
        side.twist += by
    elif signal == "force":
        assert side.wrench is not None  # set before
        side.wrench += by
    else:
        side.position += by[:3]
        side.rotation[:] = rotation_from_vector(by[3:]) @ side.rotation


def _shift_joints(side: Side, signal: str, by: Array) -> None:
    """The same for a side whose joints are coupled."""
    if signal == "velocity" and side.arm is not None:
        side.arm.update(side.arm.q.copy(), side.arm.v + by)
    elif signal == "velocity":
        side.v += by
    elif signal == "force":
        assert side.torque is not None  # set before
        side.torque += by
    else:
        side.q += by
