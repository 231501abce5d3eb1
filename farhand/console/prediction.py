"""The predicted stability of a session while it runs, computed in the viewer's process.

The session's own process has no time for that: it makes a tick every millisecond. So the rig is
built a second time here, simulated and never run, and is given every parameter that is set.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading

from farhand.analysis.oscillation import IntendedMotion
from farhand.console.scene import Scene
from farhand.console.status import UNLOGGED
from farhand.errors import FarhandError
from farhand.parameters import assign
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.margin import margin, nearness, scripted_motion

NICENESS = 15
"""Of the thread that predicts: picture and session go first."""


class Prediction:
    """How far a session is from shaking, after every change of a parameter.

    Args:
        rig_name: name of the rig; empty if nothing can be predicted.
        options: what the rig of the session was built from, with what was set since.
        text: what to say before the first prediction.

    Attributes:
        text: one line, as the brief :func:`farhand.rigs.margin.margin`; empty if unknown.
        level: see :func:`farhand.rigs.margin.nearness`: 0 far from the limit to 1 at it or beyond.
        motion: of the scenario's hand, once known; None if a person or a device moves it.
    """

    def __init__(self, rig_name: str, options: Options | None = None, text: str = "") -> None:
        self.text, self.level = text, math.nan
        self.motion: IntendedMotion | None = None
        self._changes: list[tuple[str, object]] = []
        self._due, self._closed = threading.Event(), False
        self._idle = threading.Event()
        arguments = (rig_name, options or Options())
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.name = "farhand-prediction"
        if rig_name:
            self._due.set()
            self._thread.start()
        else:
            self._idle.set()

    @classmethod
    def of(cls, scene: Scene) -> Prediction:
        """The prediction for a scene; it stays as it is if the scene has no twin."""
        twin = scene["twin"]
        if twin is None:
            return cls("", text=scene["margin"])
        return cls(twin["rig"], Options(**twin["options"]), scene["margin"])

    def change(self, path: str, value: object) -> None:
        """Tell it that a parameter was set; it predicts again, in its own time."""
        # Where the hand is does not change the prediction
        if path != UNLOGGED and self._thread.is_alive():
            self._idle.clear()
            self._changes.append((path, value))
            self._due.set()

    def settle(self, timeout: float) -> bool:
        """Wait until every change so far has been predicted; False after ``timeout`` [s]."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """End the thread, without waiting for it."""
        self._closed = True
        self._due.set()

    def _run(self, rig_name: str, options: Options) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        try:
            rig = build_rig(rig_name, options)
        except FarhandError:
            self._idle.set()
            return
        # It never runs, so nobody needs its telemetry
        rig.session.close()
        self.motion = scripted_motion(rig)
        while self._due.wait() and not self._closed:
            self._due.clear()
            self._predict(rig)
            if not self._due.is_set():
                self._idle.set()

    def _predict(self, rig: Rig) -> None:
        """Take over what was set, and predict; a newer change goes before the slower level."""
        while self._changes:
            # The session accepted it; where its twin does not, the prediction stays as it was
            with contextlib.suppress(FarhandError):
                assign(rig.session.parameters, *self._changes.pop(0))
        self.text = margin(rig, brief=True) or ""
        if not self._due.is_set():
            self.level = nearness(rig)
