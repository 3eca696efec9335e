"""What expected-reward training brings over the likelihood that it begins from, and over more of the likelihood.

python benchmarks/reward_training.py PAIRS [--pairs 12000] [--steps 600] [--more 60] [--runs FOLDER]

PAIRS: lines of source, tab, target (and other columns), perhaps packed by gzip. gnmt-small learns from some short pairs
by likelihood. From its best weights two runs go on for equally many steps, batches and rates: (a) by likelihood, (b) as
gnmt-rl-small says, by expected sentence GLEU mixed with it; validation GLEU chooses the weights of both. Then all three
answer pairs that none of them saw, nor chose its weights by: the mean GLEU of 15 samples to each, and GLEU of greedy
answers, with intervals by the bootstrap; of differences, in pairs. GLEU is of the model's tokens, as in training. Runs
that are there already go on or stay.
"""

import argparse
import gzip
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import seqloom
from machine import describe
from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.evaluation.interval import percentiles, resampled
from seqloom.generation import write
from seqloom.generation.contract import Item
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.learning.answers import GREEDY
from seqloom.jobs.learning.drawing import MORE, TIMES, drawing
from seqloom.jobs.opened import open_run
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.translate import TranslateTask
from seqloom.text.gleu import ngrams, sentence_gleu

START, REWARD = "gnmt-small", "gnmt-rl-small"
DRY = [f"model.{part}dropout=0.0" for part in ("", "encoder.mixer.", "decoder.mixer.")]  # as the second recipe has it
LONG = 600  # minutes: steps are to end a run, on a slow machine too
SAMPLES = 15  # that the expected reward is measured by
WORDS = 3, 6  # of each side

Floats = npt.NDArray[np.float64]


def pairs(path: Path, count: int, held: int) -> list[list[str]]:
    """Training, validation and held-out lines: of different sources, the first target of each."""
    opened = gzip.open if path.suffix == ".gz" else open
    found: dict[str, str] = {}
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, target, *_ = line.rstrip("\n").split("\t")
            if all(WORDS[0] <= len(text.split()) <= WORDS[1] for text in (source, target)):
                found.setdefault(source, target)
    drawn = random.Random(1).sample(sorted(found), count + 2 * held)
    text = [f"{source}\t{found[source]}\n" for source in drawn]
    return [text[2 * held :], text[:held], text[held : 2 * held]]


def train(folder: Path, name: str, recipe: str, start: str | None, changes: Sequence[str]) -> None:
    seqloom.train(
        recipe,
        data=folder / "train.tsv",
        valid=folder / "valid.tsv",
        out=folder / name,
        start=None if start is None else folder / start,
        changes=["training.threads=1", f"training.minutes={LONG}", *changes],
        view="lines",
    )


def measured(folder: Path, name: str) -> tuple[Floats, Floats]:
    """Of each held-out pair: the mean GLEU of its samples, and that of the greedy answer."""
    opened = open_run(folder / name, "cpu")
    task, model = opened.task, opened.network
    assert isinstance(task, TranslateTask)
    assert isinstance(model, EncoderDecoder)
    lines = [line.rstrip("\n").split("\t") for line in (folder / "held.tsv").read_text("utf-8").splitlines()]
    columns = {"source": Ragged.rows(task.codecs.source.encode([source for source, _ in lines]))}
    columns["target"] = Ragged.rows(task.target.encode([target for _, target in lines]))
    examples = Examples(columns, np.zeros(len(lines), np.int64), np.arange(1, len(lines) + 1))
    targets = [columns["target"][row].tolist() for row in range(len(lines))]
    items = [
        Item(columns["source"][row].tolist(), row, TIMES * len(target) + MORE) for row, target in enumerate(targets)
    ]
    greedy = dict(write(scorer_of(task, [model]), items, GREEDY))
    drawn = drawing(task)(model, examples, SAMPLES, 12345)

    def mean(answers: Sequence[Sequence[int]], target: Sequence[int]) -> float:
        return float(np.mean([sentence_gleu(ngrams(one), ngrams(target)) for one in answers]))

    expected = [mean([one.tokens for one in drawn[row]], target) for row, target in enumerate(targets)]
    best = [mean([greedy[row][0].tokens], target) for row, target in enumerate(targets)]
    return 100 * np.asarray(expected), 100 * np.asarray(best)


def told(values: Floats) -> str:
    (total_RD,) = resampled([np.stack([values, np.ones_like(values)], -1)], 2000)
    inside = percentiles(total_RD[:, 0] / total_RD[:, 1])
    return f"{values.mean():7.2f} [{inside.low:6.2f}, {inside.high:6.2f}]"


def table(found: dict[str, tuple[Floats, Floats]]) -> None:
    start, likelihood, reward = found.values()
    rows = found | {
        "b - start": (reward[0] - start[0], reward[1] - start[1]),
        "b - a": (reward[0] - likelihood[0], reward[1] - likelihood[1]),
    }
    print(f"{'':24}{'expected GLEU, 95 %':>26}{'greedy GLEU, 95 %':>26}")
    for name, (expected, greedy) in rows.items():
        print(f"{name:24}{told(expected):>26}{told(greedy):>26}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pairs", type=int, default=12_000)
    parser.add_argument("--held", type=int, default=500, help="pairs to measure with; as many are for validation")
    parser.add_argument("--steps", type=int, default=600, help="of the likelihood that is begun from")
    parser.add_argument("--more", type=int, default=60, help="steps that both go on for")
    parser.add_argument("--runs", type=Path, help="where the runs are kept; without it they are not")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.runs or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        parts = pairs(asked.file, asked.pairs, asked.held)
        for name, lines in zip(("train", "valid", "held"), parts, strict=True):
            (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        size = "text.source.size=2000"
        train(folder, "start", START, None, [size, f"training.steps={asked.steps}", "training.validate_every=100"])
        more = [size, f"training.steps={asked.more}", f"training.validate_every={max(1, asked.more // 4)}"]
        more += ["training.optimiser.rate=0.0003", "training.schedule.kind=constant"]
        train(folder, "likelihood", START, "start", [*more, *DRY, "training.best=gleu"])
        train(folder, "reward", REWARD, "start", more)
        names = {"start": "start", "a: likelihood": "likelihood", "b: expected reward": "reward"}
        found = {shown: measured(folder, name) for shown, name in names.items()}
    print(describe())
    table(found)


if __name__ == "__main__":
    main()
