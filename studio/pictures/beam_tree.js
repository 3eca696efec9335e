// A search tree: a column a step; what was not followed is faint, the way to the winner is strong.

import { shown } from "../element.js";
import { bent, picture, svg, text } from "../svg.js";
import { short } from "../tensor.js";
import { cut, textWidth } from "./measure.js";
import { roving } from "./roving.js";
import { pathTo, placeTree } from "./tree_layout.js";

const HIGH = 36;
const WORD = 104; // a token's box at most
const SCORE = 74; // of one that ends an answer: its score is written below
const BETWEEN = 30;
const TOP = 30;

/** nodes: of the beam document. winner: the node at which the winner ends. scores: node → score of the answer there. */
export function beamTree(nodes, winner, scores, onNode) {
  const root = { id: "root", parent: null, step: -1, total: 0, kept: true, finished: false, token: null };
  const tree = [root, ...nodes.map((node) => ({ ...node, parent: node.parent ?? "root" }))];
  const { places, columns, rows } = placeTree(tree);
  const way = new Set(pathTo(tree, winner).map((node) => node.id));
  const widths = columnWidths(tree, places, columns);
  const lefts = widths.reduce((all, width) => [...all, all.at(-1) + width + BETWEEN], [8]);
  const spot = (node) => ({ x: lefts[places.get(node.id).x], y: TOP + (places.get(node.id).y + 0.5) * HIGH, width: widths[places.get(node.id).x] });
  const byId = new Map(tree.map((node) => [node.id, node]));
  const order = [...tree].sort((a, b) => rank(a, way) - rank(b, way));
  const edges = order.filter((node) => node.parent !== null).map((node) => edge(spot(byId.get(node.parent)), spot(node), look(node, way)));
  const steps = lefts.slice(1, columns).map((x, step) => text(x + widths[step + 1] / 2, 16, `step ${step + 1}`, { class: "side", "text-anchor": "middle" }));
  const parts = order.map((node) => drawNode(node, spot(node), look(node, way), scores.get(node.id), onNode));
  const drawn = picture(lefts.at(-1) - BETWEEN + 8, TOP + rows * HIGH + 8, `search tree of ${nodes.length} candidates`, { class: "beam-tree", role: "group" },
    steps, edges, parts);
  const pressed = parts.filter((part) => part.getAttribute("role") === "button");
  return roving(drawn, pressed, pressed.find((part) => part.dataset.node === String(winner)));
}

const rank = (node, way) => (way.has(node.id) ? 2 : node.kept || node.finished ? 1 : 0);
const look = (node, way) => ["dropped", "kept", "way"][rank(node, way)];

function columnWidths(tree, places, columns) {
  const widths = Array(columns).fill(38);
  for (const node of tree) {
    const { x } = places.get(node.id);
    widths[x] = Math.max(widths[x], node.finished ? SCORE : 0, Math.min(WORD, textWidth(label(node), 13) + 16));
  }
  return widths;
}

const label = (node) => (node.token ? shown(node.token) : "start");

const edge = (from, to, kind) => svg("path", { class: `edge ${kind}`, d: bent([from.x + from.width, from.y], [to.x, to.y], "x"), fill: "none" });

function drawNode(node, { x, y, width }, kind, score, onNode) {
  const chance = node.token ? Math.exp(node.log_probability) : null;
  const said = node.token
    ? `${label(node)}: probability ${chance.toFixed(3)}, sum ${short(node.total)}, ${node.finished ? "an answer ends here" : node.kept ? "followed" : "not followed"}`
    : "start";
  const pressed = node.token && onNode ? { role: "button", onclick: () => onNode(node), onkeydown: (event) => entered(event, () => onNode(node)) } : { role: "img" };
  return svg("g", { class: `node ${kind}${node.finished ? " ended" : ""}`, "data-node": node.id, "aria-label": said, ...pressed },
    svg("title", {}, said),
    svg("rect", { x, y: y - 14, width, height: 22, rx: node.finished ? 11 : 5 }),
    text(x + width / 2, y + 1, cut(label(node), WORD - 12, 13), { "text-anchor": "middle", class: "word", "font-size": 13 }),
    node.token && text(x + width / 2, y + 18, score === undefined ? short(node.total) : `score ${short(score)}`, { "text-anchor": "middle", class: "total", "font-size": 9.5 }));
}

function entered(event, work) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  work();
}
