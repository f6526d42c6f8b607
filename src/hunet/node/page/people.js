// People and groups: conversations, safety numbers, invitations.

import { $, make, name, put, qr, when } from "./elements.js";
import { ask, attempt, onSubmit } from "./node.js";

let open = null; // with whom the conversation that is shown is

const path = (...words) => words.map((word) => `/${encodeURIComponent(word)}`).join("");

// Conversations -------------------------------------------------------------------------------------------------------

export async function people() {
  const { conversations } = await ask("GET", "/conversations");
  put($("people-list"), conversations.map((one) => make("li", { "data-key": JSON.stringify(one) },
    make("button", { class: "plain talk", onclick: () => attempt(() => openTalk(one.with)) },
      make("span", { class: "line" },
        make("span", { class: "who", title: one.with.device }, name(one.with.name), one.verified ? " ✓" : ""),
        one.unread ? make("span", { class: "chip" }, `${one.unread} new`) : "", when(one.last.at)),
      make("span", { class: "quiet last" }, one.last.own ? "me: " : "", name(textOf(one.last)))))));
  $("no-people").hidden = conversations.length > 0;
  if (open) await showTalk(conversations.find((one) => one.with.device === open.device)?.verified ?? open.verified);
}

export async function openTalk(person) {
  open = { ...person, verified: false };
  $("talk-text").value = "";
  $("talk").hidden = false;
  $("talks").hidden = true;
  await people();
  $("people").scrollIntoView({ block: "nearest" });
  $("talk-text").focus({ preventScroll: true });
}

async function showTalk(verified) {
  const person = open;
  const { messages } = await ask("GET", path("conversations", person.device));
  if (open !== person) return; // another was opened meanwhile
  $("talk-name").replaceChildren(name(messages.at(-1)?.name ?? person.name), verified ? " ✓" : "");
  $("talk-name").title = person.device;
  const there = $("talk-list").childElementCount;
  put($("talk-list"), messages.map((one) => make("li", { class: one.own ? "own" : "", "data-key": JSON.stringify(one) },
    make("pre", { class: "text", dir: "auto" }, textOf(one)),
    make("div", { class: "quiet" }, when(one.at), one.own ? ` · ${stateOf(one)}` : ""))));
  if (messages.length !== there) $("talk-list").scrollTop = $("talk-list").scrollHeight;
  if (messages.some((one) => !one.own && !one.read)) await ask("POST", path("conversations", person.device, "read"));
}

const textOf = (message) => message.text ?? `(${message.content_type})`;

function stateOf(message) {
  if (message.state === "carried") return `carried by ${message.carriers}`;
  return message.state === "expired" ? "not known to have arrived" : message.state;
}

onSubmit("talk-form", async () => {
  await ask("POST", path("conversations", open.device), { text: $("talk-text").value });
  $("talk-text").value = "";
  await people();
});

onSubmit("new-talk", async () => {
  const { device } = await ask("GET", path("safety", $("new-talk-device").value.trim()));
  $("new-talk-device").value = "";
  await openTalk(device);
});

$("talk-close").addEventListener("click", () => {
  open = null;
  $("talk").hidden = true;
  $("talks").hidden = false;
  attempt(people);
});

// Keys ----------------------------------------------------------------------------------------------------------------

$("talk-safety").addEventListener("click", () => attempt(() => showSafety(open.device, "GET", "safety")));

async function showSafety(device, method, word) {
  const safety = await ask(method, path(word, device));
  show("Safety number", [
    make("p", { class: "quiet" }, "If the device of ", name(safety.device.name),
      " shows the same sixty digits for you, nobody is in between. Compare them when you meet, or by telephone."),
    make("p", { class: "digits" }, safety.number),
    qr(safety.qr, "The safety number as a QR code"),
    make("p", {}, safety.verified ? "You have compared them: they are the same." : "You have not compared them yet."),
    make("button", { class: "plain", onclick: () => attempt(() => showSafety(device, safety.verified ? "DELETE" : "PUT", "verified")) },
      safety.verified ? "Take that back" : "They are the same"),
  ]);
  await people();
}

$("show-key").addEventListener("click", () => attempt(async () => {
  const contact = await ask("GET", "/contact");
  show("My key", [qr(contact.qr, "The key as a QR code"), make("code", {}, contact.uri)]);
}));

function show(title, parts) {
  $("paper-title").textContent = title;
  $("paper-content").replaceChildren(...parts);
  if (!$("paper").open) $("paper").showModal();
}

$("paper-close").addEventListener("click", () => $("paper").close());

// Groups --------------------------------------------------------------------------------------------------------------

export async function groups() {
  showGroups((await ask("GET", "/groups")).groups);
}

function showGroups(all) {
  put($("group-list"), all.map((group) => make("li", { "data-key": JSON.stringify(group) },
    make("div", { class: "line" }, make("span", { class: "who" }, name(group.name)),
      make("button", { class: "plain small", onclick: () => attempt(() => invite(group)) }, "Invite…"),
      make("button", { class: "plain small", "aria-label": `Leave ${group.name}`, onclick: () => attempt(() => leave(group)) }, "Leave")),
    make("ul", { class: "chips" }, ...group.members.map((one) => make("li", { class: "chip", title: one.device }, name(one.name),
      make("button", { "aria-label": `Remove ${one.name} from ${group.name}`, onclick: () => attempt(() => remove(group, one)) }, "×")))))));
  put($("publish-groups"), all.map((group) => make("option", { value: group.name }, group.name)));
  $("publish-group-row").hidden = !all.length;
}

async function invite(group) {
  const { invitation, qr: rows } = await ask("GET", path("groups", group.name, "invitation"));
  show("Invitation", [
    make("p", { class: "quiet" }, "Whoever has this belongs to ", name(group.name), ". Show it to nobody else."),
    qr(rows, "The invitation as a QR code"), make("code", {}, invitation),
  ]);
}

async function leave(group) {
  if (confirm(`Leave ${group.name}? Its keys are deleted here.`)) showGroups((await ask("DELETE", path("groups", group.name))).groups);
}

async function remove(group, member) {
  if (!confirm(`Remove ${member.name} from ${group.name}? The others get a new key.`)) return;
  await ask("DELETE", path("groups", group.name, "members", member.device));
  await groups();
}

onSubmit("group-form", async () => {
  const text = $("group-word").value.trim();
  const body = text.startsWith("hunet-group:") ? { invitation: text } : { name: text };
  showGroups((await ask("POST", "/groups", body)).groups);
  $("group-word").value = "";
});
