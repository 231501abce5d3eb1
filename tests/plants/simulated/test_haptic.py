"""The haptic device: what it may show, what it resolves, how long it keeps it up, and that its
wrist is passive.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue, FileError, UnknownName
from farhand.loop.station import driven_axes
from farhand.loop.telemetry import Reader, Telemetry
from farhand.plants import JointTorque
from farhand.plants.simulated.haptic import HapticPlant, HapticProfile, Workspace
from farhand.plants.simulated.port import Imperfections
from farhand.recording.loader import load
from farhand.recording.recorder import Recorder, record_from
from farhand.robots import load_robot
from farhand.world import Placed, World

OMEGA = HapticProfile.of(load_robot("omega6"))
MS = 1_000_000


def pen(**changes: object) -> HapticPlant:
    world = World({"pen": Placed(load_robot("omega6"))})
    return HapticPlant(world, "pen", dataclasses.replace(OMEGA, **changes))


def push(plant: HapticPlant, torque: list[float], milliseconds: int) -> None:
    command = JointTorque(6)
    command.value[:] = torque
    start = plant.world.now_ns
    for tick in range(milliseconds):
        plant.write(command, start + tick * MS)
        plant.read(start + (tick + 1) * MS)


def test_it_carries_its_own_weight_and_stays_where_it_is() -> None:
    """No command, five seconds."""
    plant = pen()
    push(plant, [0.0] * 6, 5000)
    assert np.abs(plant.port.q).max() < 1e-9


def test_a_force_is_cut_to_the_peak_and_keeps_its_direction() -> None:
    """Thirty newtons along a diagonal are shown as twelve, with the weight beside them."""
    plant = pen()
    push(plant, [20.0, 20.0, 10.0, 0, 0, 0], 1)
    shown = plant.port.torque[:3] - [0.0, 0.0, 0.3 * 9.81]
    np.testing.assert_allclose(shown, 12.0 * np.array([2.0, 2.0, 1.0]) / 3.0, rtol=1e-9)
    assert plant.cut == 1


def test_torques_on_the_passive_wrist_are_dropped() -> None:
    """The pen does not turn, however it is commanded."""
    plant = pen()
    push(plant, [0, 0, 0, 1.0, 1.0, 1.0], 50)
    assert np.abs(plant.port.q[3:]).max() < 1e-9


def test_only_forces_are_among_the_driven_axes_of_its_tool() -> None:
    """Nothing but translations can be exerted; the arm's state is as it was."""
    arm = Arm.of(load_robot("omega6"))
    arm.update(np.full(6, 0.01), np.zeros(6))
    assert driven_axes(arm, load_robot("omega6").actuated).tolist() == [True] * 3 + [False] * 3
    np.testing.assert_array_equal(arm.q, np.full(6, 0.01))


def test_peak_force_lasts_until_the_budget_is_used_and_falls_to_the_continuous_one() -> None:
    """4 N peak, 1 N for ever, one second of warming: after a few seconds one newton is left."""
    plant = pen(force_peak=4.0, force_continuous=1.0, heat_time=1.0)
    plant.port.q[0] = -0.08
    push(plant, [-4.0, 0, 0, 0, 0, 0], 30)
    assert plant.limit == 4.0
    push(plant, [-4.0, 0, 0, 0, 0, 0], 6000)
    assert plant.limit == pytest.approx(1.0, abs=0.1)
    assert plant.heat == pytest.approx(1.0, abs=0.02)


def test_twice_the_force_heats_the_motors_four_times_as_much() -> None:
    """Current goes with the force, heat with its square."""
    heats = []
    for force in (0.5, 1.0):
        plant = pen(force_peak=4.0, force_continuous=2.0, heat_time=1.0)
        push(plant, [force, 0, 0, 0, 0, 0], 100)
        heats.append(plant.heat)
    assert heats[1] == pytest.approx(4.0 * heats[0]) and heats[0] > 0.0


def test_positions_and_angles_come_in_the_devices_steps() -> None:
    """A hundredth of a millimetre and 0.09°."""
    plant = pen()
    plant.port.q[:] = [0.012345678, -0.02, 0.01, 0.1234567, 0.2, -0.3]
    plant.world._sense()
    plant._read_ns = -1
    q = plant.read(0).q
    np.testing.assert_allclose(q[:3] / 1e-5, np.round(q[:3] / 1e-5), atol=1e-6)
    np.testing.assert_allclose(
        q[3:] / OMEGA.angle_step, np.round(q[3:] / OMEGA.angle_step), atol=1e-6
    )
    assert abs(q[0] - 0.012345678) <= 0.5e-5


def test_dry_friction_of_the_profile_holds_the_pen_against_a_small_force() -> None:
    """0.4 N of friction: 0.3 N leave it within a millimetre and at rest, 0.8 N move it away."""
    held, moved = pen(coulomb=0.4), pen(coulomb=0.4)
    push(held, [0.3, 0, 0, 0, 0, 0], 1000)
    push(moved, [0.8, 0, 0, 0, 0, 0], 300)
    assert abs(held.port.q[0]) < 1e-3 and abs(held.port.v[0]) < 1e-4
    assert moved.port.q[0] > 0.02


def test_buttons_are_pressed_by_name() -> None:
    """And a button that is not there is refused with those that are."""
    plant = pen()
    plant.press("gripper")
    assert plant.buttons == {"calibrate": False, "force": False, "gripper": True}
    with pytest.raises(UnknownName, match="gripper"):
        plant.press("trigger")


def test_a_pressed_button_is_an_event_of_the_recording(tmp_path) -> None:
    """By its name and with its time; nothing else need be posted."""
    plant, path = pen(), tmp_path / "pen.mcap"
    with Telemetry(capacity=8) as telemetry:
        stream = telemetry.stream("leader", 1000.0)
        plant.record(stream)
        telemetry.freeze({})
        reader = Reader(telemetry.path)
        for t_ns, down in ((1, False), (2, True), (3, True), (4, False)):
            plant.press("gripper", down)
            stream.commit(t_ns)
        with Recorder(path, reader.header) as recorder:
            record_from(reader, recorder)
    words = "leader button_gripper: {} to {}".format
    assert load(path).events == [(2, words("up", "down")), (4, words("down", "up"))]


@pytest.mark.parametrize(
    ("workspace", "inside", "outside"),
    [
        (OMEGA.workspace, (0.05, 0.05, 0.05), (0.0, 0.06, 0.06)),
        (Workspace("box", (0.2, 0.1, 0.1)), (0.09, 0.04, 0.04), (0.0, 0.06, 0.0)),
        (Workspace("ellipsoid", (0.2, 0.1, 0.1)), (0.05, 0.03, 0.0), (0.09, 0.04, 0.0)),
    ],
)
def test_the_workspace_knows_inside_from_outside(workspace, inside, outside) -> None:
    """Three shapes, a point just in and a point just out of each."""
    assert workspace.contains(np.array(inside))
    assert not workspace.contains(np.array(outside))


def test_a_profile_that_cannot_be_is_refused() -> None:
    """No file, no such shape, more continuous force than peak force."""
    with pytest.raises(FileError, match="haptic profile"):
        HapticProfile.of(load_robot("ur5e"))
    with pytest.raises(UnknownName, match="cylinder"):
        Workspace("sphere")
    with pytest.raises(BadValue, match="peak"):
        HapticProfile(force_peak=1.0, force_continuous=2.0)


def test_the_device_has_no_brakes() -> None:
    """It accepts forces alone; whoever holds it must do so by force."""
    assert pen().accepts == {JointTorque}
    assert (
        Imperfections().encoder_step == 0.0
        and pen().imperfections.encoder_step == OMEGA.position_step
    )
