"""What the command line asks of a run, checked before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from farhand.errors import BadValue, FileError, UnknownName
from farhand.report.output import check_files, within

if TYPE_CHECKING:
    from farhand.rigs import Rig

MIN_RUN_S, MAX_RUN_S = 1e-3, 1e6


def check_seconds(seconds: float | None) -> None:
    """Refuse a length of a run that is not allowed; None is."""
    if seconds is not None:
        within("--seconds", seconds, MIN_RUN_S, MAX_RUN_S, "s")


def check_run_files(
    json: Path | None, report: Path | None, record: Path | None, read: Iterable[Path] = ()
) -> None:
    """Refuse files that could not be written after the run, or that the command also uses."""
    taken = [*read]
    if record is not None:
        from farhand.recording.destination import check_destination, part_of

        check_destination(record)
        taken.append(part_of(record))
    check_files(record, json, read=taken, report=report)


def parse_setting(text: str, flag: str = "--set") -> tuple[str, object]:
    """Path and value of ``PATH=VALUE``."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        form = "PATH=VALUE, such as wall.stiffness=3000"
        raise BadValue(f"{flag} {text!r} is not of the form {form}")
    return path.strip(), value.strip()


def parse_settings(texts: Iterable[str] | None) -> list[tuple[str, object]]:
    """Path and value of every ``--set``."""
    return [parse_setting(text) for text in texts or ()]


def post_commands(rig: Rig, texts: Iterable[str], length: float | None) -> None:
    """Post the commands of ``--at``, after checking what can be checked before the run.

    Args:
        rig: ready to run.
        texts: each ``SECONDS:COMMAND``.
        length: of the run, [s]; None if it has no end.
    """
    from farhand.parameters import describe

    end = length or MAX_RUN_S
    for text in texts:
        when, colon, command = text.partition(":")
        if not colon:
            raise BadValue(f"--at {text!r} is not of the form SECONDS:COMMAND, such as 7:stop")
        rig.session.commands.post_text(text)
        if not 0.0 <= float(when) < end:
            raise BadValue(f"--at {text!r} is outside the run, which takes from 0 to {end:g} s")
        name, _, rest = command.strip().partition(" ")
        if name == "set":
            path, _ = parse_setting(rest, f"--at {when}:set")
            known = [known for known, *_ in describe(rig.session.parameters)]
            if path not in known:
                raise UnknownName("parameter", path, known)


def parse_laws(text: str) -> list[str]:
    """Names of laws; ``all`` for every one but ``none``."""
    from farhand.coupling import every_law

    if text == "all":
        return [name for name in every_law() if name != "none"]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in every_law() and ":" not in name:
            raise UnknownName("law", name, every_law())
    if not names:
        raise BadValue(f"--laws {text!r} names none; give all or names with commas between them")
    return names


def parse_delays(text: str) -> list[float]:
    """Round-trip delays, [ms]."""
    try:
        delays = [float(part) for part in text.split(",")]
    except ValueError:
        raise BadValue(f"--delay {text!r} is not a list of milliseconds such as 0,20,100") from None
    return [within("--delay", value, 0.0, 2000.0, "ms") for value in delays]


def read_gains(path: Path) -> tuple[str | None, list[tuple[str, object]]]:
    """Law and settings of a file that ``farhand tune`` wrote.

    Raises:
        FileError: it cannot be read, or is not such a file.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not TOML: {error}") from None
    law, values = found.get("law"), found.get("set")
    if not isinstance(values, dict) or not isinstance(law, str | None):
        raise FileError(f"{path} has no table [set] of parameters; farhand tune --out writes one")
    return law, list(values.items())
