"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 860px)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const BEFORE_CONTACT_S = 1.5; // where a changed run begins to play
const ARROW = 0.0025; // length of force arrows, [m/N]
const LONGEST_ARROW = 0.35; // [m]
const TRAIL_S = 1.5;

const chosen = { ...data.steps[0], step: 0 };
let run = null; // the recorded run that is shown, or what refused it
let reference = null; // the same law and wall without delay and layer
let time = 0;
let playing = !still.matches;

// -- Recorded runs ---------------------------------------------------------------------------------

const decoded = new Map();
const nameOf = (law, layer, wall, delay) => `${law}/${layer}/${wall}/${delay}`;

async function fetched(name) {
  if (!decoded.has(name)) decoded.set(name, decode(data.runs[name]));
  return decoded.get(name);
}

// The opposite of pack() in runs.py.
async function decode(row) {
  if (!row || row.refused) return { refused: row ? row.refused : "this run was not recorded" };
  const bytes = Uint8Array.from(atob(row.samples), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const steps = new Int16Array(await new Response(stream).arrayBuffer());
  const width = data.channels.reduce((sum, [, columns]) => sum + columns, 0);
  const count = steps.length / width;
  const signals = {};
  let first = 0;
  for (const [name, columns, step] of data.channels) {
    signals[name] = [];
    for (let column = 0; column < columns; column++, first++) {
      const values = new Float32Array(count);
      let sum = 0;
      for (let row = 0; row < count; row++) {
        sum = ((sum + steps[first * count + row]) << 16) >> 16;
        values[row] = sum === data.missing ? NaN : sum * step;
      }
      signals[name].push(values);
    }
  }
  const tools = [0, 6].map((joint) => Array.from({ length: count }, (_, row) => toolAt(placesOf(signals.q, joint, row))));
  return { ...row, ...signals, count, tools };
}

// -- Kinematics and projection ---------------------------------------------------------------------

const times = (A, B) => [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j]));
const turned = (R, p) => [0, 1, 2].map((i) => R[3 * i] * p[0] + R[3 * i + 1] * p[1] + R[3 * i + 2] * p[2]);
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];

function about([x, y, z], angle) {
  const c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [c + x * x * d, x * y * d - z * s, x * z * d + y * s, y * x * d + z * s, c + y * y * d, y * z * d - x * s,
    z * x * d - y * s, z * y * d + x * s, c + z * z * d];
}

// Place and rotation of every body of an arm, whose joints begin at a column of q.
function placesOf(q, joint, row) {
  const places = [];
  for (const body of data.drawing.bodies) {
    const parent = body.parent < 0 ? { p: [0, 0, 0], R: [1, 0, 0, 0, 1, 0, 0, 0, 1] } : places[body.parent];
    let R = times(parent.R, body.turn);
    if (body.axis) R = times(R, about(body.axis, q[joint++][row]));
    places.push({ p: plus(parent.p, turned(parent.R, body.place)), R });
  }
  return places;
}

const inBody = (places, body, p) => plus(places[body].p, turned(places[body].R, p));
const toolAt = (places) => inBody(places, data.drawing.tool.body, data.drawing.tool.place);

const AZIMUTH = 0.5, ELEVATION = 0.35; // of the direction in which one looks: from −y towards x, and down, [rad]
const [ca, sa, ce, se] = [Math.cos(AZIMUTH), Math.sin(AZIMUTH), Math.cos(ELEVATION), Math.sin(ELEVATION)];
const LOOK = [sa * ce, -ca * ce, -se];
const MIDDLE = [0.22, 0.27, 0.27]; // of what is shown, [m]
const SHOWN = [1.02, 0.86]; // width and height of what is shown, [m]

function projection(box) {
  const scale = Math.min(box.w / SHOWN[0], box.h / SHOWN[1]) * (narrow.matches ? 0.93 : 1);
  const flat = (p) => [-ca * p[0] - sa * p[1], sa * se * p[0] - ca * se * p[1] + ce * p[2]];
  const [mx, my] = flat(MIDDLE);
  const project = (p) => { const [x, y] = flat(p); return [box.x + box.w / 2 + scale * (x - mx), box.y + box.h / 2 - scale * (y - my)]; };
  project.scale = scale;
  return project;
}

// -- The two arms ----------------------------------------------------------------------------------

function sized(canvas) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, w, h);
  context.lineCap = context.lineJoin = "round";
  return { context, w, h };
}

const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
let colour = {};
function readTheme() {
  for (const name of ["ink", "soft", "line", "back", "floor", "good", "bad", ...Object.keys(data.colours)]) colour[name] = theme(name);
  if (dark.matches) Object.assign(colour, { follower: "rgb(86, 180, 233)", leader: "rgb(255, 140, 66)" });
}

function text(context, words, x, y, { align = "left", ink = colour.ink, bold = false, size = 14 } = {}) {
  context.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
  context.textAlign = align;
  context.fillStyle = ink;
  context.fillText(words, x, y);
}

function drawArms() {
  const { context, w, h } = sized(at("arms"));
  const half = w / 2, top = narrow.matches ? 70 : 44;
  const boxes = [{ x: 0, y: top, w: half, h: h - top }, { x: half, y: top, w: half, h: h - top }];
  const row = run && !run.refused ? Math.min(Math.round(time / data.sample), run.count - 1) : -1;
  const roles = [["leader", "Leader, in your hand"], ["follower", "Follower, far away"]];
  roles.forEach(([role, title], side) => {
    const force = row < 0 ? NaN : (side ? run.contact : run.hand)[0][row];
    const x = side ? w - 6 : 6, align = side ? "right" : "left";
    text(context, narrow.matches ? role : title, x, 16, { align, ink: colour[role], bold: true, size: 15 });
    const said = Number.isNaN(force) ? "" : `${side ? "contact" : "hand"} force ${Math.max(0, force).toFixed(0)} N`;
    text(context, said, x, 35, { align });
  });
  drawLink(context, w, row);
  if (run && run.refused) text(context, "No run: choose another law or layer", half, (top + h) / 2, { align: "center", ink: colour.soft, size: 16 });
  if (row < 0) return;
  roles.forEach(([role], side) => {
    context.save();
    context.beginPath();
    context.rect(boxes[side].x, 0, boxes[side].w, h);
    context.clip();
    const project = projection(boxes[side]);
    drawFloor(context, project);
    if (side && chosen.wall) drawWall(context, project, run.contact[0][row]);
    drawTrail(context, project, run.tools[side], row, colour[role]);
    drawArm(context, project, placesOf(run.q, 6 * side, row), colour[role]);
    const tool = run.tools[side][row];
    if (side) drawArrow(context, project, tool, -run.contact[0][row], colour.follower);
    else drawHand(context, project, tool, row);
    context.restore();
  });
}

function drawLink(context, w, row) {
  const y = narrow.matches ? 56 : 21; // below the names where there is no room between them
  const bounds = narrow.matches ? [28, w - 28] : [w / 2 - 150, w / 2 + 150];
  context.strokeStyle = colour.line;
  context.lineWidth = 2;
  for (const dy of [-5, 5]) {
    context.beginPath();
    context.moveTo(bounds[0], y + dy);
    context.lineTo(bounds[1], y + dy);
    context.stroke();
  }
  const late = 1e-3 * chosen.delay, every = Math.max(0.05, late / 5);
  if (row >= 0 && late > 0) {
    const now = time;
    for (let sent = Math.ceil((now - late) / every) * every; sent <= now + 1e-9; sent += every) {
      if (sent < 0) continue;
      const part = (now - sent) / late;
      for (const [dy, way, role] of [[-5, part, "leader"], [5, 1 - part, "follower"]]) {
        context.fillStyle = colour[role];
        context.beginPath();
        context.arc(bounds[0] + way * (bounds[1] - bounds[0]), y + dy, 3.5, 0, 7);
        context.fill();
      }
    }
  }
  if (chosen.layer !== "none") {
    for (const x of bounds) {
      context.fillStyle = colour.good;
      context.beginPath();
      context.roundRect(x - 22, y - 12, 44, 24, 5);
      context.fill();
      text(context, chosen.layer, x, y + 5, { align: "center", ink: colour.back, bold: true, size: 12 });
    }
  }
  const words = chosen.delay ? `${chosen.delay} ms each way` : "no delay";
  text(context, words, w / 2, y + 26, { align: "center", ink: colour.soft, size: 13 });
}

function shape(context, points, fill, stroke) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  if (fill) { context.fillStyle = fill; context.fill(); }
  if (stroke) { context.strokeStyle = stroke; context.lineWidth = 1.5; context.stroke(); }
}

function drawFloor(context, project) {
  const corners = [[-0.15, -0.15, 0], [0.6, -0.15, 0], [0.6, 0.65, 0], [-0.15, 0.65, 0]];
  shape(context, corners.map(project), colour.floor);
}

function drawWall(context, project, force) {
  const x = data.drawing.wall;
  const corners = [[x, 0.15, 0], [x, 0.72, 0], [x, 0.72, 0.6], [x, 0.15, 0.6]];
  context.globalAlpha = 0.3;
  shape(context, corners.map(project), colour.wall);
  context.globalAlpha = 1;
  shape(context, corners.map(project), null, colour.wall);
  const stripes = chosen.wall >= 3000 ? 14 : 6; // the stiffer, the denser
  context.strokeStyle = colour.wall;
  context.lineWidth = 1;
  for (let index = 1; index < stripes; index++) {
    const y = 0.15 + (0.57 * index) / stripes;
    const [a, b] = [project([x, y, 0]), project([x, y, 0.6])];
    context.beginPath();
    context.moveTo(...a);
    context.lineTo(...b);
    context.stroke();
  }
}

function drawTrail(context, project, tools, row, ink) {
  const first = Math.max(0, row - Math.round(TRAIL_S / data.sample));
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.globalAlpha = 0.45;
  context.beginPath();
  for (let index = first; index <= row; index += 2) {
    const p = project(tools[index]);
    index === first ? context.moveTo(...p) : context.lineTo(...p);
  }
  context.stroke();
  context.globalAlpha = 1;
}

function shaded([r, g, b], by) {
  return `rgb(${Math.min(255, r * by)}, ${Math.min(255, g * by)}, ${Math.min(255, b * by)})`;
}

function drawArm(context, project, places, role) {
  const tint = role.match(/\d+/g).map(Number);
  const rods = data.drawing.shapes.map((rod) => {
    const ends = rod.ends.map((end) => inBody(places, rod.body, end));
    const depth = ends.map((end) => end[0] * LOOK[0] + end[1] * LOOK[1] + end[2] * LOOK[2]);
    return { rod, ends, depth };
  });
  rods.sort((a, b) => Math.min(...b.depth) + Math.max(...b.depth) - Math.min(...a.depth) - Math.max(...a.depth));
  for (const { rod, ends, depth } of rods) drawRod(context, project, rod, ends, depth, tint);
}

function drawRod(context, project, rod, ends, depth, tint) {
  const [near, far] = depth[0] < depth[1] ? [0, 1] : [1, 0];
  const a = project(ends[far]), b = project(ends[near]), r = rod.radius * project.scale;
  const coloured = Math.max(...rod.colour) - Math.min(...rod.colour) > 30; // the caps of the joints
  const ink = coloured ? tint : rod.colour;
  const edge = shaded(ink, 0.55);
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const whole = Math.hypot(...[0, 1, 2].map((i) => ends[0][i] - ends[1][i])) * project.scale;
  if (rod.round) {
    for (const [width, stroke] of [[2 * r + 2, edge], [2 * r, shaded(ink, 0.96)]]) {
      context.lineCap = "round";
      context.lineWidth = width;
      context.strokeStyle = stroke;
      context.beginPath();
      context.moveTo(...a);
      context.lineTo(b[0] + 0.01, b[1]);
      context.stroke();
    }
    return;
  }
  const angle = length > 1e-6 ? Math.atan2(b[1] - a[1], b[0] - a[0]) : 0;
  const across = whole > 1e-6 ? r * Math.sqrt(Math.max(0, 1 - (length / whole) ** 2)) : r;
  const side = angle + Math.PI / 2;
  context.beginPath();
  context.ellipse(...a, across, r, angle, Math.PI / 2, 1.5 * Math.PI);
  context.ellipse(...b, across, r, angle, -Math.PI / 2, Math.PI / 2);
  context.closePath();
  const blend = context.createLinearGradient(b[0] - r * Math.cos(side), b[1] - r * Math.sin(side), b[0] + r * Math.cos(side), b[1] + r * Math.sin(side));
  blend.addColorStop(0, shaded(ink, 0.75));
  blend.addColorStop(0.45, shaded(ink, 1.05));
  blend.addColorStop(1, shaded(ink, 0.8));
  context.fillStyle = blend;
  context.fill();
  context.strokeStyle = edge;
  context.lineWidth = 1;
  context.stroke();
  context.beginPath();
  context.ellipse(...b, across, r, angle, 0, 7);
  context.fillStyle = shaded(ink, 1.08);
  context.fill();
  context.stroke();
}

function drawHand(context, project, tool, row) {
  const wants = data.drawing.hand[row], from = project(tool), to = project(wants);
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const [ux, uy] = length > 1 ? [(to[0] - from[0]) / length, (to[1] - from[1]) / length] : [1, 0];
  context.strokeStyle = colour.hand;
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(...from);
  const turns = 5;
  for (let index = 1; index < 2 * turns; index++) {
    const part = index / (2 * turns), aside = (index % 2 ? 1 : -1) * 7;
    context.lineTo(from[0] + part * length * ux - aside * uy, from[1] + part * length * uy + aside * ux);
  }
  context.lineTo(...to);
  context.stroke();
  context.fillStyle = colour.back;
  context.beginPath();
  context.arc(...to, 7, 0, 7);
  context.fill();
  context.stroke();
  const beside = narrow.matches ? [to[0] - 4, to[1] - 12, "center"] : [to[0] - 12, to[1] + 4, "right"];
  text(context, "hand", beside[0], beside[1], { align: beside[2], ink: colour.hand, bold: true, size: 13 });
  drawArrow(context, project, tool, run.hand[0][row], colour.leader, 30);
}

function drawArrow(context, project, tool, force, ink, below = 0) {
  if (Number.isNaN(force) || Math.abs(force) < 1) return;
  const reach = Math.sign(force) * Math.min(Math.abs(force) * ARROW, LONGEST_ARROW);
  let from = project(tool), to = project([tool[0] + reach, tool[1], tool[2]]);
  from = [from[0], from[1] + below];
  to = [to[0], to[1] + below];
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 6;
  context.lineCap = "butt";
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(to[0], to[1]);
  context.stroke();
  context.lineCap = "round";
  const tip = (turn, size) => [to[0] + size * Math.cos(angle + turn), to[1] + size * Math.sin(angle + turn)];
  shape(context, [tip(0, 12), tip(1.9, 9), tip(-1.9, 9)], ink);
}

// -- Curves ----------------------------------------------------------------------------------------

const LEFT = 54, RIGHT = 14;
let strip = null; // where time is on the canvas of the curves

function drawCurves() {
  const { context, w, h } = sized(at("curves"));
  strip = { x: LEFT, w: w - LEFT - RIGHT };
  const forces = { y: 14, h: Math.round((h - 14 - 30) * 0.6), unit: "N" };
  const errors = { y: forces.y + forces.h + 24, h: 0, unit: "mm" };
  errors.h = h - errors.y - 24;
  if (!run || run.refused) return;
  const curves = [
    { plot: forces, values: run.contact[0], ink: colour.follower, dash: [] },
    { plot: forces, values: run.hand[0], ink: colour.leader, dash: [7, 4] },
    { plot: errors, values: run.error[0], ink: colour.error, dash: [], times: 1e3 },
  ];
  if (reference && !reference.refused && reference !== run) curves.unshift({ plot: forces, values: reference.contact[0], ink: colour.reference, dash: [2, 4] });
  for (const plot of [forces, errors]) {
    const own = curves.filter((curve) => curve.plot === plot);
    const most = Math.max(...own.map((curve) => largest(curve.values) * (curve.times || 1)), plot === forces ? 55 : 4);
    const least = Math.min(0, ...own.map((curve) => -largest(curve.values.map((v) => -v)) * (curve.times || 1)));
    plot.step = stepFor(most - least, plot.h / 26);
    plot.high = Math.ceil(most / plot.step) * plot.step;
    plot.low = least < -0.15 * most ? Math.floor(least / plot.step) * plot.step : 0;
    axes(context, plot, w);
  }
  for (const curve of curves) drawCurve(context, curve);
  if (run.stopped) {
    const x = xOf(run.stopped.time);
    context.fillStyle = colour.bad;
    context.globalAlpha = 0.12;
    context.fillRect(x, forces.y, xOf(data.seconds) - x, errors.y + errors.h - forces.y);
    context.globalAlpha = 1;
    context.fillRect(x - 1, forces.y, 2, errors.y + errors.h - forces.y);
    const right = x < strip.x + 0.75 * strip.w;
    text(context, `stopped at ${run.stopped.time.toFixed(1)} s`, x + (right ? 6 : -6), forces.y + 16, { align: right ? "left" : "right", ink: colour.bad, bold: true });
  }
  const x = xOf(time);
  context.strokeStyle = colour.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, forces.y);
  context.lineTo(x, errors.y + errors.h);
  context.stroke();
}

const xOf = (t) => strip.x + (t / data.seconds) * strip.w;
const yOf = (plot, value) => plot.y + plot.h - ((value - plot.low) / (plot.high - plot.low)) * plot.h;

function largest(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value; // not for NaN
  return most;
}

function stepFor(range, lines) {
  const rough = range / Math.max(2, lines), decade = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((digit) => digit * decade).find((step) => step >= rough);
}

function axes(context, plot, w) {
  context.lineWidth = 1;
  for (let value = plot.low; value <= plot.high + 1e-9; value += plot.step) {
    const y = Math.round(yOf(plot, value)) + 0.5;
    context.strokeStyle = colour.line;
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(w - RIGHT, y);
    context.stroke();
    const top = value + plot.step > plot.high + 1e-9;
    text(context, `${+value.toFixed(3)}${top ? " " + plot.unit : ""}`, LEFT - 5, y + 4, { align: "right", ink: colour.soft, size: 12 });
  }
  for (let second = 0; second <= data.seconds; second++) text(context, second === data.seconds ? `${second} s` : second, xOf(second), plot.y + plot.h + 15, { align: "center", ink: colour.soft, size: 12 });
}

function drawCurve(context, { plot, values, ink, dash, times: factor = 1 }) {
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.beginPath();
  let pen = false; // lifted where there is no sample
  for (let row = 0; row < values.length; row++) {
    if (Number.isNaN(values[row])) { pen = false; continue; }
    const point = [xOf(row * data.sample), yOf(plot, Math.max(plot.low, factor * values[row]))];
    pen ? context.lineTo(...point) : context.moveTo(...point);
    pen = true;
  }
  context.stroke();
  context.setLineDash([]);
}

function legend() {
  const row = run && !run.refused ? Math.min(Math.round(time / data.sample), run.count - 1) : -1;
  const said = (values, factor, unit, digits) => row < 0 || Number.isNaN(values[0][row]) ? "–" : `${(factor * values[0][row]).toFixed(digits)} ${unit}`;
  const entry = (name, ink, dash, value) => `<span><svg viewBox="0 0 30 10"><path d="M0 5h30" stroke="${ink}" stroke-width="3" stroke-dasharray="${dash}"/></svg>${name} ${value}</span>`;
  const r = row < 0 ? {} : run;
  const parts = [entry("hand force", colour.leader, "7 4", `<b>${said(r.hand, 1, "N", 0)}</b>`),
    entry("contact force", colour.follower, "", `<b>${said(r.contact, 1, "N", 0)}</b>`)];
  if (reference && reference !== run) parts.push(entry("contact without delay and layer", colour.reference, "2 4", ""));
  parts.push(entry("tracking error", colour.error, "", `<b>${said(r.error, 1e3, "mm", 1)}</b>`));
  at("legend").innerHTML = parts.join("").replaceAll("-0 N", "0 N");
}

// -- Words -----------------------------------------------------------------------------------------

function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function sayVerdict() {
  const verdict = at("verdict");
  verdict.className = "";
  if (run.refused) {
    verdict.className = "refused";
    verdict.innerHTML = `<b>– Not possible</b> <span>${escaped(run.refused[0].toUpperCase() + run.refused.slice(1))}.</span>`;
  } else if (run.stopped) {
    verdict.className = "bad";
    const shook = run.shakes ? ` Before that, ${escaped(run.shakes)}.` : "";
    verdict.innerHTML = `<b>✖ Stopped at ${run.stopped.time.toFixed(1)} s</b> <span>The safety guard stopped the arms: ${escaped(run.stopped.reason)}.${shook}</span>`;
  } else if (run.shakes || run.unsettled) {
    verdict.className = "bad";
    const pace = /^the contact force .* at ([\d.]+ Hz)/.exec(run.shakes || "");
    const words = run.unsettled
      ? `The contact force still swings between ${run.unsettled.map((force) => force.toFixed(0)).join(" and ")} N at the end${pace ? `, at ${pace[1]}` : ""}.`
      : `${escaped(run.shakes[0].toUpperCase() + run.shakes.slice(1))}.`;
    // Without an oscillation that was found, it shakes if it comes off the wall
    const shakes = run.shakes || run.unsettled[0] < 0.1 * run.unsettled[1];
    verdict.innerHTML = `<b>≈ ${shakes ? "It shakes" : "Not settled"}</b> <span>${words}</span>`;
  } else {
    const { contact, hand, error } = run.peak;
    const touched = chosen.wall ? `${contact.toFixed(0)} N at the wall, ` : "";
    verdict.innerHTML = `<b>✓ Calm</b> <span>At most ${touched}${hand.toFixed(0)} N at the hand; tracking error up to ${(1e3 * error).toFixed(0)} mm.</span>`;
  }
}

// Where a delay is on the slider, 0 to 1: even steps between the delays on offer.
function placeOf(delay) {
  const delays = data.delays, last = delays.length - 1;
  if (delay >= delays[last]) return 1;
  const below = delays.findLastIndex((one) => one <= delay);
  const [low, high] = [delays[below], delays[below + 1]];
  const part = low > 0 ? Math.log(delay / low) / Math.log(high / low) : delay / high;
  return (below + part) / last;
}

function sayMargin() {
  const calm = data.predictions[`${chosen.law}/${chosen.wall}`]; // ranges of delays
  const bar = calm.map(([low, high]) => {
    const [from, to] = [100 * placeOf(low), 100 * placeOf(high)];
    return `<i style="left:${from}%;width:${to - from}%"></i>`;
  });
  at("margin-calm").innerHTML = bar.join("");
  at("margin-now").style.left = `${100 * placeOf(chosen.delay)}%`;
  const row = data.runs[nameOf(chosen.law, chosen.layer, chosen.wall, chosen.delay)];
  const covered = chosen.layer !== "none" && row && !row.refused;
  at("margin").classList.toggle("covered", covered);
  const limit = calm.length ? calm[0][1] : -1, most = data.delays.at(-1);
  const here = calm.findIndex(([low, high]) => low <= chosen.delay && chosen.delay <= high);
  let words = `Predicted: calm up to ${Math.round(limit)} ms`;
  if (limit < 0) words = "Predicted: shakes even without delay.";
  else if (limit >= most) words = `Predicted: calm at every delay up to ${most} ms.`;
  else if (here === 0) words += `. Margin left: <b style="color:var(--good)">${Math.round(limit - chosen.delay)} ms</b>.`;
  else if (here > 0) words += `, and again from ${Math.round(calm[here][0])} ms.`;
  else if (covered) words += `, for the law alone. The layer ${chosen.layer} is there for the rest.`;
  else words += `. <b style="color:var(--bad)">Too long by ${Math.round(chosen.delay - limit)} ms: it should shake.</b>`;
  at("margin-said").innerHTML = words;
}

function sayRest() {
  at("delay").value = data.delays.indexOf(chosen.delay);
  const delay = chosen.delay ? `${chosen.delay} ms each way (${2 * chosen.delay} ms round trip)` : "none";
  at("delay-said").textContent = delay;
  at("delay").setAttribute("aria-valuetext", delay);
  for (const name of ["law", "layer", "wall"])
    for (const input of document.querySelectorAll(`input[name=${name}]`)) input.checked = input.value === String(chosen[name]);
  const [law, layer] = [data.laws.find((one) => one.name === chosen.law), data.layers.find((one) => one.name === chosen.layer)];
  at("about").innerHTML = `<b>${law.name}</b>: ${law.about}<br><b>${layer.name === "none" ? "no layer" : layer.name}</b>: ${layer.about}`;
  const wall = chosen.wall ? `wall.stiffness=${chosen.wall}` : "wall.present=false";
  at("command").textContent = `farhand run dual-arm --scenario press --law ${chosen.law} --layer ${chosen.layer} --delay ${2 * chosen.delay}` +
    ` --set ${wall} --set hand.stiffness=${data.hand.stiffness} --set hand.damping=${data.hand.damping} --headless`;
  const step = data.steps[chosen.step];
  const asStep = step && ["law", "layer", "wall", "delay"].every((name) => step[name] === chosen[name]);
  document.querySelectorAll("#steps button").forEach((button, index) => {
    if (asStep && index === chosen.step) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  at("guide-title").textContent = asStep ? `${chosen.step + 1}. ${step.title}` : "On your own";
  at("guide-text").textContent = asStep ? step.text : "You have left the guide. What do you expect this setting to do? Watch the curves, then come back.";
  const last = chosen.step === data.steps.length - 1;
  at("next").textContent = !asStep ? `Back to step ${chosen.step + 1}: ${step.title}` : last ? "Start again" : `Next: ${data.steps[chosen.step + 1].title}`;
}

// -- What happens ----------------------------------------------------------------------------------

let asked = 0;

async function show(start) {
  const mine = ++asked;
  sayRest();
  sayMargin();
  const { law, layer, wall, delay } = chosen;
  const [found, bare] = await Promise.all([fetched(nameOf(law, layer, wall, delay)), fetched(nameOf(law, data.layers[0].name, wall, data.delays[0]))]);
  if (mine !== asked) return; // something else was chosen meanwhile
  run = found;
  reference = bare;
  sayVerdict();
  time = start;
  setPlaying(!still.matches && !run.refused);
  if (still.matches) time = endOf();
  draw();
}

function goTo(step) {
  Object.assign(chosen, data.steps[step], { step });
  show(0);
}

function change(name, value) {
  if (chosen[name] === value) return;
  chosen[name] = value;
  show(BEFORE_CONTACT_S);
}

const endOf = () => (run && run.stopped ? run.stopped.time : data.seconds);

function setPlaying(on) {
  playing = on;
  at("play").textContent = playing ? "Pause" : time >= endOf() - 1e-6 ? "Replay" : "Play";
}

function playOrPause() {
  if (!playing && time >= endOf() - 1e-6) time = 0;
  setPlaying(!playing);
  draw();
}

function draw() {
  at("time").value = time;
  at("time-said").textContent = `${time.toFixed(1)} s`;
  drawArms();
  drawCurves();
  legend();
}

let before = null;
function frame(now) {
  if (playing && run && before !== null) {
    time = Math.min(endOf(), time + 1e-3 * Math.min(100, now - before) * Number(at("pace").value));
    if (time >= endOf() - 1e-6) setPlaying(false);
    draw();
  }
  before = now;
  requestAnimationFrame(frame);
}

function seek(to) {
  setPlaying(false);
  time = Math.max(0, Math.min(endOf(), to));
  setPlaying(false);
  draw();
}

// -- Building the page -----------------------------------------------------------------------------

function choices(name, options) {
  for (const { value, label } of options) {
    const row = document.createElement("label");
    row.className = "choice";
    row.innerHTML = `<input type="radio" name="${name}"><span></span>`;
    row.querySelector("input").value = value;
    row.querySelector("span").textContent = label;
    row.querySelector("input").addEventListener("change", () => change(name, value));
    at(name).append(row);
  }
}

function build() {
  choices("law", data.laws.map(({ name }) => ({ value: name, label: name })));
  choices("layer", data.layers.map(({ name }) => ({ value: name, label: name })));
  choices("wall", data.walls);
  at("delay").max = data.delays.length - 1;
  at("delay").addEventListener("input", () => change("delay", data.delays[Number(at("delay").value)]));
  data.delays.forEach((delay, index) => {
    const tick = document.createElement("span");
    tick.textContent = delay;
    tick.style.left = `${(100 * index) / Math.max(1, data.delays.length - 1)}%`;
    at("ticks").append(tick);
  });
  data.steps.forEach((step, index) => {
    const item = document.createElement("li");
    item.innerHTML = `<button type="button">${index + 1}</button>`;
    item.firstChild.title = step.title;
    item.firstChild.setAttribute("aria-label", `Step ${index + 1}: ${step.title}`);
    item.firstChild.addEventListener("click", () => goTo(index));
    at("steps").append(item);
  });
  at("next").addEventListener("click", () => {
    const left = at("guide-title").textContent === "On your own";
    goTo(left ? chosen.step : (chosen.step + 1) % data.steps.length);
  });
  at("hand-said").textContent = `${data.hand.stiffness} N/m with ${data.hand.damping} N·s/m of damping`;
  at("time").max = data.seconds;
  at("time").addEventListener("input", () => seek(Number(at("time").value)));
  at("play").addEventListener("click", playOrPause);
  const curves = at("curves");
  const point = (event) => seek(((event.clientX - curves.getBoundingClientRect().left - strip.x) / strip.w) * data.seconds);
  curves.addEventListener("pointerdown", (event) => { curves.setPointerCapture(event.pointerId); point(event); });
  curves.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest && event.target.closest("button, select, summary, a");
    if (event.key === " " && !typing) { event.preventDefault(); playOrPause(); }
    if (event.key >= "1" && event.key <= String(data.steps.length)) goTo(Number(event.key) - 1);
  });
  addEventListener("resize", draw);
  dark.addEventListener("change", () => { readTheme(); draw(); });
}

readTheme();
build();
if (typeof DecompressionStream === "undefined") {
  at("verdict").textContent = "This browser is too old to unpack the runs; any browser since 2023 can.";
} else {
  show(0).catch((error) => { at("verdict").textContent = `The runs cannot be read: ${error.message}`; });
  requestAnimationFrame(frame);
}
