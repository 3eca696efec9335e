// An answer as its kind is best seen: text, class bars, coloured tags, a forecast's bands, a graph.

import { h } from "../element.js";
import { classBars } from "./class_bars.js";
import { forecastBands } from "./forecast_bands.js";
import { framed } from "./framed.js";
import { pixelPicture, seriesLines } from "./given.js";
import { nodeGraph } from "./node_graph.js";
import { tagChips } from "./tag_chips.js";

/** An Answer of the protocol → element. of: {model, input, before: another answer, from which changes are marked}. */
export function answerPicture(answer, of = {}) {
  const { before = null } = of;
  if (answer.classes) return h("div", { class: "answer-classes" }, givenPicture(of), framed("classes", classBars(answer.classes, before?.classes)));
  if (answer.tags) return tagged(answer.tags, before?.tags);
  if (answer.forecast) return framed("forecast", forecastBands(answer.forecast, before?.forecast));
  if (answer.graph) return graphed(answer.graph, before?.graph);
  return h("p", { class: "answer-text" }, answer.text);
}

/** What was read, where that is no text: null where it is. */
export function givenPicture({ model, input }) {
  if (!model || !Array.isArray(input) || !input.length) return null;
  if (model.kind === "image") return framed("what was read", pixelPicture(squared(input, model.image), model.image ?? {}));
  if (model.kind === "series") return framed("what was read", seriesLines(input, model.columns));
  return null;
}

/** Pixels in rows, whether they come so or one after the other. */
function squared(input, image = {}) {
  const flat = input.map((one) => (Array.isArray(one) && one.length === 1 ? one[0] : one));
  const columns = image?.columns ?? Math.round(Math.sqrt(flat.length));
  const isPixel = (one) => typeof one === "number" || (Array.isArray(one) && one.length === 3 && flat.length > 3 * columns);
  if (!flat.every(isPixel)) return flat;
  return Array.from({ length: Math.ceil(flat.length / columns) }, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}

function tagged(tags, before) {
  const wide = Math.min(900, Math.max(280, document.documentElement.clientWidth - 80));
  const rows = tags.map((one) => h("tr", {}, h("th", { scope: "row" }, one.word), h("td", {}, one.tag), h("td", { class: "number" }, one.probability.toFixed(3)),
    h("td", {}, (one.alternatives ?? []).filter((other) => other.label !== one.tag).slice(0, 3).map((other) => `${other.label} ${other.probability.toFixed(3)}`).join(", "))));
  const head = ["word", "tag", "probability", "else"].map((title) => h("th", { scope: "col" }, title));
  return h("div", {}, framed("tags", tagChips(tags, before ?? null, wide)),
    h("details", {}, h("summary", {}, "As a table, with alternatives"), h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)))));
}

/** A node that is chosen stands in the middle, with the edges that lead to it. */
function graphed(graph, before) {
  const place = h("div", {});
  const told = h("p", { class: "readout", "aria-live": "polite" });
  const draw = (chosen) => {
    const onNode = (node) => { draw(node); place.querySelector(`[data-node="${node}"]`)?.focus(); };
    place.replaceChildren(framed("graph", nodeGraph(graph, { chosen, onNode, before: before?.nodes }), { note: "Colours are what the model says, the paler the less sure; a cross marks what is labelled otherwise. Edges are as strong as the attention on them." }));
    told.textContent = chosen === null ? "" : about(graph, chosen);
  };
  draw(null);
  return h("div", {}, place, told);
}

function about({ nodes, edges }, chosen) {
  const node = nodes[chosen];
  const read = edges.filter(([, to, weight]) => to === chosen && weight !== null && weight !== undefined).sort((a, b) => b[2] - a[2]).slice(0, 4);
  const from = read.map(([other, , weight]) => `${nodes[other].name} ${weight.toFixed(3)}`).join(", ");
  return `${node.name}: ${node.said}, probability ${node.probability.toFixed(3)}${node.label ? `; labelled ${node.label}` : ""}.${from && ` It reads most from ${from}.`}`;
}
