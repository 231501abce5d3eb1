"""Ports: typed places for the latest message of one producer. Nothing waits and nothing queues."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from farhand.errors import BadValue
from farhand.plants.drivers.worker import Latest

Array = np.ndarray


class Message(ABC):
    """A record of a fixed number of floats.

    Attributes:
        SIZE: how many.
        FIELDS: their names, in the order of the wire.
        UNIT: their units.
    """

    SIZE: ClassVar[int]
    FIELDS: ClassVar[tuple[str, ...]]
    UNIT: ClassVar[str]

    @classmethod
    @abstractmethod
    def unpack(cls, values: Array) -> Self:
        """From its floats."""

    @abstractmethod
    def pack(self) -> Array:
        """Its floats, in the order of the wire."""


M = TypeVar("M", bound=Message)


class Flow(enum.Enum):
    """What a read found."""

    NONE = "nothing was ever written"
    OLD = "what was read before"
    NEW = "something new"


class OutPort(Generic[M]):
    """The one writer of a connection, primed with a sample of the right size.

    Args:
        name: of the port.
        kind: type of its messages.
    """

    def __init__(self, name: str, kind: type[M]) -> None:
        self.name, self.kind = name, kind
        self._latest = Latest(name, np.zeros(kind.SIZE))

    def write(self, message: M) -> None:
        """Publish a message; what nobody has read is forgotten.

        Raises:
            BadValue: a message of another type.
        """
        if not isinstance(message, self.kind):
            raise BadValue(
                f"port {self.name!r} takes {self.kind.__name__}, not {type(message).__name__}"
            )
        self._latest.put(message.pack())


class InPort(Generic[M]):
    """A reader of a connection.

    Args:
        name: of the port.
        kind: type of its messages.
    """

    def __init__(self, name: str, kind: type[M]) -> None:
        self.name, self.kind = name, kind
        self._latest: Latest | None = None
        self._seen = 0

    @property
    def connected(self) -> bool:
        """Whether anyone may write to it."""
        return self._latest is not None

    def connect(self, source: OutPort[M]) -> None:
        """Read from this port from now on.

        Raises:
            BadValue: the ports carry different messages.
        """
        if source.kind is not self.kind:
            raise BadValue(
                f"port {self.name!r} takes {self.kind.__name__}, but {source.name!r} gives {source.kind.__name__}"
            )
        self._latest, self._seen = source._latest, 0

    def read(self) -> tuple[Flow, M | None]:
        """The latest message, whether it is new, and None if there has never been one."""
        if self._latest is None or (last := self._latest.get()).number == 0:
            return Flow.NONE, None
        flow = Flow.NEW if last.number != self._seen else Flow.OLD
        self._seen = last.number
        return flow, self.kind.unpack(last.value)
