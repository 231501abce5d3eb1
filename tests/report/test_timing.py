"""A run on the wall clock: the loop has its process for itself, and the end tells ticks, lateness
and privileges.
"""

from __future__ import annotations

import gc
import json
import os

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.loop.clock import WallClock
from farhand.rigs import Options, build_rig
from farhand.running.run import Listener


def test_a_headless_run_on_the_wall_clock_tells_its_timing(tmp_path, capsys):
    """Every tick is made or counted as skipped; sections and privileges are there for people and
    programs.
    """
    out = tmp_path / "run.json"
    command = [
        "run",
        "dual-arm",
        "--scenario",
        "rest",
        "--clock",
        "wall",
        "--seconds",
        "0.5",
        "--headless",
    ]
    assert main([*command, "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    timing = {name: entry["value"] for name, entry in found["timing"].items()}
    assert timing["ticks"] + timing["skipped"] == 500
    assert timing["overruns"] >= timing["skipped"]
    assert (
        timing["lateness_p50"]
        <= timing["lateness_p99"]
        <= timing["lateness_p999"]
        <= timing["lateness_max"]
    )
    assert {"physics", "read", "law", "write"} <= set(found["sections"])
    sections = sum(found["sections"][name]["p50"] for name in ("commands", "read", "law", "write"))
    assert 0.3 * timing["tick_median"] < sections < 3.0 * timing["tick_median"]
    assert {grant["name"] for grant in found["privileges"]} == {
        "scheduler",
        "memory",
        "timer",
        "collector",
    }
    said = capsys.readouterr().out
    assert "lateness" in said and " overrun" in said
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_metrics_heard_in_another_process_are_those_of_this_one():
    """The same run, listened to and pulled here: the same signals to the bit, and nothing is
    counted twice. Sums are made piece by piece, so metrics agree to rounding.
    """
    heard, pulled = (build_rig("dual-arm", Options(scenario="free", seed=3)) for _ in range(2))
    try:
        listener = Listener(heard, None)
        for _ in range(3):
            heard.session.run(0.4)
        listener.close()
        heard.session.run(0.3, heard.metrics.pull)
        pulled.session.run(1.5, pulled.metrics.pull, every=0.1)
        assert heard.metrics.history.lost == 0
        for stream, channel in (("coupling", "error"), ("follower", "q")):
            signals = (rig.metrics.history.signal(stream, channel) for rig in (heard, pulled))
            np.testing.assert_array_equal(*signals)
        results = heard.metrics.result(), pulled.metrics.result()
        assert results[0].keys() == results[1].keys()
        for name, entry in results[0].items():
            assert (results[1][name]["value"] is None) == (entry["value"] is None)
            if entry["value"] is not None:
                assert entry["value"] == pytest.approx(results[1][name]["value"], rel=1e-12), name
        assert heard.metrics.history.events == pulled.metrics.history.events
    finally:
        heard.close()
        pulled.close()


def test_the_listener_ends_with_the_run():
    """No process is left behind, also when it is closed twice."""
    rig = build_rig("dual-arm", Options(scenario="rest", clock=WallClock()))
    listener = Listener(rig, 1.0)
    number = listener._process.pid
    listener.close()
    listener.close()
    rig.close()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_core_without_a_wall_clock_is_refused(capsys):
    """Virtual time has no loop to keep anywhere."""
    assert main(["run", "dual-arm", "--headless", "--core", "0"]) == 2
    assert "--core needs --clock wall" in capsys.readouterr().err
