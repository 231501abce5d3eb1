"""The panel and the hand: what a visitor does becomes requests, and what the session answers is
shown.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import viser

from farhand.console import palette
from farhand.console.controls import SURE_S
from farhand.console.scene import scene_of
from farhand.console.status import Health
from farhand.console.things import tool_speed
from farhand.console.tuning import _in_order
from farhand.console.viewer import FRAMES_PER_STATUS, Console
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, build_rig

FRAME = 1.0 / 30.0


class Heard(list):
    """Requests, as the session would get them."""

    def send(self, name: str, path: str = "", value: object = None) -> None:
        self.append((name, path, value))


@pytest.fixture
def heard() -> Heard:
    """Nothing yet."""
    return Heard()


@pytest.fixture
def console(rig, heard) -> Iterator[Console]:
    """The console of the dual-arm rig, on a page nobody looks at."""
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    made = Console(server, Reader(rig.session.telemetry.path), scene_of(rig), heard)
    made.frame(FRAME, Health(), False, True)
    yield made
    server.stop()


def drag(console: Console, phase: str, place: np.ndarray) -> None:
    """A visitor moves the handle."""
    event = SimpleNamespace(phase=phase, target=SimpleNamespace(position=place))
    # this thread may be a browser's
    mover = threading.Thread(target=lambda: asyncio.run(console.grasp._moved(event)))
    mover.start()
    mover.join()


def test_a_drag_moves_the_hand_no_faster_than_an_arm(rig, console, heard):
    """A quarter of what the slowest joint of either allows, however far the mouse jumps."""
    far = np.array(console.grasp._handle.position) + [1.0, 0.0, 0.0]
    drag(console, "start", far)
    console.frame(FRAME, Health(), False, False)
    name, path, value = heard[-1]
    assert (name, path) == ("set", "hand.drag")
    speed = 0.25 * min(tool_speed(rig, name) for name in ("leader", "follower"))
    assert 0.2 < speed < 0.5
    assert np.linalg.norm(value) == pytest.approx(speed * FRAME, rel=0.01)


def test_the_hand_pulls_no_harder_than_it_can(console, heard):
    """The leader stands still here, so the spring's stretch is bounded by force over stiffness."""
    drag(console, "start", np.array(console.grasp._handle.position) + [1.0, 0.0, 0.0])
    for _ in range(60):
        console.frame(FRAME, Health(), False, False)
    assert np.linalg.norm(heard[-1][2]) <= 100.0 / 1000.0 + 0.01
    # there the hand is red
    assert tuple(console.grasp._line.colors.ravel()[:3]) == palette.STOP
    drag(console, "end", np.zeros(3))
    for _ in range(60):
        console.frame(FRAME, Health(), False, False)
    # whoever lets go of the mouse no longer pushes
    assert np.linalg.norm(heard[-1][2]) < 3e-4


def test_keys_move_the_hand_and_bring_it_back(console, heard):
    """A centimetre each."""
    console.grasp.nudge(np.array([0.0, 0.01, 0.0]))
    for _ in range(5):
        console.frame(FRAME, Health(), False, False)
    assert heard[-1][2] == pytest.approx([0.0, 0.01, 0.0], abs=3e-4)
    console.grasp.release()
    for _ in range(5):
        console.frame(FRAME, Health(), False, False)
    assert heard[-1][2] == pytest.approx([0.0, 0.0, 0.0], abs=3e-4)


def test_an_open_hand_takes_hold_when_it_is_dragged(console, heard):
    """And only then does anything move."""
    console.reading.changes["hand.open"] = True
    console.frame(FRAME, Health(), False, False)
    assert console.grasp._hint.visible
    drag(console, "start", np.array(console.grasp._handle.position) + [0.1, 0.0, 0.0])
    assert heard[-1] == ("set", "hand.open", False)
    # whoever has found the handle needs no hint
    assert not console.grasp._hint.visible


def test_a_team_without_a_coupling_offers_none_but_its_beam_to_drag(heard):
    """No Engage, Release or Clutch that would do nothing; a visitor pushes the beam."""
    rig = build_rig("cooperative")
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    try:
        rig.session.run(0.05)
        made = Console(server, Reader(rig.session.telemetry.path), scene_of(rig), heard)
        items = server.gui._container_handle_from_uuid["root"]._children.values()
        offered = [name for item in items for name in getattr(item, "options", ())]
        assert "Reset" in offered and "Engage" not in offered
        made.frame(FRAME, Health(), False, True)
        assert made.grasp.robot == "object"
        drag(made, "start", np.array([0.0, 0.0, 1.0]))
        assert ("set", "hand.open", False) in heard
    finally:
        server.stop()
        rig.close()


def test_a_coupled_gripper_is_closed_by_a_slider(console, heard):
    """Where the leader has one and the coupling passes it on."""
    assert console.controls._fingers is None
    pair = build_rig("pair")
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    try:
        made = Console(server, Reader(pair.session.telemetry.path), scene_of(pair), heard)
        made.controls._fingers.value = 0.5
        deadline = time.monotonic() + 20.0
        while ("set", "fingers.squeeze", 0.5) not in heard and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ("set", "fingers.squeeze", 0.5) in heard
    finally:
        server.stop()
        pair.close()


def test_a_box_of_the_panel_hides_and_shows_a_layer(console):
    """Every layer of the picture has one."""
    inputs = console.controls._server.gui._gui_input_handle_from_uuid.values()
    boxes = {box.label: box for box in inputs if str(box.label).startswith("show ")}
    assert set(boxes) == {f"show {name}" for name in console.drawing.layers}
    for name, layer in console.drawing.layers.items():
        boxes[f"show {name}"].value = False
        deadline = time.monotonic() + 20.0
        while layer.visible and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not layer.visible


def test_only_a_second_press_within_some_seconds_ends_the_run(console, heard, monkeypatch):
    """It ends for everybody, so a slip of the mouse must not do it."""
    button, now = SimpleNamespace(label="End the run"), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    console.controls._end(button)
    now[0] += 1.1 * SURE_S
    console.controls._end(button)
    assert heard == [] and button.label != "End the run"
    now[0] += 0.5 * SURE_S
    console.controls._end(button)
    assert heard == [("end", "", True)]


def test_a_page_of_arms_at_rest_is_quiet(heard, monkeypatch):
    """Some texts a second; what does not move is not sent again."""
    rig = build_rig("dual-arm", Options(scenario="rest"))
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    sent: list[object] = []
    try:
        rig.session.run(1.0)
        made = Console(server, Reader(rig.session.telemetry.path), scene_of(rig), heard)
        for frame in range(60):
            rig.session.run(FRAME)
            made.frame(FRAME, Health(), False, frame % FRAMES_PER_STATUS == 0)
            if frame == 29:
                made.controls._moving_until = 0.0
                queue = type(server.scene._websock_interface)
                monkeypatch.setattr(queue, "queue_message", lambda _, one: sent.append(one))
    finally:
        server.stop()
        rig.close()
    # the clock of the panel; that of every frame would be 10, texts that stay another 10
    assert 0 < len(sent) < 8


def test_the_clutch_parts_and_couples_again(console, heard):
    """One button for both."""
    for name in ("clutch", "clutch", "engage"):
        console.controls.actions[name]("", None)
    assert [name for name, *_ in heard[-3:]] == ["clutch", "declutch", "engage"]


def test_a_dead_man_that_is_let_go_parts_the_coupling(console, heard, rig):
    """Coupled while it is held, apart when not; the session is told that it must be held."""
    rig.session.run(0.5)
    controls = console.controls
    controls._deadman.value = True
    assert ("deadman", "", True) in heard
    console.frame(FRAME, Health(), False, False)
    assert heard[-1][0] == "release"
    controls._hold(10.0)
    console.frame(FRAME, Health(), False, False)
    assert heard[-1][0] == "engage"
    controls._hold(-1.0)
    console.frame(FRAME, Health(), False, False)
    assert heard[-1][0] == "release"


def test_a_refused_value_goes_back_to_what_it_was(console, rig):
    """The form shows the truth, not the wish; an accepted one stays."""
    tuning = console.controls._tuning
    (item,) = tuning._inputs["wall.stiffness"]
    item.value = "-5"
    rig.session.commands.post("set", "wall.stiffness", "-5")
    rig.session.run(0.01)
    console.frame(FRAME, Health(), False, True)
    assert item.value == "6000"
    rig.session.commands.post("set", "wall.stiffness", "800")
    rig.session.run(0.01)
    console.frame(FRAME, Health(), False, True)
    assert item.value == "800"


@pytest.mark.parametrize(("delay", "first"), [("40", "link.delay"), ("5", "link.jitter")])
def test_jitter_fits_into_the_delay_at_every_step(delay, first):
    """A delay that grows is set before the jitter, one that shrinks after it."""
    knobs = {"link.delay": {"value": 20.0}}
    assert _in_order({"link.delay": delay, "link.jitter": "2"}, knobs)[0] == first
