// Equations in plain text, set with what stands high and low: "e^(−0.3)", "W_Q".

import { h } from "../element.js";

const PARTS = /_(\w+)|\^(\([^()]*\)|[^\s()]+)/g;

/** text → elements and texts, for h(). */
export function mathWords(text) {
  const made = [];
  let from = 0;
  for (const found of text.matchAll(PARTS)) {
    made.push(text.slice(from, found.index), found[1] === undefined ? h("sup", {}, found[2].replace(/^\((.*)\)$/, "$1")) : h("sub", {}, found[1]));
    from = found.index + found[0].length;
  }
  return [...made, text.slice(from)];
}
