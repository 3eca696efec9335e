// A graph: its nodes coloured by what the model says, its edges as strong as the attention on them.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { around, placeGraph } from "./graph_layout.js";
import { cut } from "./measure.js";
import { roving } from "./roving.js";

const WIDTH = 760;
const HEIGHT = 560;
const EDGE = 46;
const MOST = 160; // nodes: more are only a blot, and names are written for fewer still
const NAMED = 60;

/** graph: {nodes: [{name, label, said, probability}], edges: [[from, to, weight]]}. chosen: a node to stand around. */
export function nodeGraph(graph, { chosen = null, onNode = null, before = null } = {}) {
  const { nodes, edges } = graph;
  const kept = nodes.length > MOST ? around(nodes.length, edges, [chosen ?? 0], MOST) : nodes.map((_, index) => index);
  const turn = new Map(kept.map((node, index) => [node, index]));
  const inside = edges.filter(([from, to]) => turn.has(from) && turn.has(to));
  const places = placeGraph(kept.length, inside.map(([from, to]) => [turn.get(from), turn.get(to)]));
  const spots = places.map(({ x, y }) => [EDGE + x * (WIDTH - 2 * EDGE), 40 + y * (HEIGHT - 2 * EDGE)]);
  const labels = [...new Set(nodes.map((node) => node.said))].sort();
  const near = chosen === null ? null : new Set(edges.flatMap(([from, to]) => (from === chosen || to === chosen ? [from, to] : [])).concat(chosen));
  const heaviest = Math.max(...inside.map(([, , weight]) => weight ?? 0), 1e-9);
  const strands = inside.map(([from, to, weight]) => strand(spots[turn.get(from)], spots[turn.get(to)], weight, heaviest, chosen !== null && (from === chosen || to === chosen), nodes, from, to));
  const dots = kept.map((node) => dot(nodes[node], node, spots[turn.get(node)], labels, { named: kept.length <= NAMED || near?.has(node), chosen: node === chosen, onNode, was: before?.[node] }));
  const title = `graph of ${nodes.length} nodes and ${edges.length} edges${kept.length < nodes.length ? `, ${kept.length} of them drawn` : ""}`;
  const drawn = picture(WIDTH, HEIGHT, title, { class: "node-graph", role: "group" }, legend(labels), strands, dots);
  return onNode ? roving(drawn, dots, dots[chosen === null ? 0 : kept.indexOf(chosen)]) : drawn;
}

function legend(labels) {
  let x = 8;
  return labels.slice(0, 12).map((label, index) => {
    const part = svg("g", {}, svg("circle", { cx: x + 6, cy: 14, r: 6, fill: hue(index) }), text(x + 17, 18, cut(label, 110, 12), { "font-size": 12 }));
    x += 34 + Math.min(110, label.length * 7);
    return part;
  });
}

function strand([x1, y1], [x2, y2], weight, heaviest, own, nodes, from, to) {
  const part = weight === null || weight === undefined ? 0.3 : weight / heaviest;
  const said = `${nodes[from].name} → ${nodes[to].name}${weight === null || weight === undefined ? "" : `: ${weight.toFixed(3)}`}`;
  return svg("line", { x1, y1, x2, y2, class: `strand${own ? " own" : ""}`, "stroke-width": (0.5 + 2.6 * part).toFixed(2), "stroke-opacity": ((own ? 0.3 : 0.1) + (own ? 0.7 : 0.4) * part).toFixed(3) }, svg("title", {}, said));
}

function dot(node, index, [x, y], labels, { named, chosen, onNode, was }) {
  const wrong = node.label && node.label !== node.said;
  const changed = was && was.said !== node.said;
  const said = `${node.name}: ${node.said} ${percent(node.probability)}${node.label ? `; labelled ${node.label}` : ""}${changed ? `; it was ${was.said}` : ""}`;
  const keyed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onNode(index);
  };
  const pressed = onNode ? { role: "button", onclick: () => onNode(index), onkeydown: keyed } : { role: "img" };
  return svg("g", { class: `dot${chosen ? " chosen" : ""}${wrong ? " wrong" : ""}${changed ? " changed" : ""}`, "data-node": index, "aria-label": said, ...pressed },
    svg("title", {}, said),
    svg("circle", { cx: x, cy: y, r: chosen ? 10 : 7, fill: hue(labels.indexOf(node.said)), "fill-opacity": 0.35 + 0.65 * node.probability }),
    wrong && svg("path", { class: "cross", d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}` }),
    named && text(x, y + 20, cut(node.name, 90, 11), { "text-anchor": "middle", "font-size": 11, class: "name" }));
}
