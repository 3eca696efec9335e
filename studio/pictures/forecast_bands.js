// A forecast: what was, what is expected, and bands between the quantiles; a chart a column.

import { hue } from "../colours.js";
import { picture, svg, text } from "../svg.js";
import { percent } from "../tensor.js";
import { bandPath, fit, linePath, spread, tickLabel } from "./axes.js";
import { textWidth } from "./measure.js";

const [NARROW, WIDE] = [300, 820];
const LEFT = 56;
const RIGHT = 96;
const HIGH = 170;
const GAP = 58;
const TOP = 28;
const BEFORE = 4; // horizons of the past that are drawn, at most
const MOST = 8;

/**
 * forecast: as in the protocol: history and point have a row a step and a column a variable; quantiles have a value a level
 * in each of them. before: another forecast of the same times, drawn as a dashed line.
 */
export function forecastBands(forecast, before = null, room = WIDE) {
  const wide = Math.max(NARROW, Math.min(WIDE, room));
  const { names, point } = forecast;
  const columns = names.slice(0, MOST);
  const height = TOP + columns.length * (HIGH + GAP);
  const charts = columns.map((name, column) => chart(forecast, before, column, TOP + column * (HIGH + GAP), wide));
  const more = names.length > MOST ? text(LEFT, height - 4, `and ${names.length - MOST} more columns`, { class: "side" }) : null;
  return picture(wide, height + (more ? 14 : 0), `forecast of ${names.join(", ")} for ${point.length} steps`, { class: "forecast" }, charts, more);
}

function chart(forecast, before, column, top, wide) {
  const { names, point, levels = [], quantiles = [] } = forecast;
  const horizon = point.length;
  const history = forecast.history.slice(-BEFORE * horizon).map((row) => row[column]);
  const said = point.map((row) => row[column]);
  const bands = quantiles.map((row) => row[column]);
  const was = before ? before.point.map((row) => row[column]) : [];
  const across = spread(-history.length, Math.max(horizon - 1, 1), LEFT, wide - RIGHT);
  const up = fit([...history, ...said, ...bands.flat(), ...was], top + HIGH, top);
  const xs = said.map((_, i) => across.place(i));
  const lines = (values, from) => linePath(values.map((value, i) => [across.place(from + i), value === null ? NaN : up.place(value)]));
  const joined = history.length && history.at(-1) !== null ? [history.at(-1), ...said] : said;
  const areas = pairs(levels.length).map(([low, high]) => svg("path", {
    class: "band", "data-levels": `${levels[low]}–${levels[high]}`, fill: hue(1), "fill-opacity": 0.16,
    d: bandPath(xs, bands.map((row) => up.place(row[low])), bands.map((row) => up.place(row[high]))),
  }, svg("title", {}, `${percent(levels[high] - levels[low])} band`)));
  return svg("g", { class: "chart", "data-name": names[column] },
    text(LEFT, top - 10, names[column], { class: "head", "font-size": 14 }),
    up.ticks(4).map((tick) => [svg("path", { class: "grid", d: `M${LEFT} ${up.place(tick).toFixed(1)}H${wide - RIGHT}` }),
      text(LEFT - 8, up.place(tick) + 4, tickLabel(tick), { "text-anchor": "end", class: "side" })]),
    svg("path", { class: "now", d: `M${across.place(0).toFixed(1)} ${top}V${top + HIGH}` }), areas,
    svg("path", { class: "line past", d: lines(history, -history.length), fill: "none", stroke: hue(0) }),
    was.length > 0 && svg("path", { class: "line was", d: lines(was, 0), fill: "none" }),
    svg("path", { class: "line ahead", d: lines(joined, said.length - joined.length), fill: "none", stroke: hue(1) }),
    ends(said, was, levels, up, wide), times(forecast, history.length, across, top + HIGH, wide));
}

/** From the widest band to the narrowest. */
const pairs = (count) => Array.from({ length: Math.floor(count / 2) }, (_, at) => [at, count - 1 - at]);

function ends(said, was, levels, up, wide) {
  const x = wide - RIGHT + 8;
  const labels = [[up.place(said.at(-1)), "forecast", hue(1)]];
  if (was.length) labels.push([up.place(was.at(-1)), "before", null]);
  labels.sort((a, b) => a[0] - b[0]);
  let free = -Infinity;
  const made = labels.map(([y, name, fill]) => {
    const at = Math.max(y + 4, free);
    free = at + 15;
    return text(x, at, name, { fill, class: fill ? null : "side", "font-size": 12 });
  });
  if (levels.length > 1) made.push(text(x, free, `${percent(levels.at(-1) - levels[0]).replace(".0", "")} band`, { fill: hue(1), "font-size": 11 }));
  return made;
}

/** Some of the times below the chart, those that are known. */
function times({ times: ahead, past: all = [] }, past, across, bottom, wide) {
  const before = all.slice(-past);
  const known = before.length === past ? [...before, ...ahead] : ahead;
  const first = known.length === ahead.length ? 0 : -past;
  const most = Math.max(1, Math.floor((wide - LEFT - RIGHT) / (24 + Math.max(...known.map((time) => textWidth(brief(time), 11))))) - 1);
  const places = [...new Set(Array.from({ length: Math.min(most, 5) + 1 }, (_, i) => Math.round((i * (known.length - 1)) / Math.min(most, 5))))];
  const anchor = (place) => (place === known.length - 1 ? "end" : place === 0 && first < 0 ? "start" : "middle");
  return places.filter((place) => known[place] !== undefined).map((place) => text(across.place(first + place), bottom + 18, brief(known[place]), { class: "side", "text-anchor": anchor(place) }));
}

const brief = (time) => String(time).replace("T", " ").replace(/(:\d\d):00$/, "$1").replace(/ 00:00$/, "");
