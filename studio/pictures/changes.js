// Changes of the protocol in words, and which of them are the same change.

import { shown } from "../element.js";
import { short } from "../tensor.js";

const SIDES = { encoder: "the encoder", decoder: "the decoder" };

/** titles: id of a layer or block → its title. places: {source, target}. */
export function changeWords(change, titles, places) {
  const title = (id) => titles.get(id) ?? id;
  switch (change.kind) {
    case "head":
      return `${title(change.layer)}: head ${change.head + 1} off`;
    case "layer":
      return `${title(change.box)}: off`;
    case "token":
      return `${change.side} ${change.place + 1}: “${shown(places[change.side]?.[change.place] ?? "?")}” → “${change.text}”`;
    case "weight":
      return `${title(change.layer)}, head ${change.head + 1}: weight of row ${change.row + 1}, column ${change.column + 1} = ${short(change.value)}`;
    case "positions":
      return `no positions in ${SIDES[change.side] ?? change.side}`;
    case "mask":
      return "no mask: the decoder sees what comes";
    default:
      return change.kind;
  }
}

/** What is changed, whatever to: a second change of it takes the place of the first. */
export function changeKey({ kind, layer, head, box, side, place, row, column }) {
  return JSON.stringify([kind, layer, head, box, side, place, row, column]);
}

/** The changes with this one: added, put in place of one of the same thing, or taken back if it was there. */
export function toggled(changes, change) {
  const others = changes.filter((one) => changeKey(one) !== changeKey(change));
  const there = changes.some((one) => JSON.stringify(one) === JSON.stringify(change));
  return there ? others : [...others, change];
}

export const holds = (changes, change) => changes.some((one) => changeKey(one) === changeKey(change));
