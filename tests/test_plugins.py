"""Plug-ins: what installed packages bring is found by name, and what is wrong with it fits one
line.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from farhand import plugins
from farhand.coupling import LAWS, PositionPosition, every_law, law_named
from farhand.errors import BadValue, UnknownName
from farhand.link.layers import LAYERS, LayerPort, every_layer, layer_named, make_layer

LAYER = '''
from dataclasses import dataclass
from farhand.link.layers import Layer, LayerPort
from farhand.parameters import parameter

@dataclass
class Own(Layer):
    """Nothing but a setting."""
    name = "own"
    gain: float = parameter(2.0, "-", "a gain", 0.0, 10.0)
    def ports(self):
        return LayerPort(), LayerPort()

class Needy(Own):
    def __init__(self, size):
        self.size = size
'''


@pytest.fixture
def bring(monkeypatch):
    """Let an installed package bring entry points, each as (group, name, value)."""

    def bring(*points: tuple[str, str, str]) -> None:
        made = [EntryPoint(name, value, group) for group, name, value in points]
        monkeypatch.setattr(
            plugins, "entry_points", lambda group: [p for p in made if p.group == group]
        )
        plugins.found.cache_clear()

    yield bring
    plugins.found.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a user's module in it."""
    (tmp_path / "own_layers.py").write_text(LAYER)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_layers", None)


def test_a_law_and_a_layer_of_an_installed_package_are_found_by_name(bring, monkeypatch):
    """Beside those of the library, which need no installed package."""
    monkeypatch.setattr("farhand.coupling.LAWS", {"position-position": PositionPosition})
    bring(
        ("farhand.laws", "none", "farhand.coupling.none:NoCoupling"),
        ("farhand.layers", "theirs", "farhand.link.layers.tdpa:EnergyTank"),
    )
    assert law_named("none").name == "none"
    assert set(every_law()) == {"position-position", "none"}
    assert layer_named("theirs").name == "tank"
    assert set(every_layer()) == {*LAYERS, "theirs"}
    with pytest.raises(UnknownName, match="theirs"):
        layer_named("their")


def test_without_entry_points_the_library_still_knows_its_own(bring):
    """Such as in a source tree whose installed metadata is old."""
    bring()
    assert every_law() == LAWS
    assert make_layer("tdpa").name == "tdpa"


@pytest.mark.parametrize(
    ("value", "reason"),
    [("no_such_module:Thing", "no_such_module"), ("farhand.errors:BadValue", "Layer")],
)
def test_an_entry_point_that_is_wrong_is_refused_in_one_line(bring, value, reason):
    """With its name and why."""
    bring(("farhand.layers", "bad", value))
    with pytest.raises(BadValue, match=reason) as refused:
        make_layer("bad")
    assert "bad" in str(refused.value) and "\n" not in str(refused.value)


def test_a_layer_of_ones_own_is_found_in_the_current_folder(folder):
    """By module and class, as a law is."""
    layer = make_layer("own_layers:Own")
    assert layer.gain == 2.0
    assert isinstance(layer.ports()[0], LayerPort)


@pytest.mark.parametrize("name", ["own_layers:Needy", "own_layers:LayerPort", "own_layers:None_"])
def test_a_class_that_is_not_a_layer_a_rig_can_make_is_refused(folder, name):
    """In one line that names it."""
    with pytest.raises(BadValue, match=name) as refused:
        make_layer(name)
    assert "\n" not in str(refused.value)


def test_every_law_and_layer_of_the_library_has_an_entry_point():
    """As other packages' have, so that one list of the group is whole."""
    points = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    for group, known in (("laws", LAWS), ("layers", LAYERS)):
        own = {name for name, kind in known.items() if kind.__module__.startswith("farhand.")}
        assert set(points[f"farhand.{group}"]) == own
