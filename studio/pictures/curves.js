// What was measured while a model learnt: a chart a measure, all over the same steps.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { short } from "../tensor.js";
import { fit, linePath, spread, tickLabel } from "./axes.js";

const WIDTH = 820;
const LEFT = 60;
const RIGHT = 130;
const GAP = 44;
const TOP = 30;
const HIGH = { loss: 230, score: 130, rate: 80 };
const POINTS = 500; // of a line that is drawn
const SMOOTHED = 40; // points from which a noisy line is smoothed, with what it was behind it
const NOISY = new Set(["loss", "gradient"]);

/** metrics: {name: [[step, value], …]} → SVG. marked: a step that a line stands at, or null. */
export function curves(metrics, marked = null) {
  const charts = chartsOf(metrics);
  const steps = Object.values(metrics).flatMap((points) => points.map(([step]) => step));
  const last = steps.reduce((most, step) => Math.max(most, step), 1);
  const across = spread(steps.reduce((least, step) => Math.min(least, step), last), last, LEFT, WIDTH - RIGHT);
  let top = TOP;
  const parts = charts.map((chart) => {
    const drawn = drawChart(chart, across, top, marked);
    top += chart.high + GAP;
    return drawn;
  });
  const bottom = top - GAP;
  const ticks = across.ticks(7).map((tick) => text(across.place(tick), bottom + 20, tickLabel(tick), { class: "side", "text-anchor": "middle" }));
  return picture(WIDTH, bottom + 44, `training curves: ${charts.map((chart) => chart.name).join(", ")}`, { class: "curves" },
    parts, ticks, text(WIDTH - RIGHT, bottom + 38, "step", { class: "side", "text-anchor": "end" }));
}

/** Losses share a chart; all else has its own; the learning rate comes last. */
function chartsOf(metrics) {
  const rank = (name) => (/^rate|^learning/.test(name) ? 2 : /loss$/.test(name) ? 0 : 1);
  const names = Object.keys(metrics).filter((name) => metrics[name].length).sort((a, b) => rank(a) - rank(b));
  const losses = names.filter((name) => rank(name) === 0);
  const line = (name, colour, title = "") => ({ name, colour, title, points: metrics[name] });
  const titles = { loss: "training", valid_loss: "validation" };
  const first = losses.length ? [{ name: "loss", high: HIGH.loss, lines: losses.map((name, i) => line(name, i, titles[name] ?? spaced(name))) }] : [];
  return [...first, ...names.filter((name) => rank(name) > 0).map((name, i) => (
    { name: name === "rate" ? "learning rate" : spaced(name), high: rank(name) === 2 ? HIGH.rate : HIGH.score, even: true, lines: [line(name, 2 + i)] }))];
}

const spaced = (name) => name.replaceAll("_", " ");

function drawChart(chart, across, top, marked) {
  const bottom = top + chart.high;
  const smooth = chart.lines.map((line) => (NOISY.has(line.name) && line.points.length >= SMOOTHED ? smoothed(line.points) : line.points));
  const up = fit(smooth.flat().map(([, value]) => value), bottom, top, { even: Boolean(chart.even) });
  const inside = ([step, value]) => [across.place(step), Math.max(top - 4, Math.min(bottom + 4, up.place(value)))];
  const path = (points) => linePath(thinned(points).map(inside));
  return svg("g", { class: "chart", "data-name": chart.name },
    text(LEFT, top - 10, `${chart.name}${up.log ? " (log)" : ""}`, { class: "head", "font-size": 14 }),
    up.ticks(Math.max(2, chart.high / 40)).map((tick) => [svg("path", { class: "grid", d: `M${LEFT} ${up.place(tick).toFixed(1)}H${WIDTH - RIGHT}` }),
      text(LEFT - 8, up.place(tick) + 4, tickLabel(tick), { "text-anchor": "end", class: "side" })]),
    svg("path", { class: "axis", d: `M${LEFT} ${bottom}H${WIDTH - RIGHT}` }),
    marked !== null && svg("path", { class: "now", d: `M${across.place(marked).toFixed(1)} ${top}V${bottom}` }),
    chart.lines.map((line, i) => [
      smooth[i] !== line.points && svg("path", { class: "line raw", d: path(line.points), fill: "none", stroke: hue(line.colour), "stroke-opacity": 0.3 }),
      svg("path", { class: "line", "data-name": line.name, d: path(smooth[i]), fill: "none", stroke: hue(line.colour) }),
      line.points.length < 3 && line.points.map((point) => svg("circle", { cx: inside(point)[0], cy: inside(point)[1], r: 3, fill: hue(line.colour) }))]),
    labels(chart.lines, smooth, up, bottom));
}

/** At the ends of the lines, apart from each other: which it is, and its last value. */
function labels(lines, smooth, up, bottom) {
  const ends = lines.map((line, i) => ({ line, y: up.place(smooth[i].at(-1)[1]), value: line.points.at(-1)[1] })).sort((a, b) => a.y - b.y);
  let free = -Infinity;
  return ends.map(({ line, y, value }) => {
    const at = Math.max(Math.min(y + 4, bottom), free);
    free = at + 15;
    return text(WIDTH - RIGHT + 8, at, `${line.title} ${short(value)}`.trim(), { fill: hue(line.colour), "font-size": 12 });
  });
}

/** Each value with those before it, weighing half of what is a fiftieth of the line away. */
function smoothed(points) {
  const keep = 0.5 ** (1 / Math.max(1, points.length / 50));
  let [sum, weight] = [0, 0];
  return points.map(([step, value]) => {
    if (Number.isFinite(value)) [sum, weight] = [sum * keep + value, weight * keep + 1];
    return [step, sum / weight];
  });
}

/** No more points than can be seen; of each bucket the lowest and the highest stay, so that no spike is lost. */
function thinned(points) {
  if (points.length <= 2 * POINTS) return points;
  const size = Math.ceil(points.length / POINTS);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) => points.slice(i * size, (i + 1) * size)).flatMap((part) => {
    const low = part.reduce((a, b) => (b[1] < a[1] ? b : a));
    const high = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    return low[0] <= high[0] ? [low, high] : [high, low];
  });
}
