"""The picture of the humanoid: limits, sole, centre of gravity and force: H-39."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.console import things
from farhand.console.scene import Scene, scene_of
from farhand.console.status import Reading
from farhand.control.haptic.synthetic import BalanceForce
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.rigs import Options, build_rig
from farhand.rigs.humanoid import PLACES
from farhand.rigs.humanoid.parts import SHOULDER
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation, changed, patched

if TYPE_CHECKING:
    import viser

    from farhand.console.drawing import Drawing

Array = np.ndarray

FORCES = (0.5, 1.0, 2.0, 3.3)  # [N]
ROUNDING = 1e-6  # of points that are sent with seven digits, [m]


@contextmanager
def drawn(scene: Scene) -> Iterator[tuple[viser.ViserServer, Drawing]]:
    """A scene on a page without visitors; it holds what a browser would be sent."""
    import viser

    from farhand.console.drawing import Drawing

    # viser prints even if it is not verbose
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer("127.0.0.1", 0, verbose=False)
        try:
            yield server, Drawing(server, scene, shadows=False)
        finally:
            server.stop()


def _scene(*settings: tuple[str, object], scenario: str | None = None) -> Scene:
    rig = build_rig("humanoid", Options(scenario=scenario, settings=list(settings)))
    try:
        return scene_of(rig)
    finally:
        rig.close()


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
    with drawn(_scene(("rig.exact", False))) as (server, _):
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
    with drawn(_scene(scenario="balance")) as (server, drawing):
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
    with drawn(_scene()) as (server, drawing):
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
    return lambda item, robot, base: iter(()) if item.name == "back" else whole(item, robot, base)


MUTATIONS = [
    Mutation("arrow-not-in-proportion", "arrows grow with √F", ("H-39",), _root_arrows),
    Mutation("centre-at-the-foot", "the centre stays at the foot", ("H-39",), _centre_at_foot),
    Mutation("no-back-sphere", "one limit is not drawn", ("H-39",)).change(
        things, "_surfaces", _without_back
    ),
]
