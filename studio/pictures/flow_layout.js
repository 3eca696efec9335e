// Where everything stands: as in the figure of 2017, encoder left, decoder right, from the bottom to the top.
// In each column a box stands above all that it reads. Plain numbers; flow_picture.js draws them.

export const WIDE = { box: 156, part: 86, height: 40, line: 15, font: 13, letters: 7.1, gap: 15, gutter: 46, lane: 15 };
export const NARROW = { box: 108, part: 54, height: 36, line: 13, font: 11, letters: 6.1, gap: 13, gutter: 22, lane: 9 };

/** seen: as folded() gives it. → {width, height, boxes: [Placed], frames, groups, edges: [{from, to, kind, points}]} */
export function layout(seen, sizes, open) {
  const sides = new Map(seen.groups.flatMap((group) => group.boxes.map((id) => [id, group.side])));
  const two = new Set(seen.groups.map((group) => group.side)).size > 1;
  const columns = two ? ["encoder", "decoder"] : [null];
  const made = columns.map((side) => {
    const boxes = seen.boxes.filter((box) => !two || (sides.get(box.id) === "encoder") === (side === "encoder"));
    return new Column(boxes, seen, sizes, open, side === "encoder" ? -1 : 1);
  });
  let x = 4;
  for (const column of made) {
    x = column.shift(x) + sizes.gutter;
  }
  const height = Math.max(...made.map((column) => column.height)) + 26;
  const placed = new Map(made.flatMap((column) => [...column.placed]));
  for (const one of placed.values()) one.y = height - one.up - one.h;
  const frames = made.flatMap((column) => column.frames).map((frame) => ({ ...frame, y: height - frame.to, h: frame.to - frame.from }));
  const edges = made.flatMap((column) => column.edges.map((edge) => ({ ...edge, points: edge.points.map(([px, up]) => [px, height - up]) })));
  edges.push(...across(seen, made, height, sizes));
  return { width: x - sizes.gutter + 4, height, boxes: [...placed.values()], frames, edges };
}

class Column {
  constructor(boxes, seen, sizes, open, outer) {
    Object.assign(this, { boxes, sizes, open, outer });
    const here = new Set(boxes.map((box) => box.id));
    this.inner = seen.edges.filter(([from, to]) => here.has(from) && here.has(to));
    this.groups = seen.groups.filter((group) => group.boxes.some((id) => here.has(id)));
    this.#rank();
    this.#across();
    this.#upwards();
    this.#frames();
    this.#wire();
  }

  /** How many boxes are below it, at least. */
  #rank() {
    const ranks = new Map();
    const reads = new Map(this.boxes.map((box) => [box.id, []]));
    for (const [from, to] of this.inner) reads.get(to).push(from);
    for (const { id } of this.boxes) ranks.set(id, Math.max(-1, ...reads.get(id).map((from) => ranks.get(from) ?? -1)) + 1);
    for (const box of this.boxes) {
      if (reads.get(box.id).length) continue;
      const siblings = box.of ? this.boxes.filter((one) => one.of === box.of && reads.get(one.id).length) : [];
      const above = this.inner.filter(([from]) => from === box.id).map(([, to]) => ranks.get(to));
      if (siblings.length) ranks.set(box.id, Math.min(...siblings.map((one) => ranks.get(one.id))));
      else if (above.length) ranks.set(box.id, Math.min(...above) - 1);
    }
    this.reads = reads;
    this.ranks = ranks;
    this.rows = [];
    for (const box of this.boxes) (this.rows[ranks.get(box.id)] ??= []).push(box);
    this.rows = Array.from(this.rows, (row) => row ?? []);
  }

  /** The middle of each box, from the middle of the column. */
  #across() {
    const { box: wide, part } = this.sizes;
    this.placed = new Map();
    for (const row of this.rows) {
      const fed = row.filter((box) => this.reads.get(box.id).length || box.of);
      const lanes = row.length > 1 && fed.length !== 1;
      row.forEach((box, i) => {
        const main = !lanes && (row.length === 1 || fed[0] === box);
        const w = !main ? part : box.of ? part * 1.3 : wide;
        let x = lanes ? (i - (row.length - 1) / 2) * (part + 8) : main ? this.#above(box) : this.outer * (wide / 2 + 10 + part / 2);
        if (main && !box.of) x = 0;
        this.placed.set(box.id, { box, opened: this.open.has(box.id), x, w, h: this.#high(box, w), lines: lines(box, w, this.sizes) });
      });
    }
  }

  #above(box) {
    const within = this.reads.get(box.id).map((id) => this.placed.get(id)).filter((one) => one?.box.of === box.of);
    return within.length ? within.reduce((sum, one) => sum + one.x, 0) / within.length : 0;
  }

  #high(box, w) {
    if (box.kind === "add") return 24;
    return Math.max(28, lines(box, w, this.sizes).length * this.sizes.line + 12);
  }

  /** How far up each row begins, with room for the frames between them. */
  #upwards() {
    let up = 16;
    this.ups = this.rows.map((row, rank) => {
      const high = Math.max(24, ...row.map((box) => this.placed.get(box.id).h));
      if (rank) up += this.sizes.gap + this.#between(this.rows[rank - 1], row);
      const from = up;
      for (const box of row) this.placed.get(box.id).up = from + (high - this.placed.get(box.id).h) / 2;
      up += high;
      return [from, up];
    });
    this.height = up + 10;
  }

  #between(below, above) {
    const group = (row) => this.groups.find((one) => one.boxes.includes(row[0]?.id));
    const part = (row) => row.map((box) => this.#opened(box)).find(Boolean);
    const [gb, ga, pb, pa] = [group(below), group(above), part(below), part(above)];
    const framed = (one) => (one && one.run.length > 0 ? 12 : 0);
    return (gb === ga ? 0 : framed(gb) + framed(ga) + 4) + (pb === pa ? 0 : (pb ? 8 : 0) + (pa ? 8 : 0)) + (pb && pb !== pa ? 14 : 0);
  }

  /** The box whose opened steps it belongs to. */
  #opened(box) {
    const of = box.of ?? (this.open.has(box.id) ? box.id : null);
    return of !== null && this.open.has(of) && this.boxes.some((one) => one.of === of) ? of : null;
  }

  #extent(ranks) {
    const of = ranks.flatMap((rank) => this.rows[rank] ?? []).map((box) => this.placed.get(box.id));
    return [Math.min(0, ...of.map((one) => one.x - one.w / 2)), Math.max(0, ...of.map((one) => one.x + one.w / 2))];
  }

  #frames() {
    this.reach = this.rows.map((_, rank) => this.#extent([rank]));
    this.frames = [];
    for (const of of this.open) {
      const inside = this.boxes.filter((box) => this.#opened(box) === of);
      if (inside.length < 2) continue;
      this.#frame(inside, 8, { kind: "part", id: of, title: this.boxes.find((box) => box.id === of)?.title }, 14);
    }
    this.#lanes();
    for (const group of this.groups) {
      const inside = group.boxes.map((id) => this.placed.get(id)?.box).filter(Boolean);
      this.#frame(inside, 10, { kind: "group", id: group.id, group }, 0);
    }
  }

  #frame(boxes, pad, about, head) {
    const ranks = boxes.map((box) => this.ranks.get(box.id));
    const [low, high] = [Math.min(...ranks), Math.max(...ranks)];
    const left = Math.min(...this.reach.slice(low, high + 1).map(([from]) => from)) - pad;
    const right = Math.max(...this.reach.slice(low, high + 1).map(([, to]) => to)) + pad;
    for (let rank = low; rank <= high; rank += 1) this.reach[rank] = [left, right];
    this.frames.push({ ...about, x: left, w: right - left, from: this.ups[low][0] - pad, to: this.ups[high][1] + pad + head });
  }

  /** Residual paths, beside all that they go around. */
  #lanes() {
    const span = ([from, to]) => this.ranks.get(to) - this.ranks.get(from);
    const residual = this.inner.filter((edge) => edge[2] === "residual" && span(edge) > 1).sort((a, b) => span(a) - span(b));
    const others = this.inner.filter((edge) => edge[2] !== "residual" && this.#passes(edge)).sort((a, b) => span(b) - span(a));
    const shared = new Map(); // what goes from one box to many others goes there on one path
    this.around = [...residual, ...others].map(([from, to, kind]) => {
      const [low, high] = [this.ranks.get(from) + 1, this.ranks.get(to)];
      const x = (kind !== "residual" && shared.get(from)) || this.#lane(low, high);
      if (kind !== "residual") shared.set(from, x);
      return { from, to, kind, low, high, x };
    });
  }

  /** Takes the next free way up beside these rows. */
  #lane(low, high) {
    const past = this.reach.slice(low, high + 1).map(([left, right]) => (this.outer < 0 ? left : right));
    const x = (this.outer < 0 ? Math.min(...past) : Math.max(...past)) + this.outer * this.sizes.lane;
    for (let rank = low; rank <= high; rank += 1) this.reach[rank] = this.outer < 0 ? [x, this.reach[rank][1]] : [this.reach[rank][0], x];
    return x;
  }

  /** Whether an edge goes past other boxes that do not belong to the same one. */
  #passes([from, to]) {
    const [a, b] = [this.placed.get(from).box, this.placed.get(to).box];
    const together = this.#opened(a) !== null && this.#opened(a) === this.#opened(b);
    return !together && this.ranks.get(to) - this.ranks.get(from) > 1;
  }

  #wire() {
    const beside = new Set(this.around.map(({ from, to, kind }) => `${from} ${to} ${kind}`));
    this.edges = this.around.map((path) => {
      const [from, to] = [this.placed.get(path.from), this.placed.get(path.to)];
      const start = this.ups[path.low][0] - 7;
      const middle = to.up + to.h / 2;
      const edge = to.x + (this.outer * (to.box.kind === "add" ? 24 : to.w)) / 2;
      return { ...path, points: [[from.x, start], [path.x, start], [path.x, middle], [edge, middle]] };
    });
    for (const [from, to, kind] of this.inner) if (!beside.has(`${from} ${to} ${kind}`)) this.edges.push({ from, to, kind, points: this.#path(from, to) });
  }

  #path(from, to) {
    const [a, b] = [this.placed.get(from), this.placed.get(to)];
    const [low, high] = [this.ranks.get(from), this.ranks.get(to)];
    const [start, end] = [a.up + a.h, b.up];
    const side = low === high; // beside each other
    if (side) return [[a.x, a.up + a.h / 2], [b.x - (Math.sign(b.x - a.x) * b.w) / 2, b.up + b.h / 2]];
    if (b.box.kind === "add" && high === low + 1 && Math.abs(a.x - b.x) > b.w / 4) {
      return [[a.x, start], [a.x, b.up + b.h / 2], [b.x + (Math.sign(a.x - b.x) * 24) / 2, b.up + b.h / 2]];
    }
    const entry = b.x + (Math.abs(a.x - b.x) < b.w / 2 - 6 ? a.x - b.x : Math.sign(a.x - b.x) * Math.min(b.w / 4, Math.abs(a.x - b.x)));
    if (high === low + 1) {
      if (entry === a.x) return [[a.x, start], [a.x, end]];
      const middle = (this.ups[low][1] + this.ups[high][0]) / 2;
      return [[a.x, start], [a.x, middle], [entry, middle], [entry, end]];
    }
    const lane = this.#free(a.x, low + 1, high - 1);
    return [[a.x, start], [a.x, this.ups[low][1] + 6], [lane, this.ups[low][1] + 6], [lane, this.ups[high][0] - 6], [entry, this.ups[high][0] - 6], [entry, end]];
  }

  /** Where a line can go up past these rows without crossing a box. */
  #free(x, low, high) {
    const past = this.rows.slice(low, high + 1).flat().map((box) => this.placed.get(box.id));
    const clear = (at) => past.every((one) => Math.abs(one.x - at) > one.w / 2 + 5);
    for (let by = 0; by < 400; by += 4) for (const sign of [this.outer, -this.outer]) if (clear(x + sign * by)) return x + sign * by;
    return x;
  }

  /** Puts its left side at x; says where its right side is then. */
  shift(x) {
    const reach = [...this.reach, ...this.frames.map((frame) => [frame.x, frame.x + frame.w])];
    const by = x - Math.min(...reach.map(([left]) => left));
    for (const one of this.placed.values()) one.x += by;
    for (const frame of this.frames) frame.x += by;
    for (const edge of this.edges) edge.points = edge.points.map(([px, up]) => [px + by, up]);
    this.left = x;
    this.right = by + Math.max(...reach.map(([, right]) => right));
    return this.right;
  }
}

/** Edges from one column into another: through the space between them. */
function across(seen, columns, height, sizes) {
  if (columns.length < 2) return [];
  const [first, second] = columns;
  const made = [];
  const middle = first.right + sizes.gutter / 2;
  for (const [from, to, kind] of seen.edges) {
    const [a, b] = [first.placed.get(from), second.placed.get(to)];
    if (!a || !b) continue;
    const last = Math.max(...[...first.placed.values()].map((one) => one.up)) === a.up;
    const out = last ? [[a.x, a.up + a.h], [a.x, a.up + a.h + 24]] : [[a.x + (a.box.kind === "add" ? 12 : a.w / 2), a.up + a.h / 2]];
    const into = b.box.of ? [[b.x, b.up - 8], [b.x, b.up]] : [[b.x - b.w / 2, b.up + b.h / 2]];
    const [leave, enter] = [out.at(-1)[1], into[0][1]];
    const points = [...out, [middle, leave], [middle, enter], ...into];
    made.push({ from, to, kind: kind === "flow" ? "memory" : kind, points: points.map(([x, up]) => [x, height - up]) });
  }
  return made;
}

/** A title in the lines that fit. */
export function lines(box, width, sizes) {
  if (box.kind === "add") return [];
  const most = Math.max(6, Math.floor((width - 10) / sizes.letters));
  const made = [""];
  for (const word of box.title.split(/(?<=[\s-])/)) {
    if (made.at(-1) && (made.at(-1) + word).trimEnd().length > most) made.push("");
    made[made.length - 1] += word;
  }
  return made.map((one) => one.trim());
}
