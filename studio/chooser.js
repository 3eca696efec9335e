// Which model, which input, which answer to force.

import { fresh, h, shown } from "./element.js";
import { State } from "./state.js";

const LABELS = {
  pairs: "Source", prompt: "Prompt", words: "Words", text: "Text", series: "Readings", image: "Pixels", forecast: "History", graph: "Node",
};
/** What can be given as the right answer; what is no sequence of words has none here. */
const TARGETS = {
  pairs: "Answer to force (optional)", prompt: "Continuation to force (optional)", words: "The right tags (optional)", text: "The right class (optional)",
  series: "The right class (optional)", image: "The right class (optional)", graph: "The right label (optional)",
};
const TEXTS = new Set(["pairs", "prompt", "words", "text"]);

export function chooser(state, source) {
  const form = h("form", { class: "chooser", onsubmit: (event) => { event.preventDefault(); ask(); } });
  const input = inputField(state);
  const asked = state.model.task === "masked" ? undefined : TARGETS[state.model.kind];
  const target = asked ? targetField(state) : null;
  const fault = h("p", { class: "fault", role: "alert", hidden: true });
  function ask() {
    const given = taken(input.value, state.model);
    fault.hidden = given.fault === undefined;
    fault.textContent = given.fault ?? "";
    if (given.fault === undefined) state.go({ ...State.input(given.value), target: target?.value || null, prefix: null, changes: null });
  }
  for (const field of [input, target]) field?.addEventListener("keydown", (event) => entered(event, ask));
  if (!source.live) for (const field of [input, target]) if (field) field.readOnly = true;
  const parts = [modelField(state), exampleField(state),
    labelled(LABELS[state.model.kind] ?? "Input", input, "input"), target && labelled(asked, target, "target"),
    source.live && h("button", { type: "submit", class: "main" }, "Show"), fault];
  form.append(...parts.filter(Boolean));
  return form;
}

/** Enter asks; with Shift it is a new line. */
function entered(event, ask) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask();
}

function modelField(state) {
  const options = state.models.map(({ name, family }) => h("option", { value: name, selected: name === state.model.name }, `${name} (${family})`));
  const go = (event) => state.go({ model: event.target.value, input: null, data: null, example: null, target: null, prefix: null, changes: null, box: null });
  return labelled("Model", h("select", { onchange: go }, options), "model");
}

function exampleField(state) {
  const examples = state.model.examples ?? [];
  if (examples.length < 1) return null;
  const now = JSON.stringify(state.input);
  const options = examples.map((example, index) => h("option", { value: index, selected: JSON.stringify(example) === now }, brief(example, index)));
  if (!examples.some((example) => JSON.stringify(example) === now)) options.unshift(h("option", { value: "", selected: true }, "your own"));
  const go = (event) => event.target.value !== "" && state.go({ ...State.example(examples, event.target.value), target: null, prefix: null, changes: null });
  return labelled("Example", h("select", { onchange: go }, options), "example");
}

function inputField(state) {
  const text = typeof state.input === "string" ? state.input : numbers(state.input);
  const rows = Math.min(4, Math.max(1, Math.ceil(text.length / 90)));
  return h("textarea", { rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off", name: "input" }, text);
}

function targetField(state) {
  return h("textarea", { rows: 1, spellcheck: "false", autocapitalize: "off", autocomplete: "off", name: "target", placeholder: "the model's own" }, state.target ?? "");
}

function labelled(label, field, name) {
  field.id = fresh("field");
  return h("div", { class: `field ${name}` }, h("label", { for: field.id }, label), field);
}

function brief(example, index) {
  if (typeof example === "number") return String(example);
  if (typeof example !== "string" && !words(example)) return `${index + 1}: ${sizes(example).join(" × ")} numbers`;
  const text = shown(words(example) ? example.join(" ") : example);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

const words = (value) => Array.isArray(value) && value.every((one) => typeof one === "string");

const sizes = (value) => (Array.isArray(value) ? [value.length, ...sizes(value[0])] : Array.isArray(value?.values) ? sizes(value.values) : []);

/** Lists of numbers as one writes them: steps in lines where each has several readings. */
function numbers(value) {
  if (words(value)) return value.join(" ");
  const number = (one) => (one === null ? "null" : String(one));
  if (Array.isArray(value) && value.every((one) => one === null || typeof one === "number")) return value.map(number).join(" ");
  if (Array.isArray(value) && value.length && value.every((one) => Array.isArray(one) && one.every((part) => part === null || typeof part === "number"))) {
    return value.map((one) => one.map(number).join(" ")).join("\n");
  }
  return JSON.stringify(value);
}

/** What was typed as an input: {value}, or {fault}. */
function taken(text, model) {
  const begins = text.trim()[0];
  if (begins === "{" || (begins === "[" && !TEXTS.has(model.kind))) {
    try {
      return { value: JSON.parse(text) };
    } catch (error) {
      if (!TEXTS.has(model.kind)) return { fault: `This is not JSON: ${error.message}` };
    }
  }
  if (TEXTS.has(model.kind) || model.kind === "graph") return { value: text };
  const lines = text.trim().split(/\n/).map((line) => line.trim().split(/[\s,;]+/).map((one) => (/^(null|nan)$/i.test(one) ? null : Number(one))));
  if (lines.flat().some((one) => Number.isNaN(one))) return { fault: "Numbers are wanted, with spaces between them; null where one is missing." };
  return { value: lines.length > 1 ? lines : lines[0] };
}
