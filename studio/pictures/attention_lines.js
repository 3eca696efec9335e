// Attention as lines between words: on the left who asks, on the right who is looked at.

import { hue } from "../colours.js";
import { shown } from "../element.js";
import { bent, picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { cut, textWidth } from "./measure.js";

const LEAST = 0.01; // thinner lines are not drawn, unless all are thin
const MOST = 6000; // lines: more are only a blot
const WORD = 170;

/** The least weight of which a line is drawn. A weight spread over hundreds of words has only thin ones. */
export const leastDrawn = (weights, heads) => Math.min(LEAST, largest(weights, heads) / 4);

const largest = (weights, heads) => Math.max(...heads.map((head) => weights.head(head).range()[1]), 1e-9);

/**
 * layer: of the attention document, with `weights` a Tensor of heads, rows and columns. heads: those that are drawn.
 * A word that is pointed at, or reached with the keys, shows only its own lines, with their weights.
 */
export function attentionLines(layer, heads, title) {
  const { rows, columns, weights } = layer;
  const count = Math.max(rows.length, columns.length);
  const high = Math.max(15, Math.min(36, 700 / count));
  const size = high < 20 ? 11 : high < 30 ? 13 : 15;
  const middle = Math.max(150, 10 * high); // between the words
  const left = Math.max(40, widest(rows, size)) + 12;
  const right = Math.max(80, widest(columns, size)) + 12;
  const width = left + middle + right;
  const top = 24;
  const spread = (places) => (i) => top + (i + 0.5) * high * (count / places.length);
  const at = { row: spread(rows), column: spread(columns), left, right: left + middle };
  const least = leastDrawn(weights, heads);
  const full = Math.min(1, 4 * largest(weights, heads)); // drawn as strong as can be
  const strands = svg("g", { class: "strands" });
  const numbers = svg("g", { class: "numbers" });
  const words = svg("g", { class: "words" });
  const made = picture(width, top + count * high + 8, title, { class: "attention-lines", role: "group" },
    text(at.left - 6, 14, "asks", { class: "side", "text-anchor": "end" }),
    text(at.right + 6, 14, "is looked at", { class: "side" }), strands, numbers, words);
  const show = (focus) => {
    strands.replaceChildren(...strandsOf(weights, heads, focus, at, { least, full }));
    numbers.replaceChildren(...numbersOf(weights, heads, focus, at, size, least));
    for (const word of words.children) word.classList.toggle("chosen", focus !== null && word.dataset.key === `${focus.side}${focus.index}`);
  };
  const word = (side) => (place, index) => {
    const x = side === "row" ? at.left - 6 : at.right + 6;
    const said = `${side === "row" ? "asks" : "is looked at"}: ${shown(place)}, place ${index + 1}`;
    return svg("text", {
      x, y: at[side](index), "text-anchor": side === "row" ? "end" : "start", "dominant-baseline": "central", class: "word",
      "font-size": size, "data-key": `${side}${index}`, "data-side": side, "data-index": index, tabindex: side === "row" && index === 0 ? 0 : -1,
      role: "button", "aria-label": said, onpointerenter: () => show({ side, index }), onpointerleave: () => show(null),
      onfocus: () => show({ side, index }), onblur: () => show(null), onkeydown: (event) => move(event, words),
    }, svg("title", {}, described(weights, heads, side, index, side === "row" ? columns : rows)), cut(shown(place), WORD, size));
  };
  words.append(...rows.map(word("row")), ...columns.map(word("column")));
  show(null);
  return made;
}

const widest = (places, size) => Math.min(WORD, Math.max(24, ...places.map((place) => textWidth(shown(place), size))));

function strandsOf(weights, heads, focus, at, { least, full }) {
  const found = [];
  const share = 1 / heads.length;
  for (const head of heads) {
    const of = weights.head(head);
    for (let i = 0; i < of.rows; i += 1) {
      if (focus?.side === "row" && focus.index !== i) continue;
      for (let j = 0; j < of.columns; j += 1) {
        const weight = of.at(i, j);
        if ((focus?.side === "column" && focus.index !== j) || !(weight >= least)) continue;
        found.push({ head, i, j, weight });
      }
    }
  }
  found.sort((a, b) => a.weight - b.weight);
  return found.slice(-MOST).map(({ head, i, j, weight }) => svg("path", {
    d: bent([at.left, at.row(i)], [at.right, at.column(j)], "x"), fill: "none", stroke: hue(head),
    "stroke-width": (0.6 + 3.4 * weight / full).toFixed(2), "stroke-opacity": Math.min(1, 0.06 + 0.94 * (weight / full) * (0.4 + 0.6 * share)).toFixed(3),
  }));
}

/** Beside each word, how much of the chosen word's attention it has: the mean of the heads that are drawn. */
function numbersOf(weights, heads, focus, at, size, least) {
  if (focus === null) return [];
  const along = focus.side === "row" ? weights.columns : weights.rows;
  return Array.from({ length: along }, (_, other) => other).flatMap((other) => {
    const weight = meanWeight(weights, heads, focus, other);
    if (!(weight >= least)) return [];
    const [x, y] = focus.side === "row" ? [at.right - 4, at.column(other)] : [at.left + 4, at.row(other)];
    return [text(x, y, weight.toFixed(weight < LEAST ? 4 : 2).replace(/^0/, ""), {
      class: "number", "font-size": size - 2, "text-anchor": focus.side === "row" ? "end" : "start", "dominant-baseline": "central",
    })];
  });
}

function meanWeight(weights, heads, focus, other) {
  const [i, j] = focus.side === "row" ? [focus.index, other] : [other, focus.index];
  return heads.reduce((sum, head) => sum + weights.head(head).at(i, j), 0) / heads.length;
}

function described(weights, heads, side, index, others) {
  const found = others.map((place, other) => [meanWeight(weights, heads, { side, index }, other), shown(place)]);
  found.sort((a, b) => b[0] - a[0]);
  return found.slice(0, 3).map(([weight, said]) => `${said} ${percent(weight)}`).join(", ");
}

/** Arrow keys go from word to word. */
function move(event, words) {
  const { side, index } = event.currentTarget.dataset;
  const go = { ArrowDown: [side, 1], ArrowUp: [side, -1], ArrowRight: ["column", 0], ArrowLeft: ["row", 0] }[event.key];
  if (!go) return;
  event.preventDefault();
  const next = [...words.children].find((word) => word.dataset.key === `${go[0]}${Number(index) + go[1]}`);
  if (!next) return;
  for (const word of words.children) word.setAttribute("tabindex", word === next ? 0 : -1);
  next.focus();
}
