"""Two arms of Damiao motors over slow buses, in virtual time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from farhand.loop.clock import VirtualClock
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.simulated import Drive, SimulatedCanArm
from farhand.plants.damiao.virtual import VirtualDamiaoPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs import Options, Rig, build_rig, external_plants
from farhand.rigs.pair.parts import allow_for_delay, shaped

SLOW = 3e-4
"""Time per frame of a machine that reaches 210 cycles per second on CAN 2.0, [s]."""


def over_buses(monkeypatch: pytest.MonkeyPatch, host: float) -> tuple[Rig, list[Any]]:
    """A pair of OpenArms."""
    arms: list[SimulatedCanArm] = []

    def open_plant(plant: str, name: str, world: Any, *_: Any) -> MirroredPlant:
        arms.append(SimulatedCanArm(load_arm("openarm"), drive=Drive(rate=1000.0)))
        return MirroredPlant(VirtualDamiaoPlant(name, arms[-1], fd=False, host=host), world)

    monkeypatch.setattr(external_plants, "open_plant", open_plant)
    rig = build_rig("openarm", Options(scenario="rest", clock=VirtualClock()))
    return rig, arms


def test_gains_suit_a_slow_bus_and_the_rig_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arms follow each other without a trip; the gains of a fast bus trip after 0.5 s."""
    rig, arms = over_buses(monkeypatch, SLOW)
    assert "14.4 ms from a measurement to the torque that answers: stiffness is" in rig.notes[0]
    arms[0].push[1] = 1.0
    rig.session.run(0.5)
    assert [station.guard.trip for station in rig.session.stations] == [None, None]
    moved = arms[0].q[1] - arms[0].robot.home[1]
    assert moved > 0.03 and abs(arms[1].q[1] - arms[0].q[1]) < 0.3 * moved
    # both are machines: their world is only shown, and takes no time
    assert rig.world.now_ns >= 490_000_000 and rig.world.data.time == 0.0
    np.testing.assert_allclose(rig.world.ports["leader"].q, arms[0].q, atol=0.05)
    # tripped, the arm is left to its motors' own loops
    assert {motor.command.kp for motor in arms[0].motors} == {0.0}
    rig.session.stations[0].guard.stop(0, "stop", "somebody stops it")
    rig.session.run(0.3)
    gains = [motor.command.kp for motor in arms[0].motors]
    assert gains == pytest.approx([motor.hold_kp for motor in arms[0].arm.motors], abs=0.2)
    rig.close()


@pytest.mark.parametrize("space", ["joints", "tool"])
@pytest.mark.parametrize("robot", ["openarm", "panda", "so101"])
def test_the_fastest_mode_of_the_coupled_joints_is_slow_for_the_delay(
    robot: str, space: str
) -> None:
    """The damping over the inertia, times the delay, is 0.5 rad of phase at most; π/2 shakes."""
    delay = 0.01
    settings: list[tuple[str, object]] = [("rig.loop_delay", delay), ("rig.space", space)]
    settings += [("rig.leader_plant", robot), ("rig.follower_plant", robot)]
    rig = build_rig("pair", Options(settings=settings))
    law, arm = rig.session.bridges[0].laws[0], rig.session.stations[0].arm
    arm.update(rig.world.placed["leader"].robot.home, np.zeros(arm.nv))
    D = np.zeros((law.port.size, law.port.size))
    for column, rate in zip(D.T, np.eye(law.port.size), strict=True):
        column[:] = law.spring.pull(np.zeros(law.port.size), rate)
    if space == "tool":
        D = arm.J.T @ D @ arm.J
    # both arms are pulled, so their difference is damped twice
    fastest = np.abs(np.linalg.eigvals(np.linalg.solve(arm.M, 2.0 * D))).max()
    assert 0.05 < fastest * delay < 0.5
    assert any("10.0 ms" in note for note in rig.notes)
    rig.close()


def test_a_rig_ticks_at_the_rate_of_the_bus_unless_told_otherwise() -> None:
    """More ticks would only take time from the bus."""
    plants: list[tuple[str, object]] = [
        ("rig.leader_plant", "damiao:slcan:a"),
        ("rig.follower_plant", "so101"),
    ]
    assert shaped(plants)[0].rate == 500.0
    assert shaped([*plants, ("rig.rate", 1000.0)])[0].rate == 1000.0
    assert shaped([("rig.leader_plant", "openarm")])[0].rate == 1000.0


@pytest.mark.parametrize("law", ["openarm", "openarm-four-channel"])
def test_published_gains_are_used_only_where_the_delay_allows_them(law: str) -> None:
    """Their gripper's damping is 113 N·s/m on 0.37 kg: 10 ms later it would shake."""
    for delay, used in ((0.0, True), (0.0005, True), (0.01, False)):
        rig = build_rig("openarm", Options(law=law, settings=[("rig.loop_delay", delay)]))
        assert rig.session.bridges[0].laws[0].published is used
        assert any("the rig's own are used" in note for note in rig.notes) is not used
        rig.close()


def test_one_machine_of_two_says_which_delay_both_must_have() -> None:
    """Both must have the same law, so it changes nothing by itself."""
    shape, arms = shaped([("rig.leader_plant", "openarm"), ("rig.follower_plant", "openarm")])
    plant = VirtualDamiaoPlant("leader", SimulatedCanArm(load_arm("openarm")), fd=False, host=SLOW)
    allow_for_delay(shape, arms, {"leader": plant})
    assert arms.delay == 0.0 and shape.frequency == 20.0
    assert "set rig.loop_delay=0.014 on both machines" in arms.notes[-1]


@pytest.mark.parametrize(("delay", "frequency"), [(0.01, 20.0), (0.02, 12.5), (0.05, 5.0)])
def test_the_frequency_of_the_gains_is_a_quarter_over_the_delay_at_most(delay, frequency):
    """However light or strong the arms are."""
    settings = [("rig.leader_plant", "panda"), ("rig.follower_plant", "panda")]
    shape, arms = shaped([*settings, ("rig.loop_delay", delay)])
    allow_for_delay(shape, arms, {role: SimpleNamespace(loop_delay=0.0) for role in arms.robots})
    assert (arms.delay, shape.frequency) == pytest.approx((delay, frequency))
