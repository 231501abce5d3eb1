"""A file that is nested deeper than Python can follow is refused on one line, whoever reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.analysis.stability.sweep import _read
from farhand.errors import FarhandError
from farhand.friction.fit import loading
from farhand.learning.skill import load_skill
from farhand.robots.description import load_toml
from farhand.sensing.profile import _parse
from farhand.sensing.tool import load_tool

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (load_tool, DEEP),
        (loading.load, DEEP),
        (_read, f"{DEEP}\n{DEEP}\n"),
        (load_toml, f"a = {DEEP}"),
        (_parse, f"a = {DEEP}"),
    ],
)
def test_a_deeply_nested_text_is_refused(read, text, tmp_path):
    """JSON and TOML."""
    path = tmp_path / "deep"
    path.write_text(text)
    with pytest.raises(FarhandError) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_skill_with_deeply_nested_facts_is_refused(tmp_path: Path):
    """Its facts are JSON inside an archive."""
    path = tmp_path / "skill.npz"
    np.savez(path, facts=np.array(DEEP))
    with pytest.raises(FarhandError, match="is not a skill"):
        load_skill(path)
