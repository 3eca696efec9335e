// Words with their tags: a colour a kind of tag, and what else a word could be.

import { hue } from "../colours.js";
import { shown } from "../element.js";
import { picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { inRows, textWidth } from "./measure.js";

const HIGH = 62;

/** tags: [{word, tag, probability, alternatives: [{label, probability}]}]. before: tags of another answer: changes are marked. */
export function tagChips(tags, before = null, wide = 760) {
  const kinds = [...new Set(tags.map((one) => kind(one.tag)))].filter((one) => one !== "O");
  const widths = tags.map((one) => Math.max(textWidth(shown(one.word), 15), textWidth(label(one), 11, 600), 26) + 16);
  const { places, rows } = inRows(widths, wide, 4);
  const drawn = tags.map((one, index) => {
    const { x, row } = places[index];
    const y = 4 + row * HIGH;
    const changed = before !== null && before[index]?.tag !== one.tag;
    const colour = one.tag === "O" ? null : hue(kinds.indexOf(kind(one.tag)));
    const middle = x + widths[index] / 2;
    return svg("g", { class: `tagged${changed ? " changed" : ""}`, "data-place": index, "data-tag": one.tag, tabindex: -1 },
      svg("title", {}, told(one, changed ? before[index]?.tag : null)),
      svg("rect", { x, y, width: widths[index], height: HIGH - 8, rx: 6, class: "chip", stroke: colour, fill: colour, "fill-opacity": colour ? 0.16 : null }),
      text(middle, y + 20, shown(one.word), { "text-anchor": "middle", "font-size": 15, class: "word" }),
      text(middle, y + 35, one.tag, { "text-anchor": "middle", "font-size": 11, "font-weight": 600, fill: colour, class: "tag" }),
      text(middle, y + 48, percent(one.probability), { "text-anchor": "middle", "font-size": 10, class: "number" }));
  });
  const width = Math.min(wide, Math.max(...places.map(({ x }, index) => x + widths[index]), 60));
  const title = `tags: ${tags.map((one) => `${one.word} ${one.tag}`).join(", ")}`;
  return picture(width + 2, rows * HIGH + 4, title, { class: "tag-chips" }, drawn);
}

const label = (one) => `${one.tag} 100`;
/** B-PER and I-PER are of one kind. */
const kind = (tag) => tag.replace(/^[BIESLU][-_]/, "");

function told(one, was) {
  const others = (one.alternatives ?? []).filter((other) => other.label !== one.tag).slice(0, 4);
  const said = others.map((other) => `${other.label} ${percent(other.probability)}`).join(", ");
  return `${one.word}: ${one.tag} ${percent(one.probability)}${said && `; else ${said}`}${was ? `; it was ${was}` : ""}`;
}
