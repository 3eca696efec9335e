"""Systems that are small enough to be compared in a test, in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from seqloom.jobs.compare import compare
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.deciding.asked import Budget
from tests.jobs.run import PAIRS, write_pairs, write_recipe

TARGET = """
[target]
parameters = 65e6
flops = 3.3e18
results = [{ data = "newstest", metric = "bleu", score = 27.3 }]
"""
QUICK = ("evaluation.trials=100", "evaluation.resamples=100", "generation.beam=1")


def write_systems(place: Path) -> Path:
    """Data, a test, and recipes: two of one vocabulary, one that has nothing to learn from, one of words."""
    write_pairs(place / "pairs.tsv")
    write_pairs(place / "test.tsv", count=30, seed=2)
    write_recipe(place / "a.toml")
    write_recipe(place / "b.toml", TARGET, 'source = "Someone 2017"\n' + PAIRS.replace("width = 16", "width = 32"))
    write_recipe(place / "broken.toml", "[data]\nlongest = 1\n")
    write_recipe(place / "words.toml", text=PAIRS.replace('"characters"', '"words"'))
    return place


def compared(*systems: str, note: Callable[[str], None] = lambda text: None, **more: Any) -> Compared:
    more = {"data": ("pairs.tsv",), "test": ("test.tsv",), "budget": Budget("epochs", 1), "out": Path("out")} | more
    return compare(Compare(systems, **{"changes": QUICK} | more), note, view="none")
