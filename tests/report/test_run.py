"""The report of a run says what was found, in words first and in plots with units after."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from farhand.report import arm_film
from farhand.report import run as runreport
from farhand.report.summary import result_of
from farhand.rigs import Options, build_rig
from farhand.running.run import drive
from farhand.world import Wall


@pytest.fixture(scope="module")
def run():
    """A short run over a delayed link that an operator stops."""
    rig = build_rig("dual-arm", Options(scenario="free", delay=20.0))
    rig.session.commands.post_text("1:stop")
    outcome = drive(rig, 1.5)
    yield rig, result_of(rig, outcome)
    rig.close()


def test_the_page_leads_with_the_finding(run, tmp_path):
    """A reader who stops after the title knows what happened."""
    text = runreport.write_report(*run, tmp_path / "report").read_text()
    title = re.search("<h1>(.*)</h1>", text).group(1)
    assert title == "Leader stopped at 1.00 s: the operator stopped the session"
    assert text.count("<figure>") == 5
    assert "20 ms of round trip" in text


def test_every_axis_has_a_unit_and_every_plot_a_legend(run):
    """A plot without units is a picture."""
    for drawing in runreport.plots_of(*run):
        figure = runreport.figure_of(drawing, *run)
        assert all(re.search(r"\[(m|mm|N|J|ms)\]$", ax.get_ylabel()) for ax in figure.axes)
        assert figure.axes[-1].get_xlabel() == "time [s]"
        assert figure.legends[0].get_texts()
        assert len(drawing.title) > 20


def test_trips_and_moves_are_marked(run):
    """What happened when can be read off the plot."""
    drawing = next(runreport.plots_of(*run))
    words = [text.get_text() for text in runreport.figure_of(drawing, *run).axes[0].texts]
    assert words == ["+z", "stop, leader trips, follower trips"]


def test_the_page_of_a_team_shows_it_moving_and_fetches_nothing(tmp_path):
    """A film with forces, inside the page; many commands at once are one short label."""
    rig = build_rig("cooperative", Options(scenario="weigh"))
    for part in ("damping", "stiffness", "rotational_damping"):
        rig.session.commands.post_text(f"0.1:set hand.{part}=50")
    result = result_of(rig, drive(rig, 0.6))
    text = runreport.write_report(rig, result, tmp_path / "report").read_text()
    assert text.count('src="data:image/gif;base64,') == 1
    assert "http" not in re.sub(r"base64,[^\"]*", "", text)
    drawing = next(runreport.plots_of(rig, result))
    words = [label.get_text() for label in runreport.figure_of(drawing, rig, result).axes[0].texts]
    assert "set hand.damping=50 and 2 more" in words
    rig.close()


def test_the_page_of_two_arms_shows_them_moving_without_a_browser_or_a_network(run, tmp_path):
    """The film is drawn from the recorded joints: both tools move, and the wall is where it is."""
    text = runreport.write_report(*run, tmp_path / "report").read_text()
    film = json.loads(re.search(r"const film = (.*);", text).group(1))
    arms = {arm["name"]: arm for arm in film["arms"]}
    assert set(arms) == {"leader", "follower"}
    for arm in arms.values():
        tools = np.array(arm["points"])[:, -2:]
        assert len(tools) == 15 and np.ptp(tools[:, 1]) > 20.0  # [mm]
        assert len(arm["arrows"]) == len(arm["forces"]) == 15
        joints = len(arm["points"][0]) // 2
        assert {index for bone in arm["bones"] for index in bone} == set(range(joints))
    assert len(film["wall"]) == 8
    assert "http" not in re.sub(r"base64,[^\"]*", "", text)


def test_the_film_puts_the_wall_where_the_follower_meets_it():
    """Seen from the eye of the picture, the deepest tool lies inside the square."""
    tool = np.array([[0.1, 0.3, 0.5], [0.45, 0.4, 0.6]])
    corners = np.array(arm_film._corners(Wall(), tool)).reshape(4, 2)
    middle = 1e3 * (arm_film.EYE @ tool[1]) * (1.0, -1.0)
    np.testing.assert_allclose(corners.mean(axis=0), middle, atol=1.0)
    assert arm_film._corners(None, tool) == []
