// A heat map as an SVG picture, for files: all of it, not only what the page has room for.

import { colour, css, ink, pageColour } from "./colours.js";
import { h } from "./element.js";
import { picture, svg, text } from "./svg.js";
import { short } from "./tensor.js";

const MOST = 6000; // cells that are drawn as shapes; more of them become one image
const MONO = "DejaVu Sans Mono, Consolas, monospace";

/** of: what matrix.js shows. Numbers are written where there are few enough. */
export function matrixSvg(of) {
  const { rows, columns, shown, limit, options } = of;
  const numbers = rows.length * columns.length <= MOST;
  const [w, ht] = numbers ? [44, 24] : [6, 6];
  const longest = (names, most) => Math.min(most, Math.max(0, ...names.map((name) => name.length))) * 6.8;
  const left = longest(rows, 18) + 12;
  const above = longest(columns, 18) * 0.75 + 34;
  const [width, height] = [left + columns.length * w + 46, above + rows.length * ht + 8];
  const name = `${options.name}${shownHead(of)} ${options.title ?? ""}`;
  const drawn = picture(width, height, name, { "font-family": MONO, "font-size": 11 },
    text(8, 16, name, { fill: pageColour("ink"), "font-size": 13, "font-weight": "bold" }));
  const every = Math.ceil(13 / Math.min(w, ht));
  const ground = pageColour("soft");
  columns.forEach((label, c) => c % every === 0 && drawn.append(
    svg("text", { transform: `translate(${left + (c + 0.5) * w},${above - 6}) rotate(-45)`, fill: ground }, label.slice(0, 18))));
  rows.forEach((label, r) => r % every === 0 && drawn.append(
    text(left - 6, above + (r + 0.5) * ht + 4, label.slice(0, 18), { "text-anchor": "end", fill: ground })));
  if (numbers) drawn.append(...cells(shown, limit, options.kind, left, above, w, ht));
  else drawn.append(svg("image", { x: left, y: above, width: columns.length * w, height: rows.length * ht, preserveAspectRatio: "none", "image-rendering": "pixelated", href: pixels(shown, limit, options.kind) }));
  return drawn;
}

const shownHead = ({ tensor, index, options }) => (tensor.heads > 1 ? `, ${options.headTitles?.[index] ?? `head ${index + 1}`}` : "");

function cells(matrix, limit, kind, left, above, w, ht) {
  const made = [];
  for (let r = 0; r < matrix.rows; r += 1) {
    for (let c = 0; c < matrix.columns; c += 1) {
      const rgb = colour(matrix.at(r, c), limit, kind);
      const [x, y] = [left + c * w, above + r * ht];
      made.push(svg("rect", { x, y, width: w - 1, height: ht - 1, fill: css(rgb) }),
        text(x + (w - 1) / 2, y + ht / 2 + 4, short(matrix.at(r, c)), { "text-anchor": "middle", fill: ink(rgb) }));
    }
  }
  return made;
}

function pixels(matrix, limit, kind) {
  const canvas = h("canvas", { width: matrix.columns, height: matrix.rows });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(matrix.columns, matrix.rows);
  matrix.data.forEach((value, i) => image.data.set([...colour(value, limit, kind), 255], 4 * i));
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
