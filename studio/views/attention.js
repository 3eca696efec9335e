// Who looks at whom, in every layer and head: as lines, as a matrix, or all at a glance; two inputs or models side by side.

import { hue } from "../colours.js";
import { apart, choice, faultBox, fill, fresh, h } from "../element.js";
import { heatMap } from "../matrix.js";
import { attentionLines, leastDrawn } from "../pictures/attention_lines.js";
import { framed } from "../pictures/framed.js";
import { hanging, HANGS } from "../pictures/hanging.js";
import { headGrid } from "../pictures/head_grid.js";
import { percent, short, Tensor } from "../tensor.js";
import { onTheme } from "../theme.js";

const SHOWN = [["lines", "Lines"], ["matrix", "Matrix"], ["grid", "All heads"]];
/** How a head is described in numbers; each is a mean over the places that ask. */
const SUMMARIES = [
  ["entropy", "entropy", "0: all attention on one place; higher: spread over more of them (in nats)"],
  ["surest", "surest", "the largest weight of each row"],
  ["diagonal", "same place", "weight on the same place"],
  ["before", "one before", "weight on the place just before"],
  ["first", "first", "weight on the first place"],
];

const LONG = 80; // words: lines between more of them are a blot

export const view = {
  name: "attention",
  title: "Attention",
  about: "Who looks at whom, in every layer and head; and what the answer hangs on.",
  fits: (model) => model.kind !== "",
  async draw(place, state, source) {
    const side = await Side.of(state.model.name, state.request(), source, state.gone);
    const hangs = HANGS.has(state.model.kind) ? hanging(state, source, side.layers.length === 0) : null;
    if (!side.layers.length) {
      place.append(h("p", { class: "card" }, "No layer of this model attends: its places read each other through recurrence or convolution. The flow shows what they pass on."));
      if (hangs) place.append(hangs.element);
      await hangs?.shown;
      return;
    }
    const page = new Page(place, state, source, side);
    await page.draw(hangs?.element);
    await page.compare();
    await hangs?.shown;
  },
};

/** One model that reads one input: its layers, and the weights of those that were looked at. */
class Side {
  #whole = new Map();
  #small = null;

  constructor(name, request, source, layers, gone) { Object.assign(this, { name, request, source, layers, gone }); }

  static async of(name, request, source, gone) {
    const { layers } = await source.attention(request, { weights: "light" }, gone);
    return new Side(name, request, source, layers, gone);
  }

  get input() { return this.request.input; }

  /** A layer with its weights as a Tensor; where they are many, they are asked for now. */
  async whole(layer) {
    if (!this.#whole.has(layer.id)) {
      const here = layer.weights.shape.at(-1) > 0;
      const found = here ? layer : (await this.source.attention(this.request, { layer: layer.id }, this.gone)).layers[0];
      this.#whole.set(layer.id, { ...found, weights: Tensor.of(found.weights) });
    }
    return this.#whole.get(layer.id);
  }

  /** All layers, with weights that are enough for small pictures. */
  async small() {
    const here = this.layers.every((layer) => layer.weights.shape.at(-1) > 0);
    this.#small ??= here ? this.layers : (await this.source.attention(this.request, { weights: "small" }, this.gone)).layers;
    return this.#small.map((layer) => ({ ...layer, weights: Tensor.of(layer.weights) }));
  }
}

class Page {
  constructor(place, state, source, side) {
    Object.assign(this, { place, state, source, side, other: null });
    const named = this.layers.findIndex((layer) => layer.id === state.get("layer"));
    this.row = named >= 0 ? named : Math.max(0, this.layers.findLastIndex((layer) => layer.kind === "cross"));
    this.head = state.get("head", "all") === "all" ? "all" : Number(state.get("head"));
    this.how = SHOWN.some(([how]) => how === state.get("show")) ? state.get("show") : this.usual;
  }

  get layers() { return this.side.layers; }
  get layer() { return this.layers[this.row]; }
  get usual() { return Math.max(this.layer.rows.length, this.layer.columns.length) > LONG ? "matrix" : "lines"; }

  /** The heads that are drawn: of this layer, or of the one beside it. */
  heads(layer) {
    const all = layer.heads.map((_, head) => head);
    return this.head === "all" || this.head >= all.length ? all : [this.head];
  }

  async draw(below = null) {
    this.tools = h("div", { class: "tools" });
    this.sides = h("div", { class: "sides" });
    this.summary = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The heads in numbers" });
    fill(this.place, this.tools, this.sides, h("h2", {}, "The heads in numbers"), this.summary, this.#comparing(), below);
    await this.#again();
    onTheme(() => this.#again(), this.state.gone);
  }

  async #again() {
    fill(this.tools, this.#layerField(), this.#headChoice(), choice("Shown as", SHOWN, this.how, (how) => this.#go({ how })));
    fill(this.summary, this.#summaries());
    await this.#pictures();
  }

  #go(fields) {
    const usual = this.how === this.usual;
    Object.assign(this, fields);
    if (fields.row !== undefined && usual && fields.how === undefined) this.how = this.usual;
    if (fields.row !== undefined && this.head !== "all" && this.head >= this.layer.heads.length) this.head = "all";
    this.state.keep({ layer: this.layer.id, head: this.head === "all" ? null : String(this.head), show: this.how === this.usual ? null : this.how });
    return this.#again();
  }

  #layerField() {
    const id = fresh("layer");
    const options = this.layers.map((layer, row) => h("option", { value: row, selected: row === this.row }, layer.title));
    return h("span", { class: "field" }, h("label", { for: id }, "Layer"), h("select", { id, onchange: (event) => this.#go({ row: Number(event.target.value) }) }, options));
  }

  #headChoice() {
    const heads = this.layer.heads.length;
    if (heads < 2) return null;
    const choices = [["all", "all"], ...Array.from({ length: heads }, (_, head) => [head, [h("i", { class: "swatch", style: { background: hue(head) } }), String(head + 1)]])];
    const row = choice("Head", choices, this.head, (head) => this.#go({ head }));
    [...row.children].forEach((button, i) => button.setAttribute("aria-label", i === 0 ? "all heads" : `head ${i}`));
    return h("span", { class: "field" }, h("span", { class: "label" }, "Head"), row);
  }

  /** Only the pictures that were asked for last are shown, whichever weights come first. */
  async #pictures() {
    const turn = (this.turn ?? 0) + 1;
    this.turn = turn;
    this.sides.setAttribute("aria-busy", "true");
    try {
      const both = [await this.#picture(this.side, this.layer, this.#name(this.side.name))];
      if (this.other) both.push(await this.#picture(this.other, this.#beside(), this.#name(this.other.name, " beside it")));
      if (turn !== this.turn) return;
      fill(this.sides, both);
      this.sides.classList.toggle("two", both.length > 1);
    } catch (error) {
      if (error.name !== "AbortError" && turn === this.turn) fill(this.sides, faultBox(error, () => this.#pictures()));
    } finally {
      if (turn === this.turn) this.sides.setAttribute("aria-busy", "false");
    }
  }

  #name(model, more = "") { return `${model}, ${this.layer.title}${this.heads(this.layer).length === 1 && this.layer.heads.length > 1 ? `, head ${this.head + 1}` : ""}${more}`; }

  /** The layer of the other model that stands for this one: of the same name, else of the same kind and turn. */
  #beside() {
    const { layers } = this.other;
    const alike = (all) => all.filter((layer) => layer.kind === this.layer.kind);
    const turn = alike(this.layers).indexOf(this.layer);
    return layers.find((layer) => layer.id === this.layer.id) ?? alike(layers)[Math.min(turn, alike(layers).length - 1)] ?? layers[0];
  }

  async #picture(side, layer, name) {
    const said = [h("strong", {}, side.name), " ", apart(typeof side.input === "string" ? side.input : "")];
    return h("div", { class: "side card" }, this.other && h("p", { class: "what" }, said), await this.#drawing(side, layer, name));
  }

  async #drawing(side, layer, name) {
    if (this.how === "grid") {
      const chosen = this.head === "all" || side !== this.side ? null : [this.row, this.head];
      const drawn = headGrid(await side.small(), chosen, (row, head) => this.#go({ row: Math.min(row, this.layers.length - 1), head, how: "matrix" }));
      return framed(`${name}, all heads`, drawn, { note: "Rows of each picture ask, columns are looked at; the darkest cell of each is its own largest weight." });
    }
    const [whole, heads] = [await side.whole(layer), this.heads(layer)];
    if (this.how === "matrix") return this.#matrix(whole, heads, name);
    const note = `Point at a word, or go there with the arrow keys, to see only its lines. Weights below ${percent(leastDrawn(whole.weights, heads))} are not drawn.`;
    return framed(name, attentionLines(whole, heads, name), { note });
  }

  /** With all heads chosen the heat map has them side by side to pick from. */
  #matrix(layer, heads, name) {
    const all = heads.length > 1;
    const onHead = (head) => this.#go({ head });
    const tensor = all ? layer.weights : layer.weights.head(heads[0]);
    const limit = Math.max(...layer.weights.range(), 1e-9);
    return heatMap({ name, title: "rows ask, columns are looked at", tensor, rows: layer.rows, columns: layer.columns, kind: "weights", limit: limit > 0.5 ? 1 : limit, onHead });
  }

  #summaries() {
    const other = this.other ? [h("h3", {}, `${this.other.name}, ${this.#beside().title}`), this.#table(this.#beside().heads)] : [];
    const notes = SUMMARIES.map(([, title, said]) => [h("dt", {}, title), h("dd", {}, said)]);
    return [this.other && h("h3", {}, `${this.state.model.name}, ${this.layer.title}`), this.#table(this.layer.heads), ...other, h("dl", { class: "note" }, notes)].filter(Boolean);
  }

  #table(heads) {
    const head = [h("th", { scope: "col" }, "head"), ...SUMMARIES.map(([, title, said]) => h("th", { scope: "col", class: "number", title: said }, title))];
    const most = Math.max(...heads.map((one) => one.entropy), 1e-9);
    const button = (index) => h("button", { type: "button", class: "quiet", onclick: () => this.#go({ head: index }) }, h("i", { class: "swatch", style: { background: hue(index) } }), ` head ${index + 1}`);
    const row = (one, index) => h("tr", { class: index === this.head ? "best" : null }, h("th", { scope: "row" }, button(index)), SUMMARIES.map(([key]) => measured(one[key], key === "entropy" ? most : 1)));
    return h("table", { class: "summaries" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, heads.map(row)));
  }

  #comparing() {
    const { state } = this;
    if (!this.source.live) return null;
    const [model, input] = [h("select", { id: fresh("model") }), h("input", { type: "text", id: fresh("input") })];
    const able = state.models.filter((one) => one.kind === state.model.kind);
    const now = state.get("beside", state.model.name);
    model.append(...able.map((one) => h("option", { value: one.name, selected: one.name === now }, one.name)));
    input.value = state.get("besideInput") ?? (typeof state.input === "string" ? state.input : JSON.stringify(state.input));
    const asked = (event) => {
      event.preventDefault();
      state.keep({ beside: model.value, besideInput: input.value });
      this.compare();
    };
    const none = () => { state.keep({ beside: null, besideInput: null }); this.other = null; this.compared.replaceChildren(); this.#again(); };
    this.compared = h("div", {});
    return h("form", { class: "card compare", onsubmit: asked }, h("h2", {}, "Compare"), h("div", { class: "tools" },
      h("span", { class: "field" }, h("label", { for: model.id }, "with the model"), model),
      h("span", { class: "field grow" }, h("label", { for: input.id }, "reading"), input),
      h("button", { type: "submit", class: "main" }, "Side by side"), h("button", { type: "button", onclick: none }, "Alone")), this.compared);
  }

  async compare() {
    const { state } = this;
    const name = state.get("beside");
    if (name === null || !state.models.some((one) => one.name === name)) return;
    const text = state.get("besideInput", "");
    const input = typeof state.input === "string" ? text : parsed(text);
    const same = JSON.stringify(input) === JSON.stringify(state.input);
    try {
      const other = await Side.of(name, { model: name, input, target: same ? state.target : null }, this.source, state.gone);
      this.other = other.layers.length ? other : null;
      this.compared?.replaceChildren(other.layers.length ? "" : h("p", { class: "note" }, `No layer of ${name} attends.`));
      await this.#again();
    } catch (error) {
      if (error.name !== "AbortError") this.compared?.replaceChildren(faultBox(error, () => this.compare()));
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A number with a bar behind it, so that heads can be compared at a glance. */
function measured(value, most) {
  if (value === null || value === undefined || !Number.isFinite(value)) return h("td", { class: "number" }, "–");
  return h("td", { class: "number measured" }, h("i", { class: "bar", style: { width: `${Math.max(0, Math.min(92, (92 * value) / most))}%` } }), h("span", {}, short(value)));
}
