"""The small recipes on a GPU: each of them trains a few steps there and is asked afterwards."""

import random
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.model import Model
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import names
from seqloom.settings import load

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # torch's own, about kernels and precision
]

SMALL = sorted(name for name in names() if name.endswith("-small"))
TASKS = {name: load(names()[name], Recipe).task.kind for name in SMALL}
PAIRS = [name for name in SMALL if TASKS[name] == "translate" and "-rl-" not in name]
TEXTS = [name for name in SMALL if TASKS[name] in ("language", "masked")]
BF16 = 2**-8  # what rounding may change, of the whole


def lines(count: int, seed: int = 3) -> list[str]:
    draw = random.Random(seed)
    return [
        " ".join(draw.choices(["ash", "bay", "cup", "dew", "elm", "fig"], k=draw.randint(2, 9))) for _ in range(count)
    ]


def trained(name: str, data: Path, tmp_path: Path) -> Model:
    changes = [
        "training.device=cuda",
        "training.steps=6",
        "training.batch=512",
        "training.validate_every=6",
        "text.source.size=300",
    ]
    if load(names()[name], Recipe).text.source.kind in ("characters", "bytes", "words"):
        changes.pop()
    run = tmp_path / "run"
    seqloom.train(name, data=[data], out=run, changes=changes, minutes=None, view="none")
    return seqloom.load(run, device="cuda")


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, tmp_path: Path) -> None:
    sources, data = lines(200), tmp_path / "pairs.tsv"
    data.write_text("".join(f"{source}\t{source.upper()}\n" for source in sources), encoding="utf-8")
    model = trained(name, data, tmp_path)
    answers = model.predict(sources[:5], beam=2)
    for source, answer in zip(sources, answers, strict=False):
        scored = model.score(source, answer)
        assert scored.log_prob == pytest.approx(answer.log_prob, abs=0.05 + 0.01 * len(answer.tokens), rel=BF16)
    here = seqloom.load(tmp_path / "run", device="cpu")
    assert here.score(sources[0], answers[0]).log_prob == pytest.approx(answers[0].log_prob, rel=0.05, abs=0.5)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, tmp_path: Path) -> None:
    data = tmp_path / "text.txt"
    data.write_text("\n".join(lines(2000)) + "\n", encoding="utf-8")
    model = trained(name, data, tmp_path)
    scored = model.score("ash bay cup")
    assert torch.isfinite(torch.tensor(scored.log_prob))
