"""What ``import farhand`` gives: about thirty nouns, loaded when they are used."""

from __future__ import annotations

import subprocess
import sys

import farhand


def run(program: str) -> str:
    """Standard output of a fresh interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_public_name_exists_and_has_a_home():
    """The list, the homes and the modules agree."""
    assert set(farhand.__all__) == set(farhand._HOMES)
    for name in farhand.__all__:
        assert getattr(farhand, name) is not None


def test_importing_the_package_loads_nothing_heavy():
    """Neither NumPy nor any part of the package."""
    program = "import sys, farhand; print(*sys.modules)"
    loaded = run(program).split()
    assert [name for name in loaded if name.startswith("farhand.") or name == "numpy"] == []


def test_a_star_import_gives_exactly_the_public_names():
    """A notebook's first line."""
    found = run(
        "from farhand import *; print(*[n for n in dir() if not n.startswith('__')])"
    ).split()
    assert sorted(found) == sorted(farhand.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """As of any module."""
    assert not hasattr(farhand, "Armm")
