// The flow as an SVG picture: boxes that can be pressed, frames around blocks, arrows between them.

import { h } from "../element.js";
import { arrowHead, picture, rounded, svg, text } from "../svg.js";
import { roving } from "./roving.js";

/**
 * placed: of flow_layout.js. chosen: the id of the box that is looked at. shapes: id → text below a title.
 * does: {choose(id), turn(group, by), toggle(id)}; steps: ids of the boxes that can be opened. groups: id → title.
 * Tab stops once for all boxes; arrow keys go from one to the next.
 */
export function flowPicture(placed, sizes, { chosen, steps, title, groups }, does) {
  const drawn = picture(placed.width, placed.height, title, { class: "flow-picture", role: "group", "font-size": sizes.font },
    svg("defs", {}, arrowHead("arrow"), arrowHead("arrow-memory", { class: "arrow-head memory" })));
  drawn.append(...placed.frames.toSorted((a, b) => b.w * b.h - a.w * a.h).map((one) => frame(one, does)));
  drawn.append(...placed.edges.map((edge) => svg("path", {
    d: rounded(edge.points, 7),
    class: `edge ${edge.kind}${edge.from === chosen || edge.to === chosen ? " near" : ""}`,
    "marker-end": `url(#arrow${edge.kind === "memory" ? "-memory" : ""})`,
    "data-from": edge.from, "data-to": edge.to,
  })));
  const boxes = placed.boxes.map((one) => boxShape(one, sizes, { chosen: one.box.id === chosen, folds: steps.has(one.box.id), within: groups.get(one.box.group) }, does));
  drawn.append(...boxes);
  return roving(drawn, boxes, boxes.find((one) => one.dataset.box === chosen));
}

function boxShape({ box, x, y, w, h: high, lines, opened }, sizes, { chosen, folds, within }, does) {
  const choose = () => does.choose(box.id);
  const group = svg("g", {
    class: `box kind-${look(box.kind)}${chosen ? " chosen" : ""}`, role: "button",
    "data-box": box.id, "aria-pressed": String(chosen),
    "aria-label": `${box.title}${within ? `, ${within}` : ""}`, onclick: choose, onkeydown: pressed(choose),
  });
  if (box.kind === "add") {
    const [r, middle] = [11, y + high / 2];
    group.append(svg("circle", { cx: x, cy: middle, r, class: "shape" }),
      svg("path", { d: `M${x - 6} ${middle}H${x + 6}M${x} ${middle - 6}V${middle + 6}`, class: "plus" }));
    return group;
  }
  group.append(svg("rect", { x: x - w / 2, y, width: w, height: high, rx: 7, class: "shape" }));
  const first = y + high / 2 - ((lines.length - 1) * sizes.line) / 2;
  const middle = { "text-anchor": "middle" };
  lines.forEach((line, i) => group.append(text(x, first + i * sizes.line + sizes.font * 0.36, line, middle)));
  if (folds && !opened) group.append(text(x + w / 2 - 10, y + 12, "⋯", { ...middle, class: "more", "aria-hidden": "true" }));
  return group;
}

function frame({ kind, id, title, group, x, y, w, h: high }, does) {
  const made = svg("g", { class: `frame ${kind}` }, svg("rect", { x, y, width: w, height: high, rx: kind === "part" ? 9 : 13 }));
  if (kind === "part") {
    const close = () => does.toggle(id);
    const name = `Close the steps of ${title}`;
    made.append(svg("g", { class: "press", role: "button", tabindex: "0", "aria-label": name, onclick: close, onkeydown: pressed(close) },
      svg("rect", { x: x + w - 24, y: y + 3, width: 20, height: 17, rx: 4, class: "button" }),
      text(x + w - 14, y + 16, "×", { "text-anchor": "middle" })));
  } else if (group.boxes.length > 1) made.append(tag(group, x, y, w, does));
  return made;
}

/** The name of a group on its upper edge, at the outer side; of blocks that are alike also the way to the others. */
function tag(group, x, y, w, does) {
  const many = group.run.length;
  const said = many > 1 ? `${group.index + 1} of ${many}` : group.title.replace(`${group.side} `, "");
  const width = many > 1 ? 84 : 6.4 * said.length + 16;
  const at = group.side === "encoder" ? x + 6 + width / 2 : x + w - 6 - width / 2;
  const made = svg("g", { class: "tag-group" },
    svg("rect", { x: at - width / 2, y: y - 10, width, height: 20, rx: 8, class: "tag" }),
    text(at, y + 4, said, { "text-anchor": "middle", class: "frame-title" }));
  if (many < 2) return made;
  const button = (sign, by) => {
    const other = group.run[group.index + by];
    const turn = () => does.turn(group, other);
    const middle = at + by * (width / 2 - 11);
    return svg("g", {
      class: `press${other ? "" : " off"}`, role: "button", tabindex: other ? "0" : null, "aria-disabled": String(!other),
      "aria-label": `The block ${by < 0 ? "before" : "after"} ${group.title}`,
      onclick: other && turn, onkeydown: other && pressed(turn),
    }, svg("rect", { x: middle - 11, y: y - 10, width: 22, height: 20, rx: 8, class: "button" }),
    text(middle, y + 4, sign, { "text-anchor": "middle" }));
  };
  made.append(button("‹", -1), button("›", 1));
  return made;
}

function pressed(act) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
}

const LOOKS = [
  [/embed|token|reading|position|concat/, "embedding"],
  [/attention|quer|key|value|score|softmax|mask|head|distance/, "attention"],
  [/norm/, "norm"],
  [/feed|hidden|activ|expert|gate|router/, "feed-forward"],
  [/logit|probab|loss|class|output|quantile|pool/, "output"],
  [/recur|cell|lstm|gru|state/, "recurrence"], [/conv|glu/, "convolution"],
];

/** Which of the colours of style.css a kind of box has. */
export const look = (kind) => (kind === "add" ? "add" : (LOOKS.find(([like]) => like.test(kind)) ?? [0, "other"])[1]);

/** What the colours mean. */
export function flowLegend(boxes) {
  const names = {
    embedding: "input", attention: "attention", norm: "norm", "feed-forward": "feed-forward", output: "output",
    recurrence: "recurrence", convolution: "convolution", other: "other",
  };
  const there = new Set(boxes.map((box) => look(box.kind)));
  return h("ul", { class: "flow-legend", "aria-label": "Colours" },
    Object.entries(names).filter(([name]) => there.has(name)).map(([name, said]) => h("li", { class: `kind-${name}` }, said)));
}
