// One box in full: what it does, its equation with these numbers, and every matrix that it made.

import { h, shown } from "../element.js";
import { heatMap } from "../matrix.js";
import { short, Tensor } from "../tensor.js";

/** box: of the flow; made: the box document; seen: its entry of the trace, or undefined; cell: told which cell was chosen;
 * ways: of `ways` below. */
export function boxPanel(box, made, seen, cell, ways) {
  return [
    h("p", { class: "sentence" }, made.sentence || box.sentence),
    ways,
    made.equation?.symbols && equation(made.equation),
    boxFacts(box, seen),
    ...made.values.map((value) => valueMap(value, { onCell: cell })),
    made.values.length === 0 && h("p", { class: "note" }, "It made nothing for this input."),
  ];
}

/** Where what it reads comes from, and where it goes. edges: of the flow; boxes: id → box; choose(id). */
export function ways(box, edges, boxes, choose) {
  const list = (title, ids) => ids.length > 0 && h("p", {}, h("span", { class: "note" }, title),
    ids.map((id) => h("button", { type: "button", class: "quiet", onclick: () => choose(id) }, boxes.get(id).title)));
  const unique = (ids) => [...new Set(ids)];
  return h("div", { class: "ways" }, list("reads ", unique(edges.filter(([, to]) => to === box.id).map(([from]) => from))),
    list("read by ", unique(edges.filter(([from]) => from === box.id).map(([, to]) => to))));
}

export function valueMap(value, more = {}) {
  const tensor = Tensor.of(value.matrix);
  return heatMap({ name: value.name, title: value.title, tensor, rows: value.rows, columns: value.columns, kind: scaleOf(value, tensor), ...more });
}

/** Numbers that are never below 0 and at most 1 are shares; all others have a sign. */
function scaleOf(value, tensor) {
  const [least, most] = tensor.range();
  return least >= 0 && most <= 1.0001 && tensor.columns > 1 ? "weights" : "diverging";
}

export function equation({ symbols, numbers }) {
  const lines = (text) => String(text ?? "").split("\n").filter(Boolean).map((line) => h("span", { class: "line" }, line));
  return h("div", { class: "equation", role: "group", "aria-label": "Equation", tabindex: "0" },
    h("div", { class: "symbols" }, lines(symbols)), numbers && h("div", { class: "numbers" }, lines(numbers)));
}

export function boxFacts(box, seen) {
  const rows = [["module", h("code", {}, box.id)]];
  if (box.parameters) rows.push(["parameters", box.parameters.toLocaleString("en")]);
  if (seen?.shapes?.length) rows.push([seen.shapes.length > 1 ? "shapes" : "shape", seen.shapes.map((shape) => shape.join(" × ")).join(", ")]);
  if (Number.isFinite(seen?.mean)) rows.push(["range", `${short(seen.least)} … ${short(seen.most)}, mean ${short(seen.mean)}`]);
  for (const [name, value] of Object.entries(box.settings ?? {})) if (value !== null && value !== false) rows.push([name.replaceAll("_", " "), said(value)]);
  return h("details", { class: "facts" }, h("summary", {}, "Shape, size and settings"),
    h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function said(value) {
  if (value === true) return "yes";
  return typeof value === "object" ? JSON.stringify(value) : shown(String(value));
}
