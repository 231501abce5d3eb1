"""Messages between a haptic pen, its bridge and the youBot's controller: sizes and orders as in sources/youbot §2.5.

On the wire wrenches are moment first and quaternions scalar first; inside Farhand it is the other
way round. Records hold Farhand's order and convert in :meth:`pack` and :meth:`unpack`, which is the
only place that knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from farhand.errors import BadValue
from farhand.link.port import Message

Array = np.ndarray


def _sized(name: str, values: Array, size: int) -> Array:
    """``values`` as ``size`` finite floats of their own, or an error that says what is wrong."""
    array = np.array(values, dtype=float)
    if array.shape != (size,):
        raise BadValue(f"{name} has {size} numbers, not shape {array.shape}")
    if not np.isfinite(array).all():
        raise BadValue(f"{name} holds something that is not a number: {array}")
    return array


class Vector(Message):
    """A message that is a vector of fixed size.

    Attributes:
        value: the numbers.
    """

    def __init__(self, value: Array) -> None:
        self.value = _sized(type(self).__name__, value, self.SIZE)

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire."""
        return cls(values)

    def pack(self) -> Array:
        """The numbers on the wire."""
        return self.value


def _vector(name: str, fields: str, unit: str, doc: str) -> type[Vector]:
    names = tuple(fields.split())
    return type(
        name, (Vector,), {"SIZE": len(names), "FIELDS": names, "UNIT": unit, "__doc__": doc}
    )


ForceFeedback = _vector(
    "ForceFeedback", "fx fy fz", "N", "Force for the pen to display, device axes."
)
GripperPosition = _vector("GripperPosition", "position", "m", "Where the jaws shall be.")
ArmJoints = _vector("ArmJoints", "q1 q2 q3 q4 q5", "rad", "Positions of the arm's joints.")
ArmTorques = _vector("ArmTorques", "t1 t2 t3 t4 t5", "N·m", "Torques of the arm's joints.")
BaseTorques = _vector("BaseTorques", "t1 t2 t3 t4", "N·m", "Torques of the wheels FL, FR, RL, RR.")
JointStiffness = _vector(
    "JointStiffness", "x y yaw j1 j2 j3 j4 j5", "N·m/rad", "Joint springs; all zero as published."
)


@dataclass(frozen=True)
class FlagMessage(Message):
    """A yes or no.

    Attributes:
        on: the answer.
    """

    SIZE: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("on",)
    UNIT: ClassVar[str] = "-"
    on: bool

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the number on the wire."""
        return cls(bool(_sized("Flag", values, 1)[0]))

    def pack(self) -> Array:
        """The number on the wire."""
        return np.array([float(self.on)])


@dataclass(frozen=True)
class HapticState(Message):
    """What a pen reports.

    Attributes:
        position: in device axes, [m].
        orientation: angles of the wrist, [rad].
        button: whether it is pressed.
        displays_force: whether the device displays forces.
    """

    SIZE: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = (
        "x",
        "y",
        "z",
        "ox",
        "oy",
        "oz",
        "button",
        "displays_force",
    )
    UNIT: ClassVar[str] = "m, rad"
    position: Array
    orientation: Array
    button: bool = False
    displays_force: bool = True

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire."""
        v = _sized("HapticState", values, 8)
        return cls(v[:3], v[3:6], bool(v[6]), bool(v[7]))

    def pack(self) -> Array:
        """The numbers on the wire."""
        p, o = _sized("position", self.position, 3), _sized("orientation", self.orientation, 3)
        return np.concatenate([p, o, [float(self.button), float(self.displays_force)]])


@dataclass(frozen=True)
class CartesianSetpoint(Message):
    """Where the tool shall be.

    Attributes:
        position: [m].
        quaternion: (x, y, z, w); (w, x, y, z) on the wire.
    """

    SIZE: ClassVar[int] = 7
    FIELDS: ClassVar[tuple[str, ...]] = ("x", "y", "z", "qw", "qx", "qy", "qz")
    UNIT: ClassVar[str] = "m"
    position: Array
    quaternion: Array

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire."""
        v = _sized("CartesianSetpoint", values, 7)
        return cls(v[:3], np.concatenate([v[4:], v[3:4]]))

    def pack(self) -> Array:
        """The numbers on the wire."""
        p, q = _sized("position", self.position, 3), _sized("quaternion", self.quaternion, 4)
        return np.concatenate([p, q[3:], q[:3]])


@dataclass(frozen=True)
class CartesianStiffness(Message):
    """Diagonal of the spring's translational, rotational and coupling parts; the last are zero.

    Attributes:
        kt: [N/m].
        kr: [N·m/rad].
    """

    SIZE: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = ("kt", "kt", "kt", "kr", "kr", "kr", "0", "0", "0")
    UNIT: ClassVar[str] = "N/m, N·m/rad, N/rad"
    kt: float
    kr: float

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire."""
        v = _sized("CartesianStiffness", values, 9)
        if np.ptp(v[:3]) or np.ptp(v[3:6]) or v[6:].any():
            raise BadValue(
                f"the spring is isotropic and uncoupled: kt, kt, kt, kr, kr, kr, 0, 0, 0, not {v}"
            )
        return cls(float(v[0]), float(v[3]))

    def pack(self) -> Array:
        """The numbers on the wire."""
        return np.array([self.kt] * 3 + [self.kr] * 3 + [0.0] * 3)


@dataclass(frozen=True)
class SpringWrench(Message):
    """Wrench of the spring on the tool.

    Attributes:
        wrench: force first, [N] and [N·m]; moment first on the wire.
    """

    SIZE: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("mx", "my", "mz", "fx", "fy", "fz")
    UNIT: ClassVar[str] = "N·m, N"
    wrench: Array

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire."""
        v = _sized("SpringWrench", values, 6)
        return cls(np.concatenate([v[3:], v[:3]]))

    def pack(self) -> Array:
        """The numbers on the wire."""
        w = _sized("wrench", self.wrench, 6)
        return np.concatenate([w[3:], w[:3]])


@dataclass(frozen=True)
class Transform(Message):
    """A homogeneous transform, as the bench test and the visualisation use it: 16 numbers, row by row.

    Attributes:
        position: [m].
        rotation: 3 × 3.
    """

    SIZE: ClassVar[int] = 16
    FIELDS: ClassVar[tuple[str, ...]] = tuple(
        f"h{row}{column}" for row in range(1, 5) for column in range(1, 5)
    )
    UNIT: ClassVar[str] = "-, m"
    position: Array
    rotation: Array

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire.

        Raises:
            BadValue: what should be a rotation is not one, such as the mirror of erratum ER-08.
        """
        H = _sized("Transform", values, 16).reshape(4, 4)
        R = H[:3, :3]
        if (
            np.abs(R @ R.T - np.eye(3)).max() > 1e-6
            or np.linalg.det(R) < 0.0
            or np.abs(H[3] - (0, 0, 0, 1)).max() > 0
        ):
            raise BadValue(
                f"not a homogeneous transform with a proper rotation: {np.round(H, 6).tolist()}"
            )
        return cls(H[:3, 3].copy(), R.copy())

    def pack(self) -> Array:
        """The numbers on the wire."""
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = self.rotation, self.position
        return H.ravel()


MESSAGES: tuple[type[Message], ...] = (
    HapticState,
    ForceFeedback,
    CartesianSetpoint,
    CartesianStiffness,
    SpringWrench,
    Transform,
    GripperPosition,
    JointStiffness,
    ArmJoints,
    ArmTorques,
    BaseTorques,
    FlagMessage,
)
"""Every message of the published bridge."""
