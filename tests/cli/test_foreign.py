"""What other toolkits call a command or an option: each hint names what there is."""

import re

import pytest

from seqloom.cli import app
from seqloom.cli.foreign import VERBS
from seqloom.settings.foreign import TRAINING, WRITING
from tests.cli.run import run
from tests.settings.paths import is_setting

OURS = {command.callback.__name__ for command in app.registered_commands if command.callback}


def test_every_verb_and_option_is_one() -> None:
    said = [*VERBS.values(), *(way.told("…") for ways in (TRAINING, WRITING) for way in ways.values())]
    verbs = [verb for text in said for verb in re.findall(r"seqloom (\w+)", text)]
    assert len(verbs) > len(VERBS)
    assert set(verbs) <= OURS
    assert not set(VERBS) & OURS
    pages = {verb: run(verb, "--help").out for verb in OURS}
    for verb, ways in (("train", TRAINING), ("predict", WRITING)):
        for way in ways.values():
            assert way.option in pages[verb]
    for text in VERBS.values():
        for verb, options in re.findall(r"seqloom (\w+)([^,;:]*)", text):
            assert all(option in pages[verb] for option in re.findall(r"--[a-z]+", options))
    assert all(map(is_setting, re.findall(r"--set ([a-z_.]+)=", " ".join(VERBS.values()))))


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
        (["train", "--output", "x"], "--output: is no option of train; here: --out x\n"),
        (["predict", "x", "--output", "y"], "--output: is no option of predict; here: --out y\n"),
        (["check", "a", "--output", "x"], "No such option: --output"),
        (["train", "--seed", "3"], "--seed: is no option of train, but a setting: --set training.seed=3"),
        (["compare", "a", "--epoch-size", "3"], "No such option: --epoch-size"),
        (
            ["compare", "a", "--lr", "3"],
            "--lr: is no option of compare, but a setting: --set training.optimiser.rate=3",
        ),
        (["compare", "a", "--beam", "1"], "--beam: is no option of compare, but a setting: --set generation.beam=1\n"),
        (["train", "--beam-size", "5"], "--beam-size: is no option of train, but a setting: --set generation.beam=5\n"),
        (["train", "--max-length", "9"], "a setting: --set data.longest=9 (tokens of one side)"),
        (["train", "--path", "x"], "No such option: --path"),
        (["predict", "x", "--lr", "3"], "No such option: --lr"),
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
