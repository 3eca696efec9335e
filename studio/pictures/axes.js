// Numbers to places on paper, and round numbers to write beside them.

/** A straight scale. even = false and all values above 0 over a wide range: a logarithmic one. */
export function fit(values, from, to, { even = true } = {}) {
  const real = values.filter(Number.isFinite);
  let low = real.length ? real.reduce((a, b) => Math.min(a, b)) : 0;
  let high = real.length ? real.reduce((a, b) => Math.max(a, b)) : 1;
  const log = !even && low > 0 && high / low > 20;
  if (low === high) [low, high] = low ? [low - Math.abs(low) / 2, high + Math.abs(high) / 2] : [0, 1];
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const pad = (b - a) * 0.05;
  const [start, end] = [a - pad, b + pad];
  const place = (value) => from + (((log ? Math.log(value) : value) - start) / (end - start)) * (to - from);
  const ticks = (count) => (log ? powers(low, high, count) : evenly(start, end, count));
  return { low, high, log, place, ticks };
}

/** A scale without room at its ends, for steps and places. */
export function spread(low, high, from, to) {
  const width = high - low || 1;
  const place = (value) => from + ((value - low) / width) * (to - from);
  return { low, high, log: false, place, ticks: (count) => evenly(low, high, count) };
}

function evenly(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].find((times) => times * power >= rough) * power;
  const found = [];
  for (let at = Math.ceil(low / unit); at * unit <= high + unit * 1e-9; at += 1) found.push(at * unit);
  return found;
}

function powers(low, high, count) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const times of [1, 2, 5]) found.push(times * 10 ** power);
  }
  const inside = found.filter((tick) => tick >= low && tick <= high);
  const every = Math.ceil(inside.length / count);
  return inside.filter((_, index) => index % every === 0);
}

/** A number as short as it can be said beside an axis. */
export function tickLabel(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(0);
  return trim(value);
}

const trim = (value) => String(Number(value.toPrecision(4)));

/** d of a path through these points; where a value is missing, the pen is lifted. */
export function linePath(points) {
  let pen = "M";
  const parts = [];
  for (const [x, y] of points) {
    if (Number.isFinite(x) && Number.isFinite(y)) {
      parts.push(`${pen}${x.toFixed(1)} ${y.toFixed(1)}`);
      pen = "L";
    } else pen = "M";
  }
  return parts.join("");
}

/** d of the area between two lines over the same places. */
export function bandPath(xs, lows, highs) {
  const there = xs.map((x, index) => `${x.toFixed(1)} ${highs[index].toFixed(1)}`);
  const back = xs.map((x, index) => `${x.toFixed(1)} ${lows[index].toFixed(1)}`).reverse();
  return `M${[...there, ...back].join("L")}Z`;
}
