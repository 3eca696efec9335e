"""Small runs of each task, trained in a moment, to be asked."""

from pathlib import Path

import pytest

import seqloom
from tests.jobs.run import PAIRS, write_pairs, write_recipe
from tests.jobs.shapes import write_conllu, write_labels, write_paragraphs, write_sentences, write_text

_MODEL = """
[model]
family = "{family}"
width = 16
depth = {depth}
mixer = {{ kind = "attention", heads = 2 }}
feed_forward = {{ kind = "dense", width = 32 }}
positions = {positions}
output = {{ kind = "{output}" }}

[training]
steps = {steps}
batch = 300
validate_every = {steps}
"""
SINES = '{ kind = "sinusoidal" }'
BPE = '{ kind = "bpe", size = 60 }'


def recipe(
    task: str,
    family: str,
    output: str = "tokens",
    text: str = BPE,
    positions: str = SINES,
    steps: int = 20,
    more: str = "",
    depth: int = 1,
) -> str:
    model = _MODEL.format(family=family, output=output, positions=positions, steps=steps, depth=depth)
    return f"{more}\n[task]\n{task}\n[text]\nsource = {text}\n{model}"


RECIPES = {
    "pairs": (
        PAIRS.replace("steps = 40", "steps = 150").replace("validate_every = 8", "validate_every = 150")
        + 'optimiser = { kind = "adam", rate = 0.01 }\nschedule = { kind = "constant" }\n'
        + "[generation]\nshortest = 2\n",  # it has learnt too little for a beam to find more than nothing
        "pairs",
    ),
    "other": (PAIRS + "seed = 2\n", "pairs"),
    "short": (PAIRS.replace('"sinusoidal"', '"learned", length = 12'), "pairs"),
    "sentences": (recipe('kind = "translate"', "encoder-decoder", steps=100), "sentences"),
    "deep": (recipe('kind = "translate"', "encoder-decoder", depth=2), "sentences"),
    "backwards": (
        recipe('kind = "translate"\nreverse = true', "encoder-decoder", text='{ kind = "words" }', steps=100),
        "sentences",
    ),
    "joined": (
        recipe('kind = "translate"\nlearn = "all"', "decoder-only", text=BPE + "\nshared = true", steps=100),
        "sentences",
    ),
    "joined-short": (
        recipe(
            'kind = "translate"\nreverse = true',
            "decoder-only",
            text='{ kind = "words" }\nshared = true',
            positions='{ kind = "learned", length = 13 }',
            more='[data]\nlongest = 7\nlongest_source = 5\ntoo_long = "truncate"',
        ),
        "sentences",
    ),
    "text": (recipe('kind = "language"', "decoder-only", steps=60), "text"),
    "words": (recipe('kind = "language"', "decoder-only", text='{ kind = "words" }'), "text"),
    "documents": (
        recipe('kind = "language"\nlines = "documents"', "decoder-only", text='{ kind = "characters" }', steps=60),
        "text",
    ),
    "window": (
        recipe(
            'kind = "language"\ncontext = 16',
            "decoder-only",
            text='{ kind = "characters" }',
            positions='{ kind = "learned", length = 24 }',
        ),
        "text",
    ),
    "masked": (
        recipe('kind = "masked"\ncontext = 32', "encoder-only", steps=60).replace(
            'output = { kind = "tokens" }', 'output = { kind = "tokens", follows = true }'
        ),
        "paragraphs",
    ),
    "tags": (recipe('kind = "tag"', "encoder-only", "tags", steps=60), "conllu"),
    "chain": (
        recipe('kind = "tag"', "encoder-only", "tags", steps=60).replace('"tags"', '"tags", chain = true'),
        "conllu",
    ),
    "classes": (recipe('kind = "classify"', "encoder-only", "classes", steps=60), "labels"),
}


class Runs:
    """Made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {
            "pairs": write_pairs(folder / "pairs.tsv"),
            "sentences": write_sentences(folder / "sentences.tsv"),
            "text": write_text(folder / "text.txt"),
            "paragraphs": write_paragraphs(folder / "paragraphs.txt"),
            "conllu": write_conllu(folder / "tags.conllu"),
            "labels": write_labels(folder / "labels.tsv"),
        }

    def __getitem__(self, name: str) -> Path:
        run = self.folder / "runs" / name
        if not run.exists():
            text, data = RECIPES[name]
            file = write_recipe(self.folder / f"{name}.toml", text=text)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SEQLOOM_CACHE", str(self.folder / "cache"))
                seqloom.train(file, data=self.files[data], out=run, view="none")
        return run
