"""What travels between the pen, the bridge and the controller, and what is logged: Y-02, Y-03 and Y-59."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.link import haptic_messages as messages
from farhand.link.haptic_messages import (
    ArmJoints,
    BaseTorques,
    CartesianSetpoint,
    CartesianStiffness,
    FlagMessage,
    ForceFeedback,
    HapticState,
    SpringWrench,
    Transform,
)
from farhand.link.port import Flow, InPort, Message, OutPort
from farhand.plants.drivers.worker import Latest
from farhand.spatial import rotation_from_vector
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, patched
from farhand_lab.youbot.csv_log import WHEELS, CsvLog, load_csv

SIZES = {
    "HapticState": 8,
    "ForceFeedback": 3,
    "CartesianSetpoint": 7,
    "CartesianStiffness": 9,
    "SpringWrench": 6,
    "Transform": 16,
    "GripperPosition": 1,
    "JointStiffness": 8,
    "ArmJoints": 5,
    "ArmTorques": 5,
    "BaseTorques": 4,
    "Flag": 1,
}
"""Numbers in every message, as published; a pen's state is 3 + 3 numbers and two flags."""


@experiment("Y-02")
def latest_value() -> Finding:
    """A burst, then a reader beside a writer in another thread: no message may be a mixture of two."""
    out, port = OutPort("out", BaseTorques), InPort("in", BaseTorques)
    port.connect(out)
    empty = port.read()[0] is Flow.NONE
    for value in range(1, 6):
        out.write(BaseTorques(np.full(4, float(value))))
    flow, message = port.read()
    burst = flow is Flow.NEW and message is not None and message.value.tolist() == [5.0] * 4
    old = port.read()[0] is Flow.OLD
    torn, seen = _beside_a_writer(out, port)
    note = "no mixed message beside a writing thread; an unread message is forgotten, a read one is marked old"
    return Finding(torn, empty and burst and old and torn == 0 and seen > 0, note)


def _beside_a_writer(out: OutPort, port: InPort) -> tuple[int, int]:
    """Mixed messages, and reads, while another thread writes 3000 messages of equal numbers."""
    done = threading.Event()

    def write() -> None:
        for value in range(3000):
            out.write(BaseTorques(np.full(4, float(value))))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    torn = seen = 0
    while not done.is_set():
        _, message = port.read()
        torn += message is not None and np.ptp(message.value) != 0.0
        seen += 1
    thread.join()
    return torn, seen


@experiment("Y-03")
def message_set() -> Finding:
    """Every size, the orders on the wire, and that each message comes back as it went, and refuses a wrong size."""
    counting = np.arange(1.0, 8.0)
    order = [
        SpringWrench(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).pack().tolist()
        == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0],
        CartesianSetpoint(counting[:3], counting[3:]).pack().tolist()
        == [1.0, 2.0, 3.0, 7.0, 4.0, 5.0, 6.0],
        CartesianStiffness(700.0, 30.0).pack().tolist() == [700.0] * 3 + [30.0] * 3 + [0.0] * 3,
        HapticState(counting[:3], counting[3:6], True, False).pack().tolist()
        == [1, 2, 3, 4, 5, 6, 1, 0],
        _mirror_refused(),
    ]
    right = sum(_comes_back(kind, SIZES[kind.__name__]) for kind in messages.MESSAGES)
    return Finding(
        right, right == len(SIZES) and all(order), "the mirror matrix of erratum ER-08 is refused"
    )


def _samples() -> dict[str, Message]:
    rng = generator("messages")
    made: dict[str, Message] = {
        "HapticState": HapticState(rng.normal(size=3), rng.normal(size=3), True, False),
        "CartesianSetpoint": CartesianSetpoint(rng.normal(size=3), rng.normal(size=4)),
        "CartesianStiffness": CartesianStiffness(700.0, 30.0),
        "SpringWrench": SpringWrench(rng.normal(size=6)),
        "Transform": Transform(rng.normal(size=3), rotation_from_vector(rng.normal(size=3))),
        "Flag": FlagMessage(True),
    }
    vectors = (
        ForceFeedback,
        messages.GripperPosition,
        messages.JointStiffness,
        ArmJoints,
        messages.ArmTorques,
    )
    return made | {
        kind.__name__: kind(rng.normal(size=kind.SIZE)) for kind in (*vectors, BaseTorques)
    }


def _comes_back(kind: type[Message], size: int) -> bool:
    """Whether a message has its size and reads back the same, and a longer one is refused."""
    wire = _samples()[kind.__name__].pack()
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
        path.write_text(
            "\n".join([*lines[:10], lines[10].replace(",", ",x", 1), *lines[11:]]), encoding="utf-8"
        )
        refused = _refusal(path)
    ok = same and list(table) == list(WHEELS) and len(WHEELS) == 13 and "line 11" in refused
    rows = len(table["time"])
    return Finding(
        rows,
        ok and rows == 2000,
        "read back to the same bits; a word in a cell is refused with its line",
    )


def _refusal(path: Path) -> str:
    try:
        load_csv(path)
    except BadValue as error:
        return str(error)
    return ""


_put = Latest.put


def _keeps_first(self: Latest, value) -> None:
    if self._number == 0:
        _put(self, value)


def _rounded(self: CsvLog, path: Path) -> None:
    rows = "\n".join(",".join(f"{value:.6g}" for value in row) for row in self.rows)
    path.write_text(",".join(self.columns) + "\n" + rows + "\n", encoding="utf-8")


MUTATIONS = [
    Mutation(
        "first value",
        "a link keeps its first value",
        ("Y-02",),
        lambda: patched(Latest, "put", _keeps_first),
    ),
    Mutation(
        "force first",
        "the wrench goes force first over the wire",
        ("Y-03",),
        lambda: patched(SpringWrench, "pack", lambda self: self.wrench),
    ),
    Mutation(
        "rounded log", "six digits per number", ("Y-59",), lambda: patched(CsvLog, "save", _rounded)
    ),
]
