// How sure the model was of each piece: bars, one above each piece of the answer.

import { shown } from "../element.js";
import { line, picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";

const [LEFT, TOP, HIGH, WIDE, BELOW] = [38, 10, 90, 46, 46];

/** steps: of an answer; chosen(index) is called for a bar that is pressed. */
export function certainty(steps, chosen) {
  const width = LEFT + steps.length * WIDE + 30;
  const drawn = picture(width, TOP + HIGH + BELOW, "How sure the model was of each piece", { class: "certainty" });
  for (const share of [0, 0.5, 1]) {
    const y = TOP + HIGH * (1 - share);
    drawn.append(line(LEFT, y, width - 26, y, { class: "grid" }), text(LEFT - 5, y + 4, `${100 * share} %`, { "text-anchor": "end", class: "small" }));
  }
  steps.forEach((step, i) => {
    const [x, high] = [LEFT + i * WIDE + 6, HIGH * step.probability];
    drawn.append(svg("rect", { x, y: TOP + HIGH - high, width: WIDE - 12, height: high, rx: 3, class: "certain", onclick: () => chosen(i) },
      svg("title", {}, `${shown(step.token)} ${percent(step.probability)}`)),
    svg("text", { transform: `translate(${x + 6},${TOP + HIGH + 14}) rotate(35)`, class: "small" }, shown(step.token).slice(0, 10)));
  });
  return drawn;
}
