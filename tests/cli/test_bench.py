"""``farhand bench`` prints and writes what the benchmarks measured."""

from __future__ import annotations

import json

from farhand.errors import UnknownName

ROW = {
    "name": "tick/dual-arm",
    "value": 42.0,
    "unit": "µs",
    "floor": 14.0,
    "ratio_to_floor": 3.0,
    "peers": {"other": 99},
}


def test_a_benchmark_stands_beside_its_floor_and_its_peers(farhand_command, tmp_path, monkeypatch):
    """The table and the JSON have the same rows."""
    monkeypatch.setattr("farhand_lab.benchmarks.run", lambda name, progress, finished: [ROW])
    said = farhand_command("bench", "tick/dual-arm", "--json", tmp_path / "b.json")
    assert said.code == 0
    assert json.loads((tmp_path / "b.json").read_text()) == [ROW]
    assert all(word in said.out for word in ("tick/dual-arm", "42 µs", "14", "3", "other 99"))


def test_an_unknown_benchmark_is_one_line(farhand_command, monkeypatch):
    """With the names there are."""

    def run(name, progress, finished):
        raise UnknownName("benchmark", name, ["tick/dual-arm"])

    monkeypatch.setattr("farhand_lab.benchmarks.run", run)
    said = farhand_command("bench", "moon")
    assert (said.code, said.err) == (
        2,
        "farhand: unknown benchmark 'moon'; available: tick/dual-arm\n",
    )
