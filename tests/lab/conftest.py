"""A harness that knows only the experiments a test writes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import farhand_lab
from farhand_lab import harness, mutation  # noqa: F401 - toy rigs import it

IMPORTS = """
from farhand.errors import OutOfRange
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, patched
"""
FEATURE = """
[T-{number}]
title = "Title of T-{number}"
criterion = "< 1 mm"
unit = "mm"
source = "a thesis"
"""


@pytest.fixture
def write_rig(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Write a rig with features T-1 to T-12; only rigs written this way exist in the test."""
    monkeypatch.setattr(farhand_lab, "__path__", [str(tmp_path)])
    monkeypatch.setattr(harness, "_registry", {})
    monkeypatch.setattr(harness, "_caches", [])
    harness.features.cache_clear()

    def write(rig: str, body: str) -> None:
        monkeypatch.delitem(sys.modules, f"farhand_lab.{rig}", raising=False)
        (tmp_path / rig).mkdir()
        rows = "".join(FEATURE.format(number=number) for number in range(1, 13))
        (tmp_path / rig / "features.toml").write_text(rows)
        (tmp_path / rig / "__init__.py").write_text(IMPORTS + body)

    yield write
    harness.features.cache_clear()
    for name in [name for name in sys.modules if name.startswith("farhand_lab.toy_")]:
        del sys.modules[name]
