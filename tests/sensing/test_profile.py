"""Profiles: the published sensor and handle read as printed, files of one's own are checked, and
loads add up.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue, FarhandError, FileError, OutOfRange, UnknownName
from farhand.sensing import HandleLoad, Load, Mounting, load_handle, load_sensor
from farhand.spatial import rotation_from_vector

GOOD = """
kind = "sensor"
capacity = [10.0, 10.0, 20.0, 1.0, 1.0, 2.0]
counts = [1000, 1000, 1000, 1000, 1000, 1000]
rate = 500.0
"""


def test_the_published_sensor_has_the_published_axes():
    """Tables 5.1 and 5.2: 200 N at 2000 counts, 10 N·m at 10000, 6.5 N·m at 6500."""
    sensor = load_sensor("optoforce-hex-e")
    np.testing.assert_array_equal(sensor.capacity, [200, 200, 200, 10, 10, 6.5])
    np.testing.assert_allclose(sensor.resolution, [0.1, 0.1, 0.1, 0.001, 0.001, 0.001], rtol=1e-15)
    assert sensor.rate == 100.0


@pytest.mark.parametrize(
    ("load", "name"), [(load_sensor, "optoforce-hex-e"), (load_handle, "dual-arm-handle")]
)
def test_every_number_has_a_source(load, name):
    """A profile that comes with Farhand says where each of its values is from."""
    sources = load(name).sources
    assert {"mass", "com"} < set(sources) and all(sources.values())


def test_a_silent_sensor_keeps_everything_but_noise_and_drift():
    """Its variance is then that of rounding alone: a count squared over twelve."""
    silent = load_sensor("optoforce-hex-e").silent()
    np.testing.assert_allclose(silent.variance, silent.resolution**2 / 12.0)
    assert silent.internals.mass == 0.1


def test_a_sensor_of_ones_own_is_read_from_its_file(tmp_path):
    """What is not given is zero."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    sensor = load_sensor(path)
    assert sensor.name == "mine" and sensor.internals.mass == 0.0 and not sensor.noise.any()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (("rate = 500.0", ""), BadValue, "lacks 'rate'"),
        (("rate = 500.0", "rate = 0.0"), OutOfRange, "rate"),
        (("20.0", "0.0"), OutOfRange, "capacity"),
        (("20.0", "nan"), BadValue, "capacity"),
        (("20.0, ", ""), BadValue, "6 values, not 5"),
        (("rate", "rat"), UnknownName, "rat"),
        (('"sensor"', '"handle"'), BadValue, "kind"),
        (("kind", "mass = -1\nkind"), OutOfRange, "mass"),
        (("kind", "noise = [-1, 0, 0, 0, 0, 0]\nkind"), OutOfRange, "noise"),
        (("[10.0", "[[10.0"), BadValue, "mine.toml"),
    ],
)
def test_a_bad_file_is_answered_on_one_line(tmp_path, change, error, words):
    """The message names what is wrong with the file."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(error, match=words) as caught:
        load_sensor(path)
    assert "\n" not in str(caught.value)


def test_an_unknown_sensor_is_answered_with_those_there_are():
    """Sensors only: a handle is not offered."""
    with pytest.raises(
        UnknownName, match="available: ati-delta-si-660-60, optoforce-hex-e, schunk-ftm115$"
    ):
        load_sensor("hex")


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    """By its path."""
    with pytest.raises(FileError, match="cannot read"):
        load_handle(tmp_path / "none.toml")


def test_a_grip_that_is_no_rotation_is_refused(tmp_path):
    """A quaternion has length 1."""
    path = tmp_path / "grip.toml"
    path.write_text('kind = "handle"\ngrip = { quat_xyzw = [0.0, 0.0, 0.0, 2.0] }\n')
    with pytest.raises(FarhandError, match="length 1"):
        load_handle(path)


def test_two_loads_hang_like_one():
    """Masses add, and so do the moments of their centres; taking one away gives the other back."""
    a, b = Load(0.2, np.array([0.0, -0.01, 0.03])), Load(0.1, np.array([0.0, 0.0, 0.01]))
    both = a + b
    assert both.mass == pytest.approx(0.3)
    np.testing.assert_allclose(both.mass * both.com, a.mass * a.com + b.mass * b.com, atol=1e-15)
    np.testing.assert_allclose((both - a).com, b.com, atol=1e-12)
    assert not (Load() + Load()).com.any()


def test_a_force_at_the_grip_is_a_force_and_a_moment_at_the_tool():
    """75.5 N across the published grip's lever of 58 mm make 4.4 N·m (sources/dual-arm E-25)."""
    handle = load_handle("dual-arm-handle")
    wrench = handle.wrench_in_tool(np.array([75.5, 0.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(wrench, [75.5, 0.0, 0.0, 0.0, 75.5 * 0.05, 75.5 * 0.03])
    assert np.linalg.norm(wrench[3:]) == pytest.approx(4.402, abs=1e-3)


def test_a_turned_grip_turns_the_wrench():
    """A push along the grip's x, which points along the tool's y, is a push along y."""
    handle = HandleLoad(
        "turned", Load(), np.zeros(3), rotation_from_vector(np.array([0.0, 0.0, np.pi / 2]))
    )
    np.testing.assert_allclose(handle.wrench_in_tool(np.eye(6)[0]), np.eye(6)[1], atol=1e-15)


def test_a_sign_that_scales_is_refused():
    """A mounting turns and moves; it does not amplify."""
    with pytest.raises(BadValue, match=r"\+1 or -1, not 2"):
        Mounting(sign=2.0)


def test_what_a_file_leaves_out_is_zero_and_what_it_has_is_read(tmp_path):
    """Of a sensor and of a handle, whose grip may be turned and off by a thousandth."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    bare = load_sensor(path)
    for part in (bare.noise, bare.drift):
        np.testing.assert_array_equal(part, np.zeros(6))
    np.testing.assert_array_equal(bare.internals.com, np.zeros(3))
    assert bare.rate == 500.0 and bare.sources == {}
    path.write_text(GOOD + "noise = [1, 2, 3, 4, 5, 6]\nmass = 0.5\ncom = [1, 2, 3]\n")
    whole = load_sensor(path)
    np.testing.assert_allclose(whole.variance, np.arange(1, 7) ** 2 + whole.resolution**2 / 12.0)
    assert whole.internals.mass == 0.5 and whole.internals.com.tolist() == [1, 2, 3]
    path.write_text('kind = "handle"\n')
    handle = load_handle(path)
    assert handle.load.mass == 0.0 and handle.grip_position.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(handle.grip_rotation, np.eye(3))
    for length, refused in ((1.0009, False), (0.9991, False), (1.0011, True), (0.9989, True)):
        path.write_text(f'kind = "handle"\ngrip = {{quat_xyzw = [0, 0, {length}, 0]}}\n')
        if refused:
            with pytest.raises(BadValue, match="length 1"):
                load_handle(path)
        else:
            found = load_handle(path).grip_rotation
            np.testing.assert_allclose(found, np.diag([-1.0, -1.0, 1.0]), atol=3e-3)


def test_a_load_taken_off_again_leaves_the_other():
    """And two that cancel leave no centre of mass."""
    one, other = Load(2.0, np.array([0.1, 0.2, 0.3])), Load(0.5, np.array([-0.3, 0.0, 0.1]))
    both = one + other
    assert both.mass == 2.5
    np.testing.assert_allclose(both.com, (2.0 * one.com + 0.5 * other.com) / 2.5)
    np.testing.assert_allclose((both - other).com, one.com)
    assert (both - other).mass == 2.0 and (one - one).com.tolist() == [0.0, 0.0, 0.0]
