"""``farhand run``: one seed, one result; bad input is refused before the run; every run ends in
order.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from farhand.plants import SimulatedPlant
from farhand.recording.loader import load
from farhand.recording.recorder import record_orders
from farhand.running import browser
from farhand.running import run as running
from farhand.running.rerun import rerun

SHORT = ("run", "dual-arm", "--headless", "--scenario", "free", "--seconds", "0.6")


@pytest.fixture
def result(farhand_command, tmp_path):
    """Run with these words and return the JSON."""

    def run(*words: object):
        said = farhand_command(*words, "--json", tmp_path / "result.json")
        assert said.code == 0, said.err
        return json.loads((tmp_path / "result.json").read_text())

    return run


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(farhand_command, tmp_path):
    """Virtual time: nothing of the computer is in the result, all of the noise is."""
    noisy = (
        *SHORT,
        "--set",
        "follower.plant.force_noise=0.5",
        "--delay",
        "10",
        "--jitter",
        "2",
        "--loss",
        "0.1",
    )
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        assert farhand_command(*noisy, "--seed", seed, "--json", tmp_path / name).code == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert json.loads(a)["metrics"] != json.loads(c)["metrics"]


def test_the_result_has_every_promised_field(result):
    """Programs rely on the names."""
    found = result(
        *SHORT,
        "--law",
        "position-position",
        "--seed",
        "3",
        "--at",
        "0.3:stop",
        "--at",
        "0.5:engage",
    )
    assert set(found) == {
        *(
            "rig",
            "law",
            "layer",
            "seed",
            "seconds",
            "scenario",
            "trips",
            "hints",
            "events",
            "metrics",
            "rates",
            "commands",
        ),
        "never_coupled",
    }
    assert (found["rig"], found["law"], found["layer"]) == ("dual-arm", "position-position", "none")
    assert (found["seed"], found["seconds"], found["scenario"]) == (3, 0.6, "free")
    assert found["rates"] == {"leader": 1000.0, "follower": 1000.0, "coupling": 1000.0}
    assert all(set(metric) == {"value", "unit"} for metric in found["metrics"].values())
    assert [(t["where"], t["time"], t["kind"]) for t in found["trips"]] == [
        ("leader", 0.3, "stop"),
        ("follower", 0.3, "stop"),
    ]
    commands = [(c["time"], c["tick"], c["command"]) for c in found["commands"]]
    assert commands == [(0.0, 0, "engage"), (0.3, 300, "stop"), (0.5, 500, "engage")]
    assert found["commands"][2]["outcome"].startswith("refused: leader is tripped")


def test_flags_reach_the_parts_they_name(result):
    """A delay is felt as the age of what arrives, and a parameter as a change of its force."""
    found = result(*SHORT, "--delay", "20")
    assert found["metrics"]["link_round_trip"] == {
        "value": pytest.approx(0.020, abs=0.002),
        "unit": "s",
    }
    stiff, soft = (result(*SHORT, "--set", f"hand.stiffness={k}")["metrics"] for k in (3000, 300))
    assert stiff["hand_force_max"]["value"] > soft["hand_force_max"]["value"]


def test_the_summary_speaks_to_a_person(farhand_command):
    """Millimetres, newtons and microseconds; what stopped the run in plain words; nothing on
    stderr.
    """
    said = farhand_command(*SHORT, "--delay", "20", "--at", "0.3:stop", "--at", "0.4:engage")
    assert (said.code, said.err) == (0, "")
    assert "dual-arm · virtual-constraints · free" in said.out and "× real time" in said.out
    assert all(
        unit in said.out
        for unit in (" mm", " N at the hand", " J from the hand", " ms old", " µs median")
    )
    assert "leader stopped at 0.300 s: the operator stopped the session" in said.out
    assert "engage at 0.4 s was refused" in said.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--law", "magic"], "unknown law 'magic'; available: admittance"),
        (["--layer", "onion"], "unknown layer 'onion'; available: none"),
        (["--scenario", "party"], "available: demo, free, friction, ft-influence"),
        (["--set", "wall.stifness=3"], "did you mean 'wall.stiffness'?"),
        (["--set", "wall.stiffness"], "PATH=VALUE"),
        (["--set", "wall.stiffness=-1"], "wall.stiffness = -1 is outside [0, "),
        (["--set", "wall.stiffness=hard"], "hard is not a number"),
        (["--set", "wall.stiffness=nan"], "must be finite"),
        (["--at", "7"], "SECONDS:COMMAND"),
        (["--at", "soon:stop"], "SECONDS:NAME"),
        (["--at", "0.1:dance"], "unknown command 'dance'"),
        (["--at", "9:stop"], "from 0 to 0.6 s"),
        (["--at", "-1:stop"], "from 0 to 0.6 s"),
        (["--at", "0.1:set wall.stiffness"], "PATH=VALUE"),
        (["--at", "0.1:set wall.softness=3"], "unknown parameter 'wall.softness'"),
        (["--seconds", "-1"], "--seconds = -1 is outside [0.001, 1e+06] s"),
        (["--seconds", "nan"], "--seconds = nan"),
        (["--seconds", "inf"], "--seconds = inf"),
        (["--delay", "-3"], "--delay = -3 is outside [0, 10000] ms"),
        (["--jitter", "nan"], "--jitter = nan"),
        (["--loss", "2"], "--loss = 2 is outside [0, 1]"),
        (["--delay", "10", "--jitter", "50"], "one-way delay of 5 ms"),
    ],
)
def test_bad_input_is_one_line_and_code_2(farhand_command, words, hint):
    """The line names the value, and the limit or the alternatives."""
    said = farhand_command(*SHORT, *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("farhand: ") and said.err.count("\n") == 1
    assert hint in said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("cooperative", "--law", "unilateral"),
            "--law has no effect on cooperative: nothing couples its arms",
        ),
        (("cooperative", "--delay", "20"), "--delay has no effect on cooperative"),
        (
            ("youbot", "--follower", "ur:127.0.0.1"),
            "--follower ur:127.0.0.1: the follower of youbot is always simulated",
        ),
        (
            ("dual-arm", "--clock", "wall", "--core", "4000"),
            "--core 4000 is not available; choose one of ",
        ),
    ],
)
def test_a_wish_that_a_rig_or_a_machine_cannot_meet_is_refused(farhand_command, words, hint):
    """A flag that would be left aside in silence is an error."""
    said = farhand_command("run", *words, "--headless")
    assert (said.code, said.out) == (2, "") and hint in said.err and said.err.count("\n") == 1


def test_virtual_time_on_the_page_is_refused(farhand_command):
    """A person watches in real time."""
    said = farhand_command("run", "dual-arm", "--clock", "virtual")
    assert said.code == 2 and "--headless" in said.err


@pytest.mark.parametrize("flag", ["--json", "--report", "--record"])
def test_an_unwritable_destination_is_found_before_the_run(
    farhand_command, tmp_path, monkeypatch, flag
):
    """Nothing is built, and what stands in the way stays as it was."""
    monkeypatch.setattr("farhand.rigs.build_rig", lambda *_: pytest.fail("it was built"))
    (tmp_path / "file").write_text("precious")
    said = farhand_command(*SHORT, flag, tmp_path / "file" / "x")
    assert said.code == 2 and said.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "precious"


def test_a_refused_run_leaves_an_earlier_result_as_it_was(farhand_command, tmp_path):
    """Files change only when there is something to put into them."""
    (tmp_path / "old.json").write_text("precious")
    assert farhand_command(*SHORT, "--law", "magic", "--json", tmp_path / "old.json").code == 2
    assert (tmp_path / "old.json").read_text() == "precious"


def test_not_a_number_from_a_plant_gives_code_2_and_everything_is_written(
    farhand_command, tmp_path, monkeypatch
):
    """The run goes on to its end with the arms held still, and one line says what happened."""
    honest = SimulatedPlant.read

    def read(plant, now_ns):
        sample = honest(plant, now_ns)
        if plant.name == "follower" and now_ns >= 300_000_000:
            sample.q[0] = math.nan
        return sample

    monkeypatch.setattr(SimulatedPlant, "read", read)
    files = (
        "--json",
        tmp_path / "n.json",
        "--record",
        tmp_path / "n.mcap",
        "--report",
        tmp_path / "report",
    )
    said = farhand_command(*SHORT, *files)
    assert said.code == 2
    reason = "measured position of joint shoulder_pan_joint is not a number"
    assert said.err == f"farhand: follower stopped at 0.3 s: {reason}\n"
    assert json.loads((tmp_path / "n.json").read_text())["trips"][0]["kind"] == "invalid"
    assert len(load(tmp_path / "n.mcap").streams["follower"].times_ns) == 600
    assert (
        "measured position of joint shoulder_pan_joint is not a number"
        in (tmp_path / "report" / "index.html").read_text()
    )


def test_a_recording_in_virtual_time_has_every_tick(farhand_command, tmp_path):
    """Longer than the telemetry ring, so that only a recorder that keeps up can do it."""
    words = (
        "run",
        "dual-arm",
        "--headless",
        "--scenario",
        "rest",
        "--seconds",
        "9",
        "--at",
        "5:release",
    )
    assert farhand_command(*words, "--record", tmp_path / "r.mcap").code == 0
    recording = load(tmp_path / "r.mcap")
    assert recording.metadata["rig"] == "dual-arm"
    for stream in recording.streams.values():
        np.testing.assert_array_equal(stream.times_ns, np.arange(9000) * 1_000_000)
    assert (5_000_000_000, "release: done") in recording.events


def test_the_parameters_are_listed_with_unit_and_meaning(farhand_command, tmp_path):
    """Every path that ``--set`` takes, with the value it has now."""
    said = farhand_command(
        *SHORT, "--parameters", "--set", "wall.stiffness=1234", "--json", tmp_path / "p.json"
    )
    assert said.code == 0
    rows = {row["path"]: row for row in json.loads((tmp_path / "p.json").read_text())}
    assert (rows["wall.stiffness"]["value"], rows["wall.stiffness"]["unit"]) == (1234.0, "N/m")
    assert rows["rig.kinematics"]["value"] == "published" and len(rows["rig.viscous"]["value"]) == 6
    assert "wall.stiffness" in said.out and "1234" in said.out


def test_the_parameters_are_whole_on_a_narrow_terminal(farhand_command, monkeypatch):
    """A path, its value and its unit on one line, what it means below."""
    monkeypatch.setenv("COLUMNS", "80")
    said = farhand_command(*SHORT, "--parameters", "--set", "wall.stiffness=1234")
    assert "\nwall.stiffness = 1234 N/m\n    " in said.out and "…" not in said.out
    assert "\nrig.kinematics = published\n" in said.out


class ToyPage:
    """A page whose operator presses stop at once."""

    address = "http://127.0.0.1:1"
    alive, watch_address = True, ""

    def __init__(self, commands) -> None:
        self.commands, self.polls, self.closed = commands, 0, False
        self.handlers, self.health = {}, [0.0] * 4

    def poll(self) -> int:
        if self.polls == 0:
            self.commands.post("stop")
        self.polls += 1
        return 0

    def __enter__(self) -> ToyPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


def test_the_page_is_served_polled_and_closed(farhand_command, tmp_path, monkeypatch):
    """A click on the page reaches the session within a few ticks."""
    pages: list[ToyPage] = []

    def serve(ring_path, scene, host, port, commands):
        assert ring_path.exists() and scene and (host, port) == ("127.0.0.1", 1)
        pages.append(ToyPage(commands))
        return pages[0]

    monkeypatch.setattr(importlib.import_module("farhand.running.page"), "serve", serve)
    words = ("run", "dual-arm", "--port", "1", "--seconds", "0.5", "--no-wait")
    said = farhand_command(*words, "--json", tmp_path / "r.json")
    assert said.code == 0
    assert "dual-arm runs at http://127.0.0.1:1" in said.out
    found = json.loads((tmp_path / "r.json").read_text())
    assert {"wall", "ticks", "overruns", "lateness_p999", "tick_median"} <= set(found["timing"])
    assert found["trips"][0]["time"] < 0.1
    assert pages[0].polls > 10 and pages[0].closed


class QuietPage(ToyPage):
    """A page that its first visitor opens after twenty polls, or never."""

    alive = True

    def __init__(self, commands, comes: bool) -> None:
        super().__init__(commands)
        self._comes = comes

    def poll(self) -> int:
        self.polls += 1
        if self.polls == 20 and self._comes:
            self.handlers["arrived"]("", None)
        elif self.polls == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return 0


@pytest.mark.parametrize("comes", [True, False])
def test_a_page_s_run_begins_with_its_first_visitor(farhand_command, tmp_path, monkeypatch, comes):
    """And takes as long as it would without waiting; Ctrl-C ends the waiting too."""
    pages: list[QuietPage] = []

    def serve(ring_path, scene, host, port, commands):
        pages.append(QuietPage(commands, comes))
        return pages[0]

    monkeypatch.setattr(importlib.import_module("farhand.running.page"), "serve", serve)
    words = ("run", "dual-arm", "--port", "1", "--seconds", "0.2")
    said = farhand_command(*words, "--json", tmp_path / "r.json")
    assert said.code == 0 and "begins with its first visitor" in said.out
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["seconds"] == (0.2 if comes else 0.0) and pages[0].polls >= 20


OPENED = ("run", "dual-arm", "--open", "--port", "1", "--seconds", "0.2", "--no-wait")


@pytest.mark.parametrize("found", [True, False])
def test_open_shows_the_page_in_the_browser_or_says_what_to_open(
    found, farhand_command, monkeypatch
):
    """The last line before the run is what a newcomer has to do."""
    opened: list[str] = []
    monkeypatch.setattr(
        importlib.import_module("farhand.running.page"), "serve", lambda *how: ToyPage(how[-1])
    )
    monkeypatch.setattr("farhand.running.browser.has_browser", lambda: found)
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    said = farhand_command(*OPENED)
    assert said.code == 0
    assert opened == ([ToyPage.address] if found else [])
    expected = "your browser opens it now" if found else "open that address in one"
    assert expected in said.out.partition("runs at http://127.0.0.1:1")[2]
    assert farhand_command("run", "dual-arm", "--open", "--headless").code == 2


def test_a_browser_needs_a_screen(monkeypatch):
    """Over ssh there may be a text browser, which would take the terminal from the run."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("webbrowser.get", lambda: object())
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not browser.has_browser()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert browser.has_browser()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_order(tmp_path, end):
    """Ctrl-C reaches the whole process group, and ``timeout`` signals twice; result and recording
    are complete.
    """
    words = ("run", "dual-arm", "--headless", "--clock", "wall", "--seconds", "600")
    files = ("--json", str(tmp_path / "r.json"), "--record", str(tmp_path / "r.mcap"))
    command = [sys.executable, "-m", "farhand", *words, *files]
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        while not (tmp_path / "r.mcap").exists():
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(run.pid, end)
        os.killpg(run.pid, end)
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()
    assert (run.returncode, err) == (0, "")
    assert "until interrupted" in out
    seconds = json.loads((tmp_path / "r.json").read_text())["seconds"]
    assert 0.2 < seconds < 10.0
    times_ns = load(tmp_path / "r.mcap").streams["leader"].times_ns
    assert len(times_ns) == round(1000 * seconds)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "r.mcap"]


def test_ctrl_c_pressed_again_after_a_while_leaves_at_once(monkeypatch):
    """But not within one press, which some senders make two of."""
    finished, now = [], [100.0]
    session = SimpleNamespace(finish=lambda: finished.append(None))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with running.stopping_on_signals(session) as received:
        signal.raise_signal(signal.SIGINT)
        now[0] += 0.9 * running.SAME_INTERRUPT_S
        signal.raise_signal(signal.SIGINT)
        assert (len(finished), len(received)) == (2, 2)
        now[0] += 0.2 * running.SAME_INTERRUPT_S
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_killed_outright_leaves_a_recording_that_opens_and_can_be_run_again(tmp_path):
    """Control loop and recorder both get kill -9; what was recorded a second ago is there, and
    repeats to the bit.
    """
    words = [
        "run",
        "dual-arm",
        "--law",
        "position-position",
        "--headless",
        "--clock",
        "wall",
        "--seconds",
        "600",
    ]
    command = [sys.executable, "-m", "farhand", *words, "--record", str(tmp_path / "r.mcap")]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        while not (tmp_path / "r.mcap").exists():
            assert run.poll() is None
            time.sleep(0.02)
        time.sleep(1.0)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    recording = load(tmp_path / "r.mcap")
    assert not recording.complete
    assert recording.duration > 0.3
    assert rerun(recording).exact


def test_a_run_goes_on_without_its_recorder_and_its_page(tmp_path):
    """Both are killed outright; each is told in a line, what was recorded can be read, and the code
    is 2.
    """
    words = [
        "run",
        "dual-arm",
        "--seconds",
        "5",
        "--no-wait",
        "--port",
        "0",
        "--record",
        str(tmp_path / "r.mcap"),
    ]
    command = [sys.executable, "-m", "farhand", *words, "--json", str(tmp_path / "r.json")]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "r.mcap").exists():
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.02)
        time.sleep(2.0)
        for child in map(int, Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()):
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(child, signal.SIGKILL)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 2
    page, recording = err.splitlines()
    assert page.startswith("farhand: the page has ended; the run goes on")
    assert recording.startswith(
        "farhand: the recording stopped before the run: the recorder's process has ended"
    )
    assert json.loads((tmp_path / "r.json").read_text())["seconds"] == 5.0
    assert 0.0 < load(tmp_path / "r.mcap").duration < 5.0


def record_on_a_small_disk(*arguments) -> None:
    """A recorder whose files may not grow beyond half a megabyte."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
    record_orders(*arguments)


def test_a_recording_that_stops_does_not_stop_the_run(farhand_command, tmp_path, monkeypatch):
    """The disk is full: the run goes on to its end, one line says so, and the code is 2."""
    monkeypatch.setattr("farhand.running.recorder.record_orders", record_on_a_small_disk)
    words = (*SHORT[:-1], "2", "--record", tmp_path / "r.mcap", "--json", tmp_path / "r.json")
    said = farhand_command(*words)
    assert said.code == 2 and "the recording stopped before the run: cannot write" in said.err
    assert said.err.count("\n") == 1 and "recording:" not in said.out
    assert json.loads((tmp_path / "r.json").read_text())["seconds"] == 2.0
    assert load(tmp_path / "r.mcap").events[-1][1].startswith("recording stopped: ")


# Several pairs


def test_two_pairs_run_from_a_file_and_are_named_in_terminal_report_and_numbers(
    farhand_command, tmp_path
):
    """One line for each pair; the page has a plot of each."""
    path = tmp_path / "arms.toml"
    path.write_text('[[pair]]\nname = "left"\n[[pair]]\nname = "right"\nspace = "tool"\n')
    said = farhand_command(
        *("run", path, "--headless", "--scenario", "free", "--seconds", "0.4"),
        *("--json", tmp_path / "result.json", "--report", tmp_path / "report"),
    )
    assert said.code == 0, said.err
    assert "left " in said.out + said.err
    assert "right " in said.out + said.err
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert {"tracking_error_max_left", "tracking_error_max_right"} <= set(metrics)
    page = (tmp_path / "report" / "index.html").read_text()
    assert "right: the follower is at most" in page


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("nowhere.toml",), "cannot read nowhere.toml"),
        (("nowhere.toml", "--leader", "so101"), "--leader has no effect beside nowhere.toml"),
        (("nowhere.toml", "--pairs", "2"), "--pairs has no effect"),
        (("dual-arm", "--pairs", "2"), "--pairs is for the rig pair"),
        (("dual-arm", "--follower", "ur:a", "--follower", "ur:b"), "a second --follower is for"),
        (("pair", "--pairs", "2", "--follower", "so102"), "so102"),
    ],
)
def test_what_is_wrong_with_several_pairs_is_said_in_one_line(farhand_command, words, reason):
    """Exit code 2, and nothing runs."""
    said = farhand_command("run", *words, "--headless", "--seconds", "0.1")
    assert said.code == 2
    assert reason in said.err
    assert len(said.err.strip().splitlines()) == 1
