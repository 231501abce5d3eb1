"""Parameters that visitors have set in a session, and how the next session takes them over."""

from __future__ import annotations

from farhand.errors import FarhandError, UnknownName
from farhand.loop.commands import Commands
from farhand.parameters import assign
from farhand.rigs import Rig
from farhand.world import World

Values = dict[str, object]

MOMENTARY = ("hand.drag", "hand.open", "demonstration.active")
"""Where a visitor's hand is, whether it holds on, and the mark of a demonstration: they end with
the session."""


class LiveValues:
    """The last value of every parameter that somebody has set live.

    A session's log forgets its first commands after some minutes of dragging, so take from it often
    enough.
    """

    def __init__(self) -> None:
        self.values: Values = {}  #: by path, in the order in which they were set last
        self._taken = 0

    def begin(self, values: Values) -> None:
        """Begin a session that has these values."""
        self.values, self._taken = dict(values), 0

    def take(self, commands: Commands) -> None:
        """Take what was set since the last call; what a scenario sets is its own."""
        for logged in commands.log[max(0, self._taken - commands.forgotten) :]:
            request = logged.request
            sets = request.name == "set" and request.live and logged.outcome.done
            if sets and request.path not in MOMENTARY:
                self.values.pop(request.path, None)
                self.values[request.path] = request.value
        self._taken = commands.forgotten + len(commands.log)


def carry_over(values: Values, before: Rig, after: Rig) -> tuple[Values, dict[str, str]]:
    """Set what was set in one session in the next one too.

    Args:
        values: by path.
        before: the rig of the session that ends.
        after: the one that takes its place, not yet running.

    Returns:
        what was set, and why the rest was not, both by path.
    """
    kept: Values = {}
    lost: dict[str, str] = {}
    # A value may fit only after another, such as a jitter after its delay
    for _ in range(2):
        for path, value in values.items():
            if path not in kept:
                lost[path] = _set(path, value, before, after)
                if not lost[path]:
                    kept[path] = value
                    del lost[path]
    for world in after.session.worlds if kept else ():
        if isinstance(world, World):
            world.refresh()
    return kept, lost


def belongs_to(path: str, kind: str) -> bool:
    """Whether a parameter is one of the ``law`` or ``layer`` itself; the mapping is the rig's."""
    return path.startswith(f"{kind}.") and not path.startswith("law.mapping.")


def _set(path: str, value: object, before: Rig, after: Rig) -> str:
    """Set one parameter; why it was not set, or empty."""
    if belongs_to(path, "law") and before.law != after.law:
        return f"a parameter of the law {before.law}"
    if belongs_to(path, "layer") and before.options.layer != after.options.layer:
        return f"a parameter of the layer {before.options.layer}"
    try:
        assign(after.session.parameters, path, value)
    except UnknownName as error:
        return "which the new session does not have" if error.kind == "parameter" else str(error)
    except FarhandError as error:
        return str(error)
    return ""
