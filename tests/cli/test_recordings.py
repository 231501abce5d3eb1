"""``farhand info``, ``plot``, ``replay``, ``recover`` and ``export``: what people do with a
recording.
"""

from __future__ import annotations

import importlib
import json
import os

import pytest

from farhand.loop.telemetry import Reader
from farhand.recording.recorder import Recorder, record_from
from farhand.rigs import Options, build_rig
from farhand.running.rerun import about, record

COMMANDS = [
    ("info",),
    ("plot", "--out", "x.png"),
    ("replay", "--headless"),
    ("replay", "--rerun"),
    ("recover", "--out", "x.mcap"),
    ("export", "d", "--format", "csv"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """0.3 s of the dual-arm rig."""
    rig = build_rig("dual-arm", Options(scenario="free", seed=4))
    return record(rig, tmp_path_factory.mktemp("r") / "run.mcap", 0.3)


def spoilt(path, kind: str, whole: bytes) -> None:
    """A file that nobody should trip over."""
    contents = {
        "empty": b"",
        "foreign": b"t,qx,qy\n0,1,2\n",
        "truncated": whole[: len(whole) // 2],
        "newer": whole.replace(b"format\x01\x00\x00\x002", b"format\x01\x00\x00\x007"),
    }
    path.write_bytes(contents[kind])


@pytest.mark.parametrize("kind", ["missing", "empty", "foreign", "truncated", "newer"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_bad_files_are_one_line_and_code_2(
    farhand_command, recorded, tmp_path, monkeypatch, command, kind
):
    """Whatever is asked of them; nothing is left behind. Only a truncated file can be recovered."""
    monkeypatch.chdir(tmp_path)
    if kind != "missing":
        spoilt(tmp_path / "bad.mcap", kind, recorded.read_bytes())
    said = farhand_command(command[0], "bad.mcap", *command[1:])
    if command[0] == "recover" and kind == "truncated":
        assert said.code == 0 and "messages saved to x.mcap" in said.out
        return
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("farhand: ") and said.err.count("\n") == 1 and "bad.mcap" in said.err
    assert [path.name for path in tmp_path.iterdir()] in (["bad.mcap"], [])


def test_info_says_what_there_is(farhand_command, recorded, tmp_path):
    """For a person on the terminal, and for programs as JSON."""
    said = farhand_command("info", recorded, "--json", tmp_path / "i.json")
    assert said.code == 0
    for words in (
        "dual-arm · virtual-constraints · free",
        "0.299 s",
        "1000 Hz",
        "engage: done",
        "leader/q",
    ):
        assert words in said.out
    found = json.loads((tmp_path / "i.json").read_text())
    assert found["streams"]["coupling"]["records"] == 300 and found["about"]["seed"] == 4


def test_a_rerun_proves_the_recording(farhand_command, recorded, tmp_path, monkeypatch):
    """Equal to the bit; and with a part that has changed since, code 1 and the first difference."""
    said = farhand_command("replay", recorded, "--rerun", "--json", tmp_path / "r.json")
    assert said.code == 0 and "equal to the bit: 900 records" in said.out
    assert json.loads((tmp_path / "r.json").read_text())["exact"] is True
    honest = importlib.import_module("farhand.running.rerun").build_rig

    def changed(*arguments):
        rig = honest(*arguments)
        rig.world.ports["leader"].q[0] += 1e-9
        return rig

    monkeypatch.setattr("farhand.running.rerun.build_rig", changed)
    said = farhand_command("replay", recorded, "--rerun")
    assert said.code == 1 and said.err.startswith("farhand: the re-run is not equal: ")


class ToyPage:
    """A page that somebody takes down after a moment."""

    address = "http://127.0.0.1:1"
    looks, closed = 0, False

    @property
    def alive(self) -> bool:
        self.looks += 1
        return self.looks < 3

    def __enter__(self) -> ToyPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


def test_a_recording_is_shown_on_the_page(farhand_command, recorded, monkeypatch):
    """The page gets the recording, a scene of its rig, and the speed and the moment asked for."""
    page = ToyPage()

    def serve(recording, scene, host, port, speed, at):
        assert recording == recorded and scene == {"rig": "dual-arm"}
        assert (port, speed, at) == (1, 3.0, 0.05)
        return page

    monkeypatch.setattr(importlib.import_module("farhand.console.serve"), "serve_recording", serve)
    monkeypatch.setattr(
        importlib.import_module("farhand.console.scene"), "scene_of", lambda rig: {"rig": rig.name}
    )
    words = ("--speed", "3", "--port", "1", "--at", "0.05")
    said = farhand_command("replay", recorded, *words)
    assert said.code == 0 and "is shown at http://127.0.0.1:1" in said.out
    assert page.looks == 3 and page.closed


def test_a_recording_is_drawn_and_exported(farhand_command, recorded, tmp_path):
    """To the places asked for."""
    assert (
        farhand_command("plot", recorded, "--out", tmp_path / "p.png", "--signal", "leader/q").code
        == 0
    )
    assert (tmp_path / "p.png").exists()
    for kind, file in (
        ("csv", "leader.csv"),
        ("parquet", "events.parquet"),
        ("lerobot", "meta/info.json"),
    ):
        said = farhand_command("export", recorded, tmp_path / kind, "--format", kind)
        assert said.code == 0 and (tmp_path / kind / file).exists(), said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("plot", "--out", "x.txt"), "must end in one of .png"),
        (("plot", "--signal", "leader/z"), "available: "),
        (("replay", "--headless", "--speed", "0"), "speed = 0 is outside"),
        (("replay", "--at", "1000"), "--at = 1000 is outside"),
        (("export", "d", "--format", "lerobot", "--fps", "0"), "--fps = 0 is outside"),
        (("export", "d", "--format", "xml"), "xml"),
    ],
)
def test_bad_wishes_are_one_line_and_code_2(
    farhand_command, recorded, tmp_path, monkeypatch, words, hint
):
    """The line names the value and the limit or the alternatives."""
    monkeypatch.chdir(tmp_path)
    said = farhand_command(words[0], recorded, *words[1:])
    assert said.code == 2 and said.err.count("\n") == 1 and hint in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("info", "r.mcap", "--json", "r.mcap"),
        ("info", "r.mcap", "--json", "link.mcap"),
        ("replay", "r.mcap", "--rerun", "--json", "./r.mcap"),
        ("recover", "r.mcap", "--out", "r.mcap"),
        ("recover", "r.mcap", "--out", "n.mcap", "--json", "n.mcap"),
        ("recover", "r.mcap", "--out", "pipe"),
        ("run", "dual-arm", "--headless", "--record", "x", "--json", "x"),
        ("run", "dual-arm", "--headless", "--record", "x", "--report", "x"),
        ("run", "dual-arm", "--headless", "--record", "pipe"),
        ("info", "pipe"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_over_what_is_read_or_over_another_result(
    farhand_command, recorded, tmp_path, monkeypatch, words
):
    """One line and code 2; all is as it was before, and a pipe is neither waited for nor
    replaced.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.mcap").write_bytes(recorded.read_bytes())
    (tmp_path / "link.mcap").symlink_to("r.mcap")
    os.mkfifo(tmp_path / "pipe")
    said = farhand_command(*words)
    assert (said.code, said.out) == (2, "") and said.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"r.mcap", "link.mcap", "pipe"}
    assert (tmp_path / "r.mcap").read_bytes() == recorded.read_bytes() and (
        tmp_path / "pipe"
    ).is_fifo()


def test_a_run_that_broke_off_is_called_so_by_all(farhand_command, tmp_path):
    """Before and after it is recovered: info, export and replay say it, and nothing is learnt from
    it.
    """
    broken = tmp_path / "b.mcap"
    rig = build_rig("dual-arm", Options(scenario="free"))
    rig.session.run(0.1)
    with (
        pytest.raises(OverflowError),
        Recorder(broken, Reader(rig.session.telemetry.path).header, about(rig)) as to,
    ):
        record_from(Reader(rig.session.telemetry.path), to)
        raise OverflowError
    rig.close()
    assert farhand_command("recover", broken, "--out", tmp_path / "s.mcap").code == 0
    for path in (broken, tmp_path / "s.mcap"):
        assert "it is broken off: OverflowError in the run" in farhand_command("info", path).out
        said = farhand_command("replay", path, "--rerun")
        assert (
            said.code == 0
            and "is broken off: OverflowError in the run; this is what it holds" in said.err
        )
        said = farhand_command("export", path, tmp_path / path.stem, "--format", "csv")
        assert said.code == 0 and "is broken off" in said.err
        said = farhand_command("learn", "wipe", path, "--out", tmp_path / "w.npz")
        assert said.code == 2 and "ends before its demonstration does" in said.err
