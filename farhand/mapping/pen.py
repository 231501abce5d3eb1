"""Pen mapping: a haptic pen's pose becomes a robot's setpoint, and the robot's wrench comes back.

In order: the pen's axes laid over the robot's (:class:`AxisMap`), position or rate control
(:class:`HybridPosition`), the turn of the tool, and a bound on the setpoint's speed
(:class:`PoseLimiter`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from farhand.errors import BadValue
from farhand.mapping.workspace import WorkspaceMapping
from farhand.parameters import parameter
from farhand.spatial import (
    Array,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

if TYPE_CHECKING:
    from farhand.plants.plant import Channels


@dataclass(frozen=True)
class AxisMap:
    r"""A signed permutation of axes, which is exact in floating point, and its dual for forces.

    .. math:: h = A\,p, \qquad f_m = A^\top f, \qquad f\cdot\dot h = f_m\cdot\dot p

    Raises:
        BadValue: an axis is used twice, or the map would mirror the workspace.
    """

    #: for each axis of the robot the pen's axis it follows, as a signed number from 1: (−1, −2, 3)
    #: is h = (−x, −y, +z)
    rows: tuple[int, int, int] = (-1, -2, 3)

    def __post_init__(self) -> None:
        if sorted(abs(row) for row in self.rows) != [1, 2, 3]:
            raise BadValue(f"axes {self.rows} must name each of 1, 2, 3 once, with a sign")
        # only proper rotations: a mirrored hand looks the same as a wrong sign
        if np.linalg.det(self.matrix) < 0.0:
            raise BadValue(f"axes {self.rows} mirror the workspace: change a sign or swap two axes")

    @property
    def matrix(self) -> Array:
        """A, 3 × 3, of zeros and ±1."""
        matrix = np.zeros((3, 3))
        for axis, row in enumerate(self.rows):
            matrix[axis, abs(row) - 1] = math.copysign(1.0, row)
        return matrix

    def forward(self, vector_pen: Array) -> Array:
        """A position or velocity of the pen in robot axes."""
        return self.matrix @ vector_pen

    def back(self, force_robot: Array) -> Array:
        """A force in robot axes as the pen sees it, [N]: the power dual, before any force scale."""
        return self.matrix.T @ force_robot


PEN = AxisMap((-1, -2, 3))
"""The published map: pen x and y point the other way, a half turn about z (sources/youbot §3.1)."""

TOOL_TURN = (0.0, 0.75 * math.pi, 0.0)
"""Rotation vector of the tool at zero pen angles: RotY(135°), forward and 45° down (stated in the
source), [rad]."""


def tool_rotation(angles: Array, turn: Array | tuple[float, ...] = TOOL_TURN) -> Array:
    r"""Tool rotation for the three angles a pen's wrist reports.

    .. math:: R = R_{turn}\,R_x(o_z)\,R_y(-o_y)\,R_z(-o_x)

    The order is that of the hinges in the pen's wrist (sources/youbot §3.2).

    Args:
        angles: o_x, o_y, o_z as the device reports them, [rad].
        turn: rotation vector of the tool at zero angles, [rad].
    """
    ox, oy, oz = np.asarray(angles, dtype=float)
    return rotation_from_vector(np.asarray(turn)) @ _about(0, oz) @ _about(1, -oy) @ _about(2, -ox)


def tool_quaternion(angles: Array) -> Array:
    """Tool quaternion (x, y, z, w) for the three angles a pen's wrist reports, [rad]."""
    return quaternion_from_rotation(tool_rotation(angles))


def pen_rotation(angles: Array) -> Array:
    """Rotation of the pen in its device for its angles [rad]: Rx(−o_z) Ry(o_y) Rz(−o_x).

    The half turn A of :data:`PEN` changes the sign of angles about x and y, so that
    R_turn A R_pen Aᵀ is the published :func:`tool_rotation`.
    """
    ox, oy, oz = np.asarray(angles, dtype=float)
    return _about(0, -oz) @ _about(1, oy) @ _about(2, -ox)


def _about(axis: int, angle: float) -> Array:
    return rotation_from_vector(angle * np.eye(3)[axis])


@dataclass
class Region:
    r"""Where a pen controls position: a spheroid cut by two planes, robot axes, device origin.

    .. math::
        m(h)^2 = \sum_i \Bigl(\frac{h_i - c_i}{a_i}\Bigr)^2 < 1, \qquad
        h_x < x_{max}, \qquad h_z > z_{min}
    """

    centre: Array = parameter((0.08, 0.0, 0.008), "m", "centre, robot axes", -1.0, 1.0)
    axes: Array = parameter((0.14, 0.10, 0.10), "m", "semi-axes of the spheroid", 1e-3, 1.0)
    front: float = parameter(0.042, "m", "plane in front of the pen", 0.0, 1.0)
    floor: float = parameter(-0.066, "m", "plane below the pen", -1.0, 0.0)

    def level(self, h: Array) -> float:
        """m(h): 1 on the spheroid, [-]."""
        offset = (h - self.centre) / self.axes
        return math.sqrt(float(offset.dot(offset)))

    def inside(self, h: Array, shrunk: float = 0.0) -> bool:
        """Whether h [m] lies inside the region, made smaller by the share ``shrunk``."""
        left = 1.0 - shrunk
        above = float(h[2]) > self.floor * left
        return self.level(h) < left and float(h[0]) < self.front * left and above

    def outline(self, points: int = 49) -> Array:
        """Its sections with the planes of the axes, shape (3, n, 3), [m]; none without h = 0."""
        if not self.inside(np.zeros(3)):
            return np.zeros((0, points, 3))
        angle = np.linspace(0.0, 2.0 * math.pi, points)
        flat = np.stack([np.cos(angle), np.sin(angle), np.zeros(points)], axis=1)
        rays = np.stack([np.roll(flat, axis, axis=1) for axis in range(3)])
        # how often each ray fits between the origin and the surface, from |(k ray - c) / a| = 1
        ray, centre = rays / self.axes, self.centre / self.axes
        square, half = (ray * ray).sum(axis=-1), ray @ centre
        fits = (half + np.sqrt(half * half + square * (1.0 - centre @ centre))) / square
        cuts = np.maximum(rays[..., 0] / self.front, rays[..., 2] / self.floor)
        return rays / np.maximum(cuts, 1.0 / fits)[..., None]


@dataclass
class HybridPosition:
    r"""A target that follows the pen in the middle of its workspace and drives on outside it.

    .. math::
        p = h + d \ \ \text{(inside)}, \qquad
        \dot p = v\,h/|h|, \quad \dot d = \dot p - \dot h \ \ \text{(outside)}

    The drift d is kept up to date in both modes, so that p = h + d always holds and a change of
    mode moves nothing (the exact form of erratum ER-06; the published one left one tick of pen
    motion). Outside, the pen's place gives the direction only; the speed is constant. Every place
    can be reached without a button.

    Attributes:
        drift: d, [m].
        position: p, [m].
        velocity: of p in rate mode, [m/s].
        rate: whether the target is driven on.
    """

    region: Region = field(default_factory=Region)
    speed: float = parameter(0.1, "m/s", "speed of rate control", 0.0, 0.25)
    hysteresis: float = parameter(0.0, "-", "how much the region shrinks on return", 0.0, 0.5)

    def __post_init__(self) -> None:
        self.drift, self.position, self.velocity = np.zeros(3), np.zeros(3), np.zeros(3)
        self.rate, self.clutched = False, False

    def step(self, h: Array, dt: float) -> Array:
        """The target [m] for a pen at ``h`` [m], ``dt`` [s] after the last; the array is reused."""
        if self.clutched:
            self.velocity[:] = 0.0
            np.subtract(self.position, h, out=self.drift)
            return self.position
        was_rate = self.rate
        self.rate = not self.region.inside(h, self.hysteresis if was_rate else 0.0)
        if not (self.rate or was_rate):
            np.add(h, self.drift, out=self.position)
            return self.position
        away = math.sqrt(float(h.dot(h))) if self.rate else 0.0
        np.multiply(h, self.speed / away if away > 0.0 else 0.0, out=self.velocity)
        self.position += dt * self.velocity
        # also at the tick of return, which moves nothing (ER-06)
        np.subtract(self.position, h, out=self.drift)
        return self.position

    def place(self, h: Array, position: Array) -> None:
        """Make ``position`` [m] the target for the pen at ``h`` [m]: at the start, to recentre."""
        self.rate = False
        self.position[:] = position
        np.subtract(self.position, h, out=self.drift)

    def clutch(self) -> None:
        """Hold the target while the pen moves to a better place."""
        self.clutched = True

    def declutch(self) -> None:
        """Follow the pen again, from where both are."""
        self.clutched = False


ALIGNED = 1.0 - 1e-12
"""Cosine of half the angle from which two orientations count as one (2.8e-6 rad)."""


@dataclass
class PoseLimiter:
    r"""Follow a pose by at most one step per tick in translation and one in rotation.

    .. math::
        p \leftarrow p + \frac{v\,dt}{\max_i |e_i|}\, e, \qquad
        q \leftarrow \frac{q\,\sin((1-t)\theta/2) + q_t\,\sin(t\,\theta/2)}{\sin(\theta/2)}, \quad
        t = \frac{\omega\,dt}{\theta}

    with e = p_t − p. The published law lets the *largest component* go at v, so the speed along a
    diagonal is up to √3 v (erratum ER-09); ``euclidean`` makes it v in every direction. What is
    nearer than the bands is passed on in one tick: the published code held back the last 0.05° for
    ever (ER-07), this one does not. The passed-on rest may be up to two steps (0.5 mm) and five
    (0.05°) long.

    Attributes:
        position: p, [m].
        quaternion: q, (x, y, z, w).
        limited: whether the last step held anything back.
    """

    speed: float = parameter(0.25, "m/s", "speed of the largest component", 1e-4, 10.0)
    turn_speed: float = parameter(math.radians(10.0), "rad/s", "turning speed", 1e-4, 100.0)
    band: float = parameter(5.0e-4, "m", "distance passed on at once", 0.0, 0.1)
    turn_band: float = parameter(math.radians(0.05), "rad", "angle passed on at once", 0.0, 1.0)
    euclidean: bool = parameter(False, "-", "whether the speed is that along the path")

    def __post_init__(self) -> None:
        # at the origin, as published; reset() starts from the measured tool (ER-10)
        self.position, self.quaternion = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        self.limited = False
        self._error, self._goal = np.zeros(3), np.zeros(4)

    def reset(self, position: Array, quaternion: Array) -> None:
        """Start from this pose, [m] and (x, y, z, w)."""
        self.position[:], self.quaternion[:] = position, quaternion
        self.limited = False

    def step(self, position: Array, quaternion: Array, dt: float) -> None:
        """Move on towards a target pose by one tick of ``dt`` [s]."""
        self.limited = self._translate(position, self.speed * dt)
        self.limited |= self._turn(quaternion, self.turn_speed * dt)

    def _translate(self, target: Array, step: float) -> bool:
        error = np.subtract(target, self.position, out=self._error)
        distance = math.sqrt(float(error.dot(error)))
        if distance <= self.band:
            self.position[:] = target
            return False
        length = distance if self.euclidean else float(np.abs(error).max())
        error *= min(step / length, 1.0)
        self.position += error
        return True

    def _turn(self, target: Array, step: float) -> bool:
        q, goal = self.quaternion, self._goal
        cosine = float(q.dot(target))
        # the shorter way round
        np.multiply(target, -1.0 if cosine < 0.0 else 1.0, out=goal)
        cosine = abs(cosine)
        half = math.acos(cosine) if cosine < ALIGNED else 0.0
        if 2.0 * half <= self.turn_band:
            q[:] = goal
            return False
        share = min(step / (2.0 * half), 1.0)
        q *= math.sin((1.0 - share) * half)
        goal *= math.sin(share * half)
        q += goal
        q *= 1.0 / math.sqrt(float(q.dot(q)))
        return True


@dataclass
class PenMapping(WorkspaceMapping):
    r"""Axes, position or rate, tool turn and limiter; and the power dual of the axes back.

    .. math::
        h = s\,A\,p_a, \qquad p_t = \mathrm{lim}(\mathrm{hybrid}(h)), \qquad
        R_t = \mathrm{lim}(R_{turn}\,A\,R_a A^\top)

        f_a = s_f\,s\,A^\top f_b, \qquad \tau_a = s_f\,(R_{turn} A)^\top \tau_b

    In position mode, while the limiter passes the setpoint on, the way back is the power dual of
    the way forward times s_f. In rate mode the hand feels the same force, but its work is not the
    follower's: the target moves on its own. The pen's orientation is absolute: the tool turns to
    it, at the limiter's speed, however the pen was held at the start. Changing the scale moves
    nothing. The first engagement goes for the published first setpoint; later ones, after a clutch
    or a stop, begin where the tool is.

    Across a link the leader's end decides on mode, drift and limits. Its decision travels as the
    offsets of every packet, p_t = h + Δp and R_t = R_turn A R_a ΔR, so the other end only has to
    apply them (``drives`` is False there).

    Attributes:
        drives: whether this end decides.
    """

    force_scale: float = parameter(0.1, "-", "how strongly the hand feels, 1/kf", 0.0, 100.0)
    axes: Array = parameter((0.0, 0.0, math.pi), "rad", "turn from pen to robot axes", -6.3, 6.3)
    hybrid: HybridPosition = field(default_factory=HybridPosition)
    limiter: PoseLimiter = field(default_factory=PoseLimiter)
    turn: Array = parameter(TOOL_TURN, "rad", "turn of the tool at a level pen", -6.3, 6.3)
    start: Array = parameter((0.35, 0.0, 0.35), "m", "target of the pen at its origin", -10.0, 10.0)
    absolute: bool = parameter(True, "-", "whether to engage at start, or where the follower is")
    period: float = parameter(0.001, "s", "time between ticks", 1e-5, 1.0)

    def __post_init__(self) -> None:
        self.drives, self._engaged, self._placed = True, False, False
        self._h, self._rate = np.zeros(3), np.zeros(1)
        super().__post_init__()
        self.twist = np.zeros(6)

    def record(self, stream: Channels) -> None:
        """Record whether it drives on, at the end that decides."""
        if self.drives:
            self._rate = stream.channel("rate_mode", 1, "-")

    def outline(self) -> Array:
        """The region where the pen controls position, in the pen's world axes; curves as there."""
        return self.hybrid.region.outline() @ self._A / self._scale

    def adopt(self, numbers: Array) -> tuple[float, float]:
        """Take over the leader's map; the limiter decides how fast the setpoint follows it."""
        if not self._take_shape(numbers[7:]):
            return math.inf, math.inf
        self._take_offsets(numbers)
        return 0.0, 0.0

    def _lay_axes(self) -> None:
        A = rotation_from_vector(self.axes)
        # half and quarter turns are exact
        near = np.round(A)
        self._A = np.where(np.abs(A - near) < 1e-9, near, A)
        self._scale, self.plain, self.straight = self.motion_scale, False, False
        self._A_turn = rotation_from_vector(self.turn) @ self._A
        self.revision += 1

    def refresh(self) -> None:
        """Recompute what depends on the parameters; an existing target stays where it is."""
        self._lay_axes()
        if self._leader is not None and self._placed:
            self.hybrid.place(self._pen(self._leader[0]), self.hybrid.position)
        else:
            self.hybrid.place(np.zeros(3), self.start)
            self.offset_rotation = self._A.T.copy()

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Start the setpoint at the follower's pose; from there it goes, limited, to the pen's."""
        self._leader = (p_a, R_a)
        h = self._pen(p_a)
        self.hybrid.place(h, self.start + h if self.absolute and not self._engaged else p_b)
        self._engaged = True
        self._begin(p_b, quaternion_from_rotation(R_b))
        self._publish(h, R_a)

    def forward(self, p_a: Array, R_a: Array, twist_a: Array, dt: float | None = None) -> None:
        """Map the pen's pose and twist to the setpoint, into the attributes; ``dt`` in [s]."""
        self._leader = (p_a, R_a)
        dt = self.period if dt is None else dt
        h, hybrid, limiter = self._pen(p_a), self.hybrid, self.limiter
        if self.drives:
            position, offset = hybrid.step(h, dt), self._A.T
            self._rate[0] = hybrid.rate
        else:
            position = np.add(h, self.offset_position, out=hybrid.position)
            offset = self.offset_rotation
        quaternion = quaternion_from_rotation(self._A_turn.dot(R_a).dot(offset))
        if not self._placed:
            self._begin(position, quaternion)
        before, rotation_before = self.position.copy(), self.rotation.copy()
        limiter.step(position, quaternion, dt)
        self.position[:] = limiter.position
        self.rotation[:] = rotation_from_quaternion(limiter.quaternion)
        if limiter.limited:
            self.twist[:3] = (self.position - before) / dt
            self.twist[3:] = rotation_vector(self.rotation.dot(rotation_before.T)) / dt
        else:
            pen_velocity = self._scale * self._A.dot(twist_a[:3])
            self.twist[:3] = hybrid.velocity if hybrid.rate else pen_velocity
            self.twist[3:] = self._A_turn.dot(twist_a[3:])
        if self.drives:
            self._publish(h, R_a)

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench in the follower's workspace to the pen's, [N] and [N·m]."""
        wrench_b[:3].dot(self._A, out=out[:3])
        wrench_b[3:].dot(self._A_turn, out=out[3:])
        out[:3] *= self._scale
        out *= self.force_scale

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a in position mode, while the limiter passes the setpoint on, 6 × 6."""
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = self._scale * self._A, self._A_turn
        return matrix

    def _begin(self, position: Array, quaternion: Array) -> None:
        """Put the setpoint here."""
        self._placed = True
        self.limiter.reset(position, quaternion)
        self.position[:], self.rotation[:] = position, rotation_from_quaternion(quaternion)
        self.twist[:] = 0.0

    def _publish(self, h: Array, R_a: Array) -> None:
        """Set the offsets from which the other end finds the same setpoint."""
        self.offset_position = self.position - h
        self.offset_rotation = self._A_turn.dot(R_a).T.dot(self.rotation)

    def _pen(self, p_a: Array) -> Array:
        self._A.dot(p_a, self._h)
        self._h *= self._scale
        return self._h
