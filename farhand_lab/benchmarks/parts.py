"""Parts of the tick on their own: a law, a link crossing, a telemetry record."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from farhand.coupling import LAWS
from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import connect
from farhand.link.packet import Packet
from farhand.loop.telemetry import Telemetry
from farhand.rigs import Options, build_rig
from farhand_lab.benchmarks.measure import Benchmark, Work
from farhand_lab.benchmarks.peer import toolbox_law
from farhand_lab.benchmarks.tick import bare_terms


def _constraints(kernel: str) -> tuple[Work, Work | None, dict[str, Work]]:
    """The law with the dynamics of both arms, beside the bare Pinocchio and LAPACK calls it cannot do without."""
    rig = build_rig(
        "dual-arm", Options(law="virtual-constraints", settings=[("law.kernel", kernel)])
    )
    rig.session.run(1.0)
    a, b = (station.side for station in rig.session.stations)
    law, arms = rig.session.bridges[0].laws[0], [station.arm for station in rig.session.stations]
    rhs, gamma, six = np.ones((6, 7), order="F"), np.asfortranarray(np.eye(6)), np.ones(6)

    def whole() -> None:
        for arm in arms:
            arm.compute()
        law.step(a, b, 1e-3)

    def bare() -> None:
        for arm in arms:
            bare_terms(arm)
            arm.drift  # noqa: B018
            arm.J.dot(dposv(arm.M, rhs)[1])
        pin.log3(arms[0].rotation)
        gamma.dot(dposv(gamma.dot(gamma), six)[1])

    return whole, bare, toolbox_law(rig)


def _law(name: str) -> tuple[Work, Work | None, dict[str, Work]]:
    rig = build_rig("dual-arm", Options(law=name))
    rig.session.run(1.0)
    a, b = (station.side for station in rig.session.stations)
    law = rig.session.bridges[0].laws[0]
    return lambda: law.step(a, b, 1e-3) and None, None, {}


def _telemetry() -> tuple[Work, Work | None, dict[str, Work]]:
    telemetry = Telemetry()
    stream = telemetry.stream("hundred", 1000.0)
    values, numbers, copy = stream.channel("x", 100, "-"), np.ones(100), np.zeros(100)
    telemetry.freeze()

    def record() -> None:
        values[:] = numbers
        stream.commit(0)

    return record, lambda: np.copyto(copy, numbers), {}


def _crossing() -> tuple[Work, Work | None, dict[str, Work]]:
    a, b = connect(Packet(6, 6), Packet(6, 6), MemoryChannel(), MemoryChannel())

    def cross() -> None:
        a.send(0)
        b.receive(0)

    return cross, None, {}


BENCHMARKS = [
    *(
        Benchmark(f"law/{name}", partial(_law, name))
        for name in LAWS
        if name != "virtual-constraints"
    ),
    Benchmark("law/virtual-constraints", partial(_constraints, "numba"), calls=300),
    Benchmark("law/virtual-constraints/numpy", partial(_constraints, "numpy"), calls=300),
    Benchmark("telemetry/100-channels", _telemetry, calls=2000),
    Benchmark("link/crossing", _crossing),
]
