// Where the nodes of a graph stand: nodes push each other away, edges pull (Fruchterman and Reingold 1991).

const ROUNDS = 160;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/**
 * count nodes, edges [[from, to]] → [{x, y}], each between 0 and 1. The same graph always gives the same picture: it
 * starts from a sunflower, not from chance.
 */
export function placeGraph(count, edges) {
  const nodes = Array.from({ length: count }, (_, index) => {
    const radius = Math.sqrt((index + 0.5) / Math.max(count, 1));
    return { x: radius * Math.cos(index * GOLDEN), y: radius * Math.sin(index * GOLDEN) };
  });
  const links = edges.filter(([from, to]) => from !== to);
  const wanted = Math.sqrt(3 / Math.max(count, 1));
  for (let round = 0; round < ROUNDS; round += 1) {
    const moves = nodes.map((node) => ({ x: -0.06 * node.x, y: -0.06 * node.y })); // parts that no edge joins stay near
    pushApart(nodes, moves, wanted);
    pullTogether(nodes, links, moves, wanted);
    const most = 0.2 * (1 - round / ROUNDS) + 0.002;
    nodes.forEach((node, index) => step(node, moves[index], most));
  }
  return intoUnit(nodes);
}

function pushApart(nodes, moves, wanted) {
  for (let a = 0; a < nodes.length; a += 1) {
    for (let b = 0; b < a; b += 1) {
      const dx = nodes[a].x - nodes[b].x || 1e-4 * (a - b);
      const dy = nodes[a].y - nodes[b].y || 1e-4;
      const force = (wanted * wanted) / Math.max(dx * dx + dy * dy, 1e-6);
      moves[a].x += dx * force;
      moves[a].y += dy * force;
      moves[b].x -= dx * force;
      moves[b].y -= dy * force;
    }
  }
}

function pullTogether(nodes, links, moves, wanted) {
  for (const [from, to] of links) {
    const dx = nodes[from].x - nodes[to].x;
    const dy = nodes[from].y - nodes[to].y;
    const force = Math.hypot(dx, dy) / wanted;
    moves[from].x -= dx * force;
    moves[from].y -= dy * force;
    moves[to].x += dx * force;
    moves[to].y += dy * force;
  }
}

function step(node, move, most) {
  const length = Math.hypot(move.x, move.y) || 1;
  const share = Math.min(length, most) / length;
  node.x += move.x * share;
  node.y += move.y * share;
}

function intoUnit(nodes) {
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const width = Math.max(...xs) - left || 1;
  const height = Math.max(...ys) - top || 1;
  return nodes.map((node) => ({ x: (node.x - left) / width, y: (node.y - top) / height }));
}

/** The nodes within so many edges of these, nearest first, at most so many: what is drawn of a graph that is too large. */
export function around(count, edges, centres, most) {
  const beside = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) {
    beside[from].push(to);
    beside[to].push(from);
  }
  const seen = new Set(centres);
  const queue = [...centres];
  for (let at = 0; at < queue.length && queue.length < most; at += 1) {
    for (const next of beside[queue[at]]) {
      if (!seen.has(next) && queue.length < most) {
        seen.add(next);
        queue.push(next);
      }
    }
  }
  for (let node = 0; node < count && queue.length < most; node += 1) if (!seen.has(node)) queue.push(node);
  return queue;
}
