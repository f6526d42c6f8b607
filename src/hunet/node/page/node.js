// Asking the node: every request of the page goes through here.

import { $ } from "./elements.js";

const TOKEN = "hunet-token";

let token = localStorage.getItem(TOKEN) ?? "";
if (location.hash.startsWith("#token=")) { // it is in the printed address; it should not stay in view
  token = decodeURIComponent(location.hash.slice("#token=".length));
  localStorage.setItem(TOKEN, token);
  history.replaceState(null, "", location.pathname);
}

export function unlock(text) {
  token = text;
  localStorage.setItem(TOKEN, token);
}

export class Refused extends Error {}

export function headers(more = {}) {
  return token ? { Authorization: `Bearer ${token}`, ...more } : more;
}

export async function ask(method, path, body) {
  const about = { method, headers: headers(body ? { "Content-Type": "application/json" } : {}) };
  if (body) about.body = JSON.stringify(body);
  const answer = await fetch(path, about);
  const said = await answer.json();
  if (answer.status === 401) $("unlock").hidden = false;
  if (!answer.ok) throw new Refused(said.error);
  return said;
}

export async function attempt(what) {
  try {
    await what();
    $("problem").hidden = true;
  } catch (error) {
    $("problem").textContent = error instanceof Refused ? error.message : "The node does not answer.";
    $("problem").hidden = false;
  }
}

export function onSubmit(id, what) {
  $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(what);
  });
}
