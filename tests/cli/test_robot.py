"""``farhand robot``: a model file looked through to the end, all problems at once."""

from __future__ import annotations

import json

import pytest

from tests.robots.own_files import CHAIN, URDF, write

BROKEN = (
    CHAIN.replace('name="lower"', 'name="lower" gravcomp="1"')
    .replace('range="-1 2"', 'range="2 -1" stiffness="20"')
    .replace("<worldbody>", '<asset><mesh name="gone" file="gone.stl"/></asset><worldbody>')
    .replace(
        "</worldbody>",
        """</worldbody><tendon><fixed name="rope" damping="5"><joint joint="j1" coef="1"/></fixed>
        </tendon><equality><joint joint1="j1" joint2="j2"/></equality>""",
    )
    .replace("</body>\n    </body>", '<geom type="mesh" mesh="gone"/></body></body>')
)


def test_a_robot_that_can_be_run_is_described(farhand_command, tmp_path):
    """Joints by name with limits and masses, tool, home and notes; code 0."""
    path = write(tmp_path)
    said = farhand_command("robot", path, "--json", tmp_path / "r.json")
    assert (said.code, said.err) == (0, "")
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["runs"] and found["problems"] == []
    assert [row["joint"] for row in found["joints"]] == ["j1", "j2"]
    assert found["joints"][1]["lower"] == -1.0 and found["joints"][0]["lower"] is None
    assert found["joints"][1]["mass"] == 1.0 and found["mass"] == 2.0
    assert found["tool"]["body"] == "lower" and found["home"]["q"] == [0.5, 1.5]
    for words in ("j2", "-1 rad", "14 N·m", "tool   on lower", "it can be run"):
        assert words in said.out


def test_every_problem_is_listed_at_once(farhand_command, tmp_path):
    """A vendor's file with five: spring, constraint, tendon, range and mesh; code 2."""
    said = farhand_command("robot", write(tmp_path, BROKEN), "--json", tmp_path / "r.json")
    assert said.code == 2
    found = json.loads((tmp_path / "r.json").read_text())
    for words in (
        "joint j2 has stiffness 20",
        "equality constraint joint of j1 and j2",
        "tendon rope has damping 5",
        "range of joint j2 is [2, -1]",
        "mesh gone.stl that would give its mass is not found",
    ):
        assert sum(words in line for line in found["problems"]) == 1, words
        assert words in said.err
    assert len(found["problems"]) == 5
    assert any("gravcomp is left out" in note for note in found["notes"])


def test_a_mimic_and_a_lost_mass_of_a_urdf_are_listed_together(farhand_command, tmp_path):
    """What loading refuses one after the other."""
    mesh = '<collision><geometry><mesh filename="gone.stl"/></geometry></collision>'
    joint = """<joint name="{0}" type="revolute"><parent link="tip"/><child link="{0}"/>
    <limit lower="-1" upper="1" effort="0" velocity="1"/><mimic joint="swing"/></joint>"""
    links = "".join(f'<link name="{name}">{mesh}</link>' + joint.format(name) for name in "ab")
    path = write(tmp_path, URDF.replace("</robot>", f"{links}</robot>"), name="arm.urdf")
    said = farhand_command("robot", path)
    assert said.code == 2
    for link in "ab":
        assert f"link {link} has no <inertial>" in said.err
        assert f"joint {link} mimics joint swing" in said.err


@pytest.mark.parametrize("name", ["nothing.xml", "ur55e", "arm.xacro"])
def test_a_robot_that_is_not_there_is_one_line(farhand_command, name):
    """Exit code 2."""
    said = farhand_command("robot", name)
    assert said.code == 2 and said.err.count("\n") == 1 and said.out == ""
