"""Shapes are closed surfaces with the outside out and the right volume."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from farhand.console.geometry import Mesh, mesh_of
from farhand.console.scene import _geoms

MODEL = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
  <worldbody>
    <geom type="sphere" size="0.1" pos="1 2 3"/>
    <geom type="capsule" size="0.05 0.2" pos="0 1 0" euler="30 0 0"/>
    <geom type="ellipsoid" size="0.1 0.2 0.3"/>
    <geom type="cylinder" size="0.06 0.1" euler="0 90 0"/>
    <geom type="box" size="0.1 0.2 0.3" pos="0.5 0 0" euler="10 20 30"/>
    <geom type="mesh" mesh="wedge"/>
  </worldbody>
</mujoco>
"""


def volume(mesh: Mesh) -> float:
    """By the divergence theorem, [m³]; positive when triangles face outward."""
    vertices, triangles = mesh
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    """One of each kind."""
    return mujoco.MjModel.from_xml_string(MODEL)


EXACT = {
    "sphere": 4 / 3 * np.pi * 0.1**3,
    "capsule": np.pi * 0.05**2 * 0.4 + 4 / 3 * np.pi * 0.05**3,
    "ellipsoid": 4 / 3 * np.pi * 0.1 * 0.2 * 0.3,
    "cylinder": np.pi * 0.06**2 * 0.2,
    "box": 8 * 0.1 * 0.2 * 0.3,
    "mesh": 1 / 6,
}


@pytest.mark.parametrize("kind", EXACT)
def test_a_shape_has_the_volume_of_what_it_stands_for(model, kind):
    """Within the few per cent that facets and bevels cost."""
    (geom,) = [geom for geom in _geoms(model) if geom["type"] == kind]
    assert volume(mesh_of(geom, model)) == pytest.approx(EXACT[kind], rel=0.03)


def test_a_shape_stands_where_the_model_puts_it(model):
    """Its centre is that of the geom in its body."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for index, geom in enumerate(_geoms(model)):
        if geom["type"] in ("box", "sphere", "capsule"):
            vertices, _ = mesh_of(geom, model)
            np.testing.assert_allclose(
                0.5 * (vertices.max(axis=0) + vertices.min(axis=0)),
                data.geom_xpos[index],
                atol=1e-3,
            )
