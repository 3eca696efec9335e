// Elements of the page, made in one expression.

/** h("button", {class: "quiet", onclick: f, "aria-label": "close"}, "×", otherElement); null and false are left out. */
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  dress(made, attributes);
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function dress(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, said] of Object.entries(value)) element.style.setProperty(name, said);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  return element;
}

let last = 0;
/** An id that no other element has, for labels. */
export const fresh = (name) => `${name}-${++last}`;

/** An element's children anew; null and false are left out, as everywhere. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
}

/** A text of any script within a sentence: its direction is its own, and turns nothing around it. */
export const apart = (...said) => h("bdi", {}, ...said);

/** Told to who listens instead of looking. */
export function say(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = text;
}

/** A row of buttons of which one is pressed. choices: [[value, title], …]; changed(value) is called. */
export function choice(label, choices, chosen, changed) {
  const row = h("div", { class: "choice", role: "group", "aria-label": label });
  const press = (value) => {
    for (const button of row.children) button.setAttribute("aria-pressed", String(button.dataset.value === String(value)));
  };
  for (const [value, title] of choices) {
    const pressed = () => { press(value); changed(value); };
    row.append(h("button", { type: "button", "data-value": String(value), onclick: pressed }, title));
  }
  press(chosen);
  return row;
}

/** What went wrong, with a way to try it again. */
export function faultBox(error, again) {
  return h("div", { class: "fault", role: "alert" }, h("p", {}, error.message || String(error)),
    again && h("button", { type: "button", onclick: again }, "Try again"));
}

/** What whoever reads an answer should know: words that the model does not, what was left out. */
export const notes = (document) => (document.notes ?? []).map((said) => h("p", { class: "remark", role: "note" }, `${said[0].toUpperCase()}${said.slice(1)}.`));

const WANTED = {
  pairs: "a text such as those that the model learnt to answer", prompt: "how a text begins", words: "a sentence, with spaces between its words",
  text: "a text to be classified", series: "numbers with spaces between them, a step a line", image: "grey levels with spaces between them, row by row",
  forecast: "a table as CSV, with the columns that the model was trained on, or numbers, a step a line", graph: "the name of a node",
};

/** Whether nothing was given that could be answered; a text can also begin from nothing. */
export const needsInput = ({ input, model }) => input === "" && model.kind !== "prompt";

/** In place of what needs an input. */
export const askedForInput = ({ kind, task } = {}) => h("p", { class: "card ask" }, "Type an input above, and press Enter",
  WANTED[kind] ? `: ${task === "masked" ? "a text with [MASK] for each word to fill in" : WANTED[kind]}.` : ".");

/** What a place of a sequence looks like: a space that a tokenizer marks is shown, a line's end too. */
export function shown(place) {
  const text = typeof place === "string" ? place : place.text;
  if (text === "") return "∅";
  return text.replaceAll("▁", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥").replace(/^ | $/g, "␣");
}
