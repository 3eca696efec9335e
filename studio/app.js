// The page: which view, which model, which input. Everything else is a view's own.
//
// A view is a file in views/ that exports one thing, and stands in VIEWS below:
//
//   export const view = {
//     name: "beam",                     // in the address: #/beam
//     title: "Beam",                    // in the navigation
//     about: "How the answer was found among others.",      // one sentence, above the picture
//     fits(model, models) { … },        // whether it can show this entry of the models' document; and all of them
//     inputless: true,                  // it can be drawn before anything was typed; left out: it cannot
//     async draw(place, state, source) { … },
//   };
//
// draw fills `place`, an empty element that is its own: what arrives after the person went elsewhere is drawn where nobody
// sees it. It may return a function that cleans up (timers, listeners on window).
//   state   state.js: the model, the input, the view's own fields; state.keep({box}) notes what is looked at,
//           state.go({input}) goes elsewhere, state.request() is what is asked, state.gone is the signal to stop.
//   source  source.js: await source.trace(state.request(), state.gone); source.live: whether other inputs can be asked.
// A Fault that draw throws is told in place of the picture.
//
// Components: element.js (h), svg.js, tensor.js (numbers), colours.js (scales, for light and dark), matrix.js (heat maps),
// download.js (SVG, PNG, CSV of any picture), pictures/ (answers that are no text).
// Sizes and colours are the variables at the top of style.css. A theme that changes fires "theme" on window.
//
// Imports are static and relative, each on its own line: `seqloom look` puts all of these files into one.

import { chooser } from "./chooser.js";
import { askedForInput, faultBox, h, needsInput, say } from "./element.js";
import { openSource } from "./source.js";
import { read, State } from "./state.js";
import { svg } from "./svg.js";
import { themeSwitch } from "./theme.js";
import { view as attention } from "./views/attention.js";
import { view as beam } from "./views/beam.js";
import { view as flow } from "./views/flow.js";
import { view as lecture } from "./views/lecture.js";
import { view as training } from "./views/training.js";
import { view as whatIf } from "./views/what-if.js";
import { view as write } from "./views/write.js";

const VIEWS = [write, flow, attention, beam, whatIf, training, lecture];

const source = openSource();
const main = document.getElementById("main");
let models = [];
let leave = new AbortController();
let cleanUp = null;

async function start() {
  document.getElementById("switches").replaceChildren(themeSwitch(), copyLink());
  try {
    ({ models } = await source.models());
  } catch (error) {
    main.replaceChildren(faultBox(error, start));
    return;
  }
  window.addEventListener("hashchange", show);
  document.querySelector(".skip").addEventListener("click", skip);
  await show();
}

async function show() {
  const [name, fields] = read(location.hash);
  leave.abort();
  cleanUp?.();
  cleanUp = null;
  leave = new AbortController();
  const fitting = (model) => VIEWS.filter((view) => view.fits(model, models));
  const state = new State(models, name, fields, leave.signal, () => navigation(state, fitting(state.model)));
  const view = fitting(state.model).find((one) => one.name === name) ?? fitting(state.model)[0];
  state.view = view.name;
  navigation(state, fitting(state.model));
  document.getElementById("chooser").replaceChildren(chooser(state, source));
  document.title = `${view.title} · ${state.model.name} · seqloom`;
  const place = h("div", { class: `view ${view.name}` });
  const waiting = h("p", { class: "wait" }, "One moment …");
  main.replaceChildren(h("div", { class: "head" }, h("h1", {}, view.title), h("p", { class: "about" }, view.about)), waiting, place);
  main.setAttribute("aria-busy", "true");
  await drawn(view, place, state, waiting);
}

async function drawn(view, place, state, waiting) {
  const { gone } = state;
  try {
    const made = needsInput(state) && !view.inputless ? void place.append(askedForInput(state.model)) : await view.draw(place, state, source);
    if (gone.aborted) made?.();
    else cleanUp = made ?? null;
  } catch (error) {
    if (gone.aborted) return;
    if (error.name !== "Fault" && error.constructor.name !== "Fault") console.error(error);
    place.replaceChildren(faultBox(error, show));
  } finally {
    if (!gone.aborted) {
      waiting.remove();
      main.setAttribute("aria-busy", "false");
      say(`${view.title} is drawn`);
    }
  }
}

/** To the picture, without losing what the address says. */
function skip(event) {
  event.preventDefault();
  main.focus();
}

function navigation(state, views) {
  const current = (view) => (view.name === state.view ? "page" : null);
  document.getElementById("views").replaceChildren(...views.map((view) =>
    h("a", { href: state.link({ view: view.name }), "aria-current": current(view) }, view.title)));
  const row = document.getElementById("views");
  const here = row.querySelector("[aria-current]");
  if (here) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}

function copyLink() {
  const title = "Copy a link to this view";
  const copied = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
    } catch { // without TLS, browsers give a page of another machine no clipboard
      window.prompt("The link to this view:", location.href);
      return;
    }
    say("The link is copied");
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1500);
  };
  const chain = svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true", class: "sign" },
    svg("path", { d: "M10 14a4.5 4.5 0 0 0 6.5 0l3-3a4.5 4.5 0 0 0-6.4-6.4l-1.2 1.2M14 10a4.5 4.5 0 0 0-6.5 0l-3 3a4.5 4.5 0 0 0 6.4 6.4l1.2-1.2" }));
  const button = h("button", { type: "button", class: "icon", title, "aria-label": title, onclick: copied }, chain);
  return button;
}

start();
