"""A law as numbers: how its efforts depend on position, velocity and force of both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.coupling.admittance import Admittance
from farhand.coupling.trial import complaint, raised
from farhand.errors import BadValue, Mismatch
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

SIGNALS = ("position", "velocity", "force")
STEPS = {"position": 1e-5, "velocity": 1e-4, "force": 1e-2}
"""Differences by which a law is probed, [m] and [rad], [m/s] and [rad/s], [N] and [N·m]."""

FAR_M = 5e-3
"""Distance of the tools at which a law's gains are compared with those near rest, [m]."""

MAX_GAIN_CHANGE = 0.2
"""Share by which the gains of a law that counts as linear may differ there, [-]."""

HANDLE = 12
"""Size of a handle's state: pose and twist."""


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
    at_leader = law.mapping.matrix[:3, :3].T @ axis
    axes = np.zeros((2, 6))
    axes[0, :3], axes[1, :3] = at_leader / np.linalg.norm(at_leader), axis
    # Indices: effort on, signal of, effort along, kind of signal, signal along.
    kinds = whole.reshape(2, 2, 6, 3, 6)
    along = np.einsum("abikj,ai,bj->abk", kinds, axes, axes)
    return SampledLaw(along[0], along[1])


@dataclass(frozen=True)
class Memory:
    """A law's memory from tick to tick: s' = P s + Q_a y_a + Q_b y_b, w_a += N s.

    It is kept at the leader's end; the follower's effort must not depend on it.
    """

    P: Array  #: of the memory itself, n × n
    Q: Array  #: of the signals of leader and follower, 2 × n × 18
    N: Array  #: of the effort on the leader, 6 × n


def probe_law(law: Coupling, a: Side, b: Side, dt: float = 1e-3) -> Array:
    """Derivatives of both efforts by pose, twist and wrench of both sides, 2 × 2 × 6 × 18.

    Central differences. Poses and wrenches are shifted alone. Velocities are probed by moving the
    joints such that the tool moves along one direction, because laws that use an arm's model look
    at its joints; what the joints cannot do is left out. A law with memory starts from the same
    memory every time. Arguments and errors: see :func:`sample_law`; ``dt`` is the time step, [s].
    """
    return _probe(law, a, b, dt)[0]


def is_linear(law: Coupling, a: Side, b: Side, dt: float = 1e-3) -> bool:
    """Whether a law's efforts rise with the distance of the tools as they do near rest.

    A dead band or a stop does not; a prediction from small changes then holds for small motions
    only. Arguments and errors: see :func:`probe_law`.
    """
    near = probe_law(law, a, b, dt)[:, 0, :, :3]
    far = np.zeros_like(near)
    for direction in range(3):
        by = FAR_M * np.eye(6)[direction]
        efforts, _ = _difference(law, (a, b), a, "position", by, dt)
        far[:, :, direction] = efforts
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
    P, N = np.zeros((HANDLE, HANDLE)), np.zeros((2, 6, HANDLE))
    for column in range(HANDLE):
        h = STEPS["position" if column < 6 else "velocity"]
        (up, after_up), (down, after_down) = (
            _answer(law, (a, b), dt, step * np.eye(HANDLE)[column]) for step in (h, -h)
        )
        N[:, :, column] = (up - down) / (2.0 * h)
        P[:, column] = (after_up - after_down) / (2.0 * h)
    if np.abs(N[1]).max() > 1e-6 * max(1.0, float(np.abs(N[0]).max())):
        raise Mismatch(
            f"the memory of law {law.name!r} acts on the follower too; farhand run shows whether "
            "it shakes"
        )
    return Memory(P, Q, N[0])


def _probe(law: Coupling, a: Side, b: Side, dt: float) -> tuple[Array, Array]:
    """Efforts, 2 × 2 × 6 × 18, and memory, 2 × n × 18, over the signals of both sides."""
    try:
        law.engage(a, b)
        law.settle()
    except Exception as error:  # your law may raise anything
        raise _unpredictable(law, raised(error)) from error
    for side in (a, b):
        side.wrench = np.zeros(6)
    answers, memory = np.zeros((2, 2, 6, 18)), np.zeros((2, HANDLE, 18))
    for number, side in enumerate((a, b)):
        for kind, signal in enumerate(SIGNALS):
            for direction in range(6):
                column = 6 * kind + direction
                by = STEPS[signal] * np.eye(6)[direction]
                efforts, kept = _difference(law, (a, b), side, signal, by, dt)
                answers[:, number, :, column] = efforts
                memory[number, :, column] = kept
    return answers, memory


def _difference(
    law: Coupling, sides: tuple[Side, Side], side: Side, signal: str, by: Array, dt: float
) -> tuple[Array, Array]:
    """Central difference of both efforts and of the memory for one signal of one side."""
    answers, h = [], float(np.abs(by).max())
    for step in (by, -by):
        rotation = side.rotation.copy()
        _shift(side, signal, step)
        answers.append(_answer(law, sides, dt))
        _shift(side, signal, -step)
        side.rotation[:] = rotation
    (up, after_up), (down, after_down) = answers
    return (up - down) / (2.0 * h), (after_up - after_down) / (2.0 * h)


def _answer(
    law: Coupling, sides: tuple[Side, Side], dt: float, memory: Array | None = None
) -> tuple[Array, Array]:
    """Both efforts, and how the law's handle moved; the handle is then restored."""
    if not isinstance(law, Admittance):
        return _efforts(law, sides, dt), np.zeros(HANDLE)
    handle = law.handle
    before = handle.position.copy(), handle.rotation.copy(), handle.twist.copy()
    if memory is not None:
        handle.position += memory[:3]
        handle.rotation[:] = rotation_from_vector(memory[3:6]) @ handle.rotation
        handle.twist += memory[6:]
    efforts = _efforts(law, sides, dt)
    turned = rotation_vector(handle.rotation @ before[1].T)
    after = np.concatenate([handle.position - before[0], turned, handle.twist - before[2]])
    handle.position[:], handle.rotation[:], handle.twist[:] = before
    return efforts, after


def _efforts(law: Coupling, sides: tuple[Side, Side], dt: float) -> Array:
    """Both wrenches of a law, 2 × 6, [N] and [N·m]."""
    try:
        answer = law.step(*sides, dt)
    except Exception as error:  # your law may raise anything
        raise _unpredictable(law, raised(error)) from error
    wrong = complaint(answer)
    if wrong is not None:
        raise _unpredictable(law, wrong)
    efforts = np.array([effort.wrench for effort in answer], dtype=float)
    if not np.isfinite(efforts).all():
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
