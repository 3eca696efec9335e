"""Tags at random, for labels and for spans."""

import random

from seqloom.evaluation import Metric, total
from seqloom.evaluation.labels import Labels


def random_tags(scheme: str, count: int, seed: int) -> list[list[str]]:
    """Tags at random: well and badly formed."""
    draw = random.Random(seed)
    names = ["O", *(f"{prefix}-{kind}" for prefix in scheme for kind in ("PER", "LOC", "a-b"))]
    return [draw.choices(names, k=draw.randint(1, 9)) for _ in range(count)]


def mixed(said: list[list[str]], wanted: list[list[str]]) -> list[list[str]]:
    """As long as what is wanted, and every other example right."""
    fitted = [(one * 9)[: len(other)] for one, other in zip(said, wanted, strict=True)]
    return [other if at % 2 else one for at, (one, other) in enumerate(zip(fitted, wanted, strict=True))]


def score(metric: Metric[Labels], said: list[list[str]], wanted: list[list[str]]) -> float:
    return float(metric.score(total(metric.statistics(said, [wanted]))))
