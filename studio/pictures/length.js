// What an answer's length is worth: the formulas of seqloom's generation/length.py, so that a slider can rank anew.

/** What a log-probability is divided by. length: tokens, with the end mark. */
export function penalty(settings, length) {
  switch (settings.kind) {
    case "wu":
      return ((5 + length) / 6) ** settings.alpha;
    case "mean":
      return length ** settings.alpha;
    case "none":
      return 1;
    default:
      throw new Error(`no length penalty is called '${settings.kind}'`);
  }
}

/** The formula with this answer's numbers put in. */
export function penaltyWords(settings, length) {
  switch (settings.kind) {
    case "wu":
      return `((5 + ${length}) / 6)^${round(settings.alpha)}`;
    case "mean":
      return `${length}^${round(settings.alpha)}`;
    default:
      return "1";
  }
}

/**
 * Answers, best first, each with the score that it has under these settings; equals stay in order. Those that were cut
 * stand behind all that ended.
 */
export function rank(finished, settings) {
  return finished
    .map((one, index) => ({ ...one, index, score: one.total / penalty(settings, one.length) + (one.coverage ?? 0) }))
    .sort((a, b) => (b.ended ?? true) - (a.ended ?? true) || b.score - a.score || a.index - b.index);
}

/** Where on the slider another answer wins: [{alpha, index}], the first at the lowest alpha. */
export function winners(finished, kind, alphas) {
  const found = [];
  for (const alpha of alphas) {
    const [best] = rank(finished, { kind, alpha });
    if (best && best.index !== found.at(-1)?.index) found.push({ alpha, index: best.index });
  }
  return found;
}

const round = (value) => String(Math.round(value * 100) / 100);
