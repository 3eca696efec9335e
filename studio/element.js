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

/** In place of what needs an input. */
export const askedForInput = () => h("p", { class: "card ask" }, "Type an input above, and press Enter.");

/** What a place of a sequence looks like: a space that a tokenizer marks is shown, a line's end too. */
export function shown(place) {
  const text = typeof place === "string" ? place : place.text;
  if (text === "") return "∅";
  return text.replaceAll("▁", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥").replace(/^ | $/g, "␣");
}
