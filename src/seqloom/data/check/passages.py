"""Running text: its lines are no examples, and short ones come again by themselves (a speaker's name, a blank line).

What is in another part as well is told by passages: a line and what follows it, as far as nobody writes it twice.
"""

from collections.abc import Sequence

import numpy as np

from seqloom.data.check.numbers import Numbers, lengths_of

LEAST = 100  # characters
LINE = 20  # characters of a line alone: speakers, headings and blank lines are shorter


def passages(lines: Sequence[str]) -> tuple[list[str], Numbers]:
    """The passage that begins at each line, and how long it is: at the end there may be too little left."""
    ends = np.cumsum(lengths_of(lines))
    begins = np.concatenate(([0], ends[:-1])) if len(lines) else ends
    lasts = np.minimum(np.searchsorted(ends, begins + LEAST) + 1, len(lines)).tolist()
    texts = ["\n".join(lines[first:last]) for first, last in enumerate(lasts)]
    return texts, lengths_of(texts)
