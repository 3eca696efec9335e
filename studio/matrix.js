// A matrix as a heat map with its numbers: zoom, scroll, read any cell with mouse or arrow keys, take it along.
//
//   heatMap({name: "weights", title: "who looks at whom", tensor, rows: ["the", …], columns: [place, …]})
//
// tensor      Tensor or matrix of a document; an axis before rows and columns is heads: small pictures to choose from
// kind        "diverging" (around 0, the default) or "weights" (0 and above)
// limit       of the colour scale; else the largest number
// onCell      (row, column, head) of a cell that was clicked or entered
// headTitles  ["head 1", …];  head: the one that is chosen first;  onHead(index)
// The element has .choose(head) and .mark(row, column) to be led from elsewhere.

import { colour, css, ink, pageColour } from "./colours.js";
import { downloads } from "./download.js";
import { h, shown } from "./element.js";
import { matrixTable, csv } from "./matrix_table.js";
import { matrixSvg } from "./matrix_svg.js";
import { exact, short, Tensor } from "./tensor.js";

const READABLE = 36; // pixels of a cell that holds a number
const SMALL = 132; // pixels of the longer side of a head's picture
const THIN = 24; // of its shorter side, at least
const FLAT = 16; // of a cell's height, where rows are few
const ZOOMS = [2, 4, 7, 11, 16, 24, 36, 46, 60];
const FONT = '11px ui-monospace, "DejaVu Sans Mono", Consolas, monospace';

export function heatMap(options) {
  const tensor = Tensor.of(options.tensor);
  const map = new Map2D({ kind: "diverging", ...options, tensor });
  return map.figure;
}

class Map2D {
  constructor(options) {
    this.options = options;
    this.tensor = options.tensor;
    const [least, most] = this.tensor.range();
    this.limit = options.limit ?? (Math.max(Math.abs(least), Math.abs(most)) || 1);
    this.rows = labels(options.rows, this.tensor.rows);
    this.columns = labels(options.columns, this.tensor.columns);
    this.index = Math.min(options.head ?? 0, this.tensor.heads - 1);
    this.cell = null; // [row, column] that is read
    this.figure = this.#figure();
    this.figure.choose = (head) => this.#choose(head);
    this.figure.mark = (row, column) => this.#read(row, column, false);
    this.zoom = null;
    new ResizeObserver(() => this.#fit()).observe(this.figure);
    const again = () => (this.figure.isConnected ? this.#drawAll() : window.removeEventListener("theme", again));
    window.addEventListener("theme", again);
  }

  get shown() { return this.tensor.head(this.index); }

  #figure() {
    const { name, title, tensor } = this.options;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.room = h("div", { class: "room" });
    this.readout = h("output", { class: "readout" });
    this.scroller = h("div", {
      class: "map", tabindex: "0", role: "application", "aria-roledescription": "heat map",
      "aria-label": `${name}${title ? `, ${title}` : ""}: ${this.rows.length} rows, ${this.columns.length} columns; arrow keys read the cells`,
      onscroll: () => this.#draw(), onkeydown: (event) => this.#keyed(event), onclick: (event) => this.#clicked(event),
      onpointermove: (event) => this.#pointed(event), onpointerleave: () => this.#read(null),
      onfocus: () => { if (!this.cell) this.#read(0, 0); },
    }, this.room, this.canvas);
    this.picked = tensor.heads > 1 ? this.#heads() : null;
    this.table = h("div", { class: "table", hidden: true, tabindex: "0", role: "region", "aria-label": `${name} as a table` });
    return h("figure", { class: "matrix" }, this.#caption(name, title, tensor), this.picked, this.scroller,
      h("div", { class: "under" }, this.readout, this.#legend()), this.table);
  }

  #caption(name, title, tensor) {
    const tabled = (event) => {
      this.table.hidden = !this.table.hidden;
      event.currentTarget.setAttribute("aria-expanded", String(!this.table.hidden));
      this.#fillTable();
    };
    return h("figcaption", {}, h("span", { class: "name" }, name), title && title !== name && h("span", {}, title),
      h("span", { class: "shape" }, tensor.shape.join("×")),
      h("span", { class: "tools" },
        quiet("−", { "aria-label": `Smaller cells of ${name}`, onclick: () => this.#zoomed(-1) }),
        quiet("+", { "aria-label": `Larger cells of ${name}`, onclick: () => this.#zoomed(1) }),
        quiet("table", { "aria-label": `${name} as a table`, "aria-expanded": "false", onclick: tabled }),
        downloads(String(name), () => matrixSvg(this), { CSV: () => csv(this) })));
  }

  #heads() {
    const titles = this.options.headTitles ?? Array.from({ length: this.tensor.heads }, (_, i) => `head ${i + 1}`);
    const button = (title, i) => h("button", {
      type: "button", "aria-pressed": String(i === this.index), onclick: () => { this.#choose(i); this.options.onHead?.(i); },
    }, h("canvas", { "aria-hidden": "true" }), title);
    return h("div", { class: "heads", role: "group", "aria-label": "Heads" }, titles.map(button));
  }

  #choose(index) {
    this.index = index;
    [...this.picked?.children ?? []].forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    this.#draw();
    this.#fillTable();
    if (this.cell) this.#read(...this.cell);
  }

  #legend() {
    this.scale = h("canvas", { width: 96, height: 10, "aria-hidden": "true" });
    const [from, to] = this.options.kind === "weights" ? [0, this.limit] : [-this.limit, this.limit];
    return h("span", { class: "legend" }, short(from), this.scale, short(to));
  }

  /** A size at which numbers can be read, if there is room; else one that shows as much as possible. */
  #fit() {
    const room = this.figure.clientWidth;
    if (!room) return;
    if (this.width !== room || this.zoom === null) {
      this.width = room;
      if (!this.chosen) this.zoom = this.#best(room - this.#margin()[0] - 4);
    }
    this.#drawAll();
  }

  #best(room) {
    const most = room / this.columns.length;
    if (most >= READABLE) return Math.min(most, 56);
    return this.columns.length <= 40 ? READABLE + 4 : Math.max(4, Math.min(12, most));
  }

  #zoomed(by) {
    const next = by > 0 ? ZOOMS.find((size) => size > this.zoom + 0.5) : ZOOMS.findLast((size) => size < this.zoom - 0.5);
    this.zoom = next ?? this.zoom;
    this.chosen = true;
    this.#drawAll();
  }

  /** Cells are [width, height]. */
  get size() { return [this.zoom, Math.min(26, Math.max(this.zoom, Math.min(FLAT, 280 / this.rows.length)))]; }

  /** [left, top]: where labels stand. */
  #margin() {
    const longest = (names) => Math.max(0, ...names.map((name) => name.length)) * 6.7;
    this.left ??= Math.min(110, longest(this.rows)) + 12;
    this.slanted = this.zoom !== null && longest(this.columns) > this.zoom - 2;
    this.top = this.columns.every((name) => name === "") ? 6 : this.slanted ? Math.min(74, longest(this.columns) * 0.72 + 14) : 20;
    return [this.left, this.top];
  }

  #drawAll() {
    this.#draw();
    this.#drawHeads();
    const pen = this.scale.getContext("2d");
    const { kind } = this.options;
    for (let x = 0; x < 96; x += 1) {
      pen.fillStyle = css(colour((kind === "weights" ? x / 95 : (2 * x) / 95 - 1) * this.limit, this.limit, kind));
      pen.fillRect(x, 0, 1, 10);
    }
  }

  #draw() {
    if (this.zoom === null) return;
    const [[w, ht], [left, top]] = [this.size, this.#margin()];
    const tail = this.slanted ? 34 : 2;
    const [wide, high] = [left + w * this.columns.length + tail, top + ht * this.rows.length + 2];
    Object.assign(this.room.style, { width: `${wide}px`, height: `${high}px` });
    const width = Math.min(wide, this.figure.clientWidth - 2);
    const height = Math.min(high, 446);
    const sharp = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * sharp), height: Math.round(height * sharp) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.font = FONT;
    pen.textBaseline = "middle";
    const seen = this.#seen(width, height);
    this.#drawCells(pen, seen);
    this.#drawLabels(pen, seen, width, height);
  }

  /** The cells that can be seen: [first row, last row, first column, last column] and the scroll. */
  #seen(width, height) {
    const { scrollLeft: x, scrollTop: y } = this.scroller;
    const [w, ht] = this.size;
    const last = (from, room, size, count) => Math.min(count, Math.ceil((from + room) / size));
    const [r1, c1] = [last(y, height - this.top, ht, this.rows.length), last(x, width - this.left, w, this.columns.length)];
    return { x, y, r0: Math.floor(y / ht), r1, c0: Math.floor(x / w), c1 };
  }

  #drawCells(pen, { x, y, r0, r1, c0, c1 }) {
    const [[w, ht], matrix, gap] = [this.size, this.shown, this.zoom > 10 ? 1 : 0];
    pen.textAlign = "center";
    for (let r = r0; r < r1; r += 1) {
      for (let c = c0; c < c1; c += 1) {
        const value = matrix.at(r, c);
        const rgb = colour(value, this.limit, this.options.kind);
        const [px, py] = [this.left + c * w - x, this.top + r * ht - y];
        pen.fillStyle = css(rgb);
        pen.fillRect(px, py, w - gap, ht - gap);
        if (w < READABLE) continue;
        pen.fillStyle = ink(rgb);
        pen.fillText(short(value), px + (w - gap) / 2, py + ht / 2, w - 2);
      }
    }
    if (!this.cell) return;
    const [r, c] = this.cell;
    pen.strokeStyle = pageColour("ink");
    pen.lineWidth = 2;
    pen.strokeRect(this.left + c * w - x, this.top + r * ht - y, w - gap, ht - gap);
  }

  #drawLabels(pen, { x, y, r0, r1, c0, c1 }, width, height) {
    const [w, ht] = this.size;
    pen.fillStyle = pageColour("surface");
    pen.fillRect(0, 0, this.left, height);
    pen.fillRect(0, 0, width, this.top);
    pen.fillStyle = pageColour("soft");
    const every = (size, least) => Math.max(1, Math.ceil(least / size));
    pen.textAlign = "right";
    for (let r = r0; r < r1; r += 1) {
      const at = this.top + (r + 0.5) * ht - y;
      if (r % every(ht, 13) === 0 && at > this.top) pen.fillText(cut(this.rows[r], 15), this.left - 5, at);
    }
    for (let c = c0; c < c1; c += 1) {
      const at = this.left + (c + 0.5) * w - x;
      if (c % every(w, 13) !== 0 || at < this.left) continue;
      pen.save();
      pen.translate(at, this.top - 5);
      pen.textAlign = this.slanted ? "left" : "center";
      if (this.slanted) pen.rotate(-Math.PI / 4);
      pen.fillText(cut(this.columns[c], 13), 0, this.slanted ? 0 : -5);
      pen.restore();
    }
    pen.fillStyle = pageColour("surface");
    pen.fillRect(0, 0, this.left - 2, this.top - 14);
  }

  /** Small: a pixel for each number, enlarged or shrunk by the page. */
  #drawHeads() {
    [...this.picked?.children ?? []].forEach((button, index) => {
      const canvas = button.querySelector("canvas");
      const { rows, columns, data } = this.tensor.head(index).pooled(SMALL);
      const size = Math.min(12, SMALL / Math.max(rows, columns));
      Object.assign(canvas, { width: columns, height: rows });
      Object.assign(canvas.style, { width: `${Math.max(THIN, columns * size)}px`, height: `${Math.max(THIN, rows * size)}px` });
      const pen = canvas.getContext("2d");
      const image = pen.createImageData(columns, rows);
      data.forEach((value, i) => image.data.set([...colour(value, this.limit, this.options.kind), 255], 4 * i));
      pen.putImageData(image, 0, 0);
    });
  }

  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [w, ht] = this.size;
    const column = Math.floor((event.clientX - box.left - this.left + this.scroller.scrollLeft) / w);
    const row = Math.floor((event.clientY - box.top - this.top + this.scroller.scrollTop) / ht);
    const below = event.clientX - box.left >= this.left && event.clientY - box.top >= this.top; // not on the labels
    return below && row < this.rows.length && column < this.columns.length ? [row, column] : null;
  }

  #pointed(event) {
    if (event.pointerType === "touch") return;
    const cell = this.#at(event);
    if (String(cell) !== String(this.cell)) this.#read(...(cell ?? [null]));
  }

  #clicked(event) {
    const cell = this.#at(event);
    if (!cell) return;
    this.#read(...cell);
    this.options.onCell?.(...cell, this.index);
  }

  #keyed(event) {
    const [row, column] = this.cell ?? [0, 0];
    const [rows, columns] = [this.rows.length - 1, this.columns.length - 1];
    const moved = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 0], End: [row, columns], PageUp: [row - 10, column], PageDown: [row + 10, column],
    }[event.key];
    if (event.key === "Enter" && this.cell) this.options.onCell?.(row, column, this.index);
    if (event.key === "+" || event.key === "-") this.#zoomed(event.key === "+" ? 1 : -1);
    if (!moved || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#read(Math.max(0, Math.min(rows, moved[0])), Math.max(0, Math.min(columns, moved[1])));
    this.#reveal();
  }

  #reveal() {
    const [[r, c], [w, ht]] = [this.cell, this.size];
    const { scroller, left, top } = this;
    const into = (at, size, from, room) => (at < from ? at : at + size > from + room ? at + size - room : from);
    scroller.scrollLeft = into(c * w, w, scroller.scrollLeft, scroller.clientWidth - left);
    scroller.scrollTop = into(r * ht, ht, scroller.scrollTop, scroller.clientHeight - top);
  }

  #read(row, column) {
    this.cell = row === null || row === undefined ? null : [row, column];
    this.readout.textContent = this.cell
      ? `${where(this.rows, row, "row")}, ${where(this.columns, column, "column")}: ${exact(this.shown.at(row, column))}` : "";
    this.#draw();
  }

  #fillTable() {
    if (!this.table.hidden) this.table.replaceChildren(matrixTable(this));
  }
}

const quiet = (said, attributes) => h("button", { type: "button", class: "quiet", ...attributes }, said);

const cut = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** "row 3 ‘dog’" */
function where(names, index, kind) {
  return names[index] === "" || names[index] === String(index + 1) ? `${kind} ${index + 1}` : `${kind} ${index + 1} ‘${names[index]}’`;
}

/** Texts for each row or column; numbers, where there are none. */
export function labels(given, count) {
  return Array.from({ length: count }, (_, i) => (given?.[i] === undefined ? String(i + 1) : shown(given[i])));
}
