// How the answer was found among others: the search tree, what was given up, and why the winner won.

import { apart, choice, fill, fresh, h, shown } from "../element.js";
import { beamTree } from "../pictures/beam_tree.js";
import { framed } from "../pictures/framed.js";
import { penalty, penaltyWords, rank, winners } from "../pictures/length.js";
import { mathWords } from "../pictures/math_words.js";
import { pathTo } from "../pictures/tree_layout.js";
import { short } from "../tensor.js";
import { onTheme } from "../theme.js";

const HIGHEST = 3;
const STEP = 0.05;
const ALPHAS = Array.from({ length: Math.round(HIGHEST / STEP) + 1 }, (_, i) => Math.round(i * STEP * 100) / 100);
const KINDS = [["wu", "Wu et al."], ["mean", "mean"], ["none", "none"]];
const BEAMS = [1, 2, 3, 4, 6, 8, 12, 16];
const LONG = 60; // letters of an answer within a sentence
const LISTED = 50; // answers in the table

export const view = {
  name: "beam",
  title: "Beam",
  about: "How the answer was found among others: at each step only the likeliest beginnings are followed.",
  fits: (model) => model.kind === "pairs" || model.kind === "prompt",
  async draw(place, state, source) {
    const found = await source.beam(state.request({ target: null }), state.gone);
    if (state.target) place.append(h("p", { class: "note" }, "The answer that is forced is left aside here: it is not searched for."));
    new Search(place, state, source, found).draw();
  },
};

class Search {
  constructor(place, state, source, found) {
    Object.assign(this, { place, state, source, found });
    const kind = state.get("length", found.length.kind);
    this.length = { kind, alpha: Number(state.get("alpha", found.length.alpha ?? (kind === "mean" ? 1 : 0.6))) };
    this.pruned = state.get("pruned", "1") === "1";
  }

  draw() {
    this.why = h("div", { class: "why card", "aria-live": "polite" });
    this.tree = h("div", { class: "card" });
    this.table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers that were found" });
    this.node = h("p", { class: "note readout" });
    this.place.append(this.#tools(), this.why, this.tree, this.node, h("h2", {}, "Answers that were found"), this.table);
    this.#rank();
    onTheme(() => this.#rank(), this.state.gone);
  }

  #tools() {
    const id = fresh("alpha");
    this.slider = h("input", {
      id, type: "range", min: 0, max: HIGHEST, step: STEP, value: this.length.alpha, oninput: (event) => this.#changed({ alpha: Number(event.target.value) }),
    });
    this.alpha = h("output", { for: id, class: "mono" });
    const shows = h("input", { type: "checkbox", id: fresh("pruned"), checked: this.pruned, onchange: (event) => this.#prunes(event.target.checked) });
    this.again = h("button", { type: "button", hidden: true, onclick: () => this.#search() }, "Search again with it");
    return h("div", { class: "tools" }, this.#beams(),
      h("span", { class: "field" }, h("span", { class: "label" }, "Length penalty"), choice("Length penalty", KINDS, this.length.kind, (kind) => this.#changed({ kind }))),
      h("span", { class: "field" }, h("label", { for: id }, "alpha: what length is worth"), h("span", { class: "slider" }, this.slider, this.alpha)),
      h("span", { class: "check" }, shows, h("label", { for: shows.id }, "what was given up")), this.again);
  }

  #beams() {
    if (!this.source.live) return null;
    const { state } = this;
    const id = fresh("beam");
    const now = state.settings.beam ?? this.found.beam ?? "";
    const sizes = [...new Set([...BEAMS, Number(now)])].filter(Boolean).sort((a, b) => a - b);
    const options = [now === "" && h("option", { value: "", selected: true }, "as set"), ...sizes.map((size) => h("option", { value: size, selected: String(size) === String(now) }, size))];
    const go = (event) => state.go({ settings: { ...state.settings, beam: event.target.value ? Number(event.target.value) : undefined } });
    return h("span", { class: "field" }, h("label", { for: id }, "Beam"), h("select", { id, onchange: go }, options));
  }

  #search() {
    const { kind, alpha } = this.length;
    const length = kind === "none" ? { kind } : { kind, alpha };
    this.state.go({ settings: { ...this.state.settings, length }, length: null, alpha: null });
  }

  #changed(fields) {
    Object.assign(this.length, fields);
    this.state.keep({ length: this.length.kind, alpha: String(this.length.alpha) });
    this.#rank();
  }

  #prunes(shows) {
    this.pruned = shows;
    this.state.keep({ pruned: shows ? null : "0" });
    this.#rank();
  }

  get #searchedSo() {
    const { kind, alpha } = this.found.length;
    return kind === this.length.kind && (kind === "none" || Math.abs(alpha - this.length.alpha) < 1e-9);
  }

  #rank() {
    const ranked = rank(this.found.finished, this.length);
    this.alpha.textContent = this.length.kind === "none" ? "–" : this.length.alpha.toFixed(2);
    this.slider.disabled = this.length.kind === "none";
    this.again.hidden = this.#searchedSo || !this.source.live;
    fill(this.why, this.#reasons(ranked));
    fill(this.table, this.#answers(ranked));
    this.#drawTree(ranked);
  }

  #drawTree(ranked) {
    const scores = new Map(ranked.map((one) => [one.node, one.score]));
    const nodes = this.pruned ? this.found.nodes : followed(this.found, ranked[0]?.node);
    const drawn = beamTree(nodes, ranked[0]?.node, scores, (node) => this.#tell(node));
    const note = "Each box is a token; below it the sum of the log-probabilities up to there. Boxes with round ends end an answer. Faint ones were considered and given up.";
    const scrolled = this.tree.querySelector(".scroll")?.scrollLeft ?? 0;
    this.tree.replaceChildren(framed("search tree", drawn, { note }));
    this.tree.querySelector(".scroll").scrollLeft = scrolled;
  }

  #tell(node) {
    const path = pathTo(this.found.nodes, node.id);
    const sum = path.map((one) => short(one.log_probability)).join(" + ").replaceAll("+ −", "− ");
    this.node.textContent = `${path.map((one) => shown(one.token)).join(" ")}: ${sum} = ${short(node.total)}`;
  }

  #reasons(ranked) {
    if (!ranked.length) return [h("p", {}, "No answer ended within the length that is allowed.")];
    const [best, second] = ranked;
    const points = [h("p", {}, h("strong", {}, quoted(best)), " wins: ", this.#sum(best))];
    if (second) points.push(h("p", {}, "Second is ", quoted(second), ": ", this.#sum(second), ` It is ${short(best.score - second.score)} behind.`), this.#parting(best, second));
    points.push(...this.#otherwise(best));
    if (!this.#searchedSo) points.push(h("p", { class: "note" }, `The search itself went by ${penaltyName(this.found.length)}. This ranks anew what it found; searched with the other penalty, other beginnings may be followed.`));
    return points;
  }

  /** log p / penalty = score, with numbers. */
  #sum(one) {
    const under = penalty(this.length, one.length);
    const also = one.coverage ? ` ${one.coverage < 0 ? "−" : "+"} ${short(Math.abs(one.coverage))} (coverage)` : "";
    const divided = this.length.kind === "none" ? "" : ` / ${penaltyWords(this.length, one.length)} = ${short(one.total)} / ${short(under)}${also}`;
    return h("span", { class: "mono sum" }, mathWords(`${short(one.total)}${divided} = ${short(one.score)}.`));
  }

  /** Where the two best answers part, and what each choice cost. */
  #parting(best, second) {
    const [a, b] = [pathTo(this.found.nodes, best.node), pathTo(this.found.nodes, second.node)];
    const at = a.findIndex((node, index) => node.id !== b[index]?.id);
    if (at < 0 || !b[at]) return null;
    const said = (node) => [h("span", { class: "token" }, shown(node.token)), ` (probability ${Math.exp(node.log_probability).toFixed(3)})`];
    const behind = a[at].log_probability < b[at].log_probability ? " The winner had the less likely token there, and made up for it later." : "";
    return h("p", {}, `They part at step ${at + 1}: `, said(a[at]), " against ", said(b[at]), ".", behind);
  }

  #otherwise(best) {
    const { kind } = this.length;
    if (kind === "none") return [];
    const all = winners(this.found.finished, kind, ALPHAS);
    if (all.length < 2) return [h("p", {}, `Of these answers it wins whatever alpha is, from 0 to ${HIGHEST}.`)];
    const said = all.map(({ alpha, index }, i) => {
      const to = all[i + 1] ? (all[i + 1].alpha - STEP).toFixed(2) : String(HIGHEST);
      return [i ? "; " : "", quoted(this.found.finished[index]), `${index === best.index ? " (now)" : ""} for alpha ${alpha.toFixed(2)} to ${to}`];
    });
    return [h("p", {}, "Who wins hangs on alpha: ", said, ".")];
  }

  #answers(ranked) {
    const first = rank(this.found.finished, this.found.length).map((one) => one.index);
    const head = ["rank", "answer", "log p", "tokens", "penalty", "score", "probability"].map((title, i) => h("th", { scope: "col", class: i === 1 ? null : "number" }, title));
    const row = (one, place) => h("tr", { class: place === 0 ? "best" : null, "data-index": one.index },
      number(`${place + 1}${moved(first.indexOf(one.index) - place)}`), h("td", {}, apart(one.text || "∅")), number(short(one.total)), number(one.length),
      number(short(penalty(this.length, one.length))), number(one.score.toFixed(4).replace("-", "−")), number(Math.exp(one.total).toPrecision(3)));
    const rest = ranked.length - LISTED;
    return [h("table", { class: "answers" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, ranked.slice(0, LISTED).map(row))),
      rest > 0 && h("p", { class: "note" }, `and ${rest} more`)];
  }
}

/** Without what was given up: only what led to an answer, or was followed. */
function followed({ nodes, finished }, winner) {
  const wanted = new Set(nodes.filter((node) => node.kept || node.finished || node.id === winner).map((node) => node.id));
  for (const { node } of finished) for (const one of pathTo(nodes, node)) wanted.add(one.id);
  return nodes.filter((node) => wanted.has(node.id));
}

const number = (said) => h("td", { class: "number" }, String(said));
const moved = (up) => (up === 0 ? "" : up > 0 ? ` ▲${up}` : ` ▼${-up}`);
const quoted = ({ text }) => ["“", apart(text.length > LONG ? `${text.slice(0, LONG - 1)}…` : text), "”"];
const penaltyName = ({ kind, alpha }) => (kind === "none" ? "no length penalty" : `${kind === "wu" ? "Wu et al.’s" : "the mean’s"} with alpha ${alpha}`);
