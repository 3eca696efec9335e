// Equations with a cell's own numbers put in: what is computed, written out as on a blackboard.

import { short } from "../tensor.js";

/** A number as a factor or summand: a negative one in brackets. */
const term = (value) => (value < 0 ? `(${short(value)})` : short(value));
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const columnOf = (matrix, column) => Array.from({ length: matrix.rows }, (_, row) => matrix.at(row, column));
const rowOf = (matrix, row) => Array.from({ length: matrix.columns }, (_, column) => matrix.at(row, column));
const products = (a, b) => a.map((value, i) => `${term(value)}·${term(b[i])}`).join(" + ");

/** Row of one times row of the other. */
export function dot(a, row, b, other) {
  const [x, y] = [rowOf(a, row), rowOf(b, other)];
  return `${products(x, y)} = ${short(total(x.map((value, i) => value * y[i])))}`;
}

/** … divided by the root of the width. */
export function scaled(q, row, k, other, score) {
  const [x, y] = [rowOf(q, row), rowOf(k, other)];
  return `${short(total(x.map((value, i) => value * y[i])))} / √${x.length} = ${short(score)}`;
}

/** A row of one times a column of a matrix of weights, and perhaps a bias. */
export function mapped(x, row, w, column, bias, made) {
  const plus = bias === null ? "" : ` + ${term(bias.at(0, column))}`;
  return `${products(rowOf(x, row), columnOf(w, column))}${plus} = ${short(made)}`;
}

export function softmax(scores, row, column, weight) {
  const line = rowOf(scores, row);
  const powers = line.map((score) => (Number.isFinite(score) ? Math.exp(score) : 0));
  const said = line.map((score) => `e^${term(score)}`).join(" + ");
  return [
    `e^${term(line[column])} / (${line.length > 6 ? `${said.split(" + ").slice(0, 5).join(" + ")} + …` : said})`,
    `= ${short(powers[column])} / ${short(total(powers))} = ${short(weight)}`,
  ].join("\n");
}

/** A row of weights times a column of values. */
export function mixed(weights, row, values, column, made) {
  return `${products(rowOf(weights, row), columnOf(values, column))} = ${short(made)}`;
}

export const added = (a, b, sum) => `${short(a)} + ${term(b)} = ${short(sum)}`;

export function sinusoid(row, column, width, base, made) {
  const name = column % 2 === 0 ? "sin" : "cos";
  const power = column - (column % 2);
  return `${name}(${row} / ${base}^(${power}/${width})) = ${name}(${short(row / base ** (power / width))}) = ${short(made)}`;
}

export function normed(x, mean, spread, gain, bias, made) {
  const scaledBy = gain === null ? "" : ` · ${term(gain)}`;
  const plus = bias === null ? "" : ` + ${term(bias)}`;
  return `(${short(x)} − ${term(mean)}) / ${short(spread)}${scaledBy}${plus} = ${short(made)}`;
}

export const cutOff = (before, after) => `max(0, ${short(before)}) = ${short(after)}`;

export const surprise = (chance, loss) => `−log ${short(chance)} = ${short(loss)}`;
