// The loss against an answer, token by token.

import { h, shown } from "../element.js";
import { short } from "../tensor.js";

/** loss: {"tokens": [nats], "total", "mean"}; written: the places of the answer, of which the last are these tokens. */
export function lossPicture(loss, written) {
  const most = Math.max(1e-9, ...loss.tokens);
  const places = written.slice(-loss.tokens.length);
  const bar = (nats, i) => h("li", {}, h("span", { class: "token" }, shown(places[i])),
    h("span", { class: "bar" }, h("span", { style: { width: `${(100 * nats) / most}%` } })), h("span", { class: "mono" }, short(nats)));
  return h("section", { "aria-label": "Loss" }, h("h2", {}, `Loss ${short(loss.mean)}`),
    h("p", { class: "note" }, `Against the answer that you gave: −log p of each of its tokens, ${short(loss.total)} in all; the loss is their mean.`),
    h("ol", { class: "bars loss-bars" }, loss.tokens.map(bar)));
}
