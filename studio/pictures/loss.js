// The loss against an answer, token by token.

import { h, shown } from "../element.js";
import { short } from "../tensor.js";

/** loss: {"value", "total", "tokens": [{"token", "loss", "probability"}]} of the trace. */
export function lossPicture({ value, total, tokens }) {
  const most = Math.max(1e-9, ...tokens.map((one) => one.loss));
  const bar = ({ token, loss }) => h("li", {}, h("span", { class: "token" }, shown(token)),
    h("span", { class: "bar" }, h("span", { style: { width: `${(100 * loss) / most}%` } })), h("span", { class: "mono" }, short(loss)));
  return h("section", { "aria-label": "Loss" }, h("h2", {}, `Loss ${short(value)}`),
    h("p", { class: "note" }, `Against the answer that you gave: −log p of each of its tokens, ${short(total)} of all together; the loss is that by their number.`),
    h("ol", { class: "bars loss-bars" }, tokens.map(bar)));
}
