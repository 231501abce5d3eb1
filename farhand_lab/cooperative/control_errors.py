"""Variants of the leader's control: F-21, F-23 to F-25 and X-10 to X-13."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.control.tool import computed_torque
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.trajectory.paths import Reference
from farhand.mapping.ik import Pose
from farhand.plants.wrappers.filtered import Filters
from farhand.safety.guard import Guard
from farhand.spatial import rotation_from_vector, rotation_vector
from farhand_lab.cooperative.bench import (
    GAINS,
    ArmBench,
    BenchLog,
    BenchSetup,
    gains,
    gripping,
    published,
    tracked,
)
from farhand_lab.cooperative.control import TurningError
from farhand_lab.cooperative.ideal import ScriptedPush
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed, patched

Array = np.ndarray


@experiment("F-25", "X-10")
def ik_feedback() -> dict[str, Finding]:
    """T4.1 with G7; the larger of the two relative differences of Σpos and Σori.

    Fed with the pose the arm has, inverse kinematics gives back its joints. The other reading, the
    pose it should have, is tried on TA.1: with a wrist that lags by half a turn the model is then
    that of another arm.
    """
    plain, by_ik = published("T4.1", gains("G7")), published("T4.1", gains("G7"), "ik")
    pairs = [(plain.metrics[k], by_ik.metrics[k]) for k in (0, 2)]
    apart = 100.0 * max(abs(b / a - 1.0) for a, b in pairs)
    note = "; ".join(f"{a:.2f} against {b:.2f}" for a, b in pairs)
    short, other = (
        published("TA.1", gains("G7")).metrics,
        published("TA.1", gains("G7"), "reference").metrics,
    )
    note = f"Σpos [m], then Σori: {note}; fed with the reference's pose, TA.1: {short[0]:.1f} against {other[0]:.1f} m"
    return {id: Finding(apart, apart < 2.0, note) for id in ("F-25", "X-10")}


def _settles(kind: str, kpo: float) -> float:
    """Time in which a free body turns back from 150° to 5°, [s]."""
    loop, reference = PoseLoop(kpo=kpo, kdo=70.0, error=kind), Reference()
    body = TurningError(
        rotation_from_vector(np.radians(150.0) * np.array([0.6, 0.0, 0.8])), np.zeros(3)
    )
    for step in range(1500):
        body.advance(loop, reference, 0.01)
        if np.linalg.norm(rotation_vector(body.rotation)) < np.radians(5.0):
            return 0.01 * (step + 1)
    return np.inf


@experiment("F-21", "X-11")
def quaternion() -> dict[str, Finding]:
    """The value is the ratio of RMS |O_e| at equal gains: half the stiffness near zero explains what was published."""
    axis = published("T4.1", gains("G8")).rms_turn
    equal = published("T4.1", gains("G8", error="quaternion")).rms_turn / axis
    double = published("T4.1", gains("G8", error="quaternion", kpo=400.0)).rms_turn / axis
    sine, half = _settles("axis-angle", 200.0), _settles("quaternion", 400.0)
    note = f"at 2 k_po {double:.2f}; from 150° settled after {half:.2f} s against {sine:.2f} s"
    ok = equal > 1.0 and abs(double - 1.0) < 0.1 and half < sine
    return {id: Finding(equal, ok, note) for id in ("F-21", "X-11")}


@shared
def loaded(force: tuple[float, float, float], r: float, cancel: bool, seconds: float) -> BenchLog:
    """An arm without any loop, pushed for 4 s; only its own weight is compensated, and the load if asked."""
    touches = {"load": ScriptedPush(np.array([*force, 0.0, 0.0, 0.0]), 0.0, 4.0)}
    setup = BenchSetup(gripping(), gears_model="", touches=touches, filters=Filters(r_wrench=r))  # type: ignore[arg-type]
    idle = PoseLoop(kp=0.0, kd=0.0, kpo=0.0, kdo=0.0)
    controller = ComputedTorque(setup.controllers_model(), idle)
    controller.options.cancel_load = cancel
    return ArmBench(setup, controller).run(seconds)


def _kick(r: float) -> float:
    """How far the tool goes against 100 N after they have gone, [mm]."""
    log, gone = loaded((0.0, 100.0, 0.0), r, True, 5.0), 1000
    if log.trip is not None:
        return np.inf
    return 1e3 * float((log.position[gone - 1, 1] - log.position[gone - 1 :, 1]).max())


@experiment("F-24", "X-12")
def external_load() -> dict[str, Finding]:
    """20 N upwards and 100 N sideways for 4 s on an arm that only floats; the value is the drift with compensation."""
    lifted = [loaded((0.0, 0.0, 20.0), 20.0, cancel, 4.0).position for cancel in (False, True)]
    drift = [1e3 * float(np.linalg.norm(np.ptp(position, axis=0))) for position in lifted]
    kicks = [_kick(r) for r in (0.0, 20.0, 500.0)]
    ok = drift[0] >= 10.0 * drift[1] and kicks[0] < 0.01 < 0.1 < kicks[1] < kicks[2]
    note = f"drift without {drift[0]:.0f} mm; kicks at r = 0, 20, 500: {', '.join(f'{k:.2f}' for k in kicks)} mm"
    return {id: Finding(drift[1], ok, note) for id in ("F-24", "X-12")}


@shared
def slid(**changes: Any) -> BenchLog:
    """TA.1 with G8 and changes, rotors known, torques cut at their limits instead of tripping."""
    setup = BenchSetup(robot=gripping())
    return tracked("TA.1", PoseLoop(**{**GAINS["G8"], **changes}), setup, guard=Guard(force=660.0))


@experiment("F-23", "X-13")
def sliding() -> dict[str, Finding]:
    """The value is how much less the torques vary with a layer of 1 rad/s."""
    pid, relay, layer = slid(), slid(law="sliding"), slid(law="sliding", layer=1.0)
    pd = slid(kpo=1000.0, kdo=110.0)
    variation = [float(np.abs(np.diff(log.torque, axis=0)).sum()) for log in (relay, layer)]
    ratio, match = variation[0] / variation[1], pd.metrics[2] / layer.metrics[2]
    traded = relay.metrics[2] < pid.metrics[2] and relay.metrics[0] > pid.metrics[0]
    ok = traded and ratio >= 5.0 and abs(match - 1.0) < 0.15
    note = (
        f"Σori {relay.metrics[2]:.2f} against {pid.metrics[2]:.2f}, Σpos {relay.metrics[0]:.2f} against "
        f"{pid.metrics[0]:.2f} m; PD {pd.metrics[2]:.2f} against {layer.metrics[2]:.2f} with the layer (without it the "
        "relay chatters); torques cut at their limits, which the relay reaches"
    )
    return {id: Finding(ratio, ok, note) for id in ("F-23", "X-13")}


MUTATIONS = [
    Mutation(
        "load-added",
        "the measured load is added instead of cancelled",
        ("X-12", "F-24"),
        lambda: changed(
            ComputedTorque, "effort", lambda old: lambda self, asked: -old(self, asked)
        ),
    ),
    Mutation(
        "layer-ignored",
        "the relay jumps in spite of its boundary layer",
        ("X-13", "F-23"),
        lambda: changed(PoseLoop, "_sign", lambda old: lambda self, s: np.sign(s)),
    ),
    Mutation(
        "ik-of-the-wrong-pose",
        "the model is fed with a pose 0.3 m away from the reference",
        ("X-10", "F-25"),
        lambda: patched(
            computed_torque, "Pose", lambda p, R: Pose(p - np.array([0.0, 0.0, 0.3]), R)
        ),
    ),
]
"""Parts broken on purpose."""
