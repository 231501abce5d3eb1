"""Messages between pen, bridge and controller, and the CSV log: Y-02, Y-03, Y-59."""

from __future__ import annotations

import csv
import io
import math
import tempfile
import threading
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.files import read_csv, write_text
from farhand.link.messages import (
    MESSAGES,
    ArmJoints,
    ArmTorques,
    BaseTorques,
    CartesianSetpoint,
    CartesianStiffness,
    FlagMessage,
    Flow,
    ForceFeedback,
    GripperPosition,
    HapticState,
    InPort,
    JointStiffness,
    Message,
    OutPort,
    SpringWrench,
    Transform,
)
from farhand.plants.drivers.worker import Latest
from farhand.spatial import rotation_from_vector
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutations

Array = np.ndarray

QUANTITIES = ("torque_commanded", "torque", "position")
WHEELS = ("time", *(f"{quantity}_{wheel}" for quantity in QUANTITIES for wheel in (1, 2, 3, 4)))
"""Columns of the published wheel log, [s], [N·m], [N·m] and [rad]."""


class CsvLog:
    """A table that grows row by row in memory and is written whole or not at all.

    Args:
        columns: their names, the first usually ``time``.

    Raises:
        BadValue: no columns, or one name twice.
    """

    def __init__(self, columns: tuple[str, ...] = WHEELS) -> None:
        if not columns or len(set(columns)) != len(columns):
            raise BadValue(f"a log needs columns with names of their own, not {list(columns)}")
        self.columns = tuple(columns)
        self._rows, self._count = np.zeros((1024, len(columns))), 0

    def add(self, *values: float | Array) -> None:
        """Append one row; numbers and vectors are put side by side.

        Raises:
            BadValue: too many numbers or too few.
        """
        row = np.concatenate([np.atleast_1d(value) for value in values])
        if row.shape != (len(self.columns),):
            raise BadValue(
                f"a row has {len(self.columns)} numbers ({', '.join(self.columns)}), not {row.size}"
            )
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._count] = row
        self._count += 1

    @property
    def rows(self) -> Array:
        """What was added so far, one row each."""
        return self._rows[: self._count]

    def column(self, name: str) -> Array:
        """One column."""
        return self.rows[:, self.columns.index(name)]

    def save(self, path: Path) -> None:
        """Write the table; digits are the shortest that read back to the same number.

        Raises:
            FileError: the file cannot be written; one that was there stays as it was.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(map(repr, row) for row in self.rows.tolist())
        write_text(path, text.getvalue())


def load_csv(path: Path, needed: tuple[str, ...] = ()) -> dict[str, Array]:
    """Read a table of numbers with a header, as columns by name.

    Args:
        path: the file.
        needed: columns that must be there; others are kept too, in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: no rows, a missing or double column, a row of the wrong length, or a word or
            infinity in place of a number.
    """
    table = read_csv(path, needed)
    values = table.numbers(*table.header, largest=math.inf)
    return {name: values[:, column] for column, name in enumerate(table.header)}


SIZES: dict[type[Message], int] = {
    HapticState: 8,
    ForceFeedback: 3,
    CartesianSetpoint: 7,
    CartesianStiffness: 9,
    SpringWrench: 6,
    Transform: 16,
    GripperPosition: 1,
    JointStiffness: 8,
    ArmJoints: 5,
    ArmTorques: 5,
    BaseTorques: 4,
    FlagMessage: 1,
}
"""Numbers in every message, as published; a pen's state is 3 + 3 numbers and two flags."""


@experiment("Y-02")
def latest_value() -> Finding:
    """A burst, then a reader beside a writing thread: no message may mix two others."""
    out, port = OutPort("out", BaseTorques), InPort("in", BaseTorques)
    port.connect(out)
    empty = port.read()[0] is Flow.NONE
    for value in range(1, 6):
        out.write(BaseTorques(np.full(4, float(value))))
    flow, message = port.read()
    burst = flow is Flow.NEW and message is not None and message.value.tolist() == [5.0] * 4
    old = port.read()[0] is Flow.OLD
    torn, reads = _beside_a_writer(out, port)
    note = (
        "no mixed message beside a writing thread; an unread message is forgotten, a read one is "
        "marked old"
    )
    return Finding(torn, empty and burst and old and torn == 0 and reads > 0, note)


def _beside_a_writer(out: OutPort, port: InPort) -> tuple[int, int]:
    """Mixed messages, and reads, while another thread writes 3000 messages of equal numbers."""
    done = threading.Event()

    def write() -> None:
        for value in range(3000):
            out.write(BaseTorques(np.full(4, float(value))))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    torn = reads = 0
    while not done.is_set():
        _, message = port.read()
        torn += message is not None and np.ptp(message.value) != 0.0
        reads += 1
    thread.join()
    return torn, reads


@experiment("Y-03")
def message_set() -> Finding:
    """Sizes, orders on the wire, packing there and back, and refusal of wrong sizes."""
    n = np.arange(1.0, 8.0)
    packed: list[tuple[Message, list[int]]] = [
        (SpringWrench(n[:6]), [4, 5, 6, 1, 2, 3]),
        (CartesianSetpoint(n[:3], n[3:]), [1, 2, 3, 7, 4, 5, 6]),
        (CartesianStiffness(700.0, 30.0), [700] * 3 + [30] * 3 + [0] * 3),
        (HapticState(n[:3], n[3:6], True, False), [1, 2, 3, 4, 5, 6, 1, 0]),
    ]
    order = all(message.pack().tolist() == wire for message, wire in packed)
    right = sum(_comes_back(kind, SIZES[kind]) for kind in MESSAGES)
    ok = right == len(SIZES) and order and _mirror_refused()
    return Finding(right, ok, "the mirror matrix of erratum ER-08 is refused")


def _samples() -> dict[type[Message], Message]:
    rng = generator("messages")
    samples: list[Message] = [
        HapticState(rng.normal(size=3), rng.normal(size=3), True, False),
        CartesianSetpoint(rng.normal(size=3), rng.normal(size=4)),
        CartesianStiffness(700.0, 30.0),
        SpringWrench(rng.normal(size=6)),
        Transform(rng.normal(size=3), rotation_from_vector(rng.normal(size=3))),
        FlagMessage(True),
    ]
    vectors = (ForceFeedback, GripperPosition, JointStiffness, ArmJoints, ArmTorques, BaseTorques)
    samples += [kind(rng.normal(size=kind.SIZE)) for kind in vectors]
    return {type(message): message for message in samples}


def _comes_back(kind: type[Message], size: int) -> bool:
    """Whether a message has its size and reads back the same, and a longer one is refused."""
    wire = _samples()[kind].pack()
    again = kind.unpack(wire).pack()
    try:
        kind.unpack(np.zeros(size + 1))
    except BadValue:
        return kind.SIZE == len(kind.FIELDS) == len(wire) == size and np.array_equal(wire, again)
    return False


def _mirror_refused() -> bool:
    try:
        Transform.unpack(np.diag([1.0, -1.0, 1.0, 1.0]).ravel())
    except BadValue:
        return True
    return False


@experiment("Y-59")
def csv_logger() -> Finding:
    """A log of 2000 rows is read back to the same bits; a damaged one is refused with its line."""
    log, rng = CsvLog(), generator("csv")
    for k in range(2000):
        log.add(1e-3 * k, rng.normal(size=4), rng.normal(size=4) * 1e-7, rng.normal(size=4) * 1e5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wheels.csv"
        log.save(path)
        table = load_csv(path, WHEELS)
        same = all(np.array_equal(table[name], log.column(name)) for name in WHEELS)
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[10] = lines[10].replace(",", ",x", 1)
        path.write_text("\n".join(lines), encoding="utf-8")
        refused = _refusal(path)
    ok = same and list(table) == list(WHEELS) and len(WHEELS) == 13 and "line 11" in refused
    rows = len(table["time"])
    note = "read back to the same bits; a word in a cell is refused with its line"
    return Finding(rows, ok and rows == 2000, note)


def _refusal(path: Path) -> str:
    try:
        load_csv(path)
    except BadValue as error:
        return str(error)
    return ""


MUTATIONS = Mutations()


@MUTATIONS.of(Latest, "put", "Y-02")
def first_value(put, self, value):
    """A link keeps its first value."""
    if self._number == 0:
        put(self, value)


@MUTATIONS.of(SpringWrench, "pack", "Y-03")
def force_first(_, self):
    """The wrench goes force first over the wire."""
    return self.wrench


@MUTATIONS.of(CsvLog, "save", "Y-59")
def rounded_log(_, self, path):
    """The log has six digits per number."""
    rows = "\n".join(",".join(f"{value:.6g}" for value in row) for row in self.rows)
    path.write_text(",".join(self.columns) + "\n" + rows + "\n", encoding="utf-8")
