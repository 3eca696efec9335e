// What the answer hangs on: each word of the input is left out in turn, whatever the model is made of.

import { faultBox, fill, h } from "../element.js";
import { heatMap } from "../matrix.js";

/** Kinds of models that give probabilities to what they say of a sequence. */
export const HANGS = new Set(["pairs", "prompt", "words", "text", "series", "image"]);

const ABOUT = "Each place of the input is left out in turn (zeros take the place of its embedding): how much of log p each token of the answer loses. Orange: it needs that place; blue: it would be likelier without. This holds for any model, with attention or without.";

/** {element, shown}: a card; atOnce: the numbers are asked for before anybody presses, and shown is a promise of them. */
export function hanging(state, source, atOnce) {
  const made = h("div", { "aria-live": "polite" });
  const element = h("section", { class: "card hanging", "aria-label": "What the answer hangs on" }, h("h2", {}, "What the answer hangs on"), h("p", { class: "note" }, ABOUT), made);
  const show = async () => {
    fill(made, h("p", { class: "wait" }, "One moment …"));
    try {
      const { rows, columns, values } = await source.influence(state.request(), state.gone);
      fill(made, heatMap({ name: "influence", title: "rows are the answer, columns what is read", tensor: values, rows, columns }));
    } catch (error) {
      if (error.name !== "AbortError") fill(made, faultBox(error, source.live ? show : null));
    }
  };
  const press = () => { state.keep({ hangs: "yes" }); show(); };
  if (atOnce || state.get("hangs") === "yes") return { element, shown: show() };
  fill(made, h("button", { type: "button", onclick: press }, "Leave each word out"));
  return { element, shown: null };
}
