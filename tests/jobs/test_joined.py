"""A decoder-only model that translates: trained, asked, scored and evaluated as any other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.model import Model
from seqloom.jobs.opened import open_run
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.layout import Packed
from seqloom.models.decoder_only import DecoderOnly
from seqloom.settings import SettingsError, UserError, load
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import END, SEPARATOR
from tests.cli.run import run as command
from tests.jobs.asked_runs import RECIPES, Runs


def test_it_validates_what_it_writes(runs: Runs) -> None:
    rows = [json.loads(line) for line in (runs["joined"] / "metrics.jsonl").read_text().splitlines()]
    scores = [row for row in rows if "exact" in str(row)]
    assert scores


def test_the_prompt_is_source_and_separator(runs: Runs) -> None:
    """By hand: the log-softmax behind each token of the joined text."""
    model = seqloom.load(runs["joined"])
    network, task = model.networks[0], model.task
    assert isinstance(network, DecoderOnly)
    assert isinstance(task, JoinedTask)
    source, target = (task.target.encode([text])[0] for text in ("good film so", "so film good"))
    whole = torch.tensor([*source, SEPARATOR, *target, END])
    with torch.no_grad():
        scores = network.scores(network(whole[:-1], Packed.of([len(whole) - 1]))).log_softmax(-1)
    each = scores.gather(-1, whole[1:, None])[len(source) :, 0]
    assert model.score("good film so", "so film good").log_prob == pytest.approx(float(each.sum()), abs=1e-4)


def test_what_is_asked_is_cut_as_what_was_learnt(runs: Runs) -> None:
    model = seqloom.load(runs["joined-short"])
    long, same = "good bad film book very not so", "good bad film book very"
    answer = model.predict(long)
    assert answer.cut == 2
    assert answer.text == model.predict(same).text
    assert model.score(long, "good bad") == model.score(same, "good bad")


def test_it_is_evaluated(runs: Runs, tmp_path: Path) -> None:
    said = command(
        "evaluate", str(runs["joined"]), "--data", str(runs.files["sentences"]), "--metrics", "exact", "perplexity"
    )
    assert said.code == 0
    assert "perplexity" in said.out.lower()


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises((SettingsError, UserError)) as found:
        load(file, Recipe)
    return str(found.value)


def test_what_does_not_fit(tmp_path: Path) -> None:
    joined, short = RECIPES["joined"][0], RECIPES["joined-short"][0]
    assert "needs one vocabulary, shared = true" in refused(tmp_path, joined.replace("shared = true", ""))
    assert "13 tokens together, but the model's positions end at 12" in refused(tmp_path, short.replace("= 13", "= 12"))
    both = joined.replace("decoder-only", "encoder-decoder")
    assert "'all' is of decoder-only models" in refused(tmp_path, both)
    text = RECIPES["text"][0] + "\n[data]\nlongest_source = 3\n"
    assert "language has no source" in refused(tmp_path, text)


def test_families_do_not_write_together(runs: Runs) -> None:
    one = open_run(runs["joined"])
    assert isinstance(one.task, JoinedTask)
    other = replace(one, task=TranslateTask(one.task.settings, one.task.codecs))
    with pytest.raises(UserError, match="is of another family"):
        Model([one, other])
