"""Handwritten digits, pixel by pixel → which digit it is: scikit-learn's 8 × 8 images in 17 grey levels (0 to 16).

A source is the 64 pixels row by row, "0 0 5 13 …". Each digit has the same share of each split.
"""

from collections import defaultdict
from random import Random

from seqloom.jobs.demos.example import Demo, Example
from seqloom.jobs.demos.extras import need

VALID_SHARE, TEST_SHARE = 0.15, 0.2


def make_digits(seed: int = 1, train: int | None = None) -> Demo:
    """All images that are not held out, or `train` of them."""
    data = need("sklearn.datasets", "demos", "digits").load_digits()
    by_label: dict[str, list[Example]] = defaultdict(list)
    for pixels, number in zip(data.data.astype(int).tolist(), data.target.tolist(), strict=True):
        label = str(number)
        by_label[label].append(Example(" ".join(map(str, pixels)), label, label))
    rng = Random(seed)
    splits: list[list[Example]] = [[], [], []]
    for label in sorted(by_label):
        same = by_label[label]
        rng.shuffle(same)
        tested, held_out = round(len(same) * TEST_SHARE), round(len(same) * (TEST_SHARE + VALID_SHARE))
        for split, part in zip(splits, (same[held_out:], same[tested:held_out], same[:tested]), strict=True):
            split += part
    for split in splits:
        rng.shuffle(split)
    trained, validated, tested_on = splits
    return Demo("digits", "pixels → digit", "classes", trained[:train], validated, tested_on)
