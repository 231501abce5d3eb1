"""``farhand serve``: run a rig for other programs, which attach to it by name."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from typer import Option

from farhand.cli.run import run
from farhand.errors import BadValue

Name = Annotated[str, Option("--name", metavar="NAME", help="Under which programs find it.")]
Port = Annotated[
    int | None,
    Option("--port", metavar="N", min=0, max=65535, help="Serve the page too; 0: any port."),
]


def serve(**choices: Any) -> int:
    """Run a rig in real time for other programs, until one of them or Ctrl-C ends it.

    They attach to it by its name, with farhand.client: read every signal, give commands, send
    targets. Takes the options of farhand run; there is a page only with --port.

    Example: [bold]farhand serve dual-arm --name demo[/bold]
    """
    if choices["clock"] == "virtual":
        raise BadValue("--clock virtual: other programs need a session in real time")
    paged = choices["port"] is not None and not choices["headless"]
    fixed = {"headless": not paged, "no_wait": True, "clock": "wall"}
    return run(**{**choices, **fixed, "port": choices["port"] or 0})


def _options() -> inspect.Signature:
    """Those of ``farhand run``, with the name required and the page left to choose."""
    options = dict(inspect.signature(run, eval_str=True).parameters)
    options["name"] = options["name"].replace(annotation=Name, default=inspect.Parameter.empty)
    options["port"] = options["port"].replace(annotation=Port, default=None)
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in options.values()]
    return inspect.Signature(named, return_annotation=int)


serve.__signature__ = _options()  # type: ignore[attr-defined]
