// Where the nodes of a search tree stand: a column a step, no two edges crossing, and no taller than its fullest column.

/**
 * nodes: [{id, parent, step, total, kept}] → Map of id → {x, y} in columns and rows, and how many of each there are.
 *
 * Within a column, nodes stand in the order of their parents, likelier ones first, so that edges cannot cross. The
 * likeliest child stands straight behind its parent, the others below it; all give way downwards only.
 */
export function placeTree(nodes) {
  const children = childrenOf(nodes);
  const places = new Map();
  let column = (children.get(null) ?? []).map((node) => ({ node, wish: 0 }));
  let columns = 0;
  let most = 0;
  while (column.length) {
    const rows = apart(column.map((one) => one.wish));
    column.forEach((one, index) => places.set(one.node.id, { x: columns, y: rows[index] }));
    most = Math.max(most, ...rows);
    column = column.flatMap(({ node }) => besides(children.get(node.id) ?? [], places.get(node.id).y));
    columns += 1;
  }
  return { places, columns, rows: most + 1 };
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

const besides = (children, y) => children.map((node, index) => ({ node, wish: y + index }));

/** Rows at or below the wishes, in their order, at least 1 apart. */
export function apart(wishes) {
  let free = -Infinity;
  return wishes.map((wish) => {
    const row = Math.max(wish, free);
    free = row + 1;
    return row;
  });
}
