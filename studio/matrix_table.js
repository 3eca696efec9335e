// A matrix as a table, to be read out or copied, and as a file of comma-separated values.

import { h } from "./element.js";
import { exact, plain } from "./tensor.js";

const MOST = 4000; // cells that a browser makes a table of at once

/** of: what matrix.js shows: {rows, columns: labels, shown: Tensor}. */
export function matrixTable({ rows, columns, shown }) {
  const fitting = Math.max(1, Math.floor(MOST / columns.length));
  const head = h("tr", {}, h("td"), columns.map((name) => h("th", { scope: "col", class: "number" }, name)));
  const body = rows.slice(0, fitting).map((name, r) =>
    h("tr", {}, h("th", { scope: "row" }, name), columns.map((_, c) => h("td", { class: "number" }, exact(shown.at(r, c))))));
  const rest = rows.length > fitting && h("caption", {}, `the first ${fitting} of ${rows.length} rows; CSV has all`);
  return h("table", {}, rest, h("thead", {}, head), h("tbody", {}, body));
}

export function csv({ rows, columns, shown }) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = rows.map((name, r) => [quoted(name), ...columns.map((_, c) => plain(exact(shown.at(r, c))))].join(","));
  return `${["", ...columns.map(quoted)].join(",")}\n${lines.join("\n")}\n`;
}
