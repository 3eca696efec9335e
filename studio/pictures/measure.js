// How wide a text will be, before it is drawn.

let pen = null;

export function textWidth(text, size = 13, weight = 400) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${weight} ${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

/** The text, or as much of its beginning as fits. */
export function cut(text, width, size = 13) {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, size) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** Boxes of these widths, one after the other in rows of at most `most`: [{x, row}] and how many rows there are. */
export function inRows(widths, most, gap = 6) {
  let [x, row] = [0, 0];
  const places = widths.map((width) => {
    if (x > 0 && x + width > most) [x, row] = [0, row + 1];
    const place = { x, row };
    x += width + gap;
    return place;
  });
  return { places, rows: row + 1 };
}
