"""Exchange: the values that RTDE clients see and set, and who may set what."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from farhand.plants.ur_sim import fields


class Exchange:
    """All output and input fields of the controller by name.

    Attributes:
        values: every field's value; inputs that are also outputs have one value.
        listeners: called with name and value when a client sets that input.
        writes: how often each input was set.
        asked: outputs that some client has asked for.
    """

    def __init__(self) -> None:
        known = {**fields.inputs(), **fields.outputs()}
        self.values: dict[str, object] = {name: fields.zero(kind) for name, kind in known.items()}
        self.listeners: dict[str, Callable[[object], None]] = {}
        self.writes: dict[str, int] = {}
        self.asked: set[str] = set()
        self._owners: dict[str, object] = {}

    def types_of_outputs(self, names: Iterable[str]) -> list[str]:
        """Type of every output, ``NOT_FOUND`` where there is none of that name."""
        wanted = list(names)
        self.asked |= set(wanted) & fields.outputs().keys()
        return [fields.outputs().get(name, "NOT_FOUND") for name in wanted]

    def types_of_inputs(self, names: Iterable[str], client: object) -> list[str]:
        """Type of every input; ``NOT_FOUND``, or ``IN_USE`` where another client sets it."""
        return [self._type_for(name, client) for name in names]

    def _type_for(self, name: str, client: object) -> str:
        kind = fields.inputs().get(name, "NOT_FOUND")
        return "IN_USE" if self._owners.get(name, client) is not client else kind

    def claim(self, names: Iterable[str], client: object) -> None:
        """Let nobody else set these inputs."""
        for name in names:
            self._owners[name] = client

    def release(self, client: object) -> None:
        """Forget a client; its inputs keep their values."""
        self._owners = {name: owner for name, owner in self._owners.items() if owner is not client}

    def set(self, values: dict[str, object]) -> None:
        """Take what a client sends."""
        for name, value in values.items():
            self.values[name] = value
            self.writes[name] = self.writes.get(name, 0) + 1
        for name, value in values.items():
            if name in self.listeners:
                self.listeners[name](value)
