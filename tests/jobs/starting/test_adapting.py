"""Pretrain, then adapt: another task, other heads, another vocabulary."""

from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.model import load
from seqloom.jobs.train import train
from seqloom.jobs.trained import Trained
from seqloom.settings import UserError
from seqloom.store import RunFolder, read_tensors
from tests.jobs.shapes import write_conllu, write_labels, write_paragraphs, write_sentences, write_text

TEXT = """
[text]
source = { kind = "words" }

[model]
family = "FAMILY"
width = 16
depth = 2
mixer = { kind = "attention", heads = 2 }
feed_forward = { kind = "dense", width = 32 }
positions = { kind = "learned", length = 64 }
dropout = 0.1
tie = "output"
output = { kind = "tokens", bias = true }

[training]
steps = 4
batch = 200
validate_every = 4
"""
MASKED = '[task]\nkind = "masked"\ncontext = 32\nfollows = false\n' + TEXT.replace("FAMILY", "encoder-only")
LANGUAGE = '[task]\nkind = "language"\ncontext = 32\n' + TEXT.replace("FAMILY", "decoder-only")
RECIPES = {"masked": MASKED, "language": LANGUAGE}


@pytest.fixture
def files(place: Path) -> Path:
    for name, write in (
        ("text.txt", write_paragraphs),
        ("tags.conllu", write_conllu),
        ("labels.tsv", write_labels),
        ("pairs.tsv", write_sentences),
    ):
        write(place / name)
    write_text(place / "lines.txt")
    for name, text in RECIPES.items():
        (place / f"{name}.toml").write_text(text)
    return place


def _train(data: str, out: str, recipe: str | None = None, *changes: str, **more: Any) -> Trained:
    command = Command(recipe, (data,), out=Path(out), changes=changes, **more)
    return train(command, view="none")


def _pretrained(kind: str) -> dict[str, torch.Tensor]:
    _train("text.txt" if kind == "masked" else "lines.txt", kind, f"{kind}.toml")
    return _weights(kind)


def _weights(out: str) -> dict[str, torch.Tensor]:
    return read_tensors(RunFolder(Path(out)).model)


@pytest.mark.parametrize(("old", "stack"), [("masked", "encoder"), ("language", "decoder")])
@pytest.mark.parametrize(
    ("data", "task", "family"),
    [
        ("tags.conllu", "tag", "encoder-only"),
        ("labels.tsv", "classify", "encoder-only"),
        ("pairs.tsv", "translate", ""),
    ],
)
def test_a_model_of_text_does_another_task(
    files: Path, old: str, stack: str, data: str, task: str, family: str
) -> None:
    """Without a recipe: the data says the task, and the run's [text] and [model] are fitted to it."""
    was = _pretrained(old)
    changes = "training.steps=0", "training.batch=200", "data.longest=20"
    trained = _train(data, "new", None, *changes, start=Path(old))
    assert trained.recipe.task.kind == task
    assert trained.recipe.model.family == (family or ("encoder-decoder" if old == "masked" else "decoder-only"))
    now = _weights("new")
    here = "decoder" if trained.recipe.model.family == "decoder-only" else "encoder"
    blocks = [name for name in was if name.startswith(stack)]
    assert blocks
    assert all(now[name.replace(stack, here, 1)].equal(was[name]) for name in blocks)
    (vectors,) = (tensor for name, tensor in was.items() if name.endswith("input.embedding.weight_VD"))
    (own,) = (
        tensor for name, tensor in now.items() if name in ("input.embedding.weight_VD", "source.embedding.weight_VD")
    )
    assert own.equal(vectors)
    assert trained.corpora.task.codecs.source.names == load(old).task.codecs.source.names


def test_the_table_says_what_is_taken_new_and_left_over(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pretrained("masked")
    train(
        Command(None, ("tags.conllu",), out=Path("new"), changes=("training.steps=1",), start=Path("masked")), "lines"
    )
    said = capsys.readouterr().err
    tokens = len(load("masked").task.codecs.source)
    card = Path("new/card.md").read_text()
    for text in (said, card):
        assert f"{tokens} of {tokens} tokens; 64 of 64 positions" in text
        assert "| head    |     0 |  34 |" in text
        assert f"left over there: head ({tokens})" in text  # its bias; its weights are the token vectors
    assert "## What it began with" in card


def test_rows_go_by_token(files: Path) -> None:
    """Another vocabulary: known tokens keep their rows, new ones are drawn like the others."""
    was, old = _pretrained("masked"), load("masked").task.codecs.source
    text = Path("tags.conllu").read_text().replace("film", "opera").replace("plot", "aria")
    Path("tags.conllu").write_text(text)
    change = "text.source.least=2"
    trained = _train("tags.conllu", "new", None, "training.steps=0", change, start=Path("masked"))
    new = trained.corpora.task.codecs.source
    assert "film" not in new.names
    assert "opera" in new.names
    here, there = _weights("new")["input.embedding.weight_VD"], was["input.embedding.weight_VD"]
    for row, name in enumerate(new.names):
        if name in old.names:
            assert here[row].equal(there[old.names.index(name)])
    fresh = here[[new.names.index("opera"), new.names.index("aria")]]
    assert (fresh - there.mean(0)).abs().max() < 5 * there.std(0).max()
    assert f"{len(new) - 2} of {len(new)} tokens, 2 new" in Path("new/card.md").read_text()


def test_a_vocabulary_is_extended(files: Path) -> None:
    was, old = _pretrained("masked"), load("masked").task.codecs.source
    Path("tags.conllu").write_text(Path("tags.conllu").read_text().replace("film", "opera").replace("plot", "aria"))
    trained = _train("tags.conllu", "new", None, "training.steps=0", "text.extend=1", start=Path("masked"))
    new = trained.corpora.task.codecs.source
    assert new.names[: len(old)] == old.names
    assert new.names[len(old) :] in (("opera",), ("aria",))
    here, there = _weights("new")["input.embedding.weight_VD"], was["input.embedding.weight_VD"]
    assert here[: len(old)].equal(there)
    assert not here[len(old)].equal(torch.zeros(16))
    again = _train("tags.conllu", "third", None, "training.steps=0", start=Path("new"))
    assert again.corpora.task.codecs.source.names == new.names
    assert again.recipe.text.extend is None
    with pytest.raises(UserError, match=r"text.extend: there is no vocabulary to extend; begin from a run"):
        _train("text.txt", "alone", "masked.toml", "text.extend=1")


def test_labels_go_by_name(files: Path) -> None:
    """A tagger of the same tags keeps them; of others, those that it knows."""
    _pretrained("masked")
    first = _train("tags.conllu", "tagger", None, "training.steps=1", start=Path("masked"))
    assert _train("tags.conllu", "same", None, "training.steps=0", start=Path("tagger")).corpora.task.codecs.target == (
        first.corpora.task.codecs.target
    )
    Path("other.conllu").write_text(Path("tags.conllu").read_text().replace("\tA\t", "\tADV\t"))
    trained = _train("other.conllu", "other", None, "training.steps=0", start=Path("tagger"))
    here, there = _weights("other")["head.out.weight"], _weights("tagger")["head.out.weight"]
    labels = [codecs.target.names for codecs in (trained.corpora.task.codecs, first.corpora.task.codecs)]
    assert set(labels[0]) == {"ADV", "N"}
    assert here[labels[0].index("N")].equal(there[labels[1].index("N")])
    assert "1 of 2 labels, 1 new" in Path("other/card.md").read_text()


def test_positions_may_be_more(files: Path) -> None:
    was = _pretrained("masked")
    _train("tags.conllu", "new", None, "training.steps=0", "model.positions.length=100", start=Path("masked"))
    assert _weights("new")["input.positions.weight_PD"][:64].equal(was["input.positions.weight_PD"])
    assert "64 of 100 positions, 36 new" in Path("new/card.md").read_text()


def test_a_deeper_model_takes_the_lower_blocks(files: Path) -> None:
    was = _pretrained("masked")
    _train("tags.conllu", "new", None, "training.steps=0", "model.depth=3", start=Path("masked"))
    assert all(tensor.equal(_weights("new")[name]) for name, tensor in was.items() if "encoder.blocks" in name)
    with pytest.raises(UserError, match=r"40% of the encoder fit; leave \[model\] out"):
        _train("tags.conllu", "five", None, "training.steps=0", "model.depth=5", start=Path("masked"))
    with pytest.raises(UserError, match=r"it has nothing for the encoder; leave"):
        _train("tags.conllu", "six", None, "model.mixer={ kind = 'gated-linear' }", "model.feed_forward.kind=none",
               "model.norm.kind=none", start=Path("masked"))  # fmt: skip


def test_what_is_asked_of_the_task_is_heard(files: Path) -> None:
    """A recipe with a task alone, or --set, decides it; the rest comes from the run."""
    _pretrained("masked")
    Path("task.toml").write_text('[task]\nkind = "classify"\n\n[training]\nsteps = 0\nbatch = 200\n')
    trained = _train("labels.tsv", "one", "task.toml", start=Path("masked"))
    assert trained.recipe.task.kind == "classify"
    assert trained.recipe.model.width == 16
    change = "task.kind=classify"
    assert (
        _train("labels.tsv", "two", None, change, "training.steps=0", start=Path("masked")).recipe.task
        == trained.recipe.task
    )


SLOW = """
[task]
kind = "tag"

[text]
source = { kind = "words" }
extend = 2

[training]
batch = 200
validate_every = 3
freeze = ["embedding", "encoder.blocks.0"]
layer_decay = 0.5
ema = { decay = 0.9 }
schedule = { kind = "constant" }
"""


def test_a_frozen_run_goes_on_to_the_same_bits(files: Path) -> None:
    """Stopped in the middle, without the run that it began from: as if it had never stopped."""
    was = _pretrained("masked")
    Path("slow.toml").write_text(SLOW)
    Path("tags.conllu").write_text(Path("tags.conllu").read_text().replace("film", "opera"))
    begin = {"start": Path("masked")}
    _train("tags.conllu", "whole", "slow.toml", "training.steps=6", **begin)
    _train("tags.conllu", "parts", "slow.toml", "training.steps=3", **begin)
    Path("masked").rename("gone")
    _train("tags.conllu", "parts", "slow.toml", "training.steps=6", **begin)
    one, other = (RunFolder(Path(out)).checkpoints.newest() for out in ("whole", "parts"))
    assert one is not None
    assert other is not None
    for group in one.tensors:
        assert one.tensors[group].keys() == other.tensors[group].keys()
        assert all(one.tensors[group][name].equal(other.tensors[group][name]) for name in one.tensors[group])
    optimised = {name.split("/")[0] for name in one.tensors["optimiser"]}
    assert not any("embedding" in name or "blocks.0" in name for name in optimised)
    for name, tensor in was.items():
        if "encoder.blocks.0" in name:
            assert _weights("whole")[name].equal(tensor)
    assert not all(tensor.equal(_weights("whole")[name]) for name, tensor in was.items() if "encoder.blocks.1" in name)
    assert (
        Path("whole/card.md").read_text().split("## What")[1] == Path("parts/card.md").read_text().split("## What")[1]
    )


def test_freezing_is_told_and_misnaming_too(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pretrained("masked")
    changes = ("training.steps=1", 'training.freeze=["encoder"]')
    train(Command(None, ("tags.conllu",), out=Path("new"), changes=changes, start=Path("masked")), "lines")
    said = capsys.readouterr().err
    assert "parameters (encoder); dropout in them stays as it is" in said
    assert "what is frozen stays as it was drawn by chance" not in said
    with pytest.raises(
        UserError, match=r"training.freeze: 'encodr' names no part of the model; did you mean 'encoder'?"
    ):
        _train("tags.conllu", "other", None, 'training.freeze=["encodr"]', start=Path("masked"))
    assert not Path("other").exists()
    train(Command("masked.toml", ("text.txt",), out=Path("alone"), changes=changes), "lines")
    assert "what is frozen stays as it was drawn by chance; begin from a run: --from" in capsys.readouterr().err


def test_word_vectors_of_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("glove.txt").write_text("good 1 2 3 4 5 6 7 8\nfilm 8 7 6 5 4 3 2 1\nzebra 0 0 0 0 0 0 0 0\n")
    changes = ("model.input.vectors=glove.txt", "model.width=8", "training.steps=0", "text.source.kind=words")
    command = Command(None, ("tags.conllu",), out=Path("new"), changes=("task.kind=tag", *changes))
    train(command, "lines")
    assert "input: 2 of 16 pieces (12%) begin from the vectors that the recipe names" in capsys.readouterr().err
    names = load("new").task.codecs.source.names
    rows = _weights("new")["input.embedding.weight_VD"][[names.index("good"), names.index("film")]]
    assert rows.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]]
    for content, said in (
        ("good 1 2\n", r"glove.txt: vectors are 2 wide, but the model's embedding is 8; set model.width = 2"),
        ("good 1 2 3 4 5 6 7 8\nfilm 1 2 3 4 5 6 7\n", r"glove.txt:2: should be a word and 8 numbers"),
        ("owl 1 2 3 4 5 6 7 8\n", r"the file has none of the 16 pieces of the input; is it of this language"),
    ):
        Path("glove.txt").write_text(content)
        with pytest.raises(UserError, match=said):
            _train("tags.conllu", "bad", None, "task.kind=tag", *changes, force=True)


def test_numbers_are_no_text_to_begin_with(files: Path) -> None:
    """A model of text that is given a series, or letters that it never saw, would learn from unknown tokens alone."""
    _pretrained("language")
    rows = "".join(f"2024-01-{day:02},{day % 7}\n" for day in range(1, 29))
    (files / "sales.csv").write_text("date,sales\n" + rows)
    with pytest.raises(
        UserError, match=r"^--from language: it is a model of text, and sales.csv holds numbers in time"
    ):
        _train("sales.csv", "new", start=Path("language"))
    with pytest.raises(UserError, match=r"^sales.csv: \d+% of the tokens of its text are unknown .*text.extend=1000"):
        _train("sales.csv", "new", None, "task.kind=language", start=Path("language"))
    lines = (files / "lines.txt").read_text().splitlines()
    (files / "part.txt").write_text("\n".join(f"{line} zzzz" for line in lines) + "\n")
    trained = _train("part.txt", "part", None, "training.steps=0", start=Path("language"))
    (told,) = (note for note in trained.corpora.notes if "unknown" in note)
    assert told.startswith("part.txt: ")
    more = _train("part.txt", "more", None, "training.steps=0", "text.extend=5", start=Path("language"))
    assert not any("unknown" in note for note in more.corpora.notes)
