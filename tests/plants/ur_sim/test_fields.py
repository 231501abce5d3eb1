"""The table of RTDE fields."""

from __future__ import annotations

from farhand.plants.ur_sim import rtde as fields
from farhand.plants.ur_sim.rtde import TYPES, Exchange


def test_every_field_has_a_known_type():
    """And ranges of registers are spread out."""
    for table in (fields.outputs(), fields.inputs()):
        assert set(table.values()) <= set(TYPES)
    assert fields.outputs()["output_double_register_47"] == "DOUBLE"
    assert "output_double_register_48" not in fields.outputs()
    assert "input_bit_register_64" in fields.inputs()


def test_every_field_begins_with_a_value_of_its_type():
    """So that any recipe can be packed at once."""
    from farhand.plants.ur_sim.rtde import Recipe

    values = Exchange().values
    for name, kind in fields.outputs().items():
        value = values[name]
        Recipe([name], [kind]).form.pack(*(value if isinstance(value, tuple) else (value,)))
