// The loss against an answer, token by token.

import { h, shown } from "../element.js";
import { short } from "../tensor.js";

/** loss: {"value", "tokens": [{"token", "loss", "probability"}]} of the trace. */
export function lossPicture(loss) {
  const tokens = loss.tokens ?? [];
  const most = Math.max(1e-9, ...tokens.map((one) => one.loss));
  const bar = (one) => h("li", {}, h("span", { class: "token" }, shown(one.token)),
    h("span", { class: "bar" }, h("span", { style: { width: `${(100 * one.loss) / most}%` } })),
    h("span", { class: "mono" }, short(one.loss)));
  return h("section", { "aria-label": "Loss" }, h("h2", {}, `Loss ${short(loss.value ?? loss.total)}`),
    h("p", { class: "note" }, "−log p of each token of the answer; the loss is their average."), h("ol", { class: "loss-bars" }, tokens.map(bar)));
}
