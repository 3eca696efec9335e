// What a model was given, where that is no text: a picture's pixels, or the lines of a series.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { fit, linePath, spread, tickLabel } from "./axes.js";

const SIDE = 280;
const WIDTH = 760;
const HIGH = 150;

/** Rows of numbers, or of triples of them → squares; patch: the side of what the model reads as one. */
export function pixelPicture(rows, { patch = null, brightest = null, name = "pixels" } = {}) {
  const [high, wide] = [rows.length, rows[0].length];
  const top = brightest ?? Math.max(...rows.flat(2), 1e-9);
  const size = Math.max(2, Math.min(24, SIDE / Math.max(high, wide)));
  const shade = (pixel) => (Array.isArray(pixel) ? pixel : [pixel, pixel, pixel]).slice(0, 3).map((part) => Math.round((255 * Math.max(0, part)) / top));
  const squares = rows.flatMap((row, r) => row.map((pixel, c) => svg("rect", {
    x: c * size, y: r * size, width: size + 0.2, height: size + 0.2, fill: `rgb(${shade(pixel).join(",")})`, "data-pixel": `${r},${c}`,
  }, svg("title", {}, `row ${r + 1}, column ${c + 1}: ${Array.isArray(pixel) ? pixel.join(", ") : pixel}`))));
  const cuts = patch && patch > 1 ? grid(high, wide, patch, size) : null;
  return picture(wide * size, high * size, `${name}: ${high} rows of ${wide}`, { class: "pixels" }, squares, cuts);
}

function grid(high, wide, patch, size) {
  const lines = [];
  for (let r = patch; r < high; r += patch) lines.push(`M0 ${r * size}H${wide * size}`);
  for (let c = patch; c < wide; c += patch) lines.push(`M${c * size} 0V${high * size}`);
  return svg("path", { class: "cuts", d: lines.join(""), fill: "none" });
}

/** values_TC, missing ones null → a line a column. */
export function seriesLines(values, names = null) {
  const rows = values.map((row) => (Array.isArray(row) ? row : [row]));
  const columns = rows[0].map((_, column) => column);
  const across = spread(0, Math.max(rows.length - 1, 1), 52, WIDTH - 90);
  const up = fit(rows.flat().filter((value) => value !== null), 16 + HIGH, 16);
  const path = (column) => linePath(rows.map((row, step) => [across.place(step), row[column] === null ? NaN : up.place(row[column])]));
  return picture(WIDTH, HIGH + 46, `series of ${rows.length} steps`, { class: "series" },
    up.ticks(4).map((tick) => [svg("path", { class: "grid", d: `M52 ${up.place(tick).toFixed(1)}H${WIDTH - 90}` }),
      text(44, up.place(tick) + 4, tickLabel(tick), { "text-anchor": "end", class: "side" })]),
    across.ticks(6).filter(Number.isInteger).map((tick) => text(across.place(tick), HIGH + 36, String(tick + 1), { "text-anchor": "middle", class: "side" })),
    columns.slice(0, 8).map((column) => [svg("path", { class: "line", d: path(column), fill: "none", stroke: hue(column) }),
      columns.length > 1 && text(WIDTH - 84, 24 + 16 * column, names?.[column] ?? `column ${column + 1}`, { fill: hue(column), "font-size": 12 })]));
}
