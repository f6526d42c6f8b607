// What the page is made of. Everything that others wrote (texts, topics, names) becomes text nodes, never HTML.

export const $ = (id) => document.getElementById(id);

export function make(tag, about = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Shows these elements and no others; what is there already stays, so that nobody's press or focus goes astray.
export function put(place, elements) {
  const key = (element) => element.dataset.key ?? element.outerHTML;
  const old = Map.groupBy([...place.children], key);
  const kept = elements.map((element) => old.get(key(element))?.shift() ?? element);
  [...place.children].filter((element) => !kept.includes(element)).forEach((element) => element.remove());
  kept.forEach((element, index) => {
    if (place.children[index] !== element) place.insertBefore(element, place.children[index] ?? null);
  });
}

export const name = (text) => make("bdi", {}, text); // isolated: letters that turn the line around stay inside

export function when(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return make("span", {}, "some time");
  const today = date.toDateString() === new Date().toDateString();
  const style = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return make("time", { datetime: date.toISOString(), title: date.toLocaleString() }, date.toLocaleString([], style));
}

export const several = (many, what) => `${many} ${what}${many === 1 ? "" : "s"}`;

export function lasting(seconds) {
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (seconds >= length) return several(Math.round(seconds / length), unit);
  }
  return "under a minute";
}

export function bytes(many) {
  if (many < 1000) return `${many} bytes`;
  return many < 1e6 ? `${(many / 1e3).toFixed(1)} kB` : `${(many / 1e6).toFixed(1)} MB`;
}

// A QR code of its rows ("1" is dark), with the light margin that readers need.
export function qr(rows, label) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const side = rows.length + 8;
  picture.setAttribute("viewBox", `0 0 ${side} ${side}`);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
  picture.setAttribute("class", "qr");
  const dark = document.createElementNS(space, "path");
  const squares = rows.flatMap((row, y) => [...row].map((one, x) => (one === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : "")));
  dark.setAttribute("d", squares.join(""));
  picture.append(dark);
  return picture;
}
