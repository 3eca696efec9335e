import { askedForInput, faultBox, fill, h, needsInput, notes, say } from "../element.js";
import { downloads } from "../download.js";
import { boxFacts, boxPanel, equation, ways } from "../pictures/box_panel.js";
import { folded, openable, runs } from "../pictures/flow_folds.js";
import { layout, NARROW, WIDE } from "../pictures/flow_layout.js";
import { flowLegend, flowPicture } from "../pictures/flow_picture.js";
import { lossPicture } from "../pictures/loss.js";

export const view = {
  name: "flow",
  title: "Flow",
  about: "The whole model, drawn from its own parts. Choose any box: what it made of this input, in numbers.",
  inputless: true,
  fits(model) { return model.kind !== ""; },
  async draw(place, state, source) {
    const flow = await source.flow(state.model.name, state.gone);
    const shown = new Flow(place, state, source, flow);
    shown.start();
    return () => shown.stop();
  },
};

const LEAST = 0.8; // below it, letters are too small
const PHONE = window.matchMedia("(max-width: 720px)");

class Flow {
  constructor(place, state, source, flow) {
    Object.assign(this, { place, state, source, flow });
    this.boxes = new Map(flow.boxes.map((box) => [box.id, box]));
    this.groups = new Map(flow.groups.flatMap((group) => group.boxes.map((id) => [id, group])));
    this.titles = new Map(flow.groups.map((group) => [group.id, group.title]));
    this.steps = openable(flow);
    const listed = (name) => new Set((state.get(name) ?? "").split(" ").filter(Boolean));
    this.shown = listed("blocks");
    this.open = listed("open");
    this.all = state.get("all") === "yes";
    this.box = this.boxes.has(state.get("box")) ? state.get("box") : null;
    this.resized = () => this.#picture();
    this.trace = null;
  }

  start() {
    this.figure = h("div", { class: "scroll figure", tabindex: "0", role: "region", "aria-label": "The model" });
    this.panel = h("section", { class: "card panel", "aria-label": "The chosen box" });
    this.loss = h("div", { class: "loss" });
    this.place.replaceChildren(h("div", { class: "flow-columns" },
      h("div", { class: "card model" }, this.#tools(), this.figure, flowLegend(this.flow.boxes), this.loss), this.panel));
    PHONE.addEventListener("change", this.resized);
    if (this.box) this.#reveal(this.box);
    this.#picture();
    this.#hint();
    if (this.box) this.#choose(this.box);
    if (!needsInput(this.state)) this.#trace();
  }

  /** What each box made, summed up: it comes later than the drawing, as the model must write its answer first. */
  async #trace() {
    try {
      this.trace = await this.source.trace(this.state.request(), this.state.gone);
      fill(this.loss, notes(this.trace), this.trace.loss && lossPicture(this.trace.loss));
      const facts = this.panel.querySelector(".facts");
      if (facts && this.box) facts.replaceWith(boxFacts(this.boxes.get(this.box), this.trace.boxes[this.box]));
    } catch (error) {
      if (!this.state.gone.aborted) this.loss.replaceChildren(faultBox(error));
    }
  }

  stop() { PHONE.removeEventListener("change", this.resized); }

  #tools() {
    const all = (event) => { this.all = event.target.checked; this.#note(); this.#picture(); };
    const repeated = runs(this.flow).some((run) => run.length > 1);
    this.count = h("span", { class: "count note" });
    return h("div", { class: "tools" },
      h("div", { class: "choice", role: "group", "aria-label": "Step by step" },
        h("button", { type: "button", "data-step": "-1", "aria-label": "Previous step", onclick: () => this.#step(-1) }, "‹ back"),
        h("button", { type: "button", "data-step": "1", "aria-label": "Next step", onclick: () => this.#step(1) }, "next ›")), this.count,
      repeated && h("label", { class: "check" }, h("input", { type: "checkbox", checked: this.all, onchange: all }), " all blocks"),
      downloads(`${this.state.model.name}-flow`, () => this.drawn));
  }

  #picture() {
    const sizes = PHONE.matches ? NARROW : WIDE;
    const seen = folded(this.flow, this);
    const { boxes, edges } = this.flow;
    const title = `${this.state.model.name}: ${boxes.length} boxes, ${edges.length} arrows`;
    const focused = document.activeElement?.dataset?.box;
    this.drawn = flowPicture(layout(seen, sizes, this.open), sizes, { chosen: this.box, steps: this.steps, title, groups: this.titles }, {
      choose: (id) => this.#pressed(id), turn: (group, other) => this.#turn(group, other), toggle: (id) => this.#toggle(id, false),
    });
    this.#scaled(this.drawn, PHONE.matches ? 1 : this.#scale(sizes));
    this.figure.replaceChildren(this.drawn);
    if (focused) this.#at(focused)?.focus({ preventScroll: true });
  }

  /** As large as the folded model can be without scrolling; the same when a part of it is opened. */
  #scale(sizes) {
    const room = window.innerHeight - 300;
    this.whole ??= layout(folded(this.flow), sizes, new Set()).height;
    return Math.max(LEAST, Math.min(1, room / this.whole));
  }

  #scaled(drawn, scale) {
    for (const side of ["width", "height"]) drawn.setAttribute(side, Math.round(drawn.viewBox.baseVal[side] * scale));
  }

  #at(id) { return this.drawn.querySelector(`[data-box="${CSS.escape(id)}"]`); }

  #pressed(id) {
    if (this.steps.has(id)) this.open.add(id);
    this.#choose(id);
  }

  #toggle(id, open) {
    if (open) this.open.add(id);
    else this.open.delete(id);
    this.#note();
    this.#picture();
  }

  #turn(group, other) {
    for (const one of group.run) this.shown.delete(one.id);
    this.shown.add(other.id);
    const index = group.boxes.indexOf(this.box);
    const opened = [...this.open].filter((id) => group.boxes.includes(id)).map((id) => other.boxes[group.boxes.indexOf(id)]);
    opened.forEach((id) => this.open.add(id));
    if (index >= 0) this.#choose(other.boxes[index]);
    else { this.#note(); this.#picture(); }
  }

  #step(by) {
    const ids = this.flow.boxes.map((box) => box.id);
    const at = this.box ? ids.indexOf(this.box) + by : by > 0 ? 0 : ids.length - 1;
    if (at >= 0 && at < ids.length) this.#choose(ids[at]);
  }

  /** Makes sure that a box can be seen. */
  #reveal(id) {
    const { of } = this.boxes.get(id);
    if (of) this.open.add(of);
    const run = runs(this.flow).find((one) => one.some((group) => group.boxes.includes(id)));
    for (const group of run ?? []) this.shown.delete(group.id);
    const group = this.groups.get(id);
    if (group && run?.length > 1) this.shown.add(group.id);
  }

  #note() {
    const listed = (set) => [...set].join(" ") || null;
    this.state.keep({ box: this.box, blocks: listed(this.shown), open: listed(this.open), all: this.all ? "yes" : null });
  }

  async #choose(id, told = true) {
    this.box = id;
    this.#reveal(id);
    this.#note();
    this.#picture();
    const box = this.boxes.get(id);
    const number = this.flow.boxes.indexOf(box) + 1;
    this.count.textContent = `step ${number} of ${this.flow.boxes.length}`;
    for (const button of this.place.querySelectorAll("[data-step]")) button.disabled = button.dataset.step === "-1" ? number === 1 : number === this.flow.boxes.length;
    if (told) this.#into(this.#at(id));
    await this.#fill(box);
    if (told) say(`${box.title}, step ${number}`);
  }

  /** Scrolls the picture, and only it, so that a box is in its middle. */
  #into(shape) {
    const [outer, inner] = [this.figure.getBoundingClientRect(), shape.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) this.figure.scrollBy({ top: inner.top - outer.top - outer.height / 2 });
    if (PHONE.matches) {
      const past = inner.bottom - window.innerHeight * 0.4;
      if (past > 0 || inner.top < 0) window.scrollBy({ top: past });
    }
  }

  #hint() {
    if (this.box) return;
    this.panel.replaceChildren(h("h2", {}, "Choose a box"), h("p", { class: "note" }, "Or go through all of them with ", h("em", {}, "next"),
      ": from the tokens that are read to the words that are said. The arrow keys of a heat map read its numbers one by one."));
    this.panel.classList.add("empty");
  }

  async #fill(box) {
    this.filling = this.#newer();
    const { signal } = this.filling;
    this.panel.classList.remove("empty");
    const group = this.flow.groups.find((one) => one.id === box.group);
    const close = h("button", { type: "button", class: "icon close", "aria-label": "Close the panel", onclick: () => this.#close() }, "×");
    const head = h("header", {}, h("div", {}, h("p", { class: "note" }, group?.title ?? ""), h("h2", {}, box.title)), close);
    if (needsInput(this.state)) {
      this.panel.replaceChildren(head, h("p", { class: "sentence" }, box.sentence), askedForInput(this.state.model));
      return;
    }
    this.panel.replaceChildren(head, h("p", { class: "wait" }, "One moment …"));
    this.panel.setAttribute("aria-busy", "true");
    try {
      const made = await this.source.box(this.state.request(), box.id, signal);
      if (signal.aborted) return;
      const way = ways(box, this.flow.edges, this.boxes, (id) => this.#choose(id));
      const cell = (row, _, at) => this.#equation(box, row, at, signal);
      this.panel.replaceChildren(head, ...boxPanel(box, made, this.trace?.boxes?.[box.id], cell, way).filter(Boolean));
      this.panel.scrollTop = 0;
    } catch (error) {
      if (!signal.aborted) this.panel.replaceChildren(head, faultBox(error, () => this.#fill(box)));
    } finally {
      if (!signal.aborted) this.panel.setAttribute("aria-busy", "false");
    }
  }

  /** The equation with the numbers of another row and head: those of a cell that was chosen. */
  async #equation(box, row, head, signal) {
    if (!this.source.live) return;
    const made = await this.source.box({ ...this.state.request(), row, head }, box.id, signal);
    this.panel.querySelector(".equation")?.replaceWith(equation(made.equation));
  }

  /** Only the box that was chosen last is shown, whichever answer comes first. */
  #newer() {
    this.filling?.abort();
    const next = new AbortController();
    this.state.gone.addEventListener("abort", () => next.abort());
    return next;
  }

  #close() {
    this.box = null;
    this.#note();
    this.#picture();
    this.#hint();
  }
}
