"""The dashboard of the humanoid, worked by a script as a visitor works it: H-36.

Every control that the published interface lists on its three pages is looked for on the console's
page and used; it counts if the state of the session, or what the page asks the run for, changes as
it should.
"""

from __future__ import annotations

import html
import io
import re
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from types import TracebackType
from typing import Any

import numpy as np

from farhand.console.scene import scene_of
from farhand.console.status import Health
from farhand.errors import FarhandError
from farhand.loop.telemetry import Reader
from farhand.mapping.limbs import ArmChain
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation, changed, patched

Array = np.ndarray

FRAME = 1.0 / 30.0  # [s]
WATCHED = 1.5  # [s] for which frames are counted
SLOWEST = 20.0  # [1/s]
REPLY_TIMEOUT_S = 4.0  # [s], for a press to arrive
OFF = 0.004  # [m], where the pen's counters began
RATE = 987.0  # [Hz], told to the page, which has to say it again


class DashboardBench:
    """A humanoid session in virtual time, its console on a page, and an operator at it.

    Attributes:
        session: what runs.
        start: where the limb began, [rad].
        asked: what the page asked the run for beside the session's commands.
        hands: the operator.
    """

    def __init__(self) -> None:
        from viser import ViserServer

        from farhand.console.operator import Operator
        from farhand.console.viewer import Console

        self.rig = build_rig(
            "humanoid", Options(scenario="rest", settings=[("leader.device.inkwell.offset", OFF)])
        )
        self.session, self.asked = self.rig.session, list[tuple[str, Any]]()
        with redirect_stdout(io.StringIO()):  # viser has a word to say, asked or not
            self._server = ViserServer("127.0.0.1", 0, verbose=False)
        source = Reader(self.session.telemetry.path)
        self.console = Console(self._server, source, scene_of(self.rig), self, shadows=False)  # type: ignore[arg-type]
        self._sent, self.start = 0, self.rig.world.ports["follower"].q.copy()
        self.hands = Operator(f"http://127.0.0.1:{self._server.get_port()}")
        self.go(0.5)

    def send(self, name: str, path: str = "", value: object = None) -> None:
        """What the page asks for: as :class:`farhand.console.requests.Requests`, straight to the session."""
        if name in ("restart", "record", "deadman", "end"):
            self.asked.append((name, value))
        else:
            self.session.commands.post(name, path, value)
        self._sent += 1

    def go(self, seconds: float = 0.2) -> None:
        """Let the session go on and the page follow."""
        self.session.run(seconds)
        self.console.frame(FRAME, Health(40.0, RATE, 0, "calm"), False, True)

    def do(self, what: Callable[[], None], seconds: float = 0.2, requests: int = 1) -> None:
        """Have the operator do something, wait until the page has asked for it, and go on."""
        before = self._sent
        what()
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while self._sent < before + requests and time.monotonic() < deadline:
            time.sleep(0.01)
        self.go(seconds)

    def says(self, pattern: str) -> bool:
        """Whether the panel comes to say something."""
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while time.monotonic() < deadline:
            if re.search(pattern, html.unescape(re.sub(r"<[^>]*>", " ", self.hands.texts()))):
                return True
            time.sleep(0.02)
        return False

    def set(
        self, label: str, value: object, path: str, wanted: object, seconds: float = 0.2
    ) -> bool:
        """Whether a value entered under a label becomes that of a parameter."""
        self.do(lambda: self.hands.enter(label, value), seconds)
        return self.value(path) == wanted

    def value(self, path: str) -> Any:
        """A parameter of the session."""
        return next(value for known, value, _, _ in self.rig.parameters() if known == path)

    def __enter__(self) -> DashboardBench:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.hands.close()
        with redirect_stdout(io.StringIO()):
            self._server.stop()
        self.rig.close()


def _joint_angles(desk: DashboardBench) -> bool:
    angles = np.degrees(desk.console.reading.q["follower"])
    names = ("left shoulder flexion", "left shoulder abduction", "left elbow")
    return all(
        desk.says(rf"{name}\s+{angle:.1f} °") for name, angle in zip(names, angles, strict=True)
    )


def _tool_place(desk: DashboardBench) -> bool:
    place = 1e3 * (desk.rig.world.ports["leader"].tool.position + OFF)  # as its counters have it
    return desk.says(
        r"tool, x y z\s+" + r"\s".join(re.escape(f"{part:.1f}") for part in place) + " mm"
    )


def _anew(
    desk: DashboardBench, label: str, value: str, check: Callable[[Any], object], wanted: object
) -> bool:
    """Whether a choice asks for a new session, and the session that is built from it has what was chosen."""
    desk.do(lambda: desk.hands.enter(label, value))
    name, wishes = desk.asked[-1]
    settings = [(path, choice) for path, choice in wishes.items() if path.startswith("rig.")]
    other = build_rig(
        "humanoid", Options(wishes["law"], wishes["layer"], wishes["scenario"], settings=settings)
    )
    try:
        return name == "restart" and check(other) == wanted
    finally:
        other.close()


def _servo_speed(desk: DashboardBench) -> bool:
    servos = desk.rig.session.stations[1].plant.servos  # type: ignore[attr-defined]
    slow = desk.set("speed", "60", "follower.bus.orders.speed", 60) and bool(
        (servos.speed == 60.0).all()
    )
    return slow and desk.set("speed", "255", "follower.bus.orders.speed", 255)


def _passive(desk: DashboardBench) -> bool:
    servos = desk.rig.session.stations[1].plant.servos  # type: ignore[attr-defined]
    freed = desk.set("passive", True, "follower.bus.orders.passive", True) and not servos.powered
    return (
        freed
        and desk.set("passive", False, "follower.bus.orders.passive", False)
        and servos.powered
    )


def _single_joint(desk: DashboardBench) -> bool:
    """The elbow by itself, after the coupling was released."""
    desk.do(lambda: desk.hands.press("coupling", "Release"))
    before = desk.rig.world.ports["follower"].q.copy()
    desk.do(lambda: desk.hands.press("angle [rad]", "1.6"), requests=0)
    moved = desk.set("joint", "3", "follower.single.joint", 3, 1.5)
    q = desk.rig.world.ports["follower"].q
    return moved and abs(float(q[2]) - 1.6) < 0.1 and float(np.abs(q - before)[:2].max()) < 0.1


def _inverse_kinematics(desk: DashboardBench) -> bool:
    place = np.array([0.12, 0.10, -0.08])
    desk.hands.enter("x,y,z [m]", "0.12,0.10,-0.08")
    found = np.degrees(ArmChain().solve(place, np.zeros(3)).q)
    reached = desk.says("solved: " + ", ".join(f"{angle:.1f}°" for angle in found))
    desk.hands.enter("x,y,z [m]", "0.9,0,0")
    return reached and desk.says("unreachable")


def _start_stop(desk: DashboardBench) -> bool:
    """Engage, release, stop and reset, by button and by key."""
    stations, bridge = desk.session.stations, desk.session.bridges[0]
    desk.do(lambda: desk.hands.press("coupling", "Engage"), 0.5)
    on = desk.console.reading.engagement == 1.0
    desk.do(lambda: desk.hands.key("Release"), 0.5)
    off = desk.console.reading.engagement == 0.0 and bool(bridge)
    desk.do(lambda: desk.hands.press("STOP  (Esc)"))
    stopped = all(station.guard.trip is not None for station in stations) and desk.says(
        "the operator stopped"
    )
    desk.do(lambda: desk.hands.press("trips", "Reset"))
    return on and off and stopped and all(station.guard.trip is None for station in stations)


def _calibration(desk: DashboardBench) -> bool:
    """Counters that began in the wrong place are set right by the check, the pen in its inkwell; then they are good."""
    pen = desk.rig.world.ports["leader"]
    before = float(desk.console.reading.q["leader"][0] - pen.q[0])
    desk.do(lambda: desk.hands.press("coupling", "Release"))
    corrected = desk.set("check", True, "leader.device.inkwell.check", True) and desk.says(
        "was off, now corrected"
    )
    after = float(desk.console.reading.q["leader"][0] - pen.q[0])
    desk.set("check", False, "leader.device.inkwell.check", False)
    again = desk.set("check", True, "leader.device.inkwell.check", True) and desk.says(
        r"calibration\s+good"
    )
    return corrected and again and abs(before - OFF) < 1e-4 and abs(after) < 1e-4


def _ends(desk: DashboardBench) -> bool:
    desk.do(lambda: desk.hands.press("End the run"))
    return desk.asked[-1][0] == "end"


def _starts_over(desk: DashboardBench) -> bool:
    """A new session begins where the first began, wherever the limb is now."""
    away = float(np.abs(desk.rig.world.ports["follower"].q - desk.start).max())
    desk.do(lambda: desk.hands.press("limb", "left-arm"), requests=0)
    there = _anew(
        desk,
        "scenario",
        "rest",
        lambda rig: np.abs(rig.world.ports["follower"].q - desk.start).max(),
        0.0,
    )
    return away > 0.1 and there


CONTROLS: dict[str, Callable[[DashboardBench], bool]] = {
    "joint angles": _joint_angles,
    "end-effector position": _tool_place,
    "control method": lambda d: _anew(
        d, "law", "position-position", lambda rig: rig.law, "position-position"
    ),
    "model select": lambda d: _anew(
        d, "limb", "right-arm", lambda rig: rig.construction.limb, "right-arm"
    ),
    "servo speed": _servo_speed,
    "control resolution": lambda d: d.set("width [m]", "0.0005", "follower.dead_band.width", 5e-4),
    "workspace scaling": lambda d: d.set("motion scale", "3", "law.mapping.motion_scale", 3.0),
    "haptic data": lambda d: (
        d.says(r"force, x y z\s+\S+ \S+ \S+ N \(synthetic\)")
        and d.says(r"nearest limit\s+-?\d+ mm")
    ),
    "force bars": lambda d: d.says(r"leader, synthetic force\s+coupled · [\d.]+ N"),
    "link states": lambda d: d.says(r"coupling\s+engaged") and d.says(r"battery\s+[\d.]+ V"),
    "rates": lambda d: d.says(rf"loop\s+{RATE:.0f} Hz") and d.says(r"its bus\s+2\d\.\d Hz"),
    "single-joint control": _single_joint,
    "inverse-kinematics test": _inverse_kinematics,
    "active and passive servos": _passive,
    "start and stop": _start_stop,
    "home": _starts_over,
    "demonstration": lambda d: d.set("active", True, "demonstration.active", True),
    "close": _ends,
    "calibration test": _calibration,
}
"""The controls of the published pages main, miscellaneous and demonstrations, in the order they are
tried in.

Updating the state and the device data, which had buttons there, is what every frame does here.
"""


def frames(desk: DashboardBench) -> float:
    """How often a second the state on the page is new, counted where it arrives, [1/s]."""
    hands = desk.hands
    (state,) = [
        uuid
        for uuid, item in hands.items.items()
        if "tool, x y z" in str(item["props"].get("content"))
    ]
    desk.do(lambda: hands.press("coupling", "Engage"))
    desk.session.commands.post("set", "hand.drag", [0.0, 0.02, 0.0])
    before, began = hands.changes.get(state, 0), time.monotonic()
    while time.monotonic() - began < WATCHED:
        turn = time.monotonic()
        desk.session.run(0.01)
        desk.console.frame(FRAME, Health(40.0, RATE, 0), False, False)
        time.sleep(max(0.0, FRAME - (time.monotonic() - turn)))
    return (hands.changes.get(state, 0) - before) / (time.monotonic() - began)


@experiment("H-36")
def dashboard() -> Finding:
    """An operator without a browser uses every control over the page's own protocol; frames are counted there too."""
    with DashboardBench() as desk:
        lacking = [name for name, works in CONTROLS.items() if not _tried(works, desk)]
        refresh = max(frames(desk) for _ in range(2))
    note = f"not bound: {', '.join(lacking)}" if lacking else f"all of {', '.join(CONTROLS)}"
    fast = refresh >= SLOWEST
    note += (
        "; refreshed more than 20 times a second"
        if fast
        else f"; refreshed {refresh:.1f} times a second"
    )
    return Finding(len(CONTROLS) - len(lacking), not lacking and fast, note)


def _tried(works: Callable[[DashboardBench], bool], desk: DashboardBench) -> bool:
    """A control that is not there at all is not bound either."""
    try:
        return works(desk)
    except FarhandError:
        return False


def _controls() -> Any:
    from farhand.console.tuning import Tuning

    return Tuning


def _viewer() -> Any:
    from farhand.console import controls

    return controls


MUTATIONS = [
    Mutation(
        "loose-forms",
        "forms show values and pass none on",
        ("H-36",),
        lambda: patched(
            _controls(), "_shown", lambda self, path: next(i.value for i in self._inputs[path])
        ),
    ),
    Mutation(
        "still-state",
        "the state on the page is never renewed",
        ("H-36",),
        lambda: changed(
            _viewer(), "state", lambda whole: lambda reading, scene, kinematics: "tool, x y z"
        ),
    ),
]
