"""The humanoid's page, used as a visitor uses it (H-36), and what it draws (H-39).

Every control that the published interface lists on its three pages is looked for on the console's
page and used. It counts if the state of the session, or what the page requests from the run,
changes as it should. Limits, sole, centre of gravity and force must be drawn where the closed form
has them.
"""

from __future__ import annotations

import html
import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.console import things
from farhand.console.live import Live
from farhand.console.scene import scene_of
from farhand.console.serve import Tokens
from farhand.console.status import Health, Reading
from farhand.control.haptic.synthetic import BalanceForce
from farhand.errors import FarhandError
from farhand.loop.telemetry import Reader
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.humanoid import PLACES
from farhand.rigs.humanoid.parts import SHOULDER
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation, changed, patched
from farhand_lab.trial import blame, processor_wait

if TYPE_CHECKING:
    import viser

    from farhand.console.drawing import Drawing

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

Array = np.ndarray

FORCES = (0.5, 1.0, 2.0, 3.3)  # [N]
ROUNDING = 1e-6  # of points that are sent with seven digits, [m]
FRAME_S = 1.0 / 30.0
COUNTED_S = 1.5  # for which frames are counted
MIN_REFRESH_HZ = 20.0
REPLY_TIMEOUT_S = 4.0  # for a press to arrive
COUNTER_OFFSET = 0.004  # where the pen's counters began, [m]
RATE = 987.0  # given to the page, which has to show it, [Hz]


@contextmanager
def quiet_server(live: Live | None = None) -> Iterator[viser.ViserServer]:
    """A page without visitors."""
    from farhand.console.gate import open_server

    # viser prints even if it is not verbose
    with redirect_stdout(io.StringIO()):
        server = open_server("127.0.0.1", 0, Tokens(), "humanoid", live or Live())
    try:
        yield server
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()


class DashboardBench:
    """A humanoid session in virtual time, its console on a page, and an operator at it."""

    def __init__(self, server: viser.ViserServer, live: Live) -> None:
        from farhand.console.viewer import Console
        from farhand_lab.page_visitors import PageOperator

        settings: list[tuple[str, object]] = [("leader.device.inkwell.offset", COUNTER_OFFSET)]
        self.rig = build_rig("humanoid", Options(scenario="rest", settings=settings))
        self.session = self.rig.session  #: what runs
        self.limb = self.rig.world.ports["follower"]
        #: what the page requested from the run besides the session's commands
        self.requests: list[tuple[str, Any]] = []
        source = Reader(self.session.telemetry.path)
        requests: Any = self
        self.console = Console(server, source, scene_of(self.rig), requests, live)
        self._sent = 0
        self.start = self.limb.q.copy()  #: where the limb began, [rad]
        self.operator = PageOperator(
            f"http://127.0.0.1:{server.get_port()}"
        )  #: who presses and enters
        self.go(0.5)

    @property
    def servos(self) -> Any:
        """The limb's servos."""
        return self.session.stations[1].plant.servos  # type: ignore[attr-defined]

    def send(self, name: str, path: str = "", value: object = None) -> None:
        """A request of the page, as :class:`farhand.console.source.Requests` sends it."""
        if name in ("restart", "record", "deadman", "end"):
            self.requests.append((name, value))
        else:
            self.session.commands.post(name, path, value)
        self._sent += 1

    def go(self, seconds: float = 0.2) -> None:
        """Let the session go on and the page follow."""
        self.session.run(seconds)
        self.console.frame(FRAME_S, Health(40.0, RATE, 0, "calm"), False, True)

    def do(self, action: Callable[[], None], seconds: float = 0.2, requests: int = 1) -> None:
        """Have the operator do something, wait until the page has requested it, and go on."""
        before = self._sent
        action()
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while self._sent < before + requests and time.monotonic() < deadline:
            time.sleep(0.01)
        self.go(seconds)

    def press(self, *labels: str, seconds: float = 0.2, requests: int = 1) -> None:
        """Have the operator press a button, and go on."""
        self.do(lambda: self.operator.press(*labels), seconds, requests)

    def shows(self, pattern: str) -> bool:
        """Whether the panel comes to show a text."""
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while time.monotonic() < deadline:
            if re.search(pattern, html.unescape(re.sub(r"<[^>]*>", " ", self.operator.texts()))):
                return True
            time.sleep(0.02)
        return False

    def set(
        self, label: str, value: object, path: str, expected: object, seconds: float = 0.2
    ) -> bool:
        """Whether a value entered under a label becomes that of a parameter."""
        self.do(lambda: self.operator.enter(label, value), seconds)
        return self.value(path) == expected

    def value(self, path: str) -> Any:
        """A parameter of the session."""
        return next(value for known, value, _, _ in self.rig.parameters() if known == path)

    def close(self) -> None:
        """Leave the page and end the session."""
        self.operator.close()
        self.rig.close()


def _joint_angles(desk: DashboardBench) -> bool:
    angles = np.degrees(desk.console.reading.q["follower"])
    names = ("left shoulder flexion", "left shoulder abduction", "left elbow")
    rows = zip(names, angles, strict=True)
    return all(desk.shows(rf"{name}\s+{angle:.1f} °") for name, angle in rows)


def _tool_place(desk: DashboardBench) -> bool:
    # as its counters have it
    place = 1e3 * (desk.rig.world.ports["leader"].tool.position + COUNTER_OFFSET)
    numbers = r"\s".join(re.escape(f"{part:.1f}") for part in place)
    return desk.shows(rf"tool, x y z\s+{numbers} mm")


def _restarts_with(
    desk: DashboardBench, label: str, value: str, check: Callable[[Any], object], expected: object
) -> bool:
    """Whether a choice requests a new session, and a session built from the request has it."""
    desk.do(lambda: desk.operator.enter(label, value))
    name, choices = desk.requests[-1]
    settings = [(path, choice) for path, choice in choices.items() if path.startswith("rig.")]
    options = Options(choices["law"], choices["layer"], choices["scenario"], settings=settings)
    other = build_rig("humanoid", options)
    try:
        return name == "restart" and check(other) == expected
    finally:
        other.close()


def _servo_speed(desk: DashboardBench) -> bool:
    slow = desk.set("speed", "60", "follower.bus.orders.speed", 60)
    slow = slow and bool((desk.servos.speed == 60.0).all())
    return slow and desk.set("speed", "255", "follower.bus.orders.speed", 255)


def _passive(desk: DashboardBench) -> bool:
    path = "follower.bus.orders.passive"
    freed = desk.set("passive", True, path, True) and not desk.servos.powered
    return freed and desk.set("passive", False, path, False) and desk.servos.powered


def _single_joint(desk: DashboardBench) -> bool:
    """The elbow by itself, after the coupling was released."""
    desk.press("coupling", "Release")
    before = desk.limb.q.copy()
    desk.press("angle [rad]", "1.6", requests=0)
    moved = desk.set("joint", "3", "follower.single.joint", 3, 1.5)
    q = desk.limb.q
    return moved and abs(float(q[2]) - 1.6) < 0.1 and float(np.abs(q - before)[:2].max()) < 0.1


def _inverse_kinematics(desk: DashboardBench) -> bool:
    place = np.array([0.12, 0.10, -0.08])
    desk.operator.enter("x,y,z [m]", "0.12,0.10,-0.08")
    angles = np.degrees(ArmChain().solve(place, np.zeros(3)).q)
    reached = desk.shows("solved: " + ", ".join(f"{angle:.1f}°" for angle in angles))
    desk.operator.enter("x,y,z [m]", "0.9,0,0")
    return reached and desk.shows("unreachable")


def _start_stop(desk: DashboardBench) -> bool:
    """Engage, release, stop and reset, by button and by key."""
    stations = desk.session.stations
    desk.press("coupling", "Engage", seconds=0.5)
    on = desk.console.reading.engagement == 1.0
    desk.do(lambda: desk.operator.key("release"), 0.5)
    off = desk.console.reading.engagement == 0.0
    desk.do(lambda: desk.operator.key("stop"))
    stopped = all(station.guard.trip is not None for station in stations)
    stopped = stopped and desk.shows("the operator stopped")
    desk.press("after a stop", "Reset")
    return on and off and stopped and all(station.guard.trip is None for station in stations)


def _calibration(desk: DashboardBench) -> bool:
    """The check corrects counters that began in the wrong place; a second check finds them good."""
    pen, path = desk.rig.world.ports["leader"], "leader.device.inkwell.check"
    before = float(desk.console.reading.q["leader"][0] - pen.q[0])
    desk.press("coupling", "Release")
    corrected = desk.set("check", True, path, True) and desk.shows("was off, now corrected")
    after = float(desk.console.reading.q["leader"][0] - pen.q[0])
    desk.set("check", False, path, False)
    again = desk.set("check", True, path, True) and desk.shows(r"calibration\s+good")
    return corrected and again and abs(before - COUNTER_OFFSET) < 1e-4 and abs(after) < 1e-4


def _ends(desk: DashboardBench) -> bool:
    """The second press confirms the first."""
    desk.press("End the run", requests=0)
    desk.press("End the run for everybody?")
    return desk.requests[-1] == ("end", True)


def _starts_over(desk: DashboardBench) -> bool:
    """A new session begins where the first began, wherever the limb is now."""

    def away(rig: Rig) -> float:
        return float(np.abs(rig.world.ports["follower"].q - desk.start).max())

    moved = away(desk.rig) > 0.1
    desk.press("limb", "left-arm", requests=0)
    return moved and _restarts_with(desk, "scenario", "rest", away, 0.0)


CONTROLS: dict[str, Callable[[DashboardBench], bool]] = {
    "joint angles": _joint_angles,
    "end-effector position": _tool_place,
    "control method": lambda d: _restarts_with(
        d, "law", "position-position", lambda rig: rig.law, "position-position"
    ),
    "model select": lambda d: _restarts_with(
        d, "limb", "right-arm", lambda rig: rig.construction.limb, "right-arm"
    ),
    "servo speed": _servo_speed,
    "control resolution": lambda d: d.set("width [m]", "0.0005", "follower.dead_band.width", 5e-4),
    "workspace scaling": lambda d: d.set("motion scale", "3", "law.mapping.motion_scale", 3.0),
    "haptic data": lambda d: (
        d.shows(r"force, x y z\s+\S+ \S+ \S+ N \(synthetic\)")
        and d.shows(r"nearest limit\s+-?\d+ mm")
    ),
    "force bars": lambda d: d.shows(r"leader, synthetic force\s+coupled · [\d.]+ N"),
    "link states": lambda d: d.shows(r"coupling\s+engaged") and d.shows(r"battery\s+[\d.]+ V"),
    "rates": lambda d: d.shows(rf"loop\s+{RATE:.0f} Hz") and d.shows(r"servo bus\s+2\d\.\d Hz"),
    "single-joint control": _single_joint,
    "inverse-kinematics test": _inverse_kinematics,
    "active and passive servos": _passive,
    "start and stop": _start_stop,
    "home": _starts_over,
    "demonstration": lambda d: d.set("active", True, "demonstration.active", True),
    "close": _ends,
    "calibration test": _calibration,
}
"""The controls of the published pages main, miscellaneous and demonstrations, in the order of use.

State and device data had buttons there; here every frame updates them.
"""


def frames(desk: DashboardBench) -> float:
    """How often the state on the page is new, counted where it arrives, [Hz]."""
    items, changes = desk.operator.items, desk.operator.changes
    (state,) = [
        uuid for uuid, item in items.items() if "tool, x y z" in str(item["props"].get("content"))
    ]
    desk.press("coupling", "Engage")
    desk.session.commands.post("set", "hand.drag", [0.0, 0.02, 0.0])
    before, began = changes.get(state, 0), time.monotonic()
    while time.monotonic() - began < COUNTED_S:
        turn = time.monotonic()
        desk.session.run(0.01)
        desk.console.frame(FRAME_S, Health(40.0, RATE, 0), False, False)
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - turn)))
    return (changes.get(state, 0) - before) / (time.monotonic() - began)


@experiment("H-36")
def dashboard() -> Finding:
    """An operator without a browser uses every control by the page's protocol; frames count too."""
    began, waited = time.monotonic(), processor_wait()
    live = Live()
    with quiet_server(live) as server, closing(DashboardBench(server, live)) as desk:
        missing = [name for name, works in CONTROLS.items() if not _try(works, desk)]
        refresh = max(frames(desk) for _ in range(2))
    waited = (processor_wait() - waited) / (time.monotonic() - began)
    fast = refresh >= MIN_REFRESH_HZ
    times = "more than 20" if fast else f"{refresh:.1f}"
    note = f"not bound: {', '.join(missing)}" if missing else f"all of {', '.join(CONTROLS)}"
    note += f"; refreshed {times} times a second"
    if missing or not fast:
        note += f"; {blame(waited)}"
    return Finding(len(CONTROLS) - len(missing), not missing and fast, note)


def _try(works: Callable[[DashboardBench], bool], desk: DashboardBench) -> bool:
    """Whether a control works; one that is not there does not."""
    try:
        return works(desk)
    except FarhandError:
        return False


@contextmanager
def drawn(
    *settings: tuple[str, object], scenario: str | None = None
) -> Iterator[tuple[viser.ViserServer, Drawing]]:
    """The humanoid's scene on a page; it holds what a browser would be sent."""
    from farhand.console.drawing import Drawing

    rig = build_rig("humanoid", Options(scenario=scenario, settings=list(settings)))
    with closing(rig):
        scene = scene_of(rig)
    with quiet_server() as server:
        yield server, Drawing(server, scene)


def _points(server: viser.ViserServer, node: str) -> Array | None:
    """Points of what a node draws, in world, [m]; None where there is no such node."""
    handle: Any = server.scene.get_handle_by_name(node)
    if handle is None:
        return None
    places = handle.vertices if hasattr(handle, "vertices") else handle.points
    return np.asarray(places, dtype=float).reshape(-1, 3)


def _on_sphere(points: Array | None, centre: Array, radius: float) -> bool:
    """Whether all points lie on a sphere, and all around it."""
    if points is None:
        return False
    off = float(np.abs(np.linalg.norm(points - centre, axis=1) - radius).max())
    return off < ROUNDING and float(np.ptp(points, axis=0).min()) > 1.9 * radius


def _limits() -> dict[str, bool]:
    """The published limits of the arm's workspace, where the published approximation has them."""
    arm, shoulder = ArmChain(), np.array(PLACES["follower"]) + SHOULDER
    # the elbow at -45° of flexion
    back = shoulder + arm.upper * np.array([-np.sqrt(0.5), 0.0, -np.sqrt(0.5)])
    near, far = arm.reach
    spheres = {"outer": (shoulder, far), "inner": (shoulder, near), "back": (back, arm.fore)}
    with drawn(("rig.exact", False)) as (server, _):
        right = {
            f"{name} sphere": _on_sphere(_points(server, f"/limits/follower_{name}"), *sphere)
            for name, sphere in spheres.items()
        }
        plane = _points(server, "/limits/follower_sagittal")
    right["plane"] = _close(plane if plane is None else plane[:, 1], shoulder[1])
    return right


def _close(values: Array | None, expected: Array) -> bool:
    return values is not None and float(np.abs(values - expected).max()) < ROUNDING


def _standing() -> dict[str, bool]:
    """The sole and, above it, the centre of gravity, in two postures of the leg."""
    foot, leg, sole = np.array(PLACES["follower"]), LegChain(), BalanceForce()
    xs, ys = zip(sole.low, sole.high, strict=True)
    corners = np.array([[x, y] for x in xs for y in ys]) + foot[:2]
    with drawn(scenario="balance") as (server, drawing):
        points = _points(server, "/balance/follower/sole")
        right, inside = True, []
        for q in (np.array([0.0, 0.17, 0.35]), np.array([0.4, 0.17, 0.35])):
            drawing.update(Reading(q={"follower": q}))
            ball: Any = server.scene.get_handle_by_name("/balance/follower/centre")
            drop = _points(server, "/balance/follower/drop")
            centre = foot + leg.centre(q)
            right &= ball is not None and _close(np.array(ball.position), centre)
            right &= _close(drop if drop is None else drop[1, :2], centre[:2])
            label: Any = server.scene.get_handle_by_name("/balance/follower/margin")
            inside.append(" inside " in label.text)
    off = np.inf
    if points is not None:
        off = np.abs(points[:, None, :2] - corners).sum(axis=2).min(axis=1).max()
    centred = bool(right and inside == [True, False])
    return {"sole": bool(off < ROUNDING), "centre of gravity": centred}


def _arrows() -> tuple[dict[str, bool], float]:
    """Whether the arrow on the pen points along its force, and its error of proportion, [-]."""
    along = np.array([0.6, 0.0, -0.8])
    lengths, straight = [], True
    with drawn() as (server, drawing):
        for size in FORCES:
            drawing.update(Reading(force={"leader": size * along}))
            arrow: Any = server.scene.get_handle_by_name("/forces/leader")
            tip = np.array(arrow.points[0][1], dtype=float)
            lengths.append(float(np.linalg.norm(tip)))
            straight &= float(np.linalg.norm(np.cross(tip, along))) < ROUNDING < float(tip @ along)
    gain = np.array(lengths) / np.array(FORCES)
    return {"arrow along the force": straight}, float(np.ptp(gain) / gain.mean())


@experiment("H-39")
def picture() -> Finding:
    """The scene that a browser gets: each thing where the kinematics have it, to rounding."""
    arrows, off = _arrows()
    things = _limits() | _standing() | arrows | {"arrow ∝ F": off < 1e-5}
    wrong = [name for name, right in things.items() if not right]
    note = "in the scene, each where the closed form has it: " + ", ".join(things)
    if wrong:
        note = f"missing or misplaced: {', '.join(wrong)}"
    return Finding(len(things) - len(wrong), not wrong, note)


def _loose_forms() -> AbstractContextManager[None]:
    from farhand.console.tuning import Tuning

    def shown(self: Any, path: str) -> Any:
        return next(i.value for i in self._inputs[path])

    return patched(Tuning, "_shown", shown)


def _frozen_state() -> AbstractContextManager[None]:
    from farhand.console import controls

    return patched(controls, "state", lambda reading, scene, kinematics: "tool, x y z")


def _root_arrows() -> AbstractContextManager[None]:
    from farhand.console.nodes import Arrow

    def wrap(point: Any) -> Any:
        def broken(self: Arrow, tool: Any, force: Array, word: str = "") -> Any:
            return point(self, tool, force / float(np.linalg.norm(force) + 1e-9) ** 0.5, word)

        return broken

    return changed(Arrow, "point", wrap)


def _centre_at_foot() -> AbstractContextManager[None]:
    from farhand.console.nodes import Balance

    return patched(Balance, "centre", lambda self, kinematics: np.array(PLACES["follower"]))


def _without_back(whole: Any) -> Any:
    return lambda item, base: np.zeros((1, 2, 3)) if item.name == "back" else whole(item, base)


MUTATIONS = [
    Mutation("loose-forms", "forms show values and pass none on", ("H-36",), _loose_forms),
    Mutation("frozen-state", "the state on the page is never new", ("H-36",), _frozen_state),
    Mutation("arrow-not-in-proportion", "arrows grow with √F", ("H-39",), _root_arrows),
    Mutation("centre-at-the-foot", "the centre stays at the foot", ("H-39",), _centre_at_foot),
    Mutation("no-back-sphere", "one limit is not drawn", ("H-39",)).change(
        things, "_lines", _without_back
    ),
]
