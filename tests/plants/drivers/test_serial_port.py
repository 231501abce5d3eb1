"""Serial ports that cannot be opened: why, in plain words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from farhand.errors import FileError
from farhand.plants.drivers.serial_port import open_serial


def test_a_port_that_is_open_already_says_so() -> None:
    _, slave = os.openpty()
    path = os.ttyname(slave)
    port = open_serial(path, 115_200, "the bus", exclusive=True)
    with pytest.raises(FileError, match="^cannot open the bus: another program has it open$"):
        open_serial(path, 115_200, "the bus", exclusive=True)
    port.close()
    open_serial(path, 115_200, "the bus", exclusive=True).close()


def test_what_is_no_port_says_so(tmp_path: Path) -> None:
    """A file, a folder, nothing."""
    (tmp_path / "file").touch()
    for name, says in (("file", "it is no serial port"), ("", "Is a directory"), ("x", "No such")):
        with pytest.raises(FileError, match=f"cannot open the bus: {says}"):
            open_serial(str(tmp_path / name), 115_200, "the bus")


def test_a_port_of_another_group_says_which_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a fresh Linux, where serial ports are of the group dialout."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("farhand.plants.drivers.serial_port.serial.Serial", refuse)
    with pytest.raises(FileError, match=r"permission denied; join .* sudo usermod -aG \w+ \$USER"):
        open_serial("/dev/null", 115_200, "the bus")
