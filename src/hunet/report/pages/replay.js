// Plays a run: people, contacts that light up, one message's journey, brokers and communities.
//
// Everything is a function of one number, the time: each frame is drawn from scratch, so that the slider may go anywhere.
// Finding the open contacts is a scan over typed arrays: with 100,000 of them a whole frame was prepared in 1 to 4 ms
// (median), and so there is no index to keep up to date.

const run = JSON.parse(document.getElementById("run").textContent);
const $ = (id) => document.getElementById(id);
const [BEGIN, END] = run.span;
const NODES = run.names.length;
// Okabe and Ito's colours, which the colour-blind tell apart; letters say the same in grey. As in figures.py.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
const LIGHT = new Set(["#cc79a7", "#e69f00", "#56b4e9"]); // letters on these are black
const GLOW = 0.35; // seconds on the wall for which a contact that ended still glows
const FLIGHT = 0.5; // ... and a packet is seen on its way

/** Columns travel as the bytes of typed arrays. */
function column(text, kind) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new kind(bytes.buffer);
}

const contacts = {
  a: column(run.contacts.a, Uint16Array), b: column(run.contacts.b, Uint16Array),
  start: column(run.contacts.start, Float64Array), end: column(run.contacts.end, Float64Array),
};
const forwards = {
  first: run.forwards.first, time: column(run.forwards.time, Float64Array),
  from: column(run.forwards.sender, Uint16Array), to: column(run.forwards.receiver, Uint16Array),
};
const deliveries = {
  first: run.deliveries.first, time: column(run.deliveries.time, Float64Array), node: column(run.deliveries.node, Uint16Array),
};
const roles = {
  first: run.roles.first, time: column(run.roles.time, Float64Array), broker: column(run.roles.broker, Uint8Array),
};
const tracks = run.tracks && {
  first: run.tracks.first, t: column(run.tracks.t, Float64Array),
  x: column(run.tracks.x, Float32Array), y: column(run.tracks.y, Float32Array),
};

/** Where the first value above this one stands in the rising values from one place to another: a binary search. */
function upTo(values, most, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] <= most) from = middle + 1; else to = middle;
  }
  return from;
}

// Where people are ----------------------------------------------------------------------------------------------------

const places = { x: new Float64Array(NODES), y: new Float64Array(NODES) };

function findPlaces(time) {
  if (!state.map) {
    places.x.set(run.layout.x);
    places.y.set(run.layout.y);
    return;
  }
  for (let node = 0; node < NODES; node++) {
    const low = tracks.first[node], high = tracks.first[node + 1];
    const next = Math.min(Math.max(upTo(tracks.t, time, low, high), low + 1), high - 1);
    const span = tracks.t[next] - tracks.t[next - 1];
    const part = Math.min(Math.max((time - tracks.t[next - 1]) / span, 0), 1);
    places.x[node] = tracks.x[next - 1] + part * (tracks.x[next] - tracks.x[next - 1]);
    places.y[node] = tracks.y[next - 1] + part * (tracks.y[next] - tracks.y[next - 1]);
  }
}

// The journey of a message --------------------------------------------------------------------------------------------

/** Who gave it to whom first, and which of these hand-overs led to a delivery. */
function journeyOf(message) {
  const { publisher, created, ttl } = run.messages[message];
  const got = new Map([[publisher, { time: created, from: -1, leads: false }]]);
  const hops = [];
  for (let row = forwards.first[message]; row < forwards.first[message + 1]; row++) {
    const to = forwards.to[row];
    if (!got.has(to)) {
      const hop = { time: forwards.time[row], from: forwards.from[row], to, leads: false };
      got.set(to, hop);
      hops.push(hop);
    }
  }
  const delivered = [];
  for (let row = deliveries.first[message]; row < deliveries.first[message + 1]; row++) {
    const node = deliveries.node[row];
    const way = [];
    for (let here = node; here >= 0 && got.has(here) && !way.includes(here); here = got.get(here).from) {
      got.get(here).leads = true;
      way.unshift(here);
    }
    delivered.push({ node, time: deliveries.time[row], way });
  }
  return { message, publisher, created, ends: ttl === null ? END : created + ttl, got, hops, delivered };
}

// What is drawn, and how ----------------------------------------------------------------------------------------------

const state = { time: BEGIN, playing: false, speed: 1, journey: null, chosen: -1, labels: 0, map: Boolean(tracks), brokers: new Uint8Array(NODES) };
const LABELS = ["communities", "names", "none"];
const crowd = $("crowd"), density = $("density");
const paper = crowd.getContext("2d"), strip = density.getContext("2d");
let ink = {};
let view = { width: 0, height: 0, radius: 7, x: (v) => v, y: (v) => v };

function readColours() {
  const style = getComputedStyle(document.documentElement);
  ink = Object.fromEntries(["page", "ink", "quiet", "edge", "contact", "lit", "way"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function fit(canvas) {
  const dots = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  canvas.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
  return { width, height };
}

function resize() {
  const { width, height } = fit(crowd);
  fit(density);
  const radius = Math.min(Math.max(Math.sqrt((width * height) / NODES) / 9, 4), 10);
  const room = 2.5 * radius + 6;
  const [left, bottom, right, top] = state.map ? run.area : [0, 0, 1, 1];
  const wide = Math.max(right - left, 1e-9), high = Math.max(top - bottom, 1e-9);
  // A map keeps its proportions; a layout, which means nothing in metres, fills the stage.
  const x = (width - 2 * room) / wide, y = (height - 2 * room) / high;
  const [sx, sy] = state.map ? [Math.min(x, y), Math.min(x, y)] : [x, y];
  const shiftX = (width - sx * wide) / 2, shiftY = (height - sy * high) / 2;
  view = { width, height, radius, x: (v) => shiftX + (v - left) * sx, y: (v) => height - shiftY - (v - bottom) * sy };
  draw();
}

function drawContacts(glow) {
  const begun = upTo(contacts.start, state.time);
  const since = state.time - glow;
  const open = new Path2D(), fading = new Path2D();
  let many = 0;
  for (let row = 0; row < begun; row++) {
    const end = contacts.end[row];
    if (end < since) continue;
    const path = end >= state.time ? open : fading;
    many += end >= state.time;
    path.moveTo(view.x(places.x[contacts.a[row]]), view.y(places.y[contacts.a[row]]));
    path.lineTo(view.x(places.x[contacts.b[row]]), view.y(places.y[contacts.b[row]]));
  }
  paper.lineWidth = 1;
  paper.strokeStyle = ink.contact;
  paper.globalAlpha = 0.5;
  paper.stroke(fading);
  paper.globalAlpha = 1;
  paper.lineWidth = 1.3;
  paper.strokeStyle = ink.lit;
  paper.stroke(open);
  return many;
}

function drawJourney(flight) {
  const { journey, chosen, time } = state;
  const way = chosen < 0 ? null : journey.delivered[chosen].way;
  for (const hop of journey.hops) {
    if (hop.time > time) break;
    const leads = way ? way.includes(hop.to) && way.includes(hop.from) : hop.leads;
    const x0 = view.x(places.x[hop.from]), y0 = view.y(places.y[hop.from]);
    const x1 = view.x(places.x[hop.to]), y1 = view.y(places.y[hop.to]);
    const fresh = time - hop.time < flight;
    paper.globalAlpha = fresh ? 1 : leads ? 0.9 : 0.35;
    paper.strokeStyle = paper.fillStyle = ink.way;
    paper.lineWidth = fresh ? 3.5 : leads ? 2.5 : 1;
    paper.setLineDash(leads || fresh ? [] : [3, 4]);
    paper.beginPath();
    paper.moveTo(x0, y0);
    paper.lineTo(x1, y1);
    paper.stroke();
    paper.setLineDash([]);
    if (leads || fresh) arrow(x0, y0, x1, y1);
    if (fresh && flight) {
      const part = (time - hop.time) / flight;
      paper.beginPath();
      paper.arc(x0 + part * (x1 - x0), y0 + part * (y1 - y0), view.radius * 0.7, 0, 7);
      paper.fill();
    }
  }
  paper.globalAlpha = 1;
}

function arrow(x0, y0, x1, y1) {
  const angle = Math.atan2(y1 - y0, x1 - x0), size = view.radius * 1.1;
  if (Math.hypot(x1 - x0, y1 - y0) < 2.5 * view.radius) return;
  const tipX = x1 - Math.cos(angle) * (view.radius + 3), tipY = y1 - Math.sin(angle) * (view.radius + 3);
  paper.beginPath();
  paper.moveTo(tipX, tipY);
  paper.lineTo(tipX - size * Math.cos(angle - 0.45), tipY - size * Math.sin(angle - 0.45));
  paper.lineTo(tipX - size * Math.cos(angle + 0.45), tipY - size * Math.sin(angle + 0.45));
  paper.fill();
}

function shape(x, y, radius, square) {
  paper.beginPath();
  if (square) paper.rect(x - radius * 0.92, y - radius * 0.92, radius * 1.84, radius * 1.84);
  else paper.arc(x, y, radius, 0, 7);
}

function drawPeople() {
  const { journey, time, labels } = state;
  const reached = new Set(journey.delivered.filter((each) => each.time <= time).map((each) => each.node));
  paper.textAlign = "center";
  paper.textBaseline = "middle";
  paper.font = `600 ${Math.max(view.radius * 1.15, 7)}px system-ui, sans-serif`;
  let holders = 0, brokers = 0;
  for (let node = 0; node < NODES; node++) {
    const x = view.x(places.x[node]), y = view.y(places.y[node]);
    const turn = upTo(roles.time, time, roles.first[node], roles.first[node + 1]) - 1;
    const broker = turn >= roles.first[node] && roles.broker[turn] === 1;
    state.brokers[node] = broker;
    brokers += broker;
    const got = journey.got.get(node);
    const has = got !== undefined && got.time <= time;
    holders += has;
    const community = run.community[node];
    const colour = community < 0 ? ink.page : COLOURS[community % COLOURS.length];
    shape(x, y, view.radius, broker);
    paper.fillStyle = colour;
    paper.fill();
    paper.strokeStyle = broker ? ink.ink : ink.quiet;
    paper.lineWidth = broker ? 2 : 0.8;
    paper.stroke();
    paper.strokeStyle = ink.way;
    if (has) {
      shape(x, y, view.radius + 3, broker);
      paper.lineWidth = 2.5;
      paper.stroke();
    }
    if (reached.has(node)) {
      shape(x, y, view.radius + 7, broker);
      paper.lineWidth = 1.5;
      paper.stroke();
    }
    const text = labels === 0 ? run.letters[node] : labels === 1 ? run.names[node] : "";
    if (text) {
      paper.fillStyle = community < 0 ? ink.ink : LIGHT.has(colour) ? "#000" : "#fff";
      paper.fillText(text, x, y + 0.5);
    }
  }
  if (time >= journey.created) drawPublisher(journey.publisher);
  return { holders, brokers, reached: reached.size };
}

/** A pointer above the head, drawn last so that nobody stands before it. */
function drawPublisher(node) {
  const x = view.x(places.x[node]), top = view.y(places.y[node]) - view.radius - 8, size = view.radius * 0.9;
  paper.beginPath();
  paper.moveTo(x - size, top - 1.4 * size);
  paper.lineTo(x + size, top - 1.4 * size);
  paper.lineTo(x, top);
  paper.closePath();
  paper.fillStyle = ink.way;
  paper.strokeStyle = ink.page;
  paper.lineWidth = 2;
  paper.stroke();
  paper.fill();
}

/** Open contacts over the whole run, with the life and the hand-overs of the message. */
const openAt = (() => {
  const bins = 400, found = new Float64Array(bins), scale = bins / Math.max(END - BEGIN, 1e-9);
  for (let row = 0; row < contacts.start.length; row++) {
    const low = Math.min(Math.floor((contacts.start[row] - BEGIN) * scale), bins - 1);
    const high = Math.min(Math.floor((contacts.end[row] - BEGIN) * scale), bins - 1);
    for (let bin = low; bin <= high; bin++) found[bin]++;
  }
  return found;
})();

function drawDensity() {
  const { clientWidth: width, clientHeight: height } = density;
  const pad = 8; // the slider's thumb ends so far from its edges
  const at = (time) => pad + ((time - BEGIN) / Math.max(END - BEGIN, 1e-9)) * (width - 2 * pad);
  const most = Math.max(...openAt, 1);
  strip.clearRect(0, 0, width, height);
  strip.fillStyle = ink.edge;
  const step = (width - 2 * pad) / openAt.length;
  openAt.forEach((many, bin) => strip.fillRect(pad + bin * step, height - (many / most) * (height - 12), step + 0.5, height));
  const { journey } = state;
  strip.fillStyle = ink.way;
  strip.fillRect(at(journey.created), 8, Math.max(at(Math.min(journey.ends, END)) - at(journey.created), 1), 1.5);
  for (const hop of journey.hops) strip.fillRect(at(hop.time), 5, 1, 7);
  for (const each of journey.delivered) strip.fillRect(at(each.time) - 1, 0, 3, 12);
  strip.fillRect(at(state.time) - 0.5, 0, 1, height);
}

function clockText(seconds) {
  const whole = Math.floor(seconds), two = (value) => String(value).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  return `${days ? `${days} d ` : ""}${two(Math.floor(whole / 3600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function draw() {
  findPlaces(state.time);
  paper.clearRect(0, 0, view.width, view.height);
  const open = drawContacts(state.playing ? GLOW * state.speed : 0);
  drawJourney(state.playing ? FLIGHT * state.speed : 0);
  const { holders, brokers, reached } = drawPeople();
  drawDensity();
  $("when").value = state.time;
  $("when").setAttribute("aria-valuetext", clockText(state.time));
  $("clock").textContent = clockText(state.time);
  $("now").textContent = `${open} contacts open · ${brokers} brokers · message with ${holders} people, delivered to ${reached}`;
  for (const button of $("journey").querySelectorAll("button")) {
    button.className = Number(button.dataset.time) > state.time ? "later" : "";
  }
}

// What people do ------------------------------------------------------------------------------------------------------

function goTo(time) {
  state.time = Math.min(Math.max(time, BEGIN), END);
  draw();
}

function choose(message) {
  state.journey = journeyOf(message);
  state.chosen = -1;
  $("message").value = message;
  const said = run.messages[message], { journey } = state;
  $("about").textContent = `“${said.topic}”, published by ${run.names[said.publisher]} at ${clockText(said.created)}` +
    `${said.ttl === null ? "" : `, lives ${clockText(said.ttl)}`}; delivered to ${said.delivered} of ${said.interested} who want it, ` +
    `by ${journey.hops.length} hand-overs.`;
  const list = $("journey");
  list.replaceChildren(...journey.delivered.map((each, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.dataset.time = each.time;
    button.setAttribute("aria-pressed", "false");
    button.textContent = `${clockText(each.time)}  ${each.way.map((node) => run.names[node]).join(" → ")}`;
    button.addEventListener("click", () => {
      state.chosen = state.chosen === number ? -1 : number;
      list.querySelectorAll("button").forEach((other, place) => other.setAttribute("aria-pressed", String(place === state.chosen)));
      goTo(each.time);
    });
    item.append(button);
    return item;
  }));
  goTo(said.created);
}

let last = 0;
function frame(now) {
  if (!state.playing) return;
  const passed = Math.min((now - last) / 1000, 0.1); // a page that was hidden does not jump
  last = now;
  state.time = Math.min(state.time + passed * state.speed, END);
  if (state.time >= END) play(false);
  draw();
  requestAnimationFrame(frame);
}

function play(on) {
  state.playing = on;
  $("play").textContent = on ? "❚❚ pause" : "▶ play";
  $("play").setAttribute("aria-label", on ? "pause" : "play");
  if (on) {
    if (state.time >= END) state.time = BEGIN;
    last = performance.now();
    requestAnimationFrame(frame);
  }
}

const SPEEDS = [[1, "1 s"], [10, "10 s"], [60, "1 min"], [300, "5 min"], [600, "10 min"], [3600, "1 h"], [21600, "6 h"], [86400, "1 d"]];

function speed(place) {
  const number = Math.min(Math.max(place, 0), SPEEDS.length - 1);
  $("speed").selectedIndex = number;
  state.speed = SPEEDS[number][0];
}

function turn(step) {
  choose((state.journey.message + step + run.messages.length) % run.messages.length);
}

const KEYS = {
  " ": () => play(!state.playing),
  ArrowLeft: (event) => goTo(state.time - (event.shiftKey ? 0.001 : 0.01) * (END - BEGIN)),
  ArrowRight: (event) => goTo(state.time + (event.shiftKey ? 0.001 : 0.01) * (END - BEGIN)),
  ArrowUp: () => speed($("speed").selectedIndex + 1),
  ArrowDown: () => speed($("speed").selectedIndex - 1),
  Home: () => goTo(BEGIN),
  End: () => goTo(END),
  ".": () => goTo(Math.min(...state.journey.hops.map((hop) => hop.time).filter((time) => time > state.time), END)),
  ",": () => goTo(Math.max(...state.journey.hops.map((hop) => hop.time).filter((time) => time < state.time), BEGIN)),
  n: () => turn(1),
  p: () => turn(-1),
  v: () => { state.map = Boolean(tracks) && !state.map; $("view").selectedIndex = Number(!state.map); resize(); },
  l: () => { state.labels = (state.labels + 1) % LABELS.length; draw(); },
};

document.addEventListener("keydown", (event) => {
  const inList = event.target instanceof HTMLSelectElement;
  const pressed = event.target instanceof HTMLButtonElement && event.key === " ";
  if (event.ctrlKey || event.metaKey || event.altKey || inList || pressed || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key](event);
});

crowd.addEventListener("mousemove", (event) => {
  let near = -1, best = (view.radius + 6) ** 2;
  for (let node = 0; node < NODES; node++) {
    const distance = (view.x(places.x[node]) - event.offsetX) ** 2 + (view.y(places.y[node]) - event.offsetY) ** 2;
    if (distance < best) [near, best] = [node, distance];
  }
  const tip = $("tip");
  tip.hidden = near < 0;
  if (near < 0) return;
  const letter = run.letters[near];
  tip.textContent = `${run.names[near]}${letter && `, community ${letter}`}${state.brokers[near] ? ", broker" : ""}`;
  tip.style.left = `${Math.min(event.offsetX + 12, view.width - 160)}px`;
  tip.style.top = `${event.offsetY + 12}px`;
});
crowd.addEventListener("mouseleave", () => { $("tip").hidden = true; });
$("when").addEventListener("input", (event) => goTo(Number(event.target.value)));
$("play").addEventListener("click", () => play(!state.playing));
$("speed").addEventListener("change", (event) => speed(event.target.selectedIndex));
$("message").addEventListener("change", (event) => choose(Number(event.target.value)));
$("view").addEventListener("change", (event) => { state.map = event.target.selectedIndex === 0; resize(); });
$("before").addEventListener("click", () => turn(-1));
$("after").addEventListener("click", () => turn(1));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });

$("views").hidden = !tracks;
$("when").min = BEGIN;
$("when").max = END;
$("speed").append(...SPEEDS.map(([, text]) => new Option(`${text} in a second`)));
$("message").append(...run.messages.map((each, number) =>
  new Option(`${each.id} · ${each.topic} · ${each.delivered} of ${each.interested}`, number)));
readColours();
state.journey = journeyOf(run.first);
// The life of a message in the better part of a minute, or a little more.
speed(Math.max(SPEEDS.findLastIndex(([each]) => each <= (state.journey.ends - state.journey.created) / 30), 0));
resize();
choose(run.first);
new ResizeObserver(resize).observe(crowd);
