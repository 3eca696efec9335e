// Every layer and head at a glance: a row a layer, a small picture a head.

import { colour } from "../colours.js";
import { h } from "../element.js";
import { picture, svg, text } from "../svg.js";
import { cut } from "./measure.js";
import { roving } from "./roving.js";

const SIDE = 74;
const GAP = 10;
const TOP = 24;

/** layers: of the attention document, with Tensors as weights. onHead(layer, head). chosen: [layer, head] or null. */
export function headGrid(layers, chosen, onHead) {
  const left = document.documentElement.clientWidth < 640 ? 118 : 220;
  const most = Math.max(...layers.map((layer) => layer.weights.heads));
  const heads = Array.from({ length: most }, (_, head) => head);
  const [width, height] = [left + most * (SIDE + GAP), TOP + layers.length * (SIDE + GAP)];
  const titles = heads.map((head) => text(left + head * (SIDE + GAP) + SIDE / 2, 14, `head ${head + 1}`, { class: "side", "text-anchor": "middle" }));
  const rows = layers.map((layer, row) => {
    const y = TOP + row * (SIDE + GAP);
    const cells = Array.from({ length: layer.weights.heads }, (_, head) => cell(layer, row, head, left + head * (SIDE + GAP), y, chosen, onHead));
    return svg("g", {}, words(layer.title, left - 12, y + SIDE / 2), cells);
  });
  const drawn = picture(width, height, "all layers and heads", { class: "head-grid", role: "group" }, titles, rows);
  return roving(drawn, [...drawn.querySelectorAll(".small")], drawn.querySelector(".small.chosen") ?? undefined);
}

function words(title, x, y) {
  return text(x, y, cut(title, x - 4, 12), { class: "layer", "text-anchor": "end", "dominant-baseline": "central", "font-size": 12 });
}

function cell(layer, row, head, x, y, chosen, onHead) {
  const label = `${layer.title}, head ${head + 1}`;
  const keyed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onHead(row, head);
  };
  const pressed = chosen !== null && chosen[0] === row && chosen[1] === head;
  return svg("g", { class: `small${pressed ? " chosen" : ""}`, role: "button", "aria-label": label, onclick: () => onHead(row, head), onkeydown: keyed },
    svg("title", {}, label),
    svg("image", { x, y, width: SIDE, height: SIDE, preserveAspectRatio: "none", "image-rendering": "pixelated", href: pixels(layer.weights.head(head).pooled(SIDE)) }),
    svg("rect", { x, y, width: SIDE, height: SIDE, rx: 3, fill: "none" }));
}

function pixels(matrix) {
  const canvas = h("canvas", { width: matrix.columns, height: matrix.rows });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(matrix.columns, matrix.rows);
  const limit = matrix.range()[1] || 1;
  matrix.data.forEach((value, i) => image.data.set([...colour(value, limit, "weights"), 255], 4 * i));
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
