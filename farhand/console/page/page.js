// What Farhand adds to viser's page. One line of its own to the server (a WebSocket of JSON) carries
// stop, keys and the wheel one way, and the state of the run and plotted signals the other way.
"use strict";
(() => {
  const SILENT_MS = 2500;       // without a word from the server, the picture counts as old
  const DEAD_MS = 10000;        // then the line counts as dead even if nobody has closed it
  const ANSWER_MS = 1000;       // in which the server says that it has a stop
  const PANEL_PX = 344;         // width of the panel beside the picture, with its edge
  const STRIP_PX = 200;         // height of the plots below it
  const KEEP_S = 120;           // of plotted signals
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6e6e78"];
  const ROLES = { leader: "#d55e00", follower: "#0072b2" };  // as in the picture
  const CAMERA_KEYS = new Set(["KeyW", "KeyA", "KeyS", "KeyD", "KeyQ", "KeyE",
    "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]);
  const NUDGES = { ArrowUp: [1, 0, 0], ArrowDown: [-1, 0, 0], ArrowLeft: [0, 1, 0], ArrowRight: [0, -1, 0],
    PageUp: [0, 0, 1], PageDown: [0, 0, -1] };
  const KEYS = { s: "stop", e: "engage", r: "release", c: "clutch", x: "reset", d: "hold", h: "path", p: "play" };
  const VIEWS = { o: "overview", v: "eyes" };

  let line = null, heard = performance.now(), lost = false, state = {}, about = {}, wheel = {};
  const kept = (name, value) => {
    if (value === undefined) { try { return JSON.parse(localStorage.getItem("farhand." + name)); } catch { return null; } }
    try { localStorage.setItem("farhand." + name, JSON.stringify(value)); } catch { /* a private window */ }
  };
  const narrow = () => matchMedia("(max-width: 36em)").matches;
  // By the window's size: while the page is laid out, its parts have any size, and bars to scroll with come and go
  const picture = () => {
    const [beside, below] = narrow() ? [0, 0] : [PANEL_PX, document.body.classList.contains("fh-plots") ? STRIP_PX : 0];
    return { narrow: narrow(), aspect: (innerWidth - beside) / (innerHeight - below) };
  };

  // ---------------------------------------------------------------- the line to the server
  function open() {
    line = new WebSocket(location.origin.replace(/^http/, "ws") + "/farhand/live");
    line.onopen = () => {
      heard = performance.now();
      stops.send();
      ask("hello", { name: kept("name") || "", ...picture() });
      plots.tell();
    };
    line.onmessage = (event) => {
      heard = performance.now();
      if (lost) uncover();
      const said = JSON.parse(event.data);
      if (said.stopped) { stops.end(said.stopped); return; }
      stops.repeat();
      if (said.about) { about = said.about; plots.begin(); lesson.begin(); moments.begin(); }
      if (said.plot) plots.take(said.plot);
      wheel = said.wheel;
      show(said.state);
    };
    line.onclose = () => { line = null; cover(); };
  }
  function ask(what, value) {
    if (line && line.readyState === WebSocket.OPEN) line.send(JSON.stringify({ do: what, value }));
  }

  // A stop is kept until the server says that it has it, also while the page is loaded again. So one that is
  // pressed while the connection is down is not lost: it is the first thing sent when the connection is back.
  const stops = {
    pressed: null, sent: 0, back: Date.now(),  // the last press, its sending, and the newest connection
    begin() { try { this.pressed = Number(sessionStorage.getItem("farhand.stop")) || null; } catch { /* private */ } },
    keep(pressed) {
      this.pressed = pressed;
      try { sessionStorage.setItem("farhand.stop", pressed ?? ""); } catch { /* a private window */ }
      this.show();
    },
    press() { this.keep(Date.now()); this.send(); },
    send() {
      if (this.pressed === null) return;
      this.sent = Date.now();
      ask("stop", this.pressed);
    },
    repeat() { if (Date.now() - this.sent > ANSWER_MS) this.send(); },
    end(pressed) {
      if (pressed !== this.pressed) return;
      this.keep(null);
      const late = Date.now() - pressed;
      if (late < ANSWER_MS) return;
      const why = pressed < this.back ? "the connection was down" : "page and server answered slowly";
      this.tell(`Your STOP came up to ${Math.round(late / 1000)} s late: ${why}.`);
      setTimeout(() => this.tell(""), 60000);
    },
    tell(text) { find("fh-late").textContent = text; find("fh-late").hidden = !text; },
    show() {
      const age = this.pressed === null ? 0 : Date.now() - this.pressed, seconds = Math.round(age / 1000);
      if (age > ANSWER_MS) this.tell(`STOP pressed ${seconds} s ago: no answer yet. Use the stop at the robot.`);
      find("fh-kept").textContent = this.pressed === null ? "" :
        `STOP pressed ${seconds} s ago. It has not reached the arms. It is sent as soon as the connection is back.`;
    },
  };
  const stop = () => stops.press();

  // A page that has lost its server may show an arm that has long moved on. It is covered, says so,
  // and is loaded again as soon as the server answers: nothing of the old state can remain. A server
  // that was only slow goes on on the same line.
  setInterval(() => {
    const late = performance.now() - heard > SILENT_MS;
    // Messages that wait behind a slow picture are taken first
    if (late && !lost) setTimeout(() => { if (performance.now() - heard > SILENT_MS) cover(); }, 50);
    stops.show();
    if (lost) find("fh-age").textContent = `The picture is ${Math.round((performance.now() - heard) / 1000)} s old.`;
  }, 250);
  function cover() {
    if (lost) return;
    lost = true;
    document.body.classList.add("fh-lost");
    retry(0);
  }
  function uncover() {
    lost = false;
    stops.back = Date.now();
    document.body.classList.remove("fh-lost");
  }
  async function retry(count) {
    if (!lost) return;
    const given = new AbortController(), timer = setTimeout(() => given.abort(), 4000);
    try {
      const answer = await fetch("/farhand/alive", { signal: given.signal, cache: "no-store" });
      const dead = line === null || performance.now() - heard > DEAD_MS;
      if (answer.ok && dead) { location.reload(); return; }
      if (!answer.ok) find("fh-why").textContent = "Another session is served here: open the address that it printed.";
    } catch { /* not yet */ } finally { clearTimeout(timer); }
    setTimeout(() => retry(count + 1), Math.min(5000, 500 * 1.5 ** count));
  }

  // A browser without WebGL, or one that has lost it, draws nothing and says nothing
  const blank = {
    begin() {
      const probe = document.createElement("canvas").getContext("webgl2");
      if (!probe) this.tell("this browser has no WebGL. Switch on hardware acceleration, or use another browser.");
      else probe.getExtension("WEBGL_lose_context")?.loseContext();
      document.addEventListener("webglcontextlost", () => this.tell("the browser lost its WebGL. Load this page again."), true);
      document.addEventListener("webglcontextrestored", () => this.tell(""), true);
    },
    tell(why) {
      find("fh-blank").hidden = !why;
      find("fh-blank").textContent = `The picture cannot be drawn: ${why} The arms can still be stopped.`;
    },
  };

  // ---------------------------------------------------------------- what lies over the picture
  const find = (id) => document.getElementById(id);
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }
  const button = (text, act, more = {}) => make("button", { type: "button", onclick: act, ...more }, text);

  function build() {
    const bar = make("div", { id: "fh-bar", class: "fh" },
      make("span", { id: "fh-state", class: "fh-chip", role: "status" }, "waiting for the arms"),
      make("span", { id: "fh-calm", class: "fh-chip", hidden: "", title: "predicted for this law, hand, wall and delay" }),
      make("span", { id: "fh-warning", class: "fh-chip", role: "alert", hidden: "" }),
      make("span", { id: "fh-late", class: "fh-chip", role: "alert", hidden: "" }),
      make("span", { id: "fh-driver", class: "fh-chip" }),
      button("Take the wheel", () => ask("drive"), { id: "fh-take", hidden: "" }),
      button("Play again", () => ask("again"), { id: "fh-again", hidden: "", title: "the scenario is over" }),
      button("Lesson", () => lesson.toggle(), { id: "fh-teach", hidden: "", "aria-pressed": "false" }),
      button("Plots", () => plots.toggle(), { id: "fh-plots", class: "fh-wide", "aria-pressed": "false" }),
      button("Copy link", () => moments.copy(), { id: "fh-link", class: "fh-wide", hidden: "",
        title: "to this moment of the recording" }),
      button("Sound", () => cues.sound(), { id: "fh-sound", "aria-pressed": "false",
        title: "a click at contact, a hum that follows the force, and vibration where there is some" }));
    const cover = make("div", { id: "fh-cover", class: "fh", role: "alert" }, make("div", {},
      make("strong", {}, "Connection lost"),
      make("p", {}, "STOP does not reach the arms from here. Use the stop at the robot."),
      make("p", { id: "fh-age" }), make("p", { id: "fh-why" }, "Trying again …"),
      button("STOP as soon as the connection is back (Esc)", stop), make("p", { id: "fh-kept" })));
    document.body.append(make("div", { id: "fh-frame" }), bar,
      make("button", { id: "fh-stop", class: "fh", type: "button", onclick: stop }, "STOP", make("i", {}, " (Esc)")),
      make("p", { id: "fh-blank", class: "fh", role: "alert", hidden: "" }),
      make("div", { id: "fh-strip", class: "fh" }), make("div", { id: "fh-lesson", class: "fh" }), cover);
    plots.build();
    cues.build();
    stops.begin();
    blank.begin();
    document.body.addEventListener("keydown", (event) => { if (steering(event.target)) event.stopPropagation(); });
    // A tab that was clicked does not keep the arrow keys: they move the hand again
    document.body.addEventListener("click", (event) => {
      const tab = event.detail > 0 && event.target instanceof Element && event.target.closest("[role=tab]");
      if (tab) tab.blur();
    });
    open();
    new MutationObserver(label).observe(document.body, { childList: true, subtree: true });
  }

  function show(next) {
    const before = state;
    state = next;
    const mine = wheel.drives, body = document.body.classList;
    body.toggle("fh-watching", !!about.live && !mine);
    body.toggle("fh-stopped", !!next.trip);
    body.toggle("fh-shaking", !!next.shakes && !next.trip);
    const chip = find("fh-state");
    chip.dataset.mode = next.ended ? "ended" : next.trip ? "stopped" : next.mode;
    // viser draws over a connection of its own, and gives up in a window without focus
    const picture = wheel.drawn ? "" : "The picture is not connected; if it stays so, load this page again. ";
    chip.textContent = picture + (next.ended ? "the run has ended" :
      next.trip ? `Stopped: ${next.trip}. Reset (X), then ${about.coupled ? "Engage (E)" : "Play again"}.` : next.words || next.mode);
    find("fh-warning").hidden = !next.warning;
    find("fh-warning").textContent = next.warning || "";
    find("fh-stop").hidden = !about.live;
    const calm = find("fh-calm");
    calm.hidden = !next.margin && !next.shakes;
    calm.replaceChildren();
    if (!calm.hidden) {
      if (next.level !== null && next.level !== undefined) {
        const mark = make("i", { style: `left:${Math.round(116 * Math.min(1, Math.max(0, next.level)))}px` });
        calm.append(make("span", { id: "fh-margin" }, mark));
      }
      calm.append(next.shakes ? make("b", {}, `It shakes: ${next.shakes}`) : next.margin);
    }
    find("fh-driver").hidden = !about.live || (mine && wheel.here < 2);
    find("fh-driver").textContent = mine ? `you drive, ${wheel.here - 1} watching` :
      `${wheel.driver || "another visitor"} drives, you watch`;
    find("fh-take").hidden = !about.live || mine || !wheel.may_drive;
    find("fh-again").hidden = !next.over || next.ended || !about.live || !about.restartable || !mine;
    cues.feel(next, before);
    lesson.check(next);
  }

  // ---------------------------------------------------------------- keys
  const typing = (target) => target instanceof Element &&
    !!target.closest("input, textarea, select, [contenteditable=true], [role=combobox], [role=listbox]");
  // Arrows on a slider or a tab are its own; only the camera must not hear them
  const steering = (target) => target instanceof Element && !!target.closest("[role=slider], [role=tab]");
  window.addEventListener("keydown", (event) => {
    // Escape stops from anywhere: a field, an open menu, the palette. It still closes them too.
    if (event.key === "Escape") { stop(); return; }
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const nudge = NUDGES[event.code], what = KEYS[event.key.toLowerCase()], view = VIEWS[event.key.toLowerCase()];
    if (nudge && steering(event.target)) return;
    // The hand's keys are the hand's: viser would turn the camera with the same ones
    if (CAMERA_KEYS.has(event.code) || nudge) event.stopImmediatePropagation();
    if (nudge) { event.preventDefault(); ask("nudge", nudge); }
    else if (view) ask("view", view);
    else if (what === "stop") stop();
    else if (what === "hold") ask("hold");
    else if (what && !event.repeat) ask(what);
  }, true);

  // viser's fields have no names for a screen reader; the text beside each is one
  function label() {
    for (const field of document.querySelectorAll("input:not([aria-label]):not([data-fh]), textarea:not([aria-label])")) {
      field.dataset.fh = "1";
      if (field.labels && field.labels.length) continue;
      let near = field.parentElement;
      for (let up = 0; near && up < 5; up++, near = near.parentElement) {
        const text = (near.innerText || "").split("\n")[0].trim();
        if (text) { field.setAttribute("aria-label", text); break; }
      }
      if (!field.hasAttribute("aria-label")) field.setAttribute("aria-label", "value");
    }
  }

  // ---------------------------------------------------------------- what is felt through a mouse
  const cues = {
    on: false, context: null, hum: null,
    build() { if (kept("sound")) find("fh-sound").title += " (was on: press to hear it again)"; },
    sound() {
      this.on = !this.on;
      kept("sound", this.on);
      find("fh-sound").setAttribute("aria-pressed", String(this.on));
      if (this.on && !this.context && window.AudioContext) {
        this.context = new AudioContext();
        const tone = this.context.createOscillator(), gain = this.context.createGain();
        tone.type = "triangle"; gain.gain.value = 0;
        tone.connect(gain).connect(this.context.destination);
        tone.start();
        this.hum = { tone, gain };
      }
      if (!this.on && this.hum) this.hum.gain.gain.value = 0;
    },
    feel(next, before) {
      if (!about.live) return;
      const force = next.contact_force || 0, share = Math.min(1, force / (about.most || 50));
      const touched = before.touches !== undefined && next.touches > before.touches;
      if (this.on && this.hum) {
        const now = this.context.currentTime;
        this.hum.tone.frequency.setTargetAtTime(70 + 160 * share, now, 0.03);
        this.hum.gain.gain.setTargetAtTime(force > 0.5 ? 0.02 + 0.10 * share : 0, now, 0.03);
        if (touched) this.click(share);
      }
      if (touched && this.on && navigator.vibrate) navigator.vibrate(20 + Math.round(60 * share));
      if (this.on && navigator.getGamepads) {
        for (const pad of navigator.getGamepads()) {
          if (pad && pad.vibrationActuator && (touched || force > 0.5)) {
            pad.vibrationActuator.playEffect("dual-rumble",
              { duration: 150, strongMagnitude: share, weakMagnitude: touched ? 1 : share });
          }
        }
      }
    },
    click(share) {
      const tone = this.context.createOscillator(), gain = this.context.createGain(), now = this.context.currentTime;
      tone.frequency.value = 900;
      gain.gain.setValueAtTime(0.1 + 0.2 * share, now);
      gain.gain.exponentialRampToValueAtTime(1e-3, now + 0.05);
      tone.connect(gain).connect(this.context.destination);
      tone.start(now); tone.stop(now + 0.06);
    },
  };

  // ---------------------------------------------------------------- the strip of plots
  // Each plot has some signals of one unit; all share the time axis, the cursor and the zoom.
  const plots = {
    shown: [], rows: new Map(), times: [], span: 10, cursor: null, frozen: null,
    build() {
      this.strip = find("fh-strip");
      this.tools = make("div", { id: "fh-tools" });
      const input = make("input", { list: "fh-signals", placeholder: "add a signal …", "aria-label": "add a signal" });
      input.addEventListener("change", () => { if (input.value) { this.add([input.value]); input.value = ""; } });
      this.spanText = make("span", {});
      this.list = make("datalist", { id: "fh-signals" });
      this.tools.append(input, this.list, this.spanText,
        this.freezer = button("Freeze", () => this.freeze(), { "aria-pressed": "false" }),
        make("small", {}, "Wheel: zoom. Move: read values."));
      new ResizeObserver(() => this.draw()).observe(this.strip);
      if (kept("plots")) this.toggle();
    },
    toggle() {
      const on = document.body.classList.toggle("fh-plots");
      kept("plots", on);
      find("fh-plots").setAttribute("aria-pressed", String(on));
      document.documentElement.style.setProperty("--fh-strip", on && !narrow() ? `${STRIP_PX}px` : "0px");
      window.dispatchEvent(new Event("resize"));
      this.arrange();
    },
    begin() {
      this.clear();
      const usual = about.usual.map((group) => [...group]), units = new Map(about.signals);
      const known = new Set([...usual.flat(), ...units.keys()]);
      this.list.replaceChildren(...[...known].map((name) => make("option", { value: name }, units.get(name) || "")));
      this.shown = (kept("layout." + about.rig) || usual).map((group) => group.filter((name) => known.has(name)));
      this.shown = this.shown.filter((group) => group.length);
      if (!this.shown.length) this.shown = usual;
      this.arrange();
    },
    add(names) { this.shown.push(names); this.arrange(); },
    arrange() {
      this.strip.replaceChildren(...this.shown.map((names, place) => {
        const canvas = make("canvas", { role: "img", "aria-label": "plot of " + names.join(", ") });
        canvas.addEventListener("mousemove", (event) => { this.cursor = event.offsetX / canvas.clientWidth; this.draw(); });
        canvas.addEventListener("mouseleave", () => { this.cursor = null; this.draw(); });
        canvas.addEventListener("wheel", (event) => {
          event.preventDefault();
          this.span = Math.min(KEEP_S, Math.max(0.5, this.span * (event.deltaY > 0 ? 1.25 : 0.8)));
          this.draw();
        }, { passive: false });
        const join = button("⇠", () => { this.shown[place - 1].push(...names); this.remove(place); },
          { title: "draw in the plot to the left", "aria-label": "draw in the plot to the left" });
        join.hidden = place === 0;
        return make("div", { class: "fh-plot" }, make("div", { class: "fh-head" }, make("span", {}), join,
          button("×", () => this.remove(place), { "aria-label": "close this plot" })), canvas);
      }), this.tools);
      if (about.rig) kept("layout." + about.rig, this.shown);
      this.tell();
      this.draw();
    },
    remove(place) { this.shown.splice(place, 1); this.arrange(); },
    tell() { ask("plot", document.body.classList.contains("fh-plots") ? [...new Set(this.shown.flat())] : []); },
    clear() { this.times = []; this.rows.clear(); },
    freeze() {
      this.frozen = this.frozen === null ? this.times[this.times.length - 1] ?? null : null;
      this.freezer.setAttribute("aria-pressed", String(this.frozen !== null));
      this.draw();
    },
    take(plot) {
      if (this.times.length && plot.t[0] <= this.times[this.times.length - 1]) this.clear();
      for (const [name, values] of this.rows) if (!plot.names.includes(name)) values.push(...plot.t.map(() => null));
      plot.names.forEach((name, i) => {
        if (!this.rows.has(name)) this.rows.set(name, this.times.map(() => null));
        this.rows.get(name).push(...plot.v[i]);
      });
      this.times.push(...plot.t);
      const first = this.times.findIndex((t) => t >= this.times[this.times.length - 1] - KEEP_S);
      if (first > 0) { this.times.splice(0, first); for (const values of this.rows.values()) values.splice(0, first); }
      if (this.frozen === null) this.draw();
    },
    draw() {
      if (!document.body.classList.contains("fh-plots")) return;
      const last = this.frozen ?? this.times[this.times.length - 1] ?? 0, first = last - this.span;
      const at = this.cursor === null ? null : first + this.cursor * this.span;
      const near = at === null ? -1 : this.times.findIndex((t) => t >= at);
      this.spanText.textContent = `last ${this.span.toPrecision(2)} s` + (at === null ? "" : `, at ${at.toFixed(2)} s`);
      [...this.strip.querySelectorAll(".fh-plot")].forEach((node, place) => {
        const names = this.shown[place], canvas = node.querySelector("canvas"), head = node.querySelector("span");
        const colours = coloursOf(names);
        head.replaceChildren(...names.flatMap((name, i) => {
          const value = near >= 0 && this.rows.has(name) ? this.rows.get(name)[near] : null;
          const text = value === null || value === undefined ? name : `${name} ${Number(value.toPrecision(4))}`;
          return [make("b", { style: `color:${colours[i]}` }, text), " "];
        }));
        this.curve(canvas, names, first, last);
      });
    },
    curve(canvas, names, first, last) {
      const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
      if (!w || !h) return;
      if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); }
      if (canvas.height !== Math.round(h * ratio)) { canvas.height = Math.round(h * ratio); }
      const pen = canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, w, h);
      const from = Math.max(0, this.times.findIndex((t) => t >= first) - 1);
      let low = Infinity, high = -Infinity;
      for (const name of names) for (let i = from; i < this.times.length; i++) {
        const v = (this.rows.get(name) || [])[i];
        if (v !== null && v !== undefined) { low = Math.min(low, v); high = Math.max(high, v); }
      }
      if (low > high) { pen.fillStyle = "#6e6e78"; pen.font = "12px system-ui"; pen.fillText("nothing to plot", 48, h / 2); return; }
      // Noise of something at rest is not magnified to the height of the plot
      const size = Math.max(Math.abs(low), Math.abs(high)), named = names.map((name) => about.least[name] || 0);
      const least = Math.max(...named, 0.02 * size, size ? 0 : 1);
      if (high - low < least) { const middle = (high + low) / 2; low = middle - least / 2; high = middle + least / 2; }
      const left = 46, bottom = h - 16, x = (t) => left + (w - left - 6) * (t - first) / (last - first);
      const y = (v) => bottom - (bottom - 6) * (v - low) / (high - low);
      pen.font = "11px system-ui"; pen.fillStyle = "#444"; pen.strokeStyle = "#e6e9ed"; pen.lineWidth = 1;
      for (const v of ticks(low, high, 3)) {
        pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(w, y(v)); pen.stroke();
        pen.textAlign = "right"; pen.fillText(String(Number(v.toPrecision(4))), left - 4, y(v) + 4);
      }
      pen.textAlign = "center";
      for (const t of ticks(first, last, 4)) pen.fillText(`${Number(t.toPrecision(5))} s`, Math.min(w - 18, x(t)), h - 3);
      const colours = coloursOf(names);
      names.forEach((name, i) => {
        const values = this.rows.get(name) || [];
        pen.strokeStyle = colours[i]; pen.lineWidth = 1.6; pen.beginPath();
        let drawn = false;
        for (let k = from; k < this.times.length && this.times[k] <= last; k++) {
          const v = values[k];
          if (v === null || v === undefined) { drawn = false; continue; }  // a gap: there is nothing to plot
          if (drawn) pen.lineTo(x(this.times[k]), y(v)); else pen.moveTo(x(this.times[k]), y(v));
          drawn = true;
        }
        pen.stroke();
      });
      if (this.cursor !== null) {
        pen.strokeStyle = "#6e6e78"; pen.setLineDash([3, 3]); pen.beginPath();
        pen.moveTo(this.cursor * w, 0); pen.lineTo(this.cursor * w, bottom); pen.stroke(); pen.setLineDash([]);
      }
    },
  };
  function coloursOf(names) {
    const own = names.map((name) => ROLES[about.roles[name]]), free = COLOURS.filter((one) => !own.includes(one));
    let used = 0;
    return own.map((one) => one || free[used++ % free.length]);
  }
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw) || raw;
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) found.push(v);
    return found;
  }

  // ---------------------------------------------------------------- links to a moment of a recording
  // viser makes the address of its WebSocket from that of the page, where "#t=12.3" would break it. So the
  // moment is read and taken out of the address before viser looks at it.
  const moments = {
    wanted: null,
    read() {
      const link = /^#t=(\d+(\.\d+)?)$/.exec(location.hash);
      if (!link) return;
      this.wanted = Number(link[1]);
      history.replaceState(null, "", location.pathname + location.search);
    },
    begin() {
      find("fh-link").hidden = about.live;
      if (!about.live && this.wanted !== null) ask("seek", this.wanted);
      this.wanted = null;
    },
    async copy() {
      const link = `${location.origin}/#t=${state.time}`;
      try {
        await navigator.clipboard.writeText(link);
        find("fh-link").textContent = `Copied: ${state.time} s`;
        setTimeout(() => { find("fh-link").textContent = "Copy link"; }, 3000);
      } catch { prompt("Link to this moment", link); }  // browsers copy only for this machine or https
    },
  };
  moments.read();
  window.addEventListener("resize", () => ask("window", picture()));
  window.addEventListener("hashchange", () => { moments.read(); moments.begin(); });

  // ---------------------------------------------------------------- the lesson, in five steps
  const lesson = {
    step: 0,
    begin() {
      find("fh-teach").hidden = !about.lesson.length;
      if (!about.lesson.length) document.body.classList.remove("fh-teaching");
    },
    toggle() {
      const on = document.body.classList.toggle("fh-teaching");
      find("fh-teach").setAttribute("aria-pressed", String(on));
      this.step = 0;
      if (on) this.show();
    },
    show() {
      const card = find("fh-lesson"), step = about.lesson[this.step];
      const acts = step.do.map(([text, what, value]) => button(text, () => ask(what, value)));
      card.replaceChildren(make("h2", {}, `${this.step + 1} of ${about.lesson.length}: ${step.title}`),
        make("p", {}, step.text), ...acts, make("p", { id: "fh-step" }));
      const next = button("Next", () => { this.step++; if (this.step < about.lesson.length) this.show(); else this.toggle(); });
      card.append(next, " ", button("Close", () => this.toggle()));
    },
    check(next) {
      if (!document.body.classList.contains("fh-teaching")) return;
      const step = about.lesson[this.step], word = find("fh-step");
      if (!step || !word || word.className === "fh-done") return;
      // A guard that stops the arms ends the shaking, too; without a word the lesson would seem stuck
      word.textContent = next.trip ? step.stopped || about.lesson_stopped : "";
      if (step.seen && next[step.seen]) { word.className = "fh-done"; word.textContent = step.done; }
    },
  };

  if (document.body) build(); else document.addEventListener("DOMContentLoaded", build);
})();
