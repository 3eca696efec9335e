// How likely each class is: a bar each, the likeliest first.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { cut, textWidth } from "./measure.js";

const HIGH = 28;
const LONG = 300; // of a bar that is certain
const MOST = 20;

/** classes: [{label, probability}]. before: the same of another answer, drawn as a line on each bar. */
export function classBars(classes, before = null) {
  const sorted = [...classes].sort((a, b) => b.probability - a.probability);
  const shown = sorted.slice(0, MOST);
  const was = new Map((before ?? []).map((one) => [one.label, one.probability]));
  const left = Math.min(180, Math.max(40, ...shown.map((one) => textWidth(one.label, 14)))) + 16;
  const title = `classes: ${shown.slice(0, 3).map((one) => `${one.label} ${percent(one.probability)}`).join(", ")}`;
  const bars = shown.map((one, row) => {
    const y = 6 + row * HIGH;
    const wide = Math.max(1, LONG * one.probability);
    const old = was.get(one.label);
    return svg("g", { class: row === 0 ? "best" : "other", "data-label": one.label },
      text(left - 8, y + HIGH / 2 + 1, cut(one.label, left - 20, 14), { "text-anchor": "end", "dominant-baseline": "central", "font-size": 14 }),
      svg("rect", { x: left, y: y + 4, width: LONG, height: HIGH - 8, rx: 3, class: "track" }),
      svg("rect", { x: left, y: y + 4, width: wide, height: HIGH - 8, rx: 3, fill: hue(row === 0 ? 1 : 0), "fill-opacity": row === 0 ? 1 : 0.55 }),
      old !== undefined && svg("line", { x1: left + LONG * old, x2: left + LONG * old, y1: y + 1, y2: y + HIGH - 1, class: "was" }),
      text(left + LONG + 10, y + HIGH / 2 + 1, percent(one.probability), { "dominant-baseline": "central", class: "number", "font-size": 13 }));
  });
  const rest = sorted.length - shown.length;
  const more = rest > 0 ? text(left, 6 + shown.length * HIGH + 16, `and ${rest} more classes`, { class: "side" }) : null;
  return picture(left + LONG + 80, 12 + shown.length * HIGH + (rest > 0 ? 22 : 0), title, { class: "class-bars" }, bars, more);
}
