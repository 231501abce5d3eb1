"""Programs as text: finds them at a script port, and runs the plain ones line by line.

Only a sequence of calls with literal arguments is supported: moves, stops, waits, payload, tool and
output registers. A loop, a variable or anything else ends the program, as a script error does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.errors import BadValue
from farhand.plants.ur_sim import motions
from farhand.plants.ur_sim.arm import CYCLE, pose_of
from farhand.plants.ur_sim.motions import Motion
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.plants.ur_sim.controller import UrController

MAX_PROGRAM_BYTES = 1 << 20
"""Most text that waits for the end of a program, [bytes]."""


class ScriptReader:
    """Cuts the input of a script port into programs: ``def … end``, ``sec … end``, or lines."""

    def __init__(self) -> None:
        self._text, self._lines = "", list[str]()

    def feed(self, data: bytes) -> Iterator[str]:
        """The programs that are complete now."""
        self._text += data.decode("latin-1").replace("\r", "")
        if len(self._text) > MAX_PROGRAM_BYTES or len(self._lines) > MAX_PROGRAM_BYTES // 16:
            self._text, self._lines = "", []
        *whole, self._text = self._text.split("\n")
        for line in whole:
            if not self._lines and not line.startswith(("def ", "sec ")):
                if line.strip():
                    yield line
                continue
            self._lines.append(line)
            if line.rstrip() == "end":
                program, self._lines = "\n".join(self._lines), []
                yield program


class TextProgram:
    """A program of plain calls on the arm and the registers of a controller."""

    def __init__(self, controller: UrController, text: str) -> None:
        self.controller = controller
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        head = lines[0] if lines and lines[0].startswith(("def ", "sec ")) else ""
        self.name = head[4:].split("(")[0].strip() if head else "line"
        self.beside = head.startswith("sec ")
        self._lines = [line for line in (lines[1:-1] if head else lines) if line]

    def run(self) -> Iterator[None]:
        """Run its calls one after the other."""
        for line in self._lines:
            name, values, named = _call(line)
            if name not in CALLS:
                raise BadValue(f"{name}() is not simulated in programs sent as text")
            try:
                motion = CALLS[name](self.controller, *values, **named)
            except (TypeError, ValueError, IndexError) as error:
                raise BadValue(f"{name}(): {error}") from None
            yield from motion or ()


def _call(line: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Name and arguments of a call."""
    try:
        node = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadValue(f"cannot read the line {line[:60]!r}") from None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise BadValue(f"only calls are simulated in programs sent as text, not {line[:60]!r}")
    named = {word.arg: _literal(word.value) for word in node.keywords if word.arg}
    return node.func.id, [_literal(argument) for argument in node.args], named


class PoseArray(np.ndarray):
    """Six numbers that were written ``p[…]``: a pose, not joints."""


def _literal(node: ast.expr) -> Any:
    """The value of a literal: a number, a sum of two, a text, a list, or a pose."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.List):
        return np.array([_literal(item) for item in node.elts], dtype=float)
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "p":
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return np.array([_literal(item) for item in items], dtype=float).view(PoseArray)
    raise BadValue("only literal arguments are simulated in programs sent as text")


def _six(values: Array) -> Array:
    if np.shape(values) != (6,) or not np.isfinite(values).all():
        raise ValueError("six finite numbers expected")
    return values


def _movej(
    c: UrController, q: Array, a: float = 1.4, v: float = 1.05, t: float = 0, r: float = 0
) -> Motion:
    joints = motions.inverse_of(c.arm, q) if isinstance(_six(q), PoseArray) else q
    return motions.movej(c.arm, np.asarray(joints), v, a)


def _movel(
    c: UrController, pose: Array, a: float = 1.2, v: float = 0.25, t: float = 0, r: float = 0
) -> Motion:
    is_pose = isinstance(_six(pose), PoseArray)
    return motions.movel(c.arm, *(pose_of(pose) if is_pose else c.arm.pose(pose)), v, a)


def _for(seconds: float, step: Callable[[], None]) -> Motion:
    for _ in range(max(1, round(seconds / CYCLE))):
        step()
        yield


def _servoj(
    c: UrController,
    q: Array,
    a: float = 0,
    v: float = 0,
    t: float = CYCLE,
    lookahead_time: float = 0.1,
    gain: float = 300,
) -> Motion:
    return _for(t, lambda: motions.servoj(c.arm, _six(q), lookahead_time, gain))


def _speedj(c: UrController, qd: Array, a: float = 1.4, t: float = CYCLE) -> Motion:
    return _for(t, lambda: motions.speedj(c.arm, _six(qd), a))


def _speedl(c: UrController, xd: Array, a: float = 1.2, t: float = CYCLE) -> Motion:
    return _for(t, lambda: motions.speedl(c.arm, _six(xd), a))


def _payload(
    c: UrController, m: float, cog: Array | None = None, inertia: Array | None = None
) -> None:
    c.arm.carry(float(m))
    if cog is not None:
        c.arm.payload_cog[:] = cog


CALLS: dict[str, Callable[..., Motion | None]] = {
    "movej": _movej,
    "movel": _movel,
    "movep": _movel,
    "servoj": _servoj,
    "speedj": _speedj,
    "speedl": _speedl,
    "stopj": lambda c, a=2.0: motions.stop(c.arm, a),
    "stopl": lambda c, a=2.0: motions.stopl(c.arm, a),
    "sleep": lambda c, t: _for(t, c.arm.slow_down),
    "sync": lambda c: _for(CYCLE, c.arm.slow_down),
    "set_payload": _payload,
    "set_target_payload": _payload,
    "set_tcp": lambda c, pose: c.arm.tcp.__setitem__(slice(None), _six(pose)),
    "zero_ftsensor": lambda c: c.arm.zero_sensor(),
    "textmsg": lambda c, *words: c.log(" ".join(str(word) for word in words)),
    "popup": lambda c, *words, **named: c.log(" ".join(str(word) for word in words)),
    "write_output_integer_register": lambda c, index, value: c.write_int(index, value),
    "write_output_float_register": lambda c, index, value: c.write_floats(index, np.array([value])),
}
"""Calls that programs sent as text may make."""
