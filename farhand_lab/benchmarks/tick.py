"""The tick and the virtual second of a rig, beside the bare library calls they cannot do without and a peer."""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.rigs import Options, Rig, build_rig
from farhand_lab.benchmarks.measure import Benchmark, Work
from farhand_lab.benchmarks.peer import toolbox_tick


def _tick(rig: Rig) -> Work:
    """One whole tick (sense, couple, act, telemetry) on a world that stands still, so that only the tick is timed."""
    session = rig.session
    session.run(1.0)
    period = session.parts[0].period_ns

    def tick() -> None:
        session.now_ns += period
        for station in session.stations:
            station.plant.world.now_ns = session.now_ns  # type: ignore[attr-defined]
        session._tick(session.now_ns)

    return tick


def _bare_tick(rig: Rig) -> Work:
    """Rigid-body terms of both arms, one rotation error, two products: what no implementation can leave out."""
    arms = [station.arm for station in rig.session.stations]
    wrench = np.ones(6)

    def bare() -> None:
        for arm in arms:
            bare_terms(arm)
            wrench.dot(arm.J)
        pin.log3(arms[0].rotation.dot(arms[1].rotation.T))

    return bare


def bare_terms(arm: Arm) -> None:
    """One arm's rigid-body terms by the bare calls."""
    pin.computeAllTerms(arm.model, arm.data, arm.q, arm.v)
    pin.updateFramePlacement(arm.model, arm.data, arm._frame)
    pin.getFrameJacobian(arm.model, arm.data, arm._frame, pin.LOCAL_WORLD_ALIGNED)


def _dual_arm_tick(kernel: str) -> tuple[Work, Work | None, dict[str, Work]]:
    rig = build_rig(
        "dual-arm", Options(law="virtual-constraints", settings=[("law.kernel", kernel)])
    )
    return _tick(rig), _bare_tick(rig), toolbox_tick(rig)


def _dual_arm_second(kernel: str) -> tuple[Work, Work | None, dict[str, Work]]:
    rig = build_rig(
        "dual-arm", Options(law="virtual-constraints", settings=[("law.kernel", kernel)])
    )
    bare = build_rig("dual-arm", Options())
    steps = round(1e9 / bare.world.step_ns)

    def floor() -> None:
        for _ in range(steps):
            mujoco.mj_step(bare.world.model, bare.world.data)

    return lambda: rig.session.run(1.0, rig.metrics.pull), floor, {}


BENCHMARKS = [
    # as on the wall clock
    Benchmark("tick/dual-arm", partial(_dual_arm_tick, "numba"), calls=300, each=True),
    Benchmark("tick/dual-arm/numpy", partial(_dual_arm_tick, "numpy"), calls=300, each=True),
    # as in headless runs
    Benchmark("virtual-second/dual-arm", partial(_dual_arm_second, "numpy"), calls=1, unit="s"),
    Benchmark(
        "virtual-second/dual-arm/numba", partial(_dual_arm_second, "numba"), calls=1, unit="s"
    ),
]
