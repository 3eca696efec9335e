// A picture with its name and the buttons to take it along; wider ones scroll.

import { downloads } from "../download.js";
import { h } from "../element.js";

/** drawn: an SVG element, or () → one that is drawn again when it is taken along. note: a sentence below. */
export function framed(name, drawn, { note = null, others = {}, label = null } = {}) {
  const room = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label ?? name }, drawn);
  return h("figure", { class: "framed" },
    h("figcaption", {}, h("span", { class: "name" }, name), h("span", { class: "tools" }, downloads(name, () => room.querySelector("svg"), others))),
    room, note && h("p", { class: "note" }, note));
}
