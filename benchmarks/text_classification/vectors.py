"""Word vectors from running text: how much oftener two words stand near each other than chance has it, in few numbers.

Positive pointwise mutual information within a window, the far ones counting less, and a truncated singular value
decomposition (Levy, Goldberg and Dagan 2015, doi:10.1162/tacl_a_00134). Written as word2vec's text format, which
`model.input.vectors` reads.

    python benchmarks/text_classification/vectors.py OUT WIDTH FILE...        texts, .gz too; of TSV the first column
"""

import gzip
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags
from sklearn.utils.extmath import randomized_svd

WINDOW, LEAST, SMOOTHING, POWER = 4, 3, 0.75, 0.5
WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


def lines(names: list[str]) -> list[list[str]]:
    found = []
    for name in names:
        content = Path(name).read_bytes()
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8", "replace")
        found += [WORD.findall(line.split("\t")[0].lower()) for line in text.splitlines() if line.strip()]
    return found


def near(sentences: list[list[int]], size: int) -> csr_matrix:
    """How often two words are near each other: 1 for neighbours, less for those further away."""
    total = csr_matrix((size, size), dtype=np.float32)
    ids = np.array([word for sentence in sentences for word in (*sentence, *[-1] * WINDOW)])
    for apart in range(1, WINDOW + 1):
        left, right = ids[:-apart], ids[apart:]
        both = (left >= 0) & (right >= 0)
        weight = np.full(int(both.sum()), 1 / apart, np.float32)
        total = total + coo_matrix((weight, (left[both], right[both])), (size, size)).tocsr()
    return total + total.T


def vectors(counts: csr_matrix, width: int) -> np.ndarray:
    rows = np.asarray(counts.sum(1)).ravel()
    context = rows**SMOOTHING
    shared = diags(1 / np.maximum(rows, 1e-9)) @ counts @ diags(context.sum() / np.maximum(context, 1e-9))
    shared.data = np.maximum(np.log(np.maximum(shared.data, 1e-9)), 0)
    left, values, _ = randomized_svd(shared, width, n_iter=4, random_state=0)
    made = left * values**POWER
    return made / np.sqrt(np.square(made).mean() * width)  # as long as random ones, whose deviation is 1 / √width


def main() -> None:
    out, width, *names = sys.argv[1:]
    sentences = lines(names)
    often = Counter(word for sentence in sentences for word in sentence)
    words = [word for word, count in often.most_common() if count >= LEAST]
    place = {word: at for at, word in enumerate(words)}
    known = [[place[word] for word in sentence if word in place] for sentence in sentences]
    made = vectors(near(known, len(words)), int(width))
    with Path(out).open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {width}\n")
        for word, vector in zip(words, made, strict=True):
            file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


if __name__ == "__main__":
    main()
