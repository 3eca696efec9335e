// SVG elements, and the few shapes that every picture is made of.

import { dress } from "./element.js";

const SPACE = "http://www.w3.org/2000/svg";

/** svg("rect", {x: 1, y: 2, width: 3, height: 4, class: "box"}, child…) */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, name);
  dress(made, attributes);
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A whole picture: title is read out. It shrinks with its place, and keeps its proportions. */
export function picture(width, height, title, attributes = {}, ...children) {
  return svg("svg", {
    xmlns: SPACE, viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width), height: round(height),
    role: "img", "aria-label": title, ...attributes,
  }, svg("title", {}, title), ...children);
}

export const text = (x, y, said, attributes = {}) => svg("text", { x: round(x), y: round(y), ...attributes }, said);

export const line = (x1, y1, x2, y2, attributes = {}) =>
  svg("line", { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), ...attributes });

/** A path through points [[x, y], …] with rounded corners. */
export function rounded(points, radius = 8) {
  let d = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i += 1) {
    const corner = points[i];
    d += `L${at(towards(corner, points[i - 1], radius))}Q${at(corner)} ${at(towards(corner, points[i + 1], radius))}`;
  }
  return `${d}L${at(points.at(-1))}`;
}

/** A curve from one point to another that leaves and arrives along `axis` ("x" or "y"). */
export function bent([x1, y1], [x2, y2], axis = "y") {
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
  return axis === "y" ? `M${at([x1, y1])}C${at([x1, my])} ${at([x2, my])} ${at([x2, y2])}`
    : `M${at([x1, y1])}C${at([mx, y1])} ${at([mx, y2])} ${at([x2, y2])}`;
}

/** The head of arrows; `id` as in marker-end="url(#id)". */
export function arrowHead(id, attributes = {}) {
  return svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0.5 0.5L7.5 4L0.5 7.5Z", class: "arrow-head", ...attributes }));
}

const at = ([x, y]) => `${round(x)} ${round(y)}`;

function towards([x, y], [tx, ty], most) {
  const far = Math.hypot(tx - x, ty - y) || 1;
  const part = Math.min(most, far / 2) / far;
  return [x + (tx - x) * part, y + (ty - y) * part];
}

function round(number) {
  return typeof number === "number" ? Math.round(number * 100) / 100 : number;
}
