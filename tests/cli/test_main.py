"""Bad input gives one line and code 2; only Farhand's own mistakes show a traceback."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import farhand
from farhand.cli.main import with_json_file

COMMANDS = ("run", "list", "reproduce", "bench")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_an_example(farhand_command, command):
    """A newcomer copies the example and goes on from there."""
    said = farhand_command(command, "--help")
    assert said.code == 0
    assert f"Example: farhand {command}" in said.out


def test_the_help_names_every_command(farhand_command):
    """``farhand --help`` is the map."""
    said = farhand_command("--help")
    assert said.code == 0
    assert all(command in said.out for command in COMMANDS)


def test_the_version_is_the_package_s(farhand_command):
    """``--version`` prints it and nothing else."""
    assert farhand_command("--version").out.strip() == farhand.__version__


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["list", "--json"], ["list", "--json", "-"]),
        (["run", "x", "--json", "--seed", "1"], ["run", "x", "--json", "-", "--seed", "1"]),
        (["list", "--json", "a.json"], ["list", "--json", "a.json"]),
        (["list", "--json", "-"], ["list", "--json", "-"]),
        ([], []),
    ],
)
def test_json_without_a_file_goes_to_standard_output(words, meant):
    """And only then."""
    assert with_json_file(words) == meant


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["walk"], "unknown command 'walk'; available: "),
        (["run"], "RIG"),
        (["run", "dual-arm", "--speed", "3"], "--speed"),
        (["run", "dual-arm", "--seconds", "soon"], "--seconds"),
        (["run", "dual-arm", "--clock", "moon"], "'virtual', 'wall'"),
        (["run", "dual-arm", "--seed", "-1"], "--seed"),
    ],
)
def test_a_usage_error_is_one_line_and_code_2(farhand_command, words, hint):
    """What is wrong is named on the one line there is."""
    said = farhand_command(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("farhand: ") and said.err.count("\n") == 1
    assert hint in said.err


def test_an_unexpected_exception_is_not_hidden(farhand_command, monkeypatch):
    """A mistake in Farhand reaches the developer with its traceback."""

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("farhand.rigs.build_rig", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        farhand_command("run", "dual-arm", "--headless")


def test_python_dash_m_is_the_same_command():
    """``python -m farhand`` works where scripts are not on the path, with the same exit code and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "farhand", "run", "moon"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("farhand: unknown rig 'moon'; available: cooperative")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_is_one_line_and_code_130(farhand_command, monkeypatch):
    """Wherever it strikes, also before a command has begun."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("farhand.rigs.build_rig", interrupted)
    said = farhand_command("run", "dual-arm", "--headless")
    assert (said.code, said.out, said.err) == (130, "", "farhand: interrupted\n")
    monkeypatch.setattr(importlib.import_module("farhand.cli.main"), "app", interrupted)
    assert farhand_command("list").code == 130
