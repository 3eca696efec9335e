// Where the nodes of a search tree stand: a column a step, no two edges crossing, and no taller than its fullest column.

/**
 * nodes: [{id, parent, step, total, kept}] → Map of id → {x, y} in columns and rows, and how many of each there are.
 *
 * Within a column, nodes stand in the order of their parents, likelier ones first, so that edges cannot cross. The
 * likeliest child stands straight behind its parent, the others below it; they give way downwards, and upwards where the
 * fullest column ends.
 */
export function placeTree(nodes) {
  const children = childrenOf(nodes);
  const levels = [];
  for (let level = children.get(null) ?? []; level.length; level = level.flatMap((node) => children.get(node.id) ?? [])) levels.push(level);
  const rows = Math.max(0, ...levels.map((level) => level.length));
  const places = new Map();
  levels.forEach((level, x) => {
    const turn = new Map();
    const wishes = level.map(({ parent }) => {
      const index = turn.get(parent) ?? 0;
      turn.set(parent, index + 1);
      return (places.get(parent)?.y ?? 0) + index;
    });
    apart(wishes, rows).forEach((y, index) => places.set(level[index].id, { x, y }));
  });
  return { places, columns: levels.length, rows };
}

/** id of a node (null: of none) → its children, likeliest first. */
export function childrenOf(nodes) {
  const children = new Map();
  for (const node of nodes) {
    const key = node.parent ?? null;
    if (!children.has(key)) children.set(key, []);
    children.get(key).push(node);
  }
  for (const list of children.values()) list.sort((a, b) => b.total - a.total || a.id - b.id);
  return children;
}

/** From a node back to the root, the root first. */
export function pathTo(nodes, id) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const path = [];
  for (let node = byId.get(id); node; node = byId.get(node.parent)) path.unshift(node);
  return path;
}

/** Rows near the wishes, in their order, at least 1 apart, the last before `end`. */
export function apart(wishes, end = Infinity) {
  let free = -Infinity;
  const rows = wishes.map((wish) => {
    const row = Math.max(wish, free);
    free = row + 1;
    return row;
  });
  return rows.map((row, index) => Math.min(row, end - (rows.length - index)));
}
