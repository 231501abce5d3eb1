"""The picture of the humanoid: limits, sole, centre of gravity and force: H-39."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.console import bounds
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
ROUNDING = 1e-6  # [m], of points that are sent with seven digits


@contextmanager
def drawn(scene: Scene) -> Iterator[tuple[viser.ViserServer, Drawing]]:
    """A scene on a page nobody looks at; what it holds is what a browser would be sent."""
    import viser

    from farhand.console.drawing import Drawing

    with redirect_stdout(io.StringIO()):  # viser has a word to say, asked or not
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
    off = np.linalg.norm(points - centre, axis=1) - radius
    return (
        float(np.abs(off).max()) < ROUNDING and float(np.ptp(points, axis=0).min()) > 1.9 * radius
    )


def _limits() -> dict[str, bool]:
    """The published limits of the arm's workspace, where the published approximation has them."""
    arm, shoulder = ArmChain(), np.array(PLACES["follower"]) + SHOULDER
    # the elbow at -45° of flexion
    back = shoulder + arm.upper * np.array([-np.sqrt(0.5), 0.0, -np.sqrt(0.5)])
    near, far = arm.reach
    with drawn(_scene(("rig.exact", False))) as (server, _):
        plane = _points(server, "/limits/follower_sagittal")
        return {
            "outer sphere": _on_sphere(_points(server, "/limits/follower_outer"), shoulder, far),
            "inner sphere": _on_sphere(_points(server, "/limits/follower_inner"), shoulder, near),
            "back sphere": _on_sphere(_points(server, "/limits/follower_back"), back, arm.fore),
            "plane": plane is not None
            and float(np.abs(plane[:, 1] - shoulder[1]).max()) < ROUNDING,
        }


def _standing() -> dict[str, bool]:
    """The sole and, above it, the centre of gravity, in two postures of the leg."""
    foot, leg, sole = np.array(PLACES["follower"]), LegChain(), BalanceForce()
    corners = (
        np.array([[x, y] for x in (sole.low[0], sole.high[0]) for y in (sole.low[1], sole.high[1])])
        + foot[:2]
    )
    with drawn(_scene(scenario="balance")) as (server, drawing):
        points = _points(server, "/balance/follower/sole")
        right, inside = True, []
        for q in (np.array([0.0, 0.17, 0.35]), np.array([0.4, 0.17, 0.35])):
            drawing.update(Reading(q={"follower": q}))
            ball: Any = server.scene.get_handle_by_name("/balance/follower/centre")
            drop = _points(server, "/balance/follower/drop")
            centre = foot + leg.centre(q)
            right &= (
                ball is not None
                and float(np.abs(np.array(ball.position) - centre).max()) < ROUNDING
            )
            right &= drop is not None and float(np.abs(drop[1, :2] - centre[:2]).max()) < ROUNDING
            label: Any = server.scene.get_handle_by_name("/balance/follower/margin")
            inside.append(" inside " in label.text)
        away = (
            np.inf
            if points is None
            else np.abs(points[:, None, :2] - corners).sum(axis=2).min(axis=1).max()
        )
        return {
            "sole": bool(away < ROUNDING),
            "centre of gravity": bool(right and inside == [True, False]),
        }


def _arrows() -> tuple[dict[str, bool], float]:
    """Whether the arrow on the pen points along its force, and by how much its length is off proportion, [-]."""
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
    """What is in the scene that a browser gets: each thing where the kinematics have it, to the rounding of a float."""
    arrows, off = _arrows()
    found = _limits() | _standing() | arrows | {"arrow ∝ F": off < 1e-5}
    wrong = [name for name, right in found.items() if not right]
    note = "in the scene, each where the closed form has it: " + ", ".join(found)
    return Finding(
        len(found) - len(wrong),
        not wrong,
        note if not wrong else f"missing or misplaced: {', '.join(wrong)}",
    )


def _rooted(whole: Any) -> Any:
    """Arrows that grow with the root of the force."""
    return lambda self, tool, force, word="": whole(
        self, tool, force / float(np.linalg.norm(force) + 1e-9) ** 0.5, word
    )


def _without_back(whole: Any) -> Any:
    return lambda item, robot, base: iter(()) if item.name == "back" else whole(item, robot, base)


def _arrow_type() -> Any:
    from farhand.console.arrows import Arrow

    return Arrow


def _balance_type() -> Any:
    from farhand.console.balance import Balance

    return Balance


MUTATIONS = [
    Mutation(
        "arrow-not-in-proportion",
        "arrows grow with √F",
        ("H-39",),
        lambda: changed(_arrow_type(), "point", _rooted),
    ),
    Mutation("no-back-sphere", "one limit is not drawn", ("H-39",)).change(
        bounds, "_surfaces", _without_back
    ),
    Mutation(
        "centre-at-the-foot",
        "the centre of gravity stays at the foot",
        ("H-39",),
        lambda: patched(
            _balance_type(), "centre", lambda self, kinematics: np.array(PLACES["follower"])
        ),
    ),
]
