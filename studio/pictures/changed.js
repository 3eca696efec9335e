// What became of an answer: two lists of words, with those marked that only one of them has.

/**
 * before, after: texts → {before: [bool], after: [bool], pairs: [[i, j]]}; true: this one was changed. pairs: the places
 * of the words that both have, by the longest common subsequence.
 */
export function compareWords(before, after) {
  const common = commonLengths(before, after);
  const marks = { before: before.map(() => true), after: after.map(() => true), pairs: [] };
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      marks.before[i] = false;
      marks.after[j] = false;
      marks.pairs.push([i, j]);
      i += 1;
      j += 1;
    } else if (common[i + 1][j] >= common[i][j + 1]) i += 1;
    else j += 1;
  }
  return marks;
}

/** [i][j]: how many words before[i..] and after[j..] have in common, in order. */
function commonLengths(before, after) {
  const table = Array.from({ length: before.length + 1 }, () => new Int32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      table[i][j] = before[i] === after[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}
