// An answer as its kind is best seen: text, class bars, coloured tags, a forecast's bands, a graph.

import { h } from "../element.js";

/** An Answer of the protocol → element. */
export function answerPicture(answer) {
  return h("p", { class: "answer-text" }, answer.text);
}
