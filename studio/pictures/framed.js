// A picture with its name and the buttons to take it along; wider ones scroll.

import { downloads } from "../download.js";
import { h } from "../element.js";

const USUAL = 760; // pixels, before there is a place

/** drawn: an SVG element, or (width of the place) → one, drawn anew when the place is wider or narrower. note: below. */
export function framed(name, drawn, { note = null, others = {}, label = null } = {}) {
  const room = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label ?? name }, typeof drawn === "function" ? drawn(USUAL) : drawn);
  if (typeof drawn === "function") refitted(room, drawn);
  return h("figure", { class: "framed" },
    h("figcaption", {}, h("span", { class: "name" }, name), h("span", { class: "tools" }, downloads(name, () => room.querySelector("svg"), others))),
    room, note && h("p", { class: "note" }, note));
}

/** As wide as its place, whenever that changes. */
function refitted(room, drawn) {
  let now = USUAL;
  const fit = () => {
    const wide = Math.floor(room.clientWidth);
    if (!wide || wide === now) return;
    now = wide;
    room.replaceChildren(drawn(wide));
  };
  new ResizeObserver(fit).observe(room);
}
