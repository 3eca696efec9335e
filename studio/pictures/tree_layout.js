// Where the nodes of a search tree stand: a column a step, no two edges crossing, and no taller than its fullest column.

/**
 * nodes: [{id, parent, step, total, kept}] → Map of id → {x, y} in columns and rows, and how many of each there are.
 *
 * Within a column, nodes stand in the order of their parents, likelier ones first, so that edges cannot cross. Each
 * wants to stand beside its parent and gives way only as far as its neighbours ask.
 */
export function placeTree(nodes) {
  const children = childrenOf(nodes);
  const places = new Map();
  let column = (children.get(null) ?? []).map((node) => ({ node, wish: 0 }));
  let columns = 0;
  let least = 0;
  let most = 0;
  while (column.length) {
    const rows = apart(column.map((one) => one.wish));
    column.forEach((one, index) => places.set(one.node.id, { x: columns, y: rows[index] }));
    least = Math.min(least, ...rows);
    most = Math.max(most, ...rows);
    column = column.flatMap(({ node }) => besides(children.get(node.id) ?? [], places.get(node.id).y));
    columns += 1;
  }
  for (const place of places.values()) place.y -= least;
  return { places, columns, rows: most - least + 1 };
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

const besides = (children, y) => children.map((node, index) => ({ node, wish: y + index - (children.length - 1) / 2 }));

/** Rows as near to the wishes as they can be when neighbours are at least 1 apart (wishes keep their order). */
export function apart(wishes) {
  // Take the distance out, then fit a sequence that never falls: neighbours that want to pass each other share a mean.
  const blocks = [];
  wishes.forEach((wish, index) => {
    blocks.push({ sum: wish - index, count: 1 });
    while (blocks.length > 1 && mean(blocks.at(-2)) > mean(blocks.at(-1))) {
      const last = blocks.pop();
      blocks.at(-1).sum += last.sum;
      blocks.at(-1).count += last.count;
    }
  });
  return blocks.flatMap((block) => Array(block.count).fill(mean(block))).map((row, index) => row + index);
}

const mean = (block) => block.sum / block.count;
