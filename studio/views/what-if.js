// Switch a part off, change a word or a weight, and see what becomes of the answer. The server computes it anew.

import { faultBox, fresh, h, notes, say, shown } from "../element.js";
import { heatMap } from "../matrix.js";
import { changeWords, holds, toggled } from "../pictures/changes.js";
import { differences } from "../pictures/differences.js";
import { short, Tensor } from "../tensor.js";

const MARK = /^<\/?\w+>$/; // beginning and end stay where they are
const TEXTS = new Set(["pairs", "prompt", "words", "text"]); // tokens are read, which can be changed one by one

export const view = {
  name: "what-if",
  title: "What if",
  about: "Switch a part off, change a word or a weight, take the mask away: the answer is computed anew, and the difference shown.",
  fits: (model) => model.kind !== "",
  async draw(place, state, source) {
    const plain = state.request({ changes: [] });
    const [flow, found, before] = await Promise.all([
      source.flow(state.model.name, state.gone), source.attention(plain, { weights: "light" }, state.gone), source.answer(plain, state.gone)]);
    const bench = new Bench(place, state, source, { flow, layers: found.layers, before });
    bench.draw();
    await bench.answer();
  },
};

class Bench {
  constructor(place, state, source, { flow, layers, before }) {
    Object.assign(this, { place, state, source, flow, layers, before });
    this.changes = state.changes;
    this.blocks = flow.groups.filter((group) => /\.blocks\.\d+$/.test(group.id));
    this.parts = flow.boxes.filter((box) => /\.blocks\.\d+\.(mixer|cross|feed_forward)$/.test(box.id));
    const titled = (box) => { const block = this.blocks.find((group) => box.id.startsWith(`${group.id}.`)); return `${block ? `${block.title}, ` : ""}${box.title}`; };
    this.titles = new Map([...this.blocks.map((group) => [group.id, group.title]), ...this.parts.map((box) => [box.id, titled(box)]), ...layers.map((layer) => [layer.id, layer.title])]);
    this.places = { source: before.source ?? [], target: before.target ?? [] };
  }

  draw() {
    this.list = h("div", { class: "changes", "aria-label": "Changes" });
    this.result = h("div", { class: "result", "aria-live": "polite" });
    this.place.append(h("div", { class: "bench" }, h("div", { class: "card controls" }, h("h2", {}, "Change"), this.#sections()),
      h("div", { class: "card" }, h("h2", {}, "What becomes of the answer"), this.list, this.result)));
    this.#listed();
  }

  #sections() {
    const { layers, source } = this;
    if (!source.live) return h("p", { class: "note" }, "This file holds one answer; with `seqloom serve` everything can be changed.");
    const section = (title, open, ...inside) => h("details", { open }, h("summary", {}, title), inside);
    return [
      layers.length > 0 && section("Switch off a head", true, this.#heads()),
      section("Switch off a layer", true, this.#layers()),
      TEXTS.has(this.state.model.kind) && this.places.source.length > 0 && section("Change a word", true, this.#words("source"), this.state.target && this.#words("target")),
      this.flow.rules?.length > 0 && section("Positions and mask", true, this.#rules()),
      layers.length > 0 && section("Edit an attention weight", false, this.#weights()),
    ];
  }

  /** A button that is pressed while its change is in force. */
  #button(title, label, change) {
    const press = () => this.#change(toggled(this.changes, change));
    return h("button", { type: "button", class: "switch", "aria-label": label, "data-change": JSON.stringify(change), onclick: press }, title);
  }

  #heads() {
    const row = (layer) => h("div", { class: "row" }, h("span", { class: "what" }, layer.title), h("span", { class: "switches", role: "group", "aria-label": layer.title },
      layer.heads.map((_, head) => this.#button(String(head + 1), `${layer.title}: head ${head + 1} off`, { kind: "head", layer: layer.id, head }))));
    return this.layers.map(row);
  }

  #layers() {
    const row = (block) => {
      const parts = this.parts.filter((box) => box.id.startsWith(`${block.id}.`));
      return h("div", { class: "row" }, h("span", { class: "what" }, block.title), h("span", { class: "switches", role: "group", "aria-label": block.title },
        parts.map((box) => this.#button(box.title, `${block.title}: ${box.title} off`, { kind: "layer", box: box.id })),
        this.#button("all of it", `${block.title}: off`, { kind: "layer", box: block.id })));
    };
    return this.blocks.map(row);
  }

  #words(side) {
    const word = (place, index) => {
      const field = h("input", { type: "text", value: shownPlain(place), size: Math.max(3, shown(place).length), "aria-label": `${side} ${index + 1}`, "data-place": index, autocomplete: "off", spellcheck: "false", autocapitalize: "off", disabled: MARK.test(shownPlain(place)) });
      const changed = () => {
        const others = this.changes.filter((one) => !(one.kind === "token" && one.side === side && one.place === index));
        const same = field.value === shownPlain(place) || field.value === "";
        if (field.value === "") field.value = shownPlain(place);
        this.#change(same ? others : [...others, { kind: "token", side, place: index, text: field.value }]);
      };
      const now = this.changes.find((one) => one.kind === "token" && one.side === side && one.place === index);
      if (now) field.value = now.text;
      field.addEventListener("change", changed);
      return field;
    };
    return h("div", { class: "row" }, h("span", { class: "what" }, side), h("span", { class: "words", role: "group", "aria-label": `words of the ${side}` }, this.places[side].map(word)));
  }

  #rules() {
    const button = (rule) => (rule.kind === "mask" ? this.#button("no mask", "no mask in the decoder", rule)
      : this.#button(`no positions in the ${rule.side}`, `no positions in the ${rule.side}`, rule));
    return h("div", { class: "row" }, h("span", { class: "switches" }, this.flow.rules.map(button)));
  }

  #weights() {
    const place = h("div", {});
    const id = fresh("layer");
    const draw = async (index) => {
      try {
        place.replaceChildren(this.#weightMap(await this.#whole(this.layers[index])));
      } catch (error) {
        if (error.name !== "AbortError") place.replaceChildren(faultBox(error));
      }
    };
    const options = this.layers.map((layer, index) => h("option", { value: index }, layer.title));
    draw(0);
    return h("div", {}, h("span", { class: "field" }, h("label", { for: id }, "Layer"), h("select", { id, onchange: (event) => draw(Number(event.target.value)) }, options)), place);
  }

  /** A layer with its weights; where they are many, they are asked for now. */
  async #whole(layer) {
    if (layer.weights.shape.at(-1) > 0) return layer;
    return (await this.source.attention(this.state.request({ changes: [] }), { layer: layer.id }, this.state.gone)).layers[0];
  }

  /** A cell that is clicked can be given another weight. */
  #weightMap(layer) {
    const place = h("div", { class: "weight" }, h("p", { class: "note" }, "Click a cell, or press Enter on it."));
    const chosen = (row, column, head) => {
      const now = this.changes.find((one) => one.kind === "weight" && one.layer === layer.id && one.head === head && one.row === row && one.column === column);
      const before = Tensor.of(layer.weights).head(head).at(row, column);
      place.replaceChildren(this.#weightField(layer, head, row, column, now?.value ?? before, before));
      place.querySelector("input").focus();
    };
    return h("div", {}, heatMap({ name: layer.title, tensor: layer.weights, rows: layer.rows, columns: layer.columns, kind: "weights", limit: 1, onCell: chosen }), place);
  }

  #weightField(layer, head, row, column, value, before) {
    const id = fresh("weight");
    const said = h("output", { for: id, class: "mono" }, short(value));
    const slider = h("input", { id, type: "range", min: 0, max: 1, step: 0.01, value, oninput: () => { said.textContent = short(Number(slider.value)); } });
    const set = () => {
      const change = { kind: "weight", layer: layer.id, head, row, column, value: Number(slider.value) };
      this.#change([...this.changes.filter((one) => !holds([one], change)), change]);
    };
    slider.addEventListener("change", set);
    return h("span", { class: "field" }, h("label", { for: id }, `“${shown(layer.rows[row])}” looks at “${shown(layer.columns[column])}”, head ${head + 1} (was ${short(before)})`), h("span", { class: "slider" }, slider, said));
  }

  #change(changes) {
    this.changes = changes;
    this.state.keep({ changes });
    this.#listed();
    this.answer();
  }

  #listed() {
    const chip = (change) => h("button", { type: "button", class: "chip", "aria-label": `Take back: ${changeWords(change, this.titles, this.places)}`, onclick: () => this.#taken(change) }, changeWords(change, this.titles, this.places), h("span", { "aria-hidden": "true" }, " ×"));
    const none = h("p", { class: "note" }, "Nothing is changed yet.");
    this.list.replaceChildren(...(this.changes.length ? this.changes.map(chip) : [none]));
    if (this.changes.length > 1) this.list.append(h("button", { type: "button", class: "quiet", onclick: () => { this.#restored(); this.#change([]); } }, "Take all back"));
    for (const button of this.place.querySelectorAll("button.switch")) button.setAttribute("aria-pressed", String(holds(this.changes, JSON.parse(button.dataset.change))));
  }

  #taken(change) {
    this.#restored(change);
    this.#change(this.changes.filter((one) => one !== change));
  }

  /** Word fields show again what was there. */
  #restored(change = null) {
    for (const side of ["source", "target"]) {
      for (const field of this.place.querySelectorAll(`[aria-label^="${side} "]`)) {
        if (change === null || (change.kind === "token" && change.side === side && String(change.place) === field.dataset.place)) field.value = shownPlain(this.places[side][field.dataset.place]);
      }
    }
  }

  /** What is said now; only the latest question counts. */
  async answer() {
    const { state, source, before } = this;
    const turn = (this.turn ?? 0) + 1;
    this.turn = turn;
    this.result.setAttribute("aria-busy", "true");
    try {
      const request = state.request({ changes: this.changes });
      const after = this.changes.length ? await source.answer(request, state.gone) : before;
      const forced = this.changes.length && before.steps?.length && !state.target && before.text ? await this.#again(request) : null;
      if (turn !== this.turn) return;
      this.result.replaceChildren(...notes(after), ...differences(before, after, forced, { model: state.model, input: state.input, changes: this.changes }));
      if (this.changes.length) say(after.text === before.text ? "The answer stays the same" : `The answer is now ${after.text}`);
    } catch (error) {
      if (error.name !== "AbortError" && turn === this.turn) this.result.replaceChildren(faultBox(error));
    } finally {
      if (turn === this.turn) this.result.setAttribute("aria-busy", "false");
    }
  }

  /** The old answer under the changes: how likely each of its tokens is now. Not all models can be made to say one. */
  async #again(request) {
    try {
      return await this.source.answer({ ...request, target: this.before.text }, this.state.gone);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return null;
    }
  }
}

const shownPlain = (place) => (typeof place === "string" ? place : place.text);
