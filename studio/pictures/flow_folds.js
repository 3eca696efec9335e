// What of a model is drawn: blocks that are alike are one drawing ×N, steps within a box are drawn when it is opened.

/** Groups that are alike and follow one another: [[group, …], …]; each group stands in one of them. */
export function runs(flow) {
  const boxes = new Map(flow.boxes.map((box) => [box.id, box]));
  const look = (group) => JSON.stringify([group.side, group.title.replace(/\d+/g, ""),
    group.boxes.map((id) => [boxes.get(id).kind, boxes.get(id).title, boxes.get(id).of?.replace(group.id, "")])]);
  const found = [];
  for (const group of flow.groups) {
    if (found.length && look(found.at(-1)[0]) === look(group)) found.at(-1).push(group);
    else found.push([group]);
  }
  return found;
}

/**
 * What can be seen: {boxes, edges, groups}, as in a flow; a group has `run` (its like) and `index` in it besides.
 * shown: ids of the groups that stand for their run; open: ids of the boxes whose steps are seen; all: nothing is folded.
 */
export function folded(flow, { shown = new Set(), open = new Set(), all = false } = {}) {
  const stands = new Map(); // box → the box that is seen in its place
  const groupOf = new Map();
  const runOf = new Map();
  const groups = [];
  for (const run of runs(flow)) {
    const seen = all ? run : [run.find((group) => shown.has(group.id)) ?? run[0]];
    groups.push(...seen.map((group) => ({ ...group, run: all ? [group] : run, index: all ? 0 : run.indexOf(group) })));
    for (const group of run) {
      group.boxes.forEach((id, i) => {
        stands.set(id, all ? id : seen[0].boxes[i]);
        groupOf.set(id, group.id);
        runOf.set(id, run);
      });
    }
  }
  const boxes = new Map(flow.boxes.map((box) => [box.id, box]));
  const place = (id) => {
    const box = boxes.get(stands.get(id) ?? id);
    return box.of && !open.has(box.of) ? box.of : box.id;
  };
  const again = (from, to) => !all && runOf.get(from) === runOf.get(to) && groupOf.get(from) !== groupOf.get(to);
  const edges = new Map();
  for (const [from, to, kind] of flow.edges) {
    const [a, b] = [place(from), place(to)];
    if (a !== b && !again(from, to)) edges.set(`${a} ${b} ${kind}`, [a, b, kind]);
  }
  const seen = new Set(flow.boxes.map((box) => place(box.id)));
  return { boxes: flow.boxes.filter((box) => seen.has(box.id)), edges: [...edges.values()], groups };
}

/** Boxes that have steps of their own. */
export const openable = (flow) => new Set(flow.boxes.map((box) => box.of).filter(Boolean));
