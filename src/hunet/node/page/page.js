// The page of a node. Everything that others wrote (texts, topics, names) becomes text nodes, never HTML.

import { $, bytes, lasting, make, name, put, several, when } from "./elements.js";
import { ask, attempt, headers, onSubmit, Refused, unlock } from "./node.js";
import { groups, openTalk, people } from "./people.js";

const SEALED = "application/vnd.hunet.sealed";
const SLOWEST = 15000; // between asking anew, in milliseconds
const MOST = 500; // messages on the page

const messages = new Map(); // by number
let me = "";
let lastEvent = "";
let earlier = null;

// What is shown -------------------------------------------------------------------------------------------------------

const shows = {
  people,
  groups,

  async status() {
    const status = await ask("GET", "/status");
    me = status.device;
    $("me").replaceChildren(make("code", { title: me }, `${me.slice(0, 8)}…`), ` runs ${status.protocol}`);
    $("key").textContent = me;
    const waiting = status.waiting ? `(${status.waiting}) ` : "";
    document.title = `${waiting}hunet ${me.slice(0, 8)}`;
    showTopics(status);
    $("clock").textContent = status.clock;
    $("clock").hidden = !status.clock;
    const counted = { "bytes on disk": status.disk_bytes, ...status.counters };
    put($("counters"), Object.entries(counted).flatMap(
      ([what, many]) => [make("dt", {}, what), make("dd", {}, many.toLocaleString())]));
  },

  async messages() {
    const before = [...messages.keys()];
    const page = await ask("GET", "/messages?limit=50");
    before.forEach((number) => messages.delete(number)); // what was delivered since the question stays
    page.messages.forEach((message) => messages.set(message.number, message));
    earlier = page.before;
    showMessages();
  },

  async read() { // what the page has been told, without asking
    const numbers = [...messages.keys()].sort((one, two) => two - one);
    for (const number of numbers.slice(MOST)) messages.delete(number);
    if (numbers.length > MOST) earlier = numbers[MOST - 1];
    showMessages();
  },

  async peers() {
    const { peers } = await ask("GET", "/peers");
    const list = peers.map((peer) => make("li", {},
      make("div", { class: "line" },
        make("span", { title: peer.device }, name(peer.name)),
        make("button", { class: "plain small", "aria-label": `Write to ${peer.name}`, onclick: () => attempt(() => openTalk(peer)) }, "Write…"),
        make("button", { class: "plain small", "aria-label": `Name ${peer.name}`, onclick: () => askName(peer) }, "Name…")),
      make("div", { class: "quiet" }, ...(peer.since === null ? [] : ["since ", when(peer.since)]),
        peer.same_protocol ? "" : " · runs another protocol")));
    put($("peer-list"), list.length ? list : [make("li", { class: "quiet" }, "Nobody is in reach.")]);
  },

  async encounters() {
    const now = Date.now() / 1000;
    const start = now - Number($("span").value);
    const { encounters } = await ask("GET", `/encounters?limit=1000&since=${start}`);
    const people = new Map();
    for (const one of encounters) {
      const who = one.device ?? one.name;
      people.set(who, [...(people.get(who) ?? []), one]);
    }
    const axis = make("span", { class: "axis quiet" }, when(start), "now");
    const nobody = make("span", { class: "quiet" }, "Nobody, as far as it was noted.");
    $("timeline").replaceChildren(...(people.size ? [...[...people.values()].flatMap(
      (times) => [name(times[0].name), strip(times[0].name, times, start, now)]), axis] : [nobody]));
  },

  async carried() {
    const { carried, held, held_bytes: size } = await ask("GET", "/carried?limit=50");
    $("carried-sum").textContent = held ? `${several(held, "message")}, ${bytes(size)}` : "Nothing.";
    put($("carried-list"), carried.map((one) => make("li", { "data-id": one.id },
      make("div", { class: "line" },
        make("span", {}, make("span", { class: "chip" }, one.topic.startsWith("~") ? "private" : name(one.topic)), one.own ? " my own" : " from ", one.own ? "" : name(one.name)),
        make("span", { class: "quiet" }, bytes(one.size))),
      make("div", { class: "quiet" }, ...forWhom(one), ` · kept for another ${lasting(one.expires - Date.now() / 1000)}`,
        one.own && one.receipts ? ` · at least ${one.receipts} have it` : ""))));
  },

  async community() {
    const { protocol, role, members } = await ask("GET", "/community");
    const part = role ? `I am a ${role}` : "Nobody has a special role";
    const others = (members ?? []).filter((device) => !device.own);
    const circle = members === null ? "It knows no communities."
      : others.length ? "My community:" : "I belong to no community yet.";
    $("role").textContent = `${part} in ${protocol}. ${circle}`;
    put($("community"), others.map((device) => make("li",
      { class: device.here ? "chip" : "chip absent", title: device.device }, name(device.name), device.here ? "(here)" : "")));
  },
};

function forWhom(one) {
  const known = one.wanted_by.flatMap((device, place) => [place ? ", " : "for ", name(device.name)]);
  const more = one.wanted_by_many - one.wanted_by.length;
  if (more) known.push(` and ${more} more`);
  if (one.strength > 0) known.push(known.length ? " and others" : "for people whom I meet", ` (${one.strength.toPrecision(3)})`);
  return known.length ? known : ["for whoever wants it"];
}

function strip(who, times, start, now) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const total = times.reduce((sum, one) => sum + (one.end ?? now) - Math.max(start, one.start), 0);
  const said = `${who}: ${several(times.length, "meeting")}, ${lasting(total)} in all`;
  picture.setAttribute("viewBox", "0 0 1000 10");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", said);
  const title = document.createElementNS(space, "title");
  title.textContent = said;
  picture.append(title);
  for (const one of times) {
    const from = Math.max(0, (one.start - start) / (now - start)) * 1000;
    const until = Math.min(1, ((one.end ?? now) - start) / (now - start)) * 1000;
    const bar = document.createElementNS(space, "rect");
    bar.setAttribute("x", Math.min(from, 990)); // the shortest can be seen
    bar.setAttribute("width", Math.max(10, until - from));
    bar.setAttribute("height", 10);
    picture.append(bar);
  }
  return picture;
}

function showTopics({ subscriptions: topics, endings }) {
  const until = (topic) => topic in endings ? [" until ", when(endings[topic])] : [];
  put($("topic-list"), topics.map((topic) => make("li", { class: "chip" }, name(topic), ...until(topic),
    make("button", {
      "aria-label": `No longer follow ${topic}`,
      onclick: () => attempt(() => changeTopics("DELETE", topic)),
    }, "×"))));
  put($("known-topics"), topics.map((topic) => make("option", { value: topic })));
}

async function changeTopics(method, topic, seconds = 0) {
  const lasting = seconds ? `?for=${seconds}` : "";
  showTopics(await ask(method, `/subscriptions/${encodeURIComponent(topic)}${lasting}`));
  refresh("status"); // an answer that was on its way may have shown the topics as they were
}

function showMessages() {
  const shown = [...messages.values()].sort((one, two) => two.number - one.number);
  put($("message-list"), shown.map(messageItem));
  $("no-messages").hidden = shown.length > 0;
  $("earlier").hidden = earlier === null;
}

function messageItem(message) {
  const key = `${message.number} ${message.taken} ${message.name}`;
  return make("li", { class: message.taken ? "read" : "new", "data-key": key },
    make("div", { class: "head" },
      make("span", { class: "chip" }, message.private ? "group " : "", name(message.topic)),
      make("span", { class: "who", title: message.author }, name(message.name)),
      when(message.created), make("span", {}, several(message.hops, "hop")),
      message.taken ? null : make("button", { class: "plain small", onclick: () => attempt(() => take(message)) }, "Done")),
    content(message));
}

function content(message) {
  if (message.text !== null) return make("pre", { class: "text", dir: "auto" }, message.text);
  if (message.content_type === SEALED) {
    return make("p", { class: "quiet" }, "Sealed for a group to which this device does not belong.");
  }
  const save = make("button", { class: "plain small", onclick: () => attempt(() => keep(message)) }, "Save");
  return make("p", { class: "quiet" }, name(message.content_type), `, ${bytes(message.size)} `, save);
}

async function take(message) {
  await ask("POST", `/messages/${message.number}/taken`);
  messages.set(message.number, { ...message, taken: true });
  showMessages();
  refresh("status");
}

async function keep(message) { // as a file, which the browser does not open: it may be anything
  const whole = await ask("GET", `/messages/${message.number}`);
  const data = whole.text ?? Uint8Array.from(atob(whole.base64), (letter) => letter.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
  make("a", { href: address, download: `${message.id}.bin` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function askName(peer) {
  $("naming-key").textContent = peer.device;
  $("naming-name").value = "";
  $("naming-problem").textContent = "";
  $("naming").dataset.device = peer.device;
  $("naming").showModal();
}

// Several wishes to see something anew, within a moment, are one.
const wanted = new Set();
function refresh(...names) {
  if (!wanted.size) setTimeout(() => {
    const now = [...wanted];
    wanted.clear();
    attempt(() => Promise.all(now.map((each) => shows[each]())));
  }, 150);
  names.forEach((each) => wanted.add(each));
}

// What happens on the node --------------------------------------------------------------------------------------------

const happens = {
  "hello": () => refresh("status", "messages", "people", "groups", "peers", "encounters", "carried", "community"),
  "direct": () => refresh("people", "groups", "carried"),
  "delivery": (message) => {
    messages.set(message.number, message);
    refresh("read", "status", "carried");
    $("announce").textContent = `A message on ${message.topic} from ${message.name}`;
  },
  "link-up": () => refresh("peers", "encounters", "carried", "community", "status"),
  "link-down": () => refresh("peers", "encounters", "carried", "community", "status"),
  "role": () => refresh("community"),
};

// Server-sent events by fetch: EventSource can carry no token.
async function listen() {
  const answer = await fetch("/events", { headers: headers(lastEvent ? { "Last-Event-ID": lastEvent } : {}) });
  if (answer.status === 401) $("unlock").hidden = false;
  if (!answer.ok) throw new Refused((await answer.json()).error);
  $("link").className = "live";
  $("link").textContent = "live";
  $("problem").hidden = $("unlock").hidden = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    parts.forEach(hear);
  }
}

function hear(part) {
  const said = Object.fromEntries(part.split("\n").filter((line) => !line.startsWith(":")).map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  }));
  if (said.id) lastEvent = said.id;
  happens[said.event]?.(JSON.parse(said.data));
}

async function stayInTouch() {
  for (let wait = 500; ; wait = Math.min(2 * wait, SLOWEST)) {
    const began = Date.now();
    try {
      await listen();
    } catch (error) {
      if (error instanceof Refused) {
        $("problem").textContent = error.message;
        $("problem").hidden = false;
      }
    }
    $("link").className = "lost";
    $("link").textContent = "not connected, trying again";
    if (Date.now() - began > SLOWEST) wait = 500;
    await new Promise((resume) => { setTimeout(resume, wait); $("unlock").onsubmit = unlocked(resume); });
  }
}

const unlocked = (resume) => (event) => {
  event.preventDefault();
  unlock($("token").value.trim());
  resume();
};

// What people do ------------------------------------------------------------------------------------------------------

onSubmit("publish-form", async () => {
  const topic = $("publish-topic").value.trim();
  const group = $("publish-group").value;
  $("published").textContent = "";
  await ask("POST", "/publications", {
    ...(group ? { group } : { topic }), text: $("publish-text").value, ttl: Number($("publish-ttl").value), receipts: $("publish-receipts").checked,
  });
  $("publish-text").value = "";
  $("published").replaceChildren(group ? "Published to " : "Published on ", name(group || topic), "; it goes to whoever is met.");
  refresh("carried", "status");
});

onSubmit("subscribe-form", async () => {
  await changeTopics("PUT", $("subscribe-topic").value.trim(), Number($("subscribe-for").value));
  $("subscribe-topic").value = "";
});

$("naming-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await ask("PUT", `/names/${$("naming").dataset.device}`, { name: $("naming-name").value });
    $("naming").close();
    refresh("people", "groups", "peers", "messages", "encounters", "carried", "community");
  } catch (error) {
    $("naming-problem").textContent = error.message;
  }
});
$("naming-cancel").addEventListener("click", () => $("naming").close());
$("span").addEventListener("change", () => refresh("encounters"));
$("earlier").addEventListener("click", () => attempt(async () => {
  const page = await ask("GET", `/messages?limit=50&before=${earlier}`);
  page.messages.forEach((message) => messages.set(message.number, message));
  earlier = page.before;
  showMessages();
}));
setInterval(() => { if (!document.hidden && $("link").className === "live") refresh("encounters", "carried", "status", "community"); }, SLOWEST);

stayInTouch();
