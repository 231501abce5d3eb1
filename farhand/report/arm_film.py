"""A run of a leader and a follower as a film: stick figures, forces and the wall, on a canvas.

The page draws it itself from the recorded joints, so it needs no browser while it is written and
takes a tenth of the room of a GIF.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

import mujoco
import numpy as np

from farhand.analysis.history import History
from farhand.report.figures import FOLLOWER, LEADER
from farhand.report.team_film import EYE
from farhand.rigs import Rig
from farhand.world import Wall, World

Array = np.ndarray

COLOURS = {"leader": LEADER, "follower": FOLLOWER}
FRAME_S = 0.1
"""Time between two drawings, [s]; longer if there would be too many."""

MAX_FRAMES = 400
ARROW_MM_PER_N = 2.0
MIN_FORCE_N = 1.0
"""A smaller force is not drawn."""

WALL_HALF_M = 0.25
"""Half the edge of the part of the wall that is drawn; a wall has no end."""


def film_of(rig: Rig) -> str:
    """The film of a run as HTML; empty if not every robot was recorded."""
    history, world = rig.metrics.history, rig.world
    streams = history.reader.header["streams"]
    if "follower" not in world.placed or not all(
        name in streams and len(history.times(name)) for name in world.placed
    ):
        return ""
    end = min(float(history.times(name)[-1]) for name in world.placed)
    times = np.linspace(0.0, end, max(2, min(MAX_FRAMES, round(end / FRAME_S))))
    joints = np.hstack([_at(history, name, "q", times) for name in world.placed])
    if joints.shape[1] != world.model.nq or not np.isfinite(joints).all():
        return ""
    content: dict[str, Any] = {"step": float(times[1] - times[0])}
    content["arms"] = _arms(world, history, times, joints)
    tool = history.signal("follower", "position_tool_in_world")
    content["wall"] = _corners(rig.parts.wall, tool)
    return _html(content, end)


def _at(history: History, stream: str, channel: str, times: Array) -> Array:
    """A signal at these times: the record before each."""
    rows = np.searchsorted(history.times(stream), times, side="right") - 1
    return history.signal(stream, channel)[rows.clip(0)]


def _arms(world: World, history: History, times: Array, joints: Array) -> list[dict[str, Any]]:
    """Every robot: its bodies' places in the picture over time, what joins them, its forces."""
    model, data = world.model, mujoco.MjData(world.model)
    bodies = {
        name: [k for k in range(model.nbody) if model.body(k).name.startswith(f"{name}/")]
        for name in world.placed
    }
    places: dict[str, list[Array]] = {name: [] for name in bodies}
    for q in joints:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        for name, own in bodies.items():
            tool = data.site(f"{name}/{world.placed[name].robot.tool}").xpos
            places[name].append(_seen(np.vstack([data.xpos[own], tool])))
    return [
        {
            "name": name,
            "colour": COLOURS.get(name, "#5b6472"),
            "bones": _bones(model, own, world.placed[name].robot.tool, name),
            "points": [points.ravel().tolist() for points in places[name]],
            **_forces(history, name, times),
        }
        # What is farther away is drawn first
        for name, own in sorted(bodies.items(), key=lambda item: places[item[0]][0][0, 1])
    ]


def _bones(model: mujoco.MjModel, bodies: list[int], tool: str, name: str) -> list[list[int]]:
    """Pairs of points that a line joins: each body and its parent, and the tool."""
    number = {body: index for index, body in enumerate(bodies)}
    parents = {body: int(model.body_parentid[body]) for body in bodies}
    bones = [[number[up], number[body]] for body, up in parents.items() if up in number]
    holder = int(model.site(f"{name}/{tool}").bodyid[0])
    return [*bones, [number[holder], len(bodies)]]


def _forces(history: History, name: str, times: Array) -> dict[str, Any]:
    """What is measured at the tool: arrows in the picture [mm] and their size [N]."""
    force = np.nan_to_num(_at(history, name, "wrench_measured_in_world", times)[:, :3])
    size = np.linalg.norm(force, axis=1)
    force[size < MIN_FORCE_N] = 0.0
    arrows = np.rint(ARROW_MM_PER_N * force @ EYE.T).astype(int)
    return {"arrows": arrows.tolist(), "forces": np.rint(size).astype(int).tolist()}


def _corners(wall: Wall | None, tool: Array) -> list[int]:
    """The corners of the wall in the picture, around where the follower's tool meets it; or none.

    Args:
        wall: that may be there.
        tool: where the follower's tool was, one row per record, [m].
    """
    if wall is None or not wall.present:
        return []
    normal = wall.normal / np.linalg.norm(wall.normal)
    distance = (tool - wall.point) @ normal
    nearest = int(np.nanargmin(distance))
    middle = tool[nearest] - distance[nearest] * normal
    # Two edges of the square: level where the wall stands, along y where it lies
    across = np.cross(normal, [0.0, 0.0, 1.0])
    across = across / np.linalg.norm(across) if across.any() else np.array([0.0, 1.0, 0.0])
    edges = WALL_HALF_M * np.array([across, np.cross(across, normal)])
    corners = middle + np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) @ edges
    return [int(value) for value in _seen(corners).ravel()]


def _seen(points: Array) -> Array:
    """Points in world [m] as the picture has them, [mm], y downwards."""
    return np.rint(1e3 * (points @ EYE.T) * (1.0, -1.0)).astype(int)


def _html(content: dict[str, Any], end: float) -> str:
    names = " and ".join(arm["name"] for arm in content["arms"])
    caption = f"The run as it was recorded: {names}, and the forces measured at their tools"
    data = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return (
        '<figure class="film"><canvas width="880" height="500" role="img" '
        f'aria-label="{escape(caption, quote=True)}"></canvas>'
        '<div><button type="button">Pause</button> <input type="range" aria-label="time" '
        f'min="0" max="{end:.2f}" step="0.01" value="0"> <output>0.0 s</output></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n<script>\n"
        f"const film = {data};\n{PLAYER}</script>"
    )


PLAYER = """
(() => {
  const box = document.querySelector("figure.film"), canvas = box.querySelector("canvas");
  const pen = canvas.getContext("2d"), slider = box.querySelector("input");
  const button = box.querySelector("button"), shown = box.querySelector("output");
  const all = film.arms.flatMap(arm => arm.points.flat()).concat(film.wall);
  const side = k => all.filter((_, i) => i % 2 === k);
  const least = [0, 1].map(k => side(k).reduce((a, b) => Math.min(a, b)));
  const most = [0, 1].map(k => side(k).reduce((a, b) => Math.max(a, b)));
  const scale = Math.min(740 / (most[0] - least[0]), 390 / (most[1] - least[1]));
  const shift = [0, 1].map(k => [440, 260][k] - scale * (least[k] + most[k]) / 2);
  const at = (x, y) => [scale * x + shift[0], scale * y + shift[1]];
  const end = Number(slider.max);
  let time = 0, before = null, playing = true;

  function arrow(x, y, dx, dy, colour) {
    const [ax, ay] = at(x, y), [bx, by] = at(x + dx, y + dy);
    const angle = Math.atan2(by - ay, bx - ax);
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 3;
    pen.beginPath(); pen.moveTo(ax, ay); pen.lineTo(bx, by); pen.stroke();
    pen.beginPath(); pen.moveTo(bx, by);
    for (const turn of [2.6, -2.6])
      pen.lineTo(bx + 13 * Math.cos(angle + turn), by + 13 * Math.sin(angle + turn));
    pen.fill();
  }
  function draw() {
    pen.fillStyle = "#fff"; pen.fillRect(0, 0, canvas.width, canvas.height);
    if (film.wall.length) {
      pen.beginPath();
      for (let i = 0; i < 8; i += 2) pen.lineTo(...at(film.wall[i], film.wall[i + 1]));
      pen.closePath(); pen.fillStyle = "#e9d3e3"; pen.fill();
    }
    pen.font = "15px system-ui, sans-serif"; pen.lineCap = "round";
    film.arms.forEach((arm, row) => {
      const whole = time / film.step, last = arm.points.length - 1;
      const k = Math.min(Math.floor(whole), last), next = Math.min(k + 1, last), part = whole - k;
      const points = arm.points[k].map((v, i) => v + part * (arm.points[next][i] - v));
      pen.strokeStyle = pen.fillStyle = arm.colour;
      for (const [a, b] of arm.bones) {
        pen.lineWidth = 9; pen.globalAlpha = 0.75; pen.beginPath();
        pen.moveTo(...at(points[2 * a], points[2 * a + 1]));
        pen.lineTo(...at(points[2 * b], points[2 * b + 1])); pen.stroke();
        pen.globalAlpha = 1; pen.beginPath();
        pen.arc(...at(points[2 * b], points[2 * b + 1]), 6, 0, 7); pen.fill();
      }
      const [x, y] = points.slice(-2), [dx, dy] = arm.arrows[k];
      if (dx || dy) arrow(x, y, dx, -dy, "#39424e");
      pen.fillStyle = arm.colour;
      const force = arm.forces[k] ? `: ${arm.forces[k]} N` : "";
      pen.fillText(arm.name + force, 16, 28 + 22 * row);
    });
    slider.value = time; shown.value = `${time.toFixed(1)} s`;
  }
  function tick(now) {
    if (playing && before !== null) time = (time + (now - before) / 1000) % end;
    before = now;
    draw();
    if (playing) requestAnimationFrame(tick);
  }
  button.onclick = () => {
    playing = !playing; before = null;
    button.textContent = playing ? "Pause" : "Play";
    requestAnimationFrame(tick);
  };
  slider.oninput = () => { time = Number(slider.value); draw(); };
  requestAnimationFrame(tick);
})();
"""
