// Light or dark: as the system says, until somebody chooses.

import { h } from "./element.js";
import { svg } from "./svg.js";

const system = window.matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => applied(chosen()));

export const dark = () => (chosen() ?? (system.matches ? "dark" : "light")) === "dark";

/** Draws again whatever takes its colours from here; until `signal` stops it. */
export const onTheme = (draw, signal) => window.addEventListener("theme", draw, { signal });

export function themeSwitch() {
  const title = () => (dark() ? "Change to light colours" : "Change to dark colours");
  const button = h("button", { type: "button", class: "icon theme", onclick: change });
  const name = () => { button.replaceChildren(dark() ? sun() : moon()); button.title = title(); button.setAttribute("aria-label", title()); };
  function change() {
    try {
      localStorage.setItem("theme", dark() ? "light" : "dark");
    } catch {
      document.documentElement.dataset.chosen = dark() ? "light" : "dark"; // a file may keep nothing
    }
    applied(chosen());
  }
  window.addEventListener("theme", name);
  applied(chosen());
  name();
  return button;
}

const sign = (...d) => svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true", class: "sign" }, d.map((one) => svg("path", { d: one })));
const moon = () => sign("M20 14.5A8.5 8.5 0 1 1 9.5 4a6.8 6.8 0 0 0 10.5 10.5Z");
const sun = () => sign("M12 7.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9Z", "M12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3L19 19M19 5l-1.7 1.7M6.7 17.3L5 19");

function chosen() {
  try {
    return localStorage.getItem("theme") ?? document.documentElement.dataset.chosen ?? null;
  } catch {
    return document.documentElement.dataset.chosen ?? null;
  }
}

function applied(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event("theme"));
}
