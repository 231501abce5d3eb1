"""Meshes: found where ROS would find them, and left out if no mass depends on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.errors import ModelError
from farhand.robots import Robot, load_robot
from tests.robots.own_files import URDF, refusal, write

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INERTIAL = URDF[URDF.index("<inertial>") : URDF.index("</inertial>") + len("</inertial>")]


def with_mesh(uri: str, inertial: bool = True) -> str:
    """The pendulum with a shape on its rod."""
    text = URDF if inertial else URDF.replace(INERTIAL, "")
    shape = f'<geometry><mesh filename="{uri}"/></geometry>'
    return text.replace(
        '<link name="rod">',
        f'<link name="rod"><visual>{shape}</visual><collision>{shape}</collision>',
    )


def mesh_notes(robot: Robot) -> list[str]:
    """The notes about meshes."""
    return [note for note in robot.notes if "mesh" in note]


def part(folder: Path, name: str = "meshes/part.obj") -> None:
    """Write a mesh."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(TETRAHEDRON)


@pytest.fixture(autouse=True)
def no_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ROS this machine has does not count."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "package"),
    [
        ("my_robot/urdf", "my_robot"),  # the usual: the model is inside the package
        ("my_robot/urdf/arms/six", "my_robot"),
        ("src/bringup/urdf", "src/my_robot"),  # the package is a neighbour
        (".", "my_robot"),  # the package was copied beside the model
    ],
)
def test_a_package_is_found_upward_from_the_model(tmp_path: Path, model: str, package: str) -> None:
    """By the name of its folder, without any ROS."""
    part(tmp_path / package)
    (tmp_path / model).mkdir(parents=True, exist_ok=True)
    robot = load_robot(
        write(tmp_path / model, with_mesh("package://my_robot/meshes/part.obj"), name="arm.urdf")
    )
    assert robot.compile().nmesh == 1
    assert mesh_notes(robot) == []


def test_a_package_is_known_by_its_package_xml(tmp_path: Path) -> None:
    """A clone's folder often has another name than the package in it."""
    clone = tmp_path / "my_robot-main"
    part(clone)
    (clone / "package.xml").write_text("<package format='3'><name> my_robot </name></package>")
    (clone / "urdf").mkdir()
    robot = load_robot(
        write(clone / "urdf", with_mesh("package://my_robot/meshes/part.obj"), name="arm.urdf")
    )
    assert robot.compile().nmesh == 1


@pytest.mark.parametrize(
    ("variable", "entry", "package"),
    [
        ("ROS_PACKAGE_PATH", "ws", "ws/my_robot"),
        ("ROS_PACKAGE_PATH", "ws", "ws/vendor/my_robot"),
        ("ROS_PACKAGE_PATH", "ws/my_robot", "ws/my_robot"),
        ("AMENT_PREFIX_PATH", "install", "install/share/my_robot"),
    ],
)
def test_a_package_is_found_where_ros_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, entry: str, package: str
) -> None:
    """In the search path of either generation, behind entries that are not there."""
    part(tmp_path / "elsewhere" / package)
    monkeypatch.setenv(variable, f"/nowhere::{tmp_path / 'elsewhere' / entry}")
    robot = load_robot(
        write(tmp_path, with_mesh("package://my_robot/meshes/part.obj"), name="arm.urdf")
    )
    assert robot.compile().nmesh == 1


def test_plain_paths_and_file_addresses_still_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the model's folder, wherever the program runs."""
    part(tmp_path)
    monkeypatch.chdir("/")
    for uri in (
        "meshes/part.obj",
        f"file://{tmp_path}/meshes/part.obj",
        f"{tmp_path}/meshes/part.obj",
    ):
        robot = load_robot(write(tmp_path, with_mesh(uri), name="arm.urdf"))
        assert (robot.compile().nmesh, mesh_notes(robot)) == (1, [])


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("package://my_robot/meshes/gone.stl", "not found: package://my_robot/meshes/gone.stl"),
        ("meshes/gone.obj", "not found: meshes/gone.obj"),
        (
            "package://my_robot/meshes/part.dae",
            "not .stl, .obj or .msh: package://my_robot/meshes/part.dae",
        ),
        ("https://example.org/part.stl", "not found: https://example.org/part.stl"),
    ],
)
def test_a_link_with_inertia_does_without_its_mesh_and_says_so(
    tmp_path: Path, uri: str, words: str
) -> None:
    """The shape is for looks and contact; the dynamics are those of the file without a mesh."""
    part(tmp_path / "my_robot", "meshes/part.dae")
    robot = load_robot(write(tmp_path, with_mesh(uri), name="arm.urdf"))
    (note,) = mesh_notes(robot)
    assert words in note and "\n" not in note
    bare = load_robot(write(tmp_path, URDF, name="bare.urdf")).compile()
    model = robot.compile()
    assert model.ngeom == 0
    np.testing.assert_array_equal(model.body_mass, bare.body_mass)
    np.testing.assert_array_equal(model.body_inertia, bare.body_inertia)


def test_many_missing_meshes_are_named_once_each_on_one_line(tmp_path: Path) -> None:
    """Links share meshes; a folder is named once."""
    shapes = "".join(
        f'<collision><geometry><mesh filename="package://my/m/{name}.stl"/></geometry></collision>'
        for name in "abab"
    )
    text = URDF.replace('<link name="rod">', f'<link name="rod">{shapes}')
    assert (
        load_robot(write(tmp_path, text, name="arm.urdf"))
        .notes[0]
        .endswith("not found: package://my/m/a.stl, b.stl")
    )


def test_a_moving_link_without_inertia_cannot_do_without_its_mesh(tmp_path: Path) -> None:
    """Its mass would be lost; the line says what to add."""
    error = refusal(
        write(tmp_path, with_mesh("package://my_robot/part.stl", inertial=False), name="arm.urdf")
    )
    assert isinstance(error, ModelError)
    for words in ("link rod", "<inertial>", "package://my_robot/part.stl", "ROS_PACKAGE_PATH"):
        assert words in str(error)


def test_a_base_that_does_not_move_needs_no_inertia(tmp_path: Path) -> None:
    """Most URDFs give their first link none."""
    shape = (
        '<collision><geometry><mesh filename="package://my_robot/base.stl"/></geometry></collision>'
    )
    text = URDF.replace('<link name="base"/>', f'<link name="base">{shape}</link>')
    assert "base.stl" in load_robot(write(tmp_path, text, name="arm.urdf")).notes[0]


MJCF = """<mujoco><asset><mesh name="part" file="part.stl"/>
    <texture name="wood" type="2d" file="wood.png"/><material name="wood" texture="wood"/></asset>
    <worldbody><body name="rod"><joint name="swing" axis="0 1 0"/>{}
    <geom type="mesh" mesh="part" material="wood"/><site name="tool" pos="0 0 1"/></body>
    </worldbody></mujoco>"""


ROD = '<inertial pos="0 0 0.5" mass="1" diaginertia="0.1 0.1 0.01"/>'


@pytest.mark.parametrize("content", [None, b"version https://git-lfs.github.com/spec/v1\n"])
def test_an_mjcf_file_does_without_its_meshes_too(tmp_path: Path, content: bytes | None) -> None:
    """Missing, or not fetched by Git LFS; the texture of the same folder goes with them."""
    if content is not None:
        (tmp_path / "part.stl").write_bytes(content)
    robot = load_robot(write(tmp_path, MJCF.format(ROD)))
    assert robot.compile().ngeom == 0
    (note,) = (note for note in robot.notes if "left out" in note)
    assert "part.stl" in note and "wood.png" in note
    assert ("Git LFS" in note) == (content is not None)


def test_an_mjcf_body_without_inertia_cannot_do_without_its_mesh(tmp_path: Path) -> None:
    """Its mass would be lost."""
    error = refusal(write(tmp_path, MJCF.format("")))
    assert "rod has no <inertial>" in str(error) and "part.stl" in str(error)
