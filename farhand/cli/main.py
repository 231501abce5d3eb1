"""The ``farhand`` command: it finds its subcommands and turns errors into one line."""

from __future__ import annotations

import inspect
import io
import itertools
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

import farhand
from farhand.errors import FarhandError, UnknownName
from farhand.loop.interrupts import repeating_interrupts
from farhand.report.output import say_error

INTERRUPTED = 130
"""Exit code after Ctrl-C in a command that has no orderly end of its own."""

COMMANDS = "farhand.commands"
"""Entry-point group of the subcommands: each a function for Typer or a ``typer.Typer``."""

HELP_ORDER = (
    *(
        "run",
        "serve",
        "leader",
        "follower",
        "key",
        "list",
        "robot",
        "reproduce",
        "compare",
        "bench",
        "soak",
    ),
    *("doctor", "gallery", "stability", "ft", "friction", "torque", "ik", "learn", "perform"),
    *("info", "plot", "replay", "recover", "export", "arm"),
    *("ur-sim", "servo-sim", "can-sim"),
)
"""The built-in commands as ``farhand --help`` lists them; those of other packages come after."""

LAB_COMMANDS = ("reproduce", "bench", "soak")
LAB_PACKAGES = ("farhand_lab", "farhand_lab.commands")


class BrokenCommand(FarhandError):
    """A subcommand whose code cannot be imported."""


class CommandGroup(TyperGroup):
    """The subcommands that installed packages bring, each imported when it is first needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all subcommands, the built-in ones first."""
        names = _found()
        order = {name: place for place, name in enumerate(HELP_ORDER)}
        return sorted(names, key=lambda name: (order.get(name, len(order)), name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand of that name; None, and a line on stderr, if it is broken."""
        try:
            return load_command(cmd_name)
        except BrokenCommand as error:
            refuse(error)
            return None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str, Any, list[str]]:
        """The subcommand to run, and its arguments."""
        return args[0], load_command(args[0]), args[1:]


def _found() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=COMMANDS)}


def load_command(name: str) -> Any:
    """Import a subcommand.

    Raises:
        UnknownName: no installed package brings it.
        BrokenCommand: its code cannot be imported.
    """
    found = _found()
    if name not in found:
        if name in LAB_COMMANDS:
            raise BrokenCommand(_without_lab(name))
        raise UnknownName("command", name, found)
    try:
        command = found[name].load()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in LAB_PACKAGES:
            raise BrokenCommand(_without_lab(name)) from error
        reason = f"{type(error).__name__}: {error}"
        raise BrokenCommand(f"command {name!r} ({found[name].value}) fails: {reason}") from error
    if not isinstance(command, typer.Typer):
        function, command = command, typer.Typer(add_completion=False, rich_markup_mode="rich")
        command.command(name)(function)
    made = get_command(command)
    made.name = name
    _join_lines(made)
    return made


def _join_lines(command: Any) -> None:
    """Paragraphs without the line breaks of the source, which Typer would keep."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)
    for inner in getattr(command, "commands", {}).values():
        _join_lines(inner)


def _without_lab(name: str) -> str:
    install = "install it with: pip install -e . in a checkout of Farhand"
    return f"{name} needs the laboratory, and the package farhand_lab is missing; {install}"


app = typer.Typer(
    name="farhand",
    cls=CommandGroup,
    help="Bilateral teleoperation: a leader moves, a follower does the same, and touch comes back."
    "\n\nStart with [bold]farhand run dual-arm[/bold] and open the address it prints.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        print(farhand.__version__)
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print it and exit."),
]


@app.callback()
def _common(version: Version = False) -> None: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Bad input ends with one line on stderr and code 2. Only an error of Farhand's own shows a
    traceback (code 1).

    Args:
        arguments: the words after ``farhand``; those of this process by default.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal without µ gets a question mark, not a traceback
            stream.reconfigure(errors="replace")
    if arguments is None:
        # In a process of its own: the guards report NaN themselves, in words
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        words = with_json_file(sys.argv[1:] if arguments is None else arguments)
        with repeating_interrupts():
            code = app(args=words, prog_name="farhand", standalone_mode=False)
    except (FarhandError, TyperException) as error:
        return refuse(error)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except ImportError as error:
        # what pybind11 makes of Ctrl-C while it loads a library
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:
        print("farhand: interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def with_json_file(words: Sequence[str]) -> list[str]:
    """The words of a command line, with ``-`` after a ``--json`` that names no file."""
    result: list[str] = []
    for word, following in itertools.zip_longest(words, words[1:], fillvalue="--"):
        result.append(word)
        if word == "--json" and following.startswith("--"):
            result.append("-")
    return result


def refuse(error: FarhandError | TyperException) -> int:
    """Print an error as one line on stderr; the exit code for bad input."""
    message = error.format_message() if isinstance(error, TyperException) else str(error)
    line = " ".join(message.split())
    if line:
        say_error(line)
    return 2
