// The lecture: a model so small that every number of it can be looked at, walked through step by step.

import { h, notes, say, shown } from "../element.js";
import { heatMap } from "../matrix.js";
import { framed } from "../pictures/framed.js";
import { lectureMap } from "../pictures/lecture_map.js";
import { STEPS } from "../pictures/lecture_steps.js";
import { mathWords } from "../pictures/math_words.js";
import { Tensor } from "../tensor.js";

export const view = {
  name: "lecture",
  title: "Lecture",
  about: "A tiny model, step by step: three words are read, three are written, and every number can be checked by hand.",
  inputless: true,
  fits: (model, models = [model]) => models.some((one) => one.lecture),
  async draw(place, state, source) {
    if (!state.model.lecture) {
      const { name } = state.models.find((one) => one.lecture);
      location.replace(state.link({ model: name, input: null, data: null, target: null, changes: null, settings: null }));
      return null;
    }
    const walk = new Walk(place, state, source);
    await walk.begin();
    return () => walk.end();
  },
};

class Walk {
  constructor(place, state, source) {
    Object.assign(this, { place, state, source });
    this.now = Math.max(0, STEPS.findIndex((step) => step.name === state.get("step")));
    this.keyed = (event) => this.#keyed(event);
  }

  async begin() {
    const answer = await this.source.answer(this.state.request({ changes: [] }), this.state.gone);
    // a loss needs an answer that is called right: the one that is given, or the model's own
    this.request = this.state.request({ target: this.state.target ?? answer.text, changes: [] });
    this.head = h("div", { class: "walk-head" });
    this.body = h("div", { class: "walk-body" });
    this.map = h("aside", { class: "walk-map", "aria-label": "Where in the model this is" });
    this.place.append(h("p", { class: "walk-sentence" }, h("strong", {}, words(answer.source)), " → ", h("strong", {}, words(answer.target))), ...notes(answer), this.head,
      h("div", { class: "walk" }, this.map, this.body));
    window.addEventListener("keydown", this.keyed);
    await this.#show();
  }

  end() { window.removeEventListener("keydown", this.keyed); }

  #keyed(event) {
    const busy = event.target.closest?.("input, textarea, select, .map") || event.altKey || event.ctrlKey || event.metaKey;
    const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 }[event.key];
    if (busy || !by) return;
    event.preventDefault();
    this.#go(this.now + by);
  }

  #go(index) {
    if (index < 0 || index >= STEPS.length) return;
    this.now = index;
    this.state.keep({ step: STEPS[index].name, cell: null });
    this.#show();
  }

  async #show() {
    const step = STEPS[this.now];
    this.#drawHead(step);
    const matrices = await this.#matrices(step);
    if (STEPS[this.now] !== step || this.state.gone.aborted) return;
    const given = this.state.get("cell")?.split(",").map(Number);
    this.cell = given?.length === 3 && given.every(Number.isInteger) ? given : [...step.start];
    this.#drawBody(step, matrices);
    this.map.replaceChildren(framed("the model", lectureMap(STEPS, this.now, (index) => this.#go(index))));
    say(`${this.now + 1} of ${STEPS.length}: ${step.title}`);
  }

  #drawHead(step) {
    const button = (title, by, label) => h("button", { type: "button", class: by > 0 ? "main" : null, disabled: !STEPS[this.now + by], "aria-label": label, onclick: () => this.#go(this.now + by) }, title);
    const options = STEPS.map((one, index) => h("option", { value: index, selected: index === this.now }, `${index + 1}. ${one.title}`));
    this.head.replaceChildren(button("← Back", -1, "Step before"),
      h("select", { "aria-label": "Step", onchange: (event) => this.#go(Number(event.target.value)) }, options), button("Next →", 1, "Next step"),
      h("progress", { max: STEPS.length, value: this.now + 1, "aria-label": `Step ${this.now + 1} of ${STEPS.length}` }), h("span", { class: "note" }, "arrow keys go on and back"));
  }

  /** [{name, document, tensor}] of the step; what this model does not have (a bias, say) is left out. */
  async #matrices(step) {
    const ids = [...new Set(step.matrices.map(([box]) => box))];
    const boxes = new Map(await Promise.all(ids.map(async (id) => [id, await this.source.box(this.request, id, this.state.gone)])));
    this.equation = boxes.get(step.matrices.at(-1)[0]).equation;
    return step.matrices.flatMap(([box, value]) => {
      const found = boxes.get(box).values.find((one) => one.name === value);
      return found ? [{ name: value, document: found, tensor: Tensor.of(found.matrix) }] : [];
    });
  }

  #drawBody(step, matrices) {
    this.numbers = h("pre", { class: "numbers", "aria-live": "polite" });
    this.explained = h("p", { class: "note" });
    const made = matrices.at(-1);
    const figures = matrices.map((one) => this.#figure(step, one, one === made));
    this.body.replaceChildren(h("h2", {}, `${this.now + 1}. ${step.title}`), ...step.text.map((said) => h("p", { class: "lecture-text" }, said)),
      h("div", { class: "equation card" }, h("p", { class: "symbols" }, mathWords(step.symbols)), this.explained, this.numbers),
      h("p", { class: "note" }, `Click a cell of ${made.name}, or go there with the arrow keys and press Enter, to see how its number comes about.`),
      h("div", { class: "walk-matrices" }, figures), this.#links(step));
    this.figures = figures;
    this.#explain(step, matrices);
  }

  #figure(step, one, isMade) {
    const { document: found, tensor, name } = one;
    const options = { name, title: found.title, tensor, rows: found.rows, columns: found.columns, head: this.cell[2] };
    if (name === "A" || name === "p") Object.assign(options, { kind: "weights", limit: 1 });
    const look = (row, column, head) => {
      this.cell = [row, column, head ?? 0];
      this.state.keep({ cell: this.cell.join(",") });
      this.#explain(step, this.shown);
    };
    options.onHead = (head) => { for (const figure of this.figures) figure.choose(head); look(this.cell[0], this.cell[1], head); };
    if (isMade) options.onCell = look;
    const figure = heatMap(options);
    figure.classList.toggle("made", isMade);
    figure.dataset.value = name;
    return figure;
  }

  #explain(step, matrices) {
    this.shown = matrices;
    const made = matrices.at(-1);
    const [row, column, head] = this.cell.map((at, axis) => Math.min(at, [made.tensor.rows, made.tensor.columns, made.tensor.heads][axis] - 1));
    const m = Object.fromEntries(matrices.map(({ name, tensor }) => [name, tensor.head(Math.min(head, tensor.heads - 1))]));
    const said = step.numbers(m, row, column, head);
    const label = (list, at) => (list?.[at] === undefined ? at + 1 : `‘${shown(list[at])}’`);
    this.explained.textContent = said === null ? "" : `${made.name}: row ${label(made.document.rows, row)}, column ${label(made.document.columns, column)}${made.tensor.heads > 1 ? `, head ${head + 1}` : ""}`;
    this.numbers.replaceChildren(...mathWords(said ?? this.equation?.numbers ?? ""));
    this.figures.at(-1).mark(row, column);
  }

  #links(step) {
    const box = step.matrices.at(-1)[0];
    return h("p", { class: "tools" }, h("a", { href: this.state.link({ view: "flow", box }) }, "This box in the flow"),
      step.name === "chances" && h("a", { href: this.state.link({ view: "beam" }) }, "The search for the answer"),
      ["softmax", "cross"].includes(step.name) && h("a", { href: this.state.link({ view: "attention" }) }, "Its attention as lines"));
  }
}

const words = (places) => (places ?? []).map(shown).join(" ");
