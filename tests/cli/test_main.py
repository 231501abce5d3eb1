"""Bad input gives one line and code 2; only Farhand's own mistakes show a traceback."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest

import farhand
from farhand.cli import main as cli
from farhand.cli.main import HELP_ORDER, with_json_file

COMMANDS = ("run", "list", "reproduce", "bench", "soak")


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
    assert all(command in said.out for command in HELP_ORDER)


def bring(monkeypatch, name: str, value: str) -> None:
    """Let a package bring a command."""
    points = list(entry_points(group=cli.COMMANDS))
    points = [point for point in points if point.name != name]
    points.append(EntryPoint(name, value, cli.COMMANDS))
    monkeypatch.setattr(cli, "entry_points", lambda group: points)


def test_another_package_brings_a_command(farhand_command, monkeypatch, tmp_path):
    """One function in one file; it is listed after the built-in ones, and runs."""
    (tmp_path / "hand_wave.py").write_text(
        "def wave(times: int) -> int:\n    'Wave.'\n    return times\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    bring(monkeypatch, "wave", "hand_wave:wave")
    assert farhand_command("wave", "3").code == 3
    assert "Wave." in farhand_command("--help").out.splitlines()[-3]


@pytest.mark.parametrize("value", ["nowhere_at_all:wave", "farhand.cli.run:wave"])
def test_a_command_that_is_broken_is_one_line(farhand_command, monkeypatch, value):
    """Nobody else's commands suffer from it."""
    bring(monkeypatch, "wave", value)
    said = farhand_command("--help")
    assert said.code == 0 and "ur-sim" in said.out and said.err.count("\n") == 1
    said = farhand_command("wave")
    assert said.code == 2 and "wave" in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("installed", [True, False])
def test_without_the_laboratory_its_commands_say_what_to_install(
    farhand_command, monkeypatch, installed
):
    """Whether the package's files are missing or the entry points as well."""
    if installed:
        monkeypatch.setitem(sys.modules, "farhand_lab", None)
        monkeypatch.delitem(sys.modules, "farhand_lab.commands.reproduce", raising=False)
        monkeypatch.delitem(sys.modules, "farhand_lab.commands", raising=False)
    else:
        monkeypatch.setattr(cli, "entry_points", lambda group: [])
    said = farhand_command("reproduce")
    assert said.code == 2 and "pip install" in said.err and said.err.count("\n") == 1


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
    """``python -m farhand`` works where scripts are not on the path, with the same exit code and no
    traceback.
    """
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
    monkeypatch.setattr(cli, "app", interrupted)
    assert farhand_command("list").code == 130


def test_an_interrupt_while_a_library_is_loaded_is_no_error(monkeypatch, capsys):
    """pybind11 raises an ImportError from it; any other one is shown."""

    def load(cause):
        def fail(**_):
            raise ImportError("initialization failed") from cause

        return fail

    monkeypatch.setattr(cli, "app", load(KeyboardInterrupt()))
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == "farhand: interrupted\n"
    monkeypatch.setattr(cli, "app", load(None))
    with pytest.raises(ImportError):
        cli.main(["list"])
