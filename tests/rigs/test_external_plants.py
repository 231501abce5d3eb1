"""Plants from outside in the place of a rig's own."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from farhand import plugins
from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.loop.clock import VirtualClock
from farhand.plants.drivers.handle import Device, DeviceReading
from farhand.rigs import Options, build_rig


class Fast(VirtualClock):
    """Wall time that waits for nothing, for a device that is not real either."""

    name = "wall"


class Lifting(Device):
    """A device that is pushed up for a second, the dead-man's button held for the first 0.7 s of
    it.
    """

    name, closed = "the device", False

    def poll(self, now_ns):
        t = now_ns * 1e-9
        up = 1.0 if 0.5 < t < 1.5 else 0.0
        return DeviceReading(
            np.array([0, 0, up, 0, 0, 0]), frozenset({0}) if t < 1.2 else frozenset()
        )

    def close(self):
        Lifting.closed = True


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr("farhand.plants.drivers.spacemouse.SpaceMouse", Lifting)


def options(**given) -> Options:
    return Options(settings=[("rig.leader_plant", "spacemouse")], clock=Fast(), **given)


def test_the_follower_of_the_dual_arm_rig_goes_where_the_device_drives_the_handle(device):
    """Up while the button is held, then it stands; the law for a leader that feels nothing is
    chosen by itself.
    """
    rig = build_rig("dual-arm", options())
    start = rig.world.ports["follower"].tool.position.copy()
    rig.session.run(3.0)
    moved = rig.world.ports["follower"].tool.position - start
    lifted = rig.session.stations[0].arm.position[2]
    assert rig.law == "unilateral"
    assert 0.08 < lifted < 0.12
    np.testing.assert_allclose(moved, [0.0, 0.0, lifted], atol=2e-3)
    assert rig.session.trips == []
    rig.close()
    assert Lifting.closed


def test_a_pads_axes_and_the_speeds_are_parameters(tmp_path, monkeypatch):
    """By path, like everything else."""
    import os

    from farhand.plants.drivers import gamepad

    monkeypatch.setattr(gamepad, "FOLDER", str(tmp_path))
    os.mkfifo(tmp_path / "js0")
    settings = [
        ("rig.leader_plant", "gamepad"),
        ("leader.pad.numbers", "0,1,2,3,4,5"),
        ("leader.plant.rate.top", 0.05),
    ]
    rig = build_rig("dual-arm", Options(settings=settings, clock=Fast()))
    plant = rig.session.stations[0].plant.plant
    np.testing.assert_array_equal(plant.device.axes.numbers, range(6))
    np.testing.assert_array_equal(plant.settings.rate.top, 0.05)
    rig.close()


def test_the_youbot_follows_a_device(device):
    """Its tool goes up with the handle."""
    rig = build_rig("youbot", options())
    start = rig.world.ports["follower"].tool.position.copy()
    rig.session.run(2.0)
    assert rig.world.ports["follower"].tool.position[2] - start[2] > 0.03
    assert rig.session.trips == []
    rig.close()


@pytest.mark.parametrize(
    ("rig", "law", "words"),
    [
        ("dual-arm", "virtual-constraints", "dynamic model"),
        ("dual-arm", "admittance", "hand on the leader"),
    ],
)
def test_laws_that_need_more_than_a_device_has_are_refused_by_name(device, rig, law, words):
    """It has neither a model nor a force sensor."""
    with pytest.raises(Mismatch, match=words):
        build_rig(rig, options(law=law))


def test_the_start_up_sequence_is_the_pens_own(device):
    """A device cannot go through it."""
    given = options()
    given.settings.append(("rig.startup", True))
    with pytest.raises(Mismatch, match="start-up"):
        build_rig("youbot", given)


@pytest.mark.parametrize(
    ("rig", "path", "plant"),
    [
        ("dual-arm", "rig.leader_plant", "joystick"),
        ("dual-arm", "rig.follower_plant", "gamepad"),
        ("youbot", "rig.leader_plant", "ur:127.0.0.1"),
    ],
)
def test_what_cannot_be_in_that_place_is_answered_with_what_can(rig, path, plant):
    """In one line."""
    with pytest.raises(BadValue, match="there are: simulated"):
        build_rig(rig, Options(settings=[(path, plant)], clock=Fast()))


@pytest.mark.parametrize(("plant", "usage"), [("ur:", "ur:HOST"), ("gamepad:x", "gamepad")])
def test_an_address_too_much_or_too_little_is_answered_with_the_right_form(plant, usage):
    """In one line."""
    with pytest.raises(BadValue, match=f"write {usage}$"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", plant)], clock=Fast()))


@pytest.mark.parametrize("plant", ["spacemouse", "gamepad", "ur:127.0.0.1"])
def test_virtual_time_is_refused(plant):
    """A person cannot be sped up."""
    with pytest.raises(Mismatch, match="real time"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", plant)]))


def test_a_device_that_is_not_there_is_one_clear_line(tmp_path, monkeypatch):
    """Whatever the machine has plugged in."""
    from farhand.plants.drivers import gamepad

    monkeypatch.setattr(gamepad, "FOLDER", str(tmp_path))
    with pytest.raises(FileError, match="no gamepad found"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", "gamepad")], clock=Fast()))


PLANT = '''
from farhand.plants import JointTorque, Plant, Sample

class Standing(Plant):
    """An arm that stands still."""
    accepts, address_hint = frozenset({JointTorque}), "PORT"

    def __init__(self, name, address, robot):
        self.name, self.address, self.actuated = name, address, robot.actuated
        self.sample, self.torques = Sample(len(robot.home), len(robot.home)), 0
        self.sample.q[:] = robot.home
        self.sample.set_wrench([0.0] * 6)

    @classmethod
    def open(cls, address, *, name, robot, placement, gravity):
        return cls(name, {"A": "A", "B": "B"}[address], robot)

    def read(self, now_ns):
        self.sample.time_ns = now_ns
        return self.sample

    def write(self, command, now_ns):
        self.torques += 1
'''


def test_a_plant_of_an_installed_package_is_opened_by_name_and_address(tmp_path, monkeypatch):
    """As leader and as follower; a name without its address is answered with what is missing, and
    an address that its driver cannot take with what the driver raised.
    """
    (tmp_path / "standing_plants.py").write_text(PLANT)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("standing", "standing_plants:Standing", "farhand.plants")
    monkeypatch.setitem(plugins.found("farhand.plants"), "standing", point)
    settings = [("rig.leader_plant", "standing:A"), ("rig.follower_plant", "standing:B")]
    rig = build_rig("dual-arm", Options(settings=settings, clock=Fast()))
    rig.session.run(0.05)
    plants = [station.plant.plant for station in rig.session.stations]
    assert [plant.address for plant in plants] == ["A", "B"]
    assert all(plant.torques >= 50 for plant in plants)
    rig.close()
    with pytest.raises(BadValue, match="standing:PORT"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", "standing")], clock=Fast()))
    with pytest.raises(BadValue, match="'standing:C' cannot be opened: KeyError"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", "standing:C")], clock=Fast()))


def test_a_scenarios_settings_of_simulated_plants_are_left_out_with_a_word(device):
    """A device has no sensor noise to switch off; the user's own setting of it is refused."""
    rig = build_rig("dual-arm", options(scenario="rest"))
    noisy = [path for path, *_ in rig.parameters() if path.endswith("force_noise")]
    assert noisy == ["follower.plant.force_noise"]
    (note,) = rig.notes
    assert "leader.plant.force_noise" in note and "follower" not in note and "rest" in note
    rig.close()
    given = options(scenario="rest")
    given.settings.append(("leader.plant.force_noise", 0.0))
    with pytest.raises(UnknownName, match=r"leader\.plant\.force_noise"):
        build_rig("dual-arm", given)


@pytest.mark.parametrize("plant", ["panda.xml", "arm.urdf.xacro", "ur5e"])
def test_a_robot_named_as_a_plant_is_answered_with_the_parameter_for_robots(plant):
    """What follows is a machine; what is simulated is a robot."""
    settings = [("rig.follower_plant", plant)]
    with pytest.raises(BadValue, match=r"not a plant: .* rig\.follower_robot"):
        build_rig("dual-arm", Options(settings=settings, clock=Fast()))


def test_a_driver_names_the_robots_that_it_drives_unless_the_user_does(tmp_path, monkeypatch):
    """So that ``--follower NAME:PORT`` is enough for a pair."""
    kind = PLANT + '    robots = {"leader": "koch-leader", "follower": "koch"}\n'
    (tmp_path / "named_plants.py").write_text(kind)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("named", "named_plants:Standing", "farhand.plants")
    monkeypatch.setitem(plugins.found("farhand.plants"), "named", point)
    settings = [("rig.leader_plant", "named:A"), ("rig.follower_plant", "named:B")]
    for more, follower in (([], "koch"), ([("rig.follower_robot", "vx300s")], "vx300s")):
        rig = build_rig("pair", Options(settings=[*settings, *more], clock=Fast()))
        names = [placed.robot.name for placed in rig.world.placed.values()]
        assert names == ["koch-leader", follower]
        rig.close()
