"""How well the time of a step is foretold: measured steps over a grid, against what the machine's pace says of them.

    python benchmarks/cost_model.py [--threads 2] [--turns 5] [--out benchmarks/results/cost_model.txt]

None of the grid is among the steps that the pace was measured with. Steps are measured as they are for the pace.
An error of +10% says that the forecast is too long.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from machine import describe
from seqloom.jobs.recipes import shipped
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import load
from seqloom.training.calibration import Trial, calibrate, mixing, step_times, transformer
from seqloom.training.optimisers import Muon

WITHIN = 0.2
RECIPES = (
    "transformer-base-small",
    "transformer-modern-small",
    "t5-style-small",
    "transformer-dmca-moe-small",
    "gpt-small",
    "lstm-lm-small",
    "hybrid-small",
    "rnn-attention-additive-small",
    "rnn-seq2seq-small",
    "gnmt-small",
    "convs2s-small",
    "bytenet-small",
)


def grid() -> Iterator[tuple[str, Trial]]:
    for width in 96, 192, 320, 512:
        yield f"width {width}", Trial(transformer(width, 2), 512, 32)
    for depth in 1, 3, 8:
        yield f"depth {depth}", Trial(transformer(160, depth), 512, 32)
    for length in 8, 48, 192, 768, 1536:
        yield f"length {length}", Trial(transformer(160, 2), 1536, length)
    for tokens in 192, 768, 3072:
        yield f"{tokens} tokens", Trial(transformer(160, 2), tokens, 24)
    for vocabulary in 300, 8000, 32_000:
        yield f"{vocabulary} entries", Trial(transformer(160, 2), 512, 32, vocabulary)
    pairs = "encoder-decoder"
    yield "encoder-decoder", Trial(transformer(192, 2, pairs), 768, 24, 4000)
    yield "encoder-decoder, long source", Trial(transformer(192, 2, pairs), 512, 16, 4000, source=64)
    yield "encoder-decoder, dropout", Trial(transformer(256, 3, pairs, dropout=0.1), 1024, 16, 8000)
    yield "dropout", Trial(transformer(192, 3, dropout=0.1), 1024, 128)
    yield "Muon", Trial(transformer(192, 2), 512, 32, optimiser=Muon())
    for kind, more in (
        ("recurrence", {"cell": "lstm"}),
        ("gated-linear", {"heads": 4}),
        ("memory-compressed", {"heads": 4}),
        ("convolution", {"kernel": 3}),
    ):
        yield kind, Trial(mixing(96, 2, kind=kind, **more), 768, 48)
    for name in RECIPES:
        recipe = load(shipped.find(name), Recipe)
        model = recipe.model.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        yield f"{name}, 1,024 tokens", Trial(model, 1024, 32, 4000, optimiser=recipe.training.optimiser)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    began = time.perf_counter()
    pace = calibrate()
    said = [describe(), f"measured in {time.perf_counter() - began:.1f} s: {pace.seconds}", ""]
    names, trials = zip(*grid(), strict=True)
    best = step_times(trials, asked.turns)
    errors = []
    for name, trial, took in zip(names, trials, best, strict=True):
        foretold = pace.predict(trial.load())
        errors.append(foretold / took - 1)
        mark = "" if abs(errors[-1]) <= WITHIN else "   beyond 20%"
        said.append(f"{name:30} {took * 1e3:8.1f} ms   foretold {foretold * 1e3:8.1f} ms   {errors[-1]:+5.0%}{mark}")
    inside = sum(abs(error) <= WITHIN for error in errors)
    said.append("")
    said.append(
        f"{inside} of {len(errors)} within 20%; median error {statistics.median(map(abs, errors)):.0%}, "
        f"largest {max(map(abs, errors)):.0%}"
    )
    print("\n".join(said))
    if asked.out:
        asked.out.write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
