// Colours of numbers. Blue and orange are told apart by every kind of eye; the middle is the page's own colour.

import { dark } from "./theme.js";

const LIGHT = {
  low: [[5, 48, 97], [33, 102, 172], [103, 169, 207], [209, 229, 240]],
  middle: [250, 249, 247],
  high: [[253, 224, 190], [244, 165, 90], [205, 96, 20], [122, 48, 4]],
  masked: [226, 223, 218],
};
const DARK = {
  low: [[160, 208, 255], [84, 158, 230], [40, 98, 165], [28, 52, 82]],
  middle: [27, 30, 36],
  high: [[78, 48, 24], [156, 84, 22], [233, 140, 50], [255, 208, 150]],
  masked: [52, 55, 61],
};

/** What belongs to whom, where things are told apart by colour: heads, classes, lines. Never without a name beside it. */
export const hue = (index) => (dark() ? ["#8ab8ff", "#f5a352", "#5fd0b0", "#e58ec4", "#c9b458", "#a99bf0", "#7fd2ee", "#e2836f"]
  : ["#2166ac", "#b8560f", "#0f7a62", "#a1367c", "#7a6400", "#5b4bc4", "#0b7699", "#a33b26"])[index % 8];

/** kind "diverging": −limit … 0 … limit; "weights": 0 … limit. value → [r, g, b] */
export function colour(value, limit, kind = "diverging") {
  const palette = dark() ? DARK : LIGHT;
  if (!Number.isFinite(value)) return palette.masked;
  const part = limit > 0 ? Math.max(-1, Math.min(1, value / limit)) : 0;
  if (kind === "weights") return along([palette.middle, ...[...palette.low].reverse()], Math.max(0, part));
  return part < 0 ? along([palette.middle, ...[...palette.low].reverse()], -part) : along([palette.middle, ...palette.high], part);
}

export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

/** Black or white, whichever can be read on it. */
export function ink(rgb) {
  const [r, g, b] = rgb.map((part) => { const share = part / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (light + 0.05) ** 2 > 1.05 * 0.05 ? "#10141a" : "#ffffff";
}

/** A variable of style.css as it is now, for pictures on canvas and in files. */
export function pageColour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

function along(stops, part) {
  const at = part * (stops.length - 1);
  const from = Math.min(Math.floor(at), stops.length - 2);
  return stops[from].map((value, i) => Math.round(value + (stops[from + 1][i] - value) * (at - from)));
}
