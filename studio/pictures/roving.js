// One stop for Tab in a whole picture; within it, arrow keys go to the nearest part in that direction.

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ASIDE = 3; // what is straight ahead comes before what is nearer, but to the side

/** parts: elements of one SVG that can have the focus. first: the one that Tab reaches; else the first of them. */
export function roving(root, parts, first = parts[0]) {
  const stop = (chosen) => { for (const part of parts) part.setAttribute("tabindex", part === chosen ? 0 : -1); };
  stop(first);
  root.addEventListener("focusin", (event) => {
    const part = event.target.closest("[tabindex]");
    if (parts.includes(part)) stop(part);
  });
  root.addEventListener("keydown", (event) => {
    const way = WAYS[event.key];
    const from = event.target.closest("[tabindex]");
    if (!way || !parts.includes(from) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    nearest(parts, from, way)?.focus();
  });
  return root;
}

function nearest(parts, from, [dx, dy]) {
  const [x, y] = middle(from);
  let [best, least] = [null, Infinity];
  for (const part of parts) {
    const [px, py] = middle(part);
    const ahead = (px - x) * dx + (py - y) * dy;
    const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
    if (ahead > 2 && ahead + ASIDE * aside < least) [best, least] = [part, ahead + ASIDE * aside];
  }
  return best;
}

function middle(part) {
  const box = part.getBBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}
