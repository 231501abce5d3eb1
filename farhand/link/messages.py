"""Messages between a haptic pen, its bridge and the youBot's controller, and the ports they cross.

Sizes and orders are those of sources/youbot §2.5. On the wire wrenches are moment first and
quaternions scalar first; inside Farhand it is the other way round. Only :meth:`Message.pack` and
:meth:`Message.unpack` convert. A port holds the latest message: nothing waits, nothing queues.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from farhand.errors import BadValue
from farhand.plants.drivers.worker import Latest
from farhand.spatial import Array


class Message(ABC):
    """A record of a fixed number of floats."""

    SIZE: ClassVar[int]  #: how many
    FIELDS: ClassVar[tuple[str, ...]]  #: their names, in the order of the wire
    UNIT: ClassVar[str]  #: their units

    @classmethod
    def unpack(cls, values: Array) -> Self:
        """From the numbers on the wire; a wrong size or a value that is not finite is refused."""
        return cls._unpack(_sized(cls.__name__, values, cls.SIZE))

    def pack(self) -> Array:
        """The numbers on the wire."""
        return self._pack()

    @classmethod
    @abstractmethod
    def _unpack(cls, v: Array) -> Self: ...

    @abstractmethod
    def _pack(self) -> Array: ...


def _sized(name: str, values: Array, size: int) -> Array:
    """A copy of ``values`` as ``size`` finite floats; anything else is refused."""
    array = np.array(values, dtype=float)
    if array.shape != (size,):
        raise BadValue(f"{name} has {size} numbers, not shape {array.shape}")
    if not np.isfinite(array).all():
        raise BadValue(f"{name} has a value that is not a number: {array}")
    return array


M = TypeVar("M", bound=Message)


class Flow(enum.Enum):
    """The result of a read."""

    NONE = "nothing was ever written"
    OLD = "what was read before"
    NEW = "something new"


class OutPort(Generic[M]):
    """The one writer of a connection, for messages of the type ``kind``."""

    def __init__(self, name: str, kind: type[M]) -> None:
        self.name, self.kind = name, kind
        self.latest = Latest(name, np.zeros(kind.SIZE))

    def write(self, message: M) -> None:
        """Publish a message in place of the last; one of another type is refused."""
        if not isinstance(message, self.kind):
            takes, got = self.kind.__name__, type(message).__name__
            raise BadValue(f"port {self.name!r} takes {takes}, not {got}")
        self.latest.put(message.pack())


class InPort(Generic[M]):
    """A reader of a connection, for messages of the type ``kind``."""

    def __init__(self, name: str, kind: type[M]) -> None:
        self.name, self.kind = name, kind
        self._latest: Latest | None = None
        self._seen = 0

    @property
    def connected(self) -> bool:
        """Whether anyone may write to it."""
        return self._latest is not None

    def connect(self, source: OutPort[M]) -> None:
        """Read from this port from now on; one for other messages is refused."""
        if source.kind is not self.kind:
            takes, gives = self.kind.__name__, source.kind.__name__
            raise BadValue(f"port {self.name!r} takes {takes}, but {source.name!r} gives {gives}")
        self._latest, self._seen = source.latest, 0

    def read(self) -> tuple[Flow, M | None]:
        """Whether the latest message is new, and the message; None if there was never one."""
        if self._latest is None or (last := self._latest.get()).number == 0:
            return Flow.NONE, None
        flow = Flow.NEW if last.number != self._seen else Flow.OLD
        self._seen = last.number
        return flow, self.kind.unpack(last.value)


class Vector(Message):
    """A message that is a vector of fixed size, ``value``."""

    def __init__(self, value: Array) -> None:
        self.value = _sized(type(self).__name__, value, self.SIZE)

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        return cls(v)

    def _pack(self) -> Array:
        return self.value


def _vector(name: str, fields: str, unit: str, doc: str) -> type[Vector]:
    names = tuple(fields.split())
    content = {"SIZE": len(names), "FIELDS": names, "UNIT": unit, "__doc__": doc}
    return type(name, (Vector,), content)


ForceFeedback = _vector("ForceFeedback", "fx fy fz", "N", "Force for the pen, device axes.")
GripperPosition = _vector("GripperPosition", "position", "m", "Target of the jaws.")
ArmJoints = _vector("ArmJoints", "q1 q2 q3 q4 q5", "rad", "Positions of the arm's joints.")
ArmTorques = _vector("ArmTorques", "t1 t2 t3 t4 t5", "N·m", "Torques of the arm's joints.")
BaseTorques = _vector("BaseTorques", "t1 t2 t3 t4", "N·m", "Torques of the wheels FL, FR, RL, RR.")
JointStiffness = _vector(
    "JointStiffness", "x y yaw j1 j2 j3 j4 j5", "N·m/rad", "Joint springs; all zero as published."
)


@dataclass(frozen=True)
class FlagMessage(Message):
    """A yes or no."""

    SIZE: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("on",)
    UNIT: ClassVar[str] = "-"
    on: bool

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        return cls(bool(v[0]))

    def _pack(self) -> Array:
        return np.array([float(self.on)])


@dataclass(frozen=True)
class HapticState(Message):
    """What a pen reports."""

    SIZE: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = (*"xyz", "ox", "oy", "oz", "button", "displays_force")
    UNIT: ClassVar[str] = "m, rad"
    position: Array  #: in device axes, [m]
    orientation: Array  #: angles of the wrist, [rad]
    button: bool = False  #: whether it is pressed
    displays_force: bool = True  #: whether the device displays forces

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        return cls(v[:3], v[3:6], bool(v[6]), bool(v[7]))

    def _pack(self) -> Array:
        p, o = _sized("position", self.position, 3), _sized("orientation", self.orientation, 3)
        return np.concatenate([p, o, [float(self.button), float(self.displays_force)]])


@dataclass(frozen=True)
class CartesianSetpoint(Message):
    """The target of the tool."""

    SIZE: ClassVar[int] = 7
    FIELDS: ClassVar[tuple[str, ...]] = ("x", "y", "z", "qw", "qx", "qy", "qz")
    UNIT: ClassVar[str] = "m"
    position: Array  #: [m]
    quaternion: Array  #: (x, y, z, w); (w, x, y, z) on the wire

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        return cls(v[:3], np.concatenate([v[4:], v[3:4]]))

    def _pack(self) -> Array:
        p, q = _sized("position", self.position, 3), _sized("quaternion", self.quaternion, 4)
        return np.concatenate([p, q[3:], q[:3]])


@dataclass(frozen=True)
class CartesianStiffness(Message):
    """Diagonal of the spring's translational, rotational and coupling parts; the last are zero."""

    SIZE: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = ("kt", "kt", "kt", "kr", "kr", "kr", "0", "0", "0")
    UNIT: ClassVar[str] = "N/m, N·m/rad, N/rad"
    kt: float  #: [N/m]
    kr: float  #: [N·m/rad]

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        if np.ptp(v[:3]) or np.ptp(v[3:6]) or v[6:].any():
            order = "kt, kt, kt, kr, kr, kr, 0, 0, 0"
            raise BadValue(f"the spring is isotropic and uncoupled: {order}, not {v}")
        return cls(float(v[0]), float(v[3]))

    def _pack(self) -> Array:
        return np.array([self.kt] * 3 + [self.kr] * 3 + [0.0] * 3)


@dataclass(frozen=True)
class SpringWrench(Message):
    """Wrench of the spring on the tool."""

    SIZE: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("mx", "my", "mz", "fx", "fy", "fz")
    UNIT: ClassVar[str] = "N·m, N"
    wrench: Array  #: force first, [N] and [N·m]; moment first on the wire

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        return cls(np.concatenate([v[3:], v[:3]]))

    def _pack(self) -> Array:
        w = _sized("wrench", self.wrench, 6)
        return np.concatenate([w[3:], w[:3]])


@dataclass(frozen=True)
class Transform(Message):
    """A homogeneous transform, 16 numbers row by row, for bench test and visualisation."""

    SIZE: ClassVar[int] = 16
    FIELDS: ClassVar[tuple[str, ...]] = tuple(
        f"h{row}{column}" for row in range(1, 5) for column in range(1, 5)
    )
    UNIT: ClassVar[str] = "-, m"
    position: Array  #: [m]
    rotation: Array  #: 3 × 3

    @classmethod
    def _unpack(cls, v: Array) -> Self:
        # A mirror, such as that of erratum ER-08, is not a rotation.
        H = v.reshape(4, 4)
        R = H[:3, :3]
        proper = np.abs(R @ R.T - np.eye(3)).max() <= 1e-6 and np.linalg.det(R) >= 0.0
        if not proper or np.abs(H[3] - (0, 0, 0, 1)).max() > 0:
            rows = np.round(H, 6).tolist()
            raise BadValue(f"not a homogeneous transform with a proper rotation: {rows}")
        return cls(H[:3, 3].copy(), R.copy())

    def _pack(self) -> Array:
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = self.rotation, self.position
        return H.ravel()


MESSAGES: tuple[type[Message], ...] = (
    *(HapticState, ForceFeedback, CartesianSetpoint, CartesianStiffness, SpringWrench, Transform),
    *(GripperPosition, JointStiffness, ArmJoints, ArmTorques, BaseTorques, FlagMessage),
)
"""Every message of the published bridge."""
