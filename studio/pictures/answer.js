// An answer as its kind is best seen: text, class bars, coloured tags, a forecast's bands, a graph.

import { apart, h } from "../element.js";
import { classBars } from "./class_bars.js";
import { forecastBands } from "./forecast_bands.js";
import { framed } from "./framed.js";
import { pixelPicture, seriesLines } from "./given.js";
import { nodeGraph } from "./node_graph.js";
import { tagChips } from "./tag_chips.js";

/** An Answer of the protocol → element. of: {model, input, before: another answer, from which changes are marked}. */
export function answerPicture(answer, of = {}) {
  const { before = null } = of;
  if (answer.classes) return h("div", { class: "answer-classes" }, givenPicture(of), framed("classes", (wide) => classBars(answer.classes, before?.classes, wide)));
  if (answer.tags) return tagged(answer.tags, before?.tags);
  if (answer.forecast) return framed("forecast", (wide) => forecastBands(answer.forecast, before?.forecast, wide));
  if (answer.graph) return graphed(answer.graph, before?.graph);
  return h("p", { class: "answer-text", dir: "auto" }, answer.text);
}

/** What was read, where that is better seen than read: null where it is not. */
export function givenPicture({ model, input }) {
  if (!model || input === null || input === undefined) return null;
  const values = valuesOf(input);
  if (values === null) return null;
  const pixels = model.kind === "image" || model.image || (model.kind === "text" && isSquare(values));
  if (pixels) return framed("what was read", pixelPicture(inRows(values, model.image), { patch: model.image?.patch }));
  return model.kind === "series" ? framed("what was read", seriesLines(values)) : null;
}

/** Numbers, however they were given: as lists, with a name, or as text. null: they are none. */
function valuesOf(input) {
  const given = typeof input === "object" && !Array.isArray(input) ? input.values : input;
  if (Array.isArray(given)) return given.length ? given : null;
  const parts = String(given ?? "").trim().split(/\s+/).map(Number);
  return parts.length > 1 && parts.every(Number.isFinite) ? parts : null;
}

/** As the grey levels of the digits are: one behind the other. */
const isSquare = (values) => values.length >= 16 && Number.isInteger(Math.sqrt(values.length)) && !values.some(Array.isArray);

/** Pixels in rows, whether they come so or one behind the other; of several channels each pixel is a list. */
function inRows(values, image) {
  const channels = image?.channels ?? 1;
  const one = (pixel) => (Array.isArray(pixel) && pixel.length === 1 ? pixel[0] : pixel);
  if (Array.isArray(values[0]) && (channels === 1 ? values[0].length > 1 : Array.isArray(values[0][0]))) return values.map((row) => row.map(one));
  const pixels = channels > 1 && !Array.isArray(values[0]) ? parted(values, channels) : values.map(one);
  return parted(pixels, image?.columns ?? Math.round(Math.sqrt(pixels.length)));
}

const parted = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));

function tagged(tags, before) {
  const rows = tags.map((one) => h("tr", {}, h("th", { scope: "row" }, apart(one.word)), h("td", {}, one.tag), h("td", { class: "number" }, one.probability.toFixed(3)),
    h("td", {}, (one.alternatives ?? []).filter((other) => other.label !== one.tag).slice(0, 3).map((other) => `${other.label} ${other.probability.toFixed(3)}`).join(", "))));
  const head = ["word", "tag", "probability", "else"].map((title) => h("th", { scope: "col" }, title));
  return h("div", {}, framed("tags", (wide) => tagChips(tags, before ?? null, Math.min(900, wide))),
    h("details", {}, h("summary", {}, "As a table, with alternatives"), h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)))));
}

/** The node that was asked for comes first; another one can be chosen, to see what it reads. */
function graphed(graph, before) {
  const place = h("div", {});
  const told = h("p", { class: "readout", "aria-live": "polite" });
  const draw = (chosen) => {
    const onNode = (node) => { draw(node); place.querySelector(`[data-node="${node}"]`)?.focus(); };
    place.replaceChildren(framed("graph", nodeGraph(graph, { chosen, onNode, before: before?.nodes }), { note: "Colours are what the model says, the paler the less sure; a cross marks what is labelled otherwise. Edges are as strong as the attention on them." }));
    told.textContent = chosen === null ? "" : about(graph, chosen);
  };
  draw(graph.nodes.length ? 0 : null);
  return h("div", {}, place, told);
}

function about({ nodes, edges }, chosen) {
  const node = nodes[chosen];
  const read = edges.filter(([, to, weight]) => to === chosen && weight !== null && weight !== undefined).sort((a, b) => b[2] - a[2]).slice(0, 4);
  const from = read.map(([other, , weight]) => `${nodes[other].name} ${weight.toFixed(3)}`).join(", ");
  return `${node.name}: ${node.said}, probability ${node.probability.toFixed(3)}${node.label ? `; labelled ${node.label}` : ""}.${from && ` It reads most from ${from}.`}`;
}
