"""The ``farhand`` command: its subcommands, and what a user sees when something goes wrong."""

from __future__ import annotations

import io
import itertools
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import farhand
from farhand.cli.bench import bench
from farhand.cli.compare import compare
from farhand.cli.doctor import doctor
from farhand.cli.export import export
from farhand.cli.follower import follower
from farhand.cli.friction import friction
from farhand.cli.ft import ft
from farhand.cli.gallery import gallery
from farhand.cli.ik import ik
from farhand.cli.info import info
from farhand.cli.key import key
from farhand.cli.leader import leader
from farhand.cli.learn import learn
from farhand.cli.list import list_names
from farhand.cli.perform import perform
from farhand.cli.plot import plot
from farhand.cli.recover import recover
from farhand.cli.replay import replay
from farhand.cli.reproduce import reproduce
from farhand.cli.run import run
from farhand.cli.servo_sim import servo_sim
from farhand.cli.stability import stability
from farhand.cli.ur_sim import ur_sim
from farhand.errors import FarhandError, UnknownName

INTERRUPTED = 130
"""Exit code after Ctrl-C in a command that does not end in order then."""


class CommandGroup(TyperGroup):
    """The subcommands; an unknown one is answered with those there are."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand of that name."""
        command = super().get_command(ctx, cmd_name)
        if command is None:
            raise UnknownName("command", cmd_name, self.commands)
        return command


app = typer.Typer(
    name="farhand",
    cls=CommandGroup,
    help="Bilateral teleoperation: a leader moves, a follower does the same, and touch comes back.\n\n"
    "Start with [bold]farhand run dual-arm[/bold] and open the address it prints.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run)
app.command("leader")(leader)
app.command("follower")(follower)
app.command("key")(key)
app.command("list")(list_names)
app.command("reproduce")(reproduce)
app.command("compare")(compare)
app.command("bench")(bench)
app.command("doctor")(doctor)
app.command("gallery")(gallery)
app.command("stability")(stability)
app.add_typer(ft, name="ft")
app.add_typer(friction, name="friction")
app.command("ik")(ik)
app.command("learn")(learn)
app.command("perform")(perform)
app.command("info")(info)
app.command("plot")(plot)
app.command("replay")(replay)
app.command("recover")(recover)
app.command("export")(export)
app.command("ur-sim")(ur_sim)
app.command("servo-sim")(servo_sim)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(farhand.__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None: ...


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
    if arguments is None:  # a process of its own: guards judge numbers that are none, in words
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        words = with_json_file(sys.argv[1:] if arguments is None else arguments)
        code = app(args=words, prog_name="farhand", standalone_mode=False)
    except (FarhandError, TyperException) as error:
        return _refuse(error)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    if code == INTERRUPTED:
        print("farhand: interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def with_json_file(words: Sequence[str]) -> list[str]:
    """The words of a command line, where ``--json`` without a file goes to standard output."""
    found: list[str] = []
    for word, following in itertools.zip_longest(words, words[1:], fillvalue="--"):
        found.append(word)
        if word == "--json" and following.startswith("--"):
            found.append("-")
    return found


def _refuse(error: FarhandError | TyperException) -> int:
    message = error.format_message() if isinstance(error, TyperException) else str(error)
    line = " ".join(message.split())
    if line:
        print(f"farhand: {line}", file=sys.stderr)
    return 2
