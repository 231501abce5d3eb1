"""The explorable: its runs are those of the rig, and its file has everything in it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from farhand_lab.explorable.__main__ import main
from farhand_lab.explorable.runs import (
    CHANNELS,
    SAMPLE_S,
    ExplorableRun,
    Grid,
    pack,
    predict,
    record,
    unpack,
    unsettled,
)

STIFF, SOFT = 6000.0, 1500.0  # [N/m]
SMALL = Grid(("position-force",), ("none", "tdpa"), (STIFF,), (0.0, 40.0), seconds=5.0)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """A page of four runs."""
    path = tmp_path_factory.mktemp("site") / "explorable.html"
    return main(["--out", str(path), "--workers", "1"], SMALL).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data(page) -> dict:
    """What the page has to show."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found.group(1))


def test_samples_come_back_to_within_half_a_step():
    """And a sample that is not there stays away."""
    rng = np.random.default_rng(1)
    signals = {
        name: 1000 * step * rng.standard_normal((50, width)) for name, width, step in CHANNELS
    }
    signals["error"][:5] = np.nan
    back = unpack(pack(signals))
    for name, _, step in CHANNELS:
        np.testing.assert_allclose(back[name], signals[name], atol=0.51 * step)


def test_the_file_has_every_run_and_needs_nothing_else(page, data):
    """No address leads out of it, and every placeholder is filled in."""
    assert set(data["runs"]) == {cell.name for cell in SMALL.cells()}
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page)
    assert "url(" not in page and "import(" not in page and "fetch(" not in page
    assert not re.search(r"@[A-Z]+@", page)
    assert len(page) < 1e6


def test_delay_makes_it_shake_and_the_layer_calms_it(data):
    """The lesson of the page, in its own runs."""
    rough, calmed = (data["runs"][f"position-force/{layer}/6000/40"] for layer in ("none", "tdpa"))
    assert rough["unsettled"] is not None and rough["peak"]["contact"] > 80.0
    assert calmed["unsettled"] is None and calmed["shakes"] is None
    assert calmed["peak"]["contact"] < 50.0


def test_the_guide_goes_where_the_runs_turn(data):
    """Push, the longest calm delay, the first that shakes, the layer, and longer."""
    steps = [(step["delay"], step["layer"]) for step in data["steps"]]
    assert steps == [(0.0, "none"), (0.0, "none"), (40.0, "none"), (40.0, "tdpa"), (40.0, "tdpa")]


def test_a_steady_push_is_felt_as_strongly_as_it_presses(data):
    """Recorded forces are those of hand and wall along the push, in [N]."""
    signals = unpack(data["runs"]["position-force/none/6000/0"]["samples"])
    last = round(1.0 / SAMPLE_S)
    hand, contact = (float(signals[name][-last:].mean()) for name in ("hand", "contact"))
    assert 30.0 < hand < 45.0
    assert contact == pytest.approx(hand, rel=0.03)


def test_a_run_that_trips_ends_there_with_the_reason():
    """Nothing is recorded after it, and nothing is made up."""
    row = record(ExplorableRun("position-force", "none", STIFF, 80.0, seconds=5.0))
    assert row["stopped"]["time"] < 4.5
    assert "limit" in row["stopped"]["reason"]
    length = len(unpack(row["samples"])["hand"])
    assert length == pytest.approx(row["stopped"]["time"] / SAMPLE_S, abs=1.5)
    assert unsettled(row) is None


def test_a_cell_that_the_rig_refuses_says_why():
    """Waves need another law."""
    assert "waves" in record(ExplorableRun("position-force", "waves", STIFF, 40.0))["refused"]


def test_a_softer_wall_is_predicted_to_stand_more_delay():
    """As in docs/stability: 60 ms of round trip for this hand at 6000 N/m."""
    stiff, soft = (
        predict("position-force", wall, (0.0, 20.0, 40.0, 80.0)) for wall in (STIFF, SOFT)
    )
    assert stiff[0][0] == soft[0][0] == 0.0
    assert stiff[0][1] == pytest.approx(29.0, abs=2.0)
    assert soft[0][1] > stiff[0][1] + 5.0
