// How the model came to be: curves, live while `seqloom train` runs, and a sentence's attention from checkpoint to checkpoint.

import { fresh, h, say } from "../element.js";
import { heatMap } from "../matrix.js";
import { curves } from "../pictures/curves.js";
import { framed } from "../pictures/framed.js";
import { Tensor } from "../tensor.js";
import { onTheme } from "../theme.js";

const SOON = 2000; // milliseconds until it is asked again while it trains
const LATER = 15000; // and while it does not
const BEAT = 700; // from one look to the next, when they are played

export const view = {
  name: "training",
  title: "Training",
  about: "How the model came to be: what was measured at each step, and how its attention to one sentence took shape.",
  inputless: true,
  fits: (model) => !model.lecture,
  async draw(place, state, source) {
    const page = new Page(place, state, source);
    await page.load();
    page.draw();
    return () => page.stop();
  },
};

class Page {
  constructor(place, state, source) {
    Object.assign(this, { place, state, source, playing: null, waiting: null });
    this.follows = state.get("look") === null; // the newest, until somebody chooses another
  }

  async load() {
    this.found = await this.source.training(this.state.model.name, this.state.gone);
  }

  draw() {
    this.status = h("p", { class: "status", role: "status" });
    this.chart = h("div", { class: "card" });
    this.looks = h("div", { class: "looks" });
    this.place.append(this.status, this.chart, this.looks);
    this.#again(true);
    onTheme(() => this.#curves(), this.state.gone);
    if (this.source.live) this.#wait();
  }

  stop() {
    clearTimeout(this.waiting);
    clearInterval(this.playing);
  }

  #wait() {
    this.waiting = setTimeout(async () => {
      const looks = this.found.looks?.length ?? 0;
      try {
        await this.load();
        this.#again((this.found.looks?.length ?? 0) !== looks);
      } catch (error) {
        if (error.name === "AbortError") return;
        this.status.textContent = error.message;
      }
      if (!this.state.gone.aborted) this.#wait();
    }, this.found.running ? SOON : LATER);
  }

  #again(newLooks) {
    const { metrics = {}, running } = this.found;
    const last = Math.max(0, ...Object.values(metrics).flatMap((points) => (points.length ? [points.at(-1)[0]] : [])));
    this.status.replaceChildren(h("i", { class: `lamp ${running ? "on" : "off"}`, "aria-hidden": "true" }),
      running ? `It is being trained: step ${last.toLocaleString("en")}.` : `Its training has ended${last ? ` at step ${last.toLocaleString("en")}` : ""}.`);
    this.#curves();
    if (newLooks) this.#looks();
  }

  get look() {
    const { looks = [] } = this.found;
    if (this.follows) return looks.length - 1;
    const at = looks.findIndex((look) => String(look.step) === this.state.get("look"));
    return at < 0 ? looks.length - 1 : at;
  }

  #curves() {
    const { metrics = {}, looks = [] } = this.found;
    const empty = !Object.values(metrics).some((points) => points.length);
    if (empty) {
      this.chart.replaceChildren(h("p", {}, "Nothing has been measured yet."));
      return;
    }
    const marked = looks.length && !this.follows ? looks[this.look].step : null;
    this.chart.replaceChildren(framed("training curves", curves(metrics, marked), { others: { CSV: () => table(metrics) } }));
  }

  #looks() {
    const { looks = [], sentence } = this.found;
    if (!looks.length) {
      this.looks.replaceChildren(h("h2", {}, "Attention as it took shape"), h("p", { class: "note" }, "Looks are kept at each checkpoint of models that attend; this run has none."));
      return;
    }
    const id = fresh("look");
    this.slider = h("input", { id, type: "range", min: 0, max: looks.length - 1, step: 1, value: this.look, oninput: () => this.#show(Number(this.slider.value)) });
    this.step = h("output", { for: id, class: "mono" });
    this.button = h("button", { type: "button", onclick: () => this.#play() }, "▶ Play");
    this.map = h("div", {});
    this.looks.replaceChildren(h("h2", {}, "Attention as it took shape"),
      h("p", { class: "note" }, "At each checkpoint the same sentence is read: ", h("strong", {}, words(sentence?.source)), sentence?.target?.length ? [" → ", h("strong", {}, words(sentence.target))] : ""),
      h("div", { class: "tools" }, this.button, h("span", { class: "field grow" }, h("label", { for: id }, "Checkpoint"), h("span", { class: "slider" }, this.slider, this.step))), this.map);
    this.#drawLook();
  }

  #show(at) {
    const { looks } = this.found;
    this.follows = false;
    this.state.keep({ look: String(looks[at].step) });
    this.slider.value = at;
    this.#drawLook();
    this.#curves();
  }

  #drawLook() {
    const look = this.found.looks[this.look];
    const { sentence } = this.found;
    this.step.textContent = `step ${look.step.toLocaleString("en")}`;
    const weights = Tensor.of(look.weights);
    const rows = look.rows ?? this.found.rows ?? sentence?.target;
    const columns = look.columns ?? this.found.columns ?? sentence?.source;
    const place = (list, count) => (Array.isArray(list) && list.length === count ? list : null);
    const head = Number(this.state.get("head", 0));
    this.map.replaceChildren(heatMap({
      name: `attention at step ${look.step}`, title: this.found.layer ?? "", tensor: weights, rows: place(rows, weights.rows), columns: place(columns, weights.columns), kind: "weights", limit: 1, head,
      onHead: (chosen) => this.state.keep({ head: String(chosen) }),
    }));
  }

  #play() {
    if (this.playing !== null) {
      clearInterval(this.playing);
      this.playing = null;
      this.button.textContent = "▶ Play";
      return;
    }
    const { looks } = this.found;
    let at = this.look === looks.length - 1 ? 0 : this.look;
    this.button.textContent = "❚❚ Pause";
    say("Playing");
    this.#show(at);
    this.playing = setInterval(() => {
      at += 1;
      if (at < this.found.looks.length) this.#show(at);
      else this.#play();
    }, BEAT);
  }
}

const words = (places) => (typeof places === "string" ? places : (places ?? []).map((one) => (typeof one === "string" ? one : one.text)).join(" "));

/** All that was measured, a step a line. */
function table(metrics) {
  const names = Object.keys(metrics);
  const steps = [...new Set(names.flatMap((name) => metrics[name].map(([step]) => step)))].sort((a, b) => a - b);
  const columns = names.map((name) => new Map(metrics[name]));
  return `${["step", ...names].join(",")}\n${steps.map((step) => [step, ...columns.map((column) => column.get(step) ?? "")].join(",")).join("\n")}\n`;
}
