// Where in the model the lecture stands: the 2017 figure in small, each box a step to go to.

import { picture, svg, text } from "../svg.js";
import { cut } from "./measure.js";
import { roving } from "./roving.js";

const WIDE = 132;
const HIGH = 24;
const GAP = 8;
const COLUMNS = { source: 0, encoder: 0, target: 1, decoder: 1, output: 1 };

/** steps: of the lecture. now: the one that is shown. go(index). Both sides are read from the bottom to the top. */
export function lectureMap(steps, now, go) {
  const stacks = [[], []];
  steps.forEach((step, index) => stacks[COLUMNS[step.part]].push({ step, index }));
  const most = Math.max(...stacks.map((stack) => stack.length));
  const height = most * (HIGH + GAP) + 34;
  const spot = (column, place) => [8 + column * (WIDE + 34), height - 26 - (place + 1) * (HIGH + GAP)];
  const boxes = stacks.flatMap((stack, column) => stack.map(({ step, index }, place) => box(step, index, spot(column, place), index === now, go)));
  const wires = stacks.map((stack, column) => svg("path", { class: "wire", d: `M${spot(column, 0)[0] + WIDE / 2} ${height - 24}V${spot(column, stack.length - 1)[1]}` }));
  const drawn = picture(2 * WIDE + 50, height, "where in the model this is", { class: "lecture-map", role: "group" }, wires, memory(stacks, spot), boxes,
    text(8 + WIDE / 2, height - 8, "reads", { "text-anchor": "middle", class: "side" }), text(42 + 1.5 * WIDE, height - 8, "writes", { "text-anchor": "middle", class: "side" }));
  return roving(drawn, boxes, drawn.querySelector(".current"));
}

/** From the end of the encoder to where the decoder looks at it. */
function memory([left, right], spot) {
  const cross = right.findIndex(({ step }) => step.name === "cross");
  const [[x1, y1], [x2, y2]] = [spot(0, left.length - 1), spot(1, Math.max(cross, 0))];
  const middle = x1 + WIDE + 17;
  return svg("path", { class: "wire memory", d: `M${x1 + WIDE} ${y1 + HIGH / 2}H${middle}V${y2 + HIGH / 2}H${x2}` });
}

function box(step, index, [x, y], current, go) {
  const keyed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    go(index);
  };
  return svg("g", { class: `stage ${step.part}${current ? " current" : ""}`, role: "button", "aria-label": `${index + 1}: ${step.title}`, "aria-current": current ? "step" : null, onclick: () => go(index), onkeydown: keyed },
    svg("title", {}, step.title), svg("rect", { x, y, width: WIDE, height: HIGH, rx: 5 }),
    text(x + WIDE / 2, y + HIGH / 2, cut(`${index + 1} ${step.title.split(":")[0]}`, WIDE - 8, 11.5), { "text-anchor": "middle", "dominant-baseline": "central", "font-size": 11.5 }));
}
