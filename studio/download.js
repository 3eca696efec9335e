// Every picture can be taken along: SVG, PNG, and CSV where it is made of numbers.

import { h } from "./element.js";
import { pageColour } from "./colours.js";

const SHARP = 2; // pixels of a PNG for each of the page
const LARGEST = 16000; // pixels of a side: browsers draw no larger ones
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "paint-order", "visibility"];

/** Buttons. name: of the files. make: () → SVG element. others: {"CSV": () → text}. */
export function downloads(name, make, others = {}) {
  const save = (kind, work) => h("button", { type: "button", class: "quiet", "aria-label": `Download ${name} as ${kind}`, onclick: work }, kind);
  return h("span", { class: "downloads", role: "group", "aria-label": `Download ${name}` },
    save("SVG", () => kept(`${name}.svg`, new Blob([written(make())], { type: "image/svg+xml" }))),
    save("PNG", async () => kept(`${name}.png`, await png(make()))),
    Object.entries(others).map(([kind, text]) =>
      save(kind, () => kept(`${name}.${kind.toLowerCase()}`, new Blob([text()], { type: "text/plain;charset=utf-8" })))));
}

/** The text of an SVG file that looks as on this page, without its style sheet. */
export function written(drawn) {
  const copy = drawn.cloneNode(true);
  if (drawn.isConnected) inlined(drawn, copy);
  const box = drawn.viewBox?.baseVal;
  if (box?.width) {
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
  }
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ x: box?.x ?? 0, y: box?.y ?? 0, width: "100%", height: "100%", fill: pageColour("surface") })) ground.setAttribute(key, value);
  copy.prepend(ground);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

export async function png(drawn) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written(drawn))}`;
  await image.decode();
  const scale = Math.min(SHARP, LARGEST / image.width, LARGEST / image.height);
  const canvas = h("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

function kept(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "-") }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function inlined(from, to) {
  const style = getComputedStyle(from);
  for (const name of STYLES) {
    const value = style.getPropertyValue(name);
    if (value) to.setAttribute(name, value);
  }
  to.removeAttribute("class");
  for (let i = 0; i < from.children.length; i += 1) inlined(from.children[i], to.children[i]);
}
