"""A simulated camera: ``farhand camera`` draws in a process of its own, this reads its pictures."""

from __future__ import annotations

import shutil
import struct
import subprocess
import threading
import time
from typing import Any

import numpy as np
from lerobot.cameras import Camera
from lerobot.utils.decorators import check_if_already_connected, check_if_not_connected
from lerobot.utils.errors import DeviceNotConnectedError
from numpy.typing import NDArray

from lerobot_teleoperator_farhand.config import FarhandCameraConfig
from lerobot_teleoperator_farhand.session import STARTS

FIRST_S = 60.0
"""How long the first picture may take."""


class FarhandCamera(Camera):
    """Pictures of a session; the newest one counts."""

    def __init__(self, config: FarhandCameraConfig) -> None:
        super().__init__(config)
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._news = threading.Condition()
        self._picture: NDArray[Any] | None = None
        self._count, self._given, self._at = 0, 0, 0.0

    @property
    def is_connected(self) -> bool:
        """Whether its process runs."""
        return self._process is not None

    @staticmethod
    def find_cameras() -> list[dict[str, Any]]:
        """None: they are drawn on request."""
        return []

    @check_if_already_connected
    def connect(self, warmup: bool = True) -> None:
        """Start drawing, and wait for the first picture."""
        config = self.config
        started = STARTS.get(config.session)
        given = config.program or (started.program if started else "")
        program = given or shutil.which("farhand")
        if program is None:
            hint = "name it: program: /path/to/environment/bin/farhand"
            raise DeviceNotConnectedError(f"the program farhand was not found; {hint}")
        words = [program, "camera", config.session, "--view", config.view, "--fps", str(self.fps)]
        words += ["--width", str(self.width), "--height", str(self.height)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        try:
            self.async_read(1000.0 * FIRST_S)
        except TimeoutError:
            self.disconnect()
            raise

    def read(self) -> NDArray[Any]:
        """The next picture."""
        return self.async_read()

    @check_if_not_connected
    def async_read(self, timeout_ms: float = 1000.0) -> NDArray[Any]:
        """The newest picture that was not given yet."""
        with self._news:
            if not self._news.wait_for(lambda: self._count > self._given, timeout_ms / 1000.0):
                raise TimeoutError(f"no picture of session {self.config.session}{self._reason()}")
            self._given = self._count
            return self._latest()

    @check_if_not_connected
    def read_latest(self, max_age_ms: int = 1000) -> NDArray[Any]:
        """The newest picture, again if there is no newer one."""
        with self._news:
            if time.monotonic() - self._at > max_age_ms / 1000.0:
                raise TimeoutError(f"no new picture of session {self.config.session}")
            return self._latest()

    @check_if_not_connected
    def disconnect(self) -> None:
        """Stop drawing."""
        process, self._process = self._process, None
        assert process is not None
        process.terminate()
        process.wait()

    def _latest(self) -> NDArray[Any]:
        assert self._picture is not None
        return self._picture

    def _reason(self) -> str:
        """What the process said when it ended."""
        process = self._process
        if process is None or process.poll() is None or process.stderr is None:
            return ""
        lines = process.stderr.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Take pictures as they come, until there are no more."""
        assert process.stdout is not None
        head, shape = struct.calcsize("<d"), (self.height, self.width, 3)
        size = head + int(np.prod(shape))
        while len(data := process.stdout.read(size)) == size:
            picture = np.frombuffer(data, np.uint8, offset=head).reshape(shape).copy()
            with self._news:
                self._picture, self._at = picture, time.monotonic()
                self._count += 1
                self._news.notify_all()
