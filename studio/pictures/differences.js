// Two answers to the same question, one of them of a changed model: what is said now, and how sure each word is.

import { h, shown } from "../element.js";
import { percent, short } from "../tensor.js";
import { answerPicture } from "./answer.js";
import { compareWords } from "./changed.js";

/** forced: the old answer under the changes, or null. of: {model, input, changes}. → elements */
export function differences(before, after, forced, of) {
  const { changes } = of;
  if (before.classes || before.tags || before.forecast || before.graph) return pictured(before, after, of);
  if (!changes.length) return [marked("The answer", before.steps ?? [], [], before), stepTable(before.steps ?? [], null)];
  const [old, now] = [tokens(before), tokens(after)];
  const marks = compareWords(old.map((one) => one.text), now.map((one) => one.text));
  const same = old.length === now.length && !marks.before.some(Boolean);
  return [
    marked("Before", old, marks.before, before), marked("With the changes", now, marks.after, after),
    h("p", { class: "verdict" }, same ? "The answer stays the same." : `${count(marks.after)} of its ${now.length} tokens ${count(marks.after) === 1 ? "is" : "are"} new.`),
    numbers(before, after, forced), stepTable(before.steps ?? [], forced ? forced.steps : sameTokens(before, after)),
  ].filter(Boolean);
}

const tokens = (answer) => (answer.steps ?? []).map((step) => step.token);
const count = (marks) => marks.filter(Boolean).length;

function marked(title, list, marks, answer) {
  const places = list.map((one) => one.token ?? one);
  const words = places.map((place, index) => h(marks[index] ? "mark" : "span", { class: "token" }, shown(place)));
  return h("div", { class: "said" }, h("h3", {}, title), h("p", { class: "answer-text", dir: "auto" }, answer.text || "∅"), words.length > 0 && h("p", { class: "tokens" }, words));
}

/** Steps of an answer that says the same, with the probabilities that it has now. */
const sameTokens = (before, after) => (tokens(before).every((one, index) => one.id === after.steps?.[index]?.token.id) ? after.steps : null);

function numbers(before, after, forced) {
  const rows = [];
  const all = (answer) => answer?.steps?.reduce((sum, step) => sum + Math.log(step.probability), 0);
  if (Number.isFinite(before.score) && Number.isFinite(after.score)) rows.push(["score of what is said", short(before.score), short(after.score)]);
  if (before.steps?.length) rows.push(["probability of what is said", percentOf(all(before)), percentOf(all(after))]);
  if (forced?.steps?.length) rows.push(["probability of the old answer", percentOf(all(before)), percentOf(all(forced))]);
  if (Number.isFinite(lossOf(before)) && Number.isFinite(lossOf(after))) rows.push(["loss, the mean of the tokens", short(lossOf(before)), short(lossOf(after))]);
  const row = ([name, was, now]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, was), h("td", { class: "number" }, now));
  return h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col", class: "number" }, "before"), h("th", { scope: "col", class: "number" }, "now"))), h("tbody", {}, rows.map(row)));
}

const percentOf = (log) => (log < -12 ? `e^${short(log)}` : percent(Math.exp(log)));
const lossOf = (answer) => (typeof answer.loss === "object" && answer.loss !== null ? answer.loss.value : answer.loss);

/** Each token of the old answer: how likely it was, and is; what is likeliest there now. */
function stepTable(steps, now) {
  if (!steps.length) return null;
  const cells = (step, other) => {
    if (!other) return [];
    const best = other.alternatives?.[0];
    const instead = best && best.token.id !== step.token.id ? [h("span", { class: "token" }, shown(best.token)), ` ${percent(best.probability)}`] : "";
    return [bar(other.probability, "now"), h("td", {}, instead)];
  };
  const row = (step, index) => h("tr", { class: now && Math.abs((now[index]?.probability ?? 0) - step.probability) > 0.1 ? "moved" : null },
    h("th", { scope: "row" }, h("span", { class: "token" }, shown(step.token))), bar(step.probability, "was"), cells(step, now?.[index]));
  const head = ["token of the old answer", "probability", ...(now ? ["now", "likeliest there now"] : [])].map((title) => h("th", { scope: "col" }, title));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Token by token" }, h("table", { class: "steps" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, steps.map(row))));
}

function bar(share, kind) {
  return h("td", { class: "number measured" }, h("i", { class: `bar ${kind}`, style: { width: `${Math.max(0, Math.min(92, 92 * share))}%` } }), h("span", {}, share.toFixed(3)));
}

function pictured(before, after, { model, input, changes }) {
  if (!changes.length) return [answerPicture(before, { model, input })];
  const same = after.text === before.text;
  return [
    h("p", { class: "verdict" }, same ? "What is said stays the same; the numbers may have moved." : changedWords(before, after)),
    h("div", { class: "said" }, h("h3", {}, "Before"), answerPicture(before)),
    h("div", { class: "said" }, h("h3", {}, "With the changes"), answerPicture(after, { before })),
  ];
}

function changedWords(before, after) {
  if (before.tags) return `${before.tags.filter((one, index) => one.tag !== after.tags[index]?.tag).length} of ${before.tags.length} tags are others.`;
  if (before.graph) return `${before.graph.nodes.filter((one, index) => one.said !== after.graph.nodes[index]?.said).length} of ${before.graph.nodes.length} nodes have another label.`;
  return before.classes ? `It was “${before.text}”, and is now “${after.text}”.` : "The forecast is another.";
}
