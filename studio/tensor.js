// The model's own numbers: matrices as they come in documents, and numbers as text.

const LITTLE = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1; // as the numbers of documents are

export class Tensor {
  /** data: row by row, the last axis fastest. */
  constructor(shape, data) {
    this.shape = shape;
    this.data = data;
  }

  /** {"shape", "data": base64 of little-endian float32} */
  static of(matrix) {
    if (matrix instanceof Tensor) return matrix;
    const letters = atob(matrix.data);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
    if (LITTLE) return new Tensor(matrix.shape, new Float32Array(bytes.buffer));
    const view = new DataView(bytes.buffer);
    return new Tensor(matrix.shape, Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true)));
  }

  get rows() { return this.shape.length > 1 ? this.shape.at(-2) : 1; }
  get columns() { return this.shape.at(-1) ?? 1; }
  /** All axes before the last two, together. */
  get heads() { return this.shape.slice(0, -2).reduce((product, size) => product * size, 1); }

  /** One of the matrices, without its axes before. */
  head(index) {
    const size = this.rows * this.columns;
    return new Tensor([this.rows, this.columns], this.data.subarray(index * size, (index + 1) * size));
  }

  at(row, column) { return this.data[row * this.columns + column]; }

  /** The average of all heads. */
  average() {
    const size = this.rows * this.columns;
    const mean = new Float32Array(size);
    for (let h = 0; h < this.heads; h += 1) for (let i = 0; i < size; i += 1) mean[i] += this.data[h * size + i] / this.heads;
    return new Tensor([this.rows, this.columns], mean);
  }

  /** A matrix with `most` rows and columns at most, for small pictures: of each part of it the number that is furthest from 0. */
  pooled(most) {
    const [rows, columns] = [Math.min(most, this.rows), Math.min(most, this.columns)];
    if (rows === this.rows && columns === this.columns) return this;
    const data = new Float32Array(rows * columns);
    for (let r = 0; r < this.rows; r += 1) {
      for (let c = 0; c < this.columns; c += 1) {
        const at = Math.floor((r * rows) / this.rows) * columns + Math.floor((c * columns) / this.columns);
        const value = this.at(r, c);
        if (Math.abs(value) > Math.abs(data[at])) data[at] = value;
      }
    }
    return new Tensor([rows, columns], data);
  }

  /** [least, most] of the finite numbers. */
  range() {
    let [least, most] = [Infinity, -Infinity];
    for (const value of this.data) {
      if (!Number.isFinite(value)) continue;
      if (value < least) least = value;
      if (value > most) most = value;
    }
    return least > most ? [0, 0] : [least, most];
  }
}

/** As few letters as a cell needs. */
export function short(value) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e5) return minus(String(value));
  if (size >= 1e5 || size < 5e-4) return minus(value.toExponential(0).replace("e+", "e"));
  return minus(value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.01 ? 2 : 3));
}

/** All of a float32: the fewest digits that mean this number and no other. */
export function exact(value) {
  if (!Number.isFinite(value)) return short(value);
  for (let digits = 1; digits <= 9; digits += 1) {
    const said = value.toPrecision(digits);
    if (Math.fround(Number(said)) === Math.fround(value)) return minus(String(Number(said)));
  }
  return minus(String(value));
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.01 ? 2 : share < 0.9995 && share > 0.99 ? 2 : 1)} %`;

export const plain = (text) => text.replaceAll("−", "-");
const minus = (text) => text.replaceAll("-", "−");
