import { downloads } from "../download.js";
import { h, notes, say, shown } from "../element.js";
import { answerPicture } from "../pictures/answer.js";
import { certainty } from "../pictures/certainty.js";
import { percent, short } from "../tensor.js";

export const view = {
  name: "write",
  title: "Answer",
  about: "What the model says, as it comes, and what else it could have said.",
  fits(model) { return model.kind !== ""; },
  async draw(place, state, source) {
    const page = new Writing(place, state, source);
    page.build();
    await page.write();
  },
};

/** The pieces of an answer, as they come; pressing one shows what else could have stood there. */
class Writing {
  constructor(place, state, source) {
    Object.assign(this, { place, state, source });
    this.steps = [];
    this.forced = 0;
    this.at = null;
  }

  build() {
    this.text = h("div", { class: "written", "aria-label": "Answer, piece by piece", role: "group" });
    this.whole = h("div", { class: "whole" });
    this.others = h("section", { class: "card others", "aria-label": "Alternatives", hidden: true });
    this.curve = h("div", { class: "scroll" });
    this.answer = h("section", { class: "card answer", "aria-label": "Answer" }, this.whole, this.text, this.curve);
    this.place.replaceChildren(h("div", { class: "write-columns" }, this.answer, this.others));
  }

  async write() {
    this.forced = this.state.prefix.length;
    this.whole.replaceChildren(h("p", { class: "note" }, "It is writing …"));
    for await (const line of this.source.write(this.state.request(), this.state.gone)) {
      if (line.step) this.#add(line.step);
      if (line.answer) this.#end(line.answer);
    }
  }

  #add(step) {
    const index = this.steps.push(step) - 1;
    this.text.append(this.#piece(step, index));
  }

  #piece(step, index) {
    const choose = () => this.#choose(index);
    return h("button", {
      type: "button", class: `piece${index < this.forced ? " forced" : ""}`, "aria-pressed": "false", onclick: choose,
      "aria-label": `${shown(step.token)}, ${percent(step.probability)}${index < this.forced ? ", chosen by you" : ""}`,
      style: { "--sure": `${Math.round(100 * step.probability)}%` },
    }, h("span", { class: "said" }, shown(step.token)), h("span", { class: "share" }, percent(step.probability)));
  }

  #end(answer) {
    if (!this.steps.length) (answer.steps ?? []).forEach((step) => this.#add(step));
    this.steps = answer.steps?.length === this.steps.length ? answer.steps : this.steps;
    const score = Number.isFinite(answer.score) && !answer.forecast ? h("span", { class: "note" }, `score ${short(answer.score)}`) : null;
    const forced = this.forced > 0 && h("button", { type: "button", onclick: () => this.#again([]) }, "The model's own answer");
    this.whole.replaceChildren(answerPicture(answer, this.state), h("div", { class: "tools" }, score, this.#loss(answer), forced), ...notes(answer));
    if (this.steps.length > 1) {
      const drawn = certainty(this.steps, (index) => this.#choose(index));
      this.curve.replaceChildren(drawn, downloads(`${this.state.model.name}-answer`, () => drawn));
    }
    if (this.steps.length) {
      this.text.before(h("p", { class: "note hint" }, "Each piece with its probability; choose one to see what else could have stood there."));
      this.#choose(Math.min(Number(this.state.get("step", 1)), this.steps.length) - 1, false);
    }
    say(`The answer is ${answer.text}`);
  }

  #loss(answer) {
    const { loss } = answer;
    return loss ? h("span", { class: "note" }, `loss ${short(loss.value)} (of the answer that you gave)`) : null;
  }

  #choose(index, noted = true) {
    const step = this.steps[index];
    this.at = index;
    [...this.text.children].forEach((piece, i) => piece.setAttribute("aria-pressed", String(i === index)));
    if (noted) this.state.keep({ step: index + 1 });
    this.others.hidden = false;
    this.others.replaceChildren(h("h2", {}, `Step ${index + 1}`),
      h("p", { class: "note" }, this.source.live ? "What could have stood here. Choose one, and the model goes on from there." : "What could have stood here."),
      h("ol", { class: "bars" }, [...options(step)].map((one) => this.#option(one, step, index))));
  }

  #option({ token, probability }, step, index) {
    const own = token.id === step.token.id;
    const go = () => this.#again([...this.steps.slice(0, index).map((one) => one.token.id), token.id]);
    const inside = [h("span", { class: "token" }, shown(token)), h("span", { class: "bar" }, h("span", { style: { width: `${100 * probability}%` } })),
      h("span", { class: "mono" }, percent(probability))];
    const said = `${shown(token)}, ${percent(probability)}`;
    if (own || isMark(token) || !this.source.live) return h("li", { class: own ? "own" : "" }, h("div", { class: "option" }, inside));
    return h("li", {}, h("button", { type: "button", class: "option", "aria-label": `Go on with ${said}`, onclick: go }, inside));
  }

  #again(prefix) {
    this.state.go({ prefix: prefix.join(" ") || null, step: prefix.length || null, target: null });
  }
}

/** Marks are written by the model alone: `<s>`, `</s>` and the like, the first ids of every vocabulary. */
const isMark = ({ text, id }) => id < 5 && /^<.+>$/.test(text);

/** What was written and what could have been, most probable first. */
function options(step) {
  const others = step.alternatives.filter((one) => one.token.id !== step.token.id);
  return [{ token: step.token, probability: step.probability }, ...others].sort((a, b) => b.probability - a.probability);
}
