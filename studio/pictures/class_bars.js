// How likely each class is: a bar each, the likeliest first.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { cut, textWidth } from "./measure.js";

const HIGH = 28;
const [LEAST, LONG] = [80, 300]; // of a bar that is certain
const SHARE = 80; // for its number
const MOST = 20;

/** classes: [{label, probability}]. before: the same of another answer, drawn as a line on each bar. */
export function classBars(classes, before = null, wide = 640) {
  const sorted = [...classes].sort((a, b) => b.probability - a.probability);
  const shown = sorted.slice(0, MOST);
  const was = new Map((before ?? []).map((one) => [one.label, one.probability]));
  const left = Math.min(wide * 0.45, Math.max(40, ...shown.map((one) => textWidth(one.label, 14)))) + 16;
  const long = Math.max(LEAST, Math.min(LONG, wide - left - SHARE));
  const title = `classes: ${shown.slice(0, 3).map((one) => `${one.label} ${percent(one.probability)}`).join(", ")}`;
  const bars = shown.map((one, row) => {
    const y = 6 + row * HIGH;
    const sure = Math.max(1, long * one.probability);
    const old = was.get(one.label);
    return svg("g", { class: row === 0 ? "best" : "other", "data-label": one.label },
      text(left - 8, y + HIGH / 2 + 1, cut(one.label, left - 12, 14), { "text-anchor": "end", "dominant-baseline": "central", "font-size": 14 }),
      svg("rect", { x: left, y: y + 4, width: long, height: HIGH - 8, rx: 3, class: "track" }),
      svg("rect", { x: left, y: y + 4, width: sure, height: HIGH - 8, rx: 3, fill: hue(row === 0 ? 1 : 0), "fill-opacity": row === 0 ? 1 : 0.55 }),
      old !== undefined && svg("line", { x1: left + long * old, x2: left + long * old, y1: y + 1, y2: y + HIGH - 1, class: "was" }),
      text(left + long + 10, y + HIGH / 2 + 1, percent(one.probability), { "dominant-baseline": "central", class: "number", "font-size": 13 }));
  });
  const rest = sorted.length - shown.length;
  const more = rest > 0 ? text(left, 6 + shown.length * HIGH + 16, `and ${rest} more classes`, { class: "side" }) : null;
  return picture(left + long + SHARE, 12 + shown.length * HIGH + (rest > 0 ? 22 : 0), title, { class: "class-bars" }, bars, more);
}
