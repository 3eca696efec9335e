"""What other toolkits call it: each hint names what there is."""

import re
from typing import Any

import pytest

from seqloom.cli import app
from seqloom.cli.foreign import TRAINING, VERBS, WRITING, Way, told, ways_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings.shape import Slot, inside, is_union, members, names, slot
from tests.cli.run import run

OURS = {command.callback.__name__ for command in app.registered_commands if command.callback}


def _tables(here: Slot) -> list[Slot]:
    return [one for member in members(here.type) for one in _tables(slot(member))] if is_union(here.type) else [here]


def _is_setting(path: str) -> bool:
    here = [slot(Recipe)]
    for step in path.split("."):
        tables = [one for each in here for one in _tables(each) if step in [*names(one), *_kinds(one)]]
        here = [inside(one, step) for one in tables]
    return bool(here)


def _kinds(here: Slot) -> list[Any]:
    return ["kind"] if "kind" in names(here) else []


@pytest.mark.parametrize("way", {**TRAINING, **{f"{name} ": way for name, way in WRITING.items()}}.values(), ids=str)
def test_every_setting_is_one(way: Way) -> None:
    assert way.setting or way.option or way.remark
    assert not way.setting or _is_setting(way.setting)
    assert all(map(_is_setting, re.findall(r"--set ([a-z_.]+)=", way.told("1"))))
    assert not _is_setting("training.optimiser.lr")


def test_every_verb_and_option_is_one() -> None:
    said = list(told())
    verbs = [verb for text in said for verb in re.findall(r"seqloom (\w+)", text)]
    assert len(verbs) > len(VERBS)
    assert set(verbs) <= OURS
    assert not set(VERBS) & OURS
    pages = {verb: run(verb, "--help").out for verb in OURS}
    for verb in ("train", "predict"):
        for way in ways_of(verb).values():
            assert way.option in pages[verb]
    for text in VERBS.values():
        for verb, options in re.findall(r"seqloom (\w+)([^,;:]*)", text):
            assert all(option in pages[verb] for option in re.findall(r"--[a-z]+", options))
    assert all(map(_is_setting, re.findall(r"--set ([a-z_.]+)=", " ".join(VERBS.values()))))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--lr", "3e-4"], "--lr: is no option of train, but a setting: --set training.optimiser.rate=3e-4"),
        (["train", "--data", "x", "--fp16"], "--set training.precision=bf16"),
        (["train", "--world-size", "2"], "--set training.device=cuda:0 (a run trains on one device)"),
        (["train", "--batch-size=64"], "--set training.batch=… (in tokens, not in sentences)"),
        (["train", "--max_tokens=4096"], "--set training.batch=4096"),
        (["train", "--arch", "x"], "--arch: is no option of train; here: a recipe says what the model is"),
        (["train", "--save-dir", "x"], "--save-dir: is no option of train; here: --out x"),
        (["train", "--seed", "3"], "--seed: is no option of train, but a setting: --set training.seed=3"),
        (["compare", "a", "--epoch-size", "3"], "No such option: --epoch-size"),
        (
            ["compare", "a", "--lr", "3"],
            "--lr: is no option of compare, but a setting: --set training.optimiser.rate=3",
        ),
        (["check", "a", "--width", "8"], "--width: is no option of check, but a setting: --set model.width=8"),
        (["check", "a", "--save-dir", "x"], "No such option: --save-dir"),
        (["predict", "x", "--lenpen", "1"], "a setting: --set generation.length.alpha=1"),
        (["predict", "x", "--cpu", "in.txt"], "--cpu: is no option of predict; here: --device cpu"),
        (["predict", "x", "--gpu", "0"], "--gpu: is no option of predict; here: --device cuda"),
        (["train", "--early-stopping", "r.toml"], "--set training.patience=… (validations without a better one)"),
        (["evaluate", "x", "--max-tokens", "9"], "--set generation.longest=9 (tokens of an answer)"),
        (["serve", "x", "--fp16"], "a setting: --set generation.precision=bf16"),
        (["demo", "--lr", "1"], "No such option: --lr"),
        *(([verb], f"{verb}: is no command of seqloom; here: ") for verb in VERBS),
        (["build_vocab"], "build_vocab: is no command of seqloom; here: seqloom train reads plain text"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_what_is_said(words: list[str], message: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.error
