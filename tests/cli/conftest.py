"""The command line, called in this process."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import farhand_lab
from farhand.cli.main import main
from farhand_lab import harness

TOY = """
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation
import sys

GAIN, IDLE = 0.5, 0.0

@experiment("T-1")
def small() -> Finding:
    return Finding(GAIN, ok=GAIN < 1.0)

@experiment("T-2")
def large() -> Finding:
    return Finding(2.0, ok=False, note="the cause")

this = sys.modules[__name__]
MUTATIONS = [Mutation("gain", "ten times too high", ("T-1",)).patch(this, "GAIN", 5.0)]
DEAF = Mutation("idle", "a part nobody watches", ("T-1",)).patch(this, "IDLE", 1.0)
"""

FEATURE = """
[{id}]
title = "{title}"
criterion = "< 1 mm"
unit = "mm"
source = "a thesis"
"""


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def farhand_command(capsys) -> Callable[..., Said]:
    """Call ``farhand`` with these words."""

    def call(*words: object) -> Said:
        code = main([str(word) for word in words])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture
def toy_rig(tmp_path, monkeypatch) -> None:
    """A rig ``toy`` with one experiment that passes and one that does not, and nothing else."""
    # Found while the laboratory still is where it is
    for part in ("mutation", "report", "commands.reproduce"):
        importlib.import_module(f"farhand_lab.{part}")
    folder = tmp_path / "lab" / "toy"
    folder.mkdir(parents=True)
    titles = {"T-1": "A small error", "T-2": "A large error"}
    rows = [FEATURE.format(id=id, title=title) for id, title in titles.items()]
    (folder / "features.toml").write_text("".join(rows))
    (folder / "__init__.py").write_text(TOY)
    monkeypatch.setattr(farhand_lab, "__path__", [str(folder.parent)])
    monkeypatch.setattr(harness, "_registry", {})
    monkeypatch.setattr(harness, "_caches", [])
    monkeypatch.delitem(sys.modules, "farhand_lab.toy", raising=False)
    harness.features.cache_clear()
    yield
    sys.modules.pop("farhand_lab.toy", None)
    harness.features.cache_clear()
