// Light or dark: as the system says, until somebody chooses.

import { h } from "./element.js";

const system = window.matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => applied(chosen()));

export const dark = () => (chosen() ?? (system.matches ? "dark" : "light")) === "dark";

/** Draws again whatever takes its colours from here; until `signal` stops it. */
export const onTheme = (draw, signal) => window.addEventListener("theme", draw, { signal });

export function themeSwitch() {
  const title = () => (dark() ? "Change to light colours" : "Change to dark colours");
  const button = h("button", { type: "button", class: "icon theme", onclick: change });
  const name = () => { button.textContent = dark() ? "☀\uFE0E" : "☾"; button.title = title(); button.setAttribute("aria-label", title()); };
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
