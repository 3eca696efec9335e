"""A tagger whose tags hang on each other, from the file to the answer."""

import json
import math
import random
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.train import train
from seqloom.settings import UserError
from tests.cli.run import run

RECIPE = """
[task]
kind = "tag"
[text]
source = { kind = "%s" }
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "convolution", kernel = 1 }
feed_forward = { kind = "none" }
output = { kind = "tags", chain = %s }
[training]
steps = 150
batch = 2000
optimiser = { kind = "adam", rate = 0.05 }
schedule = { kind = "constant" }
best = "span-f1"
"""


def _write(path: Path) -> None:
    """The model sees one word at a time: only the tag before tells what kind a span goes on with."""
    draw, lines = random.Random(1), []
    for _ in range(200):
        for kind in draw.choices("XY", k=draw.randint(1, 3)):
            lines += [f"{kind.lower()}\tB-{kind}", *[f"more\tI-{kind}"] * draw.randint(0, 2)]
            lines += ["end\tO"] * draw.randint(0, 1)
        lines.append("")
    path.write_text("\n".join(lines) + "\n")


def _train(place: Path, name: str, pieces: str = "words", chain: bool = True, *changes: str) -> dict[str, float]:
    if not (place / "a.conll").exists():
        _write(place / "a.conll")
    (place / "r.toml").write_text(RECIPE % (pieces, str(chain).lower()))
    trained = train(
        Command("r.toml", ("a.conll",), ("a.conll",), out=Path(name), changes=changes, start=None), view="none"
    )
    return dict(trained.scores)


def test_train_predict_evaluate(place: Path) -> None:
    _write(place / "a.conll")
    (place / "r.toml").write_text(RECIPE % ("words", "true"))
    files = ["--data", "a.conll", "--valid", "a.conll", "--out", "run"]
    ran = run("train", "r.toml", *files)
    assert ran.code == 0, ran.error
    (place / "in.txt").write_text("x more y more more end\n\ny\nend end\n")
    ran = run("predict", "run", "in.txt")
    assert ran.out.splitlines() == ["B-X I-X B-Y I-Y I-Y O", "", "B-Y", "O O"]
    first = json.loads(run("predict", "run", "in.txt", "--format", "jsonl", "--scores").out.splitlines()[0])
    assert len(first["pieces"]) == 6
    assert all(-0.5 < log_prob < 0 for _, log_prob in first["pieces"])
    ran = run("evaluate", "run", "--data", "a.conll")
    assert (ran.code, "span F1" in ran.out, " 100.00" in ran.out) == (0, True, True)
    plain = _train(place, "plain", chain=False)
    assert plain["span-f1"] < 80  # a word alone cannot know


def test_scores_are_those_of_whole_sentences(place: Path) -> None:
    _train(place, "run")
    model = seqloom.load("run")
    answer = model.predict("x more")
    assert answer.log_prob == pytest.approx(model.score("x more", "B-X I-X").log_prob, abs=1e-6)
    names = model.task.labels.names  # type: ignore[attr-defined]
    every = [model.score("x more", f"{one} {other}").log_prob for one in names for other in names]
    assert math.fsum(math.exp(log_prob) for log_prob in every) == pytest.approx(1, abs=1e-4)
    look = Look(model, LookRequest("x more"))
    found = look.influence()
    assert [place.text for place in found.rows] == ["B-X", "I-X"]
    assert found.values[1, 0] > 1  # what goes on hangs on what began


@pytest.mark.parametrize("pieces", ["words", "characters"])
def test_several_runs_together(place: Path, pieces: str) -> None:
    """The mean of their scores, whichever vocabulary each reads with; one without a chain has its say, too."""
    _train(place, "one")
    _train(place, "two", pieces, True, "training.seed=2", "training.steps=100")
    _train(place, "plain", "words", False, "training.steps=100")
    text, tags = "x more y more", "B-X I-X B-Y I-Y"
    alone = [seqloom.load(run) for run in ("one", "two", "plain")]
    others = [tags, "B-X I-Y B-Y I-Y", "B-X I-X B-Y I-X", "B-Y I-Y B-X I-Y"]
    for runs in ((0, 1), (1, 2), (0, 1, 2)):
        model = seqloom.load([("one", "two", "plain")[number] for number in runs])
        assert str(model.predict(text)) == tags
        # log p of the mean of scores differs from the mean of log p by one number for all tags
        off = [
            model.score(text, each).log_prob
            - sum(alone[number].score(text, each).log_prob for number in runs) / len(runs)
            for each in others
        ]
        assert off == pytest.approx([off[0]] * len(off), abs=1e-3)
    ran = run("evaluate", "one", "two", "plain", "--data", "a.conll", "--ensemble")
    assert (ran.code, "ensemble" in ran.out) == (0, True)


def test_a_run_that_begins_from_it_knows_its_links_by_name(place: Path) -> None:
    _train(place, "one")
    lines = (place / "a.conll").read_text().replace("end\tO", "end\tB-Z")
    (place / "b.conll").write_text(lines + "\n" + "\n".join(["o\tO"] * 3000) + "\n")
    change = ("training.steps=1", "training.optimiser.rate=1e-9")
    train(Command(None, ("b.conll",), ("a.conll",), out=Path("two"), changes=change, start=Path("one")), view="none")
    old, new = seqloom.load("one"), seqloom.load("two")
    names = [model.task.labels.names for model in (old, new)]  # type: ignore[attr-defined]
    assert names[0] != tuple(name for name in names[1] if name in names[0])  # another order
    follow = [model.networks[0].state_dict()["head.chain.follow_VV"] for model in (old, new)]
    for one in names[0]:
        for other in names[0]:
            there, here = (
                float(links[each.index(one), each.index(other)]) for links, each in zip(follow, names, strict=True)
            )
            assert here == pytest.approx(there, abs=1e-5)
    assert float(follow[1][names[1].index("B-Z")].abs().max()) == pytest.approx(0, abs=1e-5)


def test_a_run_that_begins_from_it_with_other_tags(place: Path) -> None:
    _train(place, "one")
    lines = (place / "a.conll").read_text()
    (place / "b.conll").write_text("".join(f"{line}X\n" if line else "\n" for line in lines.splitlines()))
    change = ("training.steps=1", "training.optimiser.rate=1e-9")
    train(Command(None, ("b.conll",), ("b.conll",), out=Path("two"), changes=change, start=Path("one")), view="none")
    links = seqloom.load("two").networks[0].state_dict()["head.chain.follow_VV"]
    assert float(links.abs().max()) == pytest.approx(0, abs=1e-5)


def test_spans_choose_the_model_only_where_tags_mark_them(place: Path) -> None:
    _write(place / "a.conll")
    (place / "a.conll").write_text((place / "a.conll").read_text().replace("B-", "").replace("I-", ""))
    with pytest.raises(UserError, match=r"training\.best = 'span-f1': the tags mark no spans, as O, B-X and I-X do"):
        _train(place, "run")
