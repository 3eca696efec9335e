"""A setting that its table does not have: what was meant is said, in a recipe and in --set."""

import pytest

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import SettingsError, loads
from tests.settings import example


def message(text: str, *changes: str) -> str:
    with pytest.raises(SettingsError) as caught:
        loads(text, Recipe, changes, name="recipes/x.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("training.lr", "training.optimiser.rate?"),
        ("training.learning_rate", "training.optimiser.rate?"),
        ("training.warmup", "training.schedule.warmup?"),
        ("training.fp16", "training.precision = 'bf16'? (without it, where it is faster)"),
        ("training.batch-size", "training.batch? (in tokens, not in sentences)"),
        ("training.optimiser.lr", "training.optimiser.rate?"),
        ("training.dropout", "model.dropout?"),  # and not 'r_drop', which only looks like it
        ("training.decay", "training.optimiser.decay?"),
        ("training.kind", "training.optimiser.kind?"),  # and not that of the task, which is nearer to the top
        ("model.heads", "model.mixer.heads?"),
        ("model.layers", "model.depth?"),
        ("model.encoder.mixer.0.width", "model.width?"),
        ("text.vocab_size", "text.source.size?"),
        ("text.bpe", "text.source.kind = 'bpe'?"),
        ("data.max_length", "data.longest? (tokens of one side)"),
        ("generation.length_penalty", "generation.length.alpha?"),
        ("generation.max_length", "generation.longest? (tokens of an answer)"),
        ("generation.temperature", "generation.sample.temperature?"),
        ("training.stepps", "'steps'?"),
        ("training.Steps", "'steps'?"),
    ],
)
def test_what_was_meant(setting: str, meant: str) -> None:
    above, _, name = setting.rpartition(".")
    text = "" if ".0." not in setting else "[[model.encoder.mixer]]\nkind = 'attention'\n"
    said = f"[{above}] has no setting {name!r}; did you mean {meant}"
    assert message(text, f"{setting}=1") == f"--set {setting}=1: {said}"


def test_a_top_level_name() -> None:
    assert message("", "beam=3") == "--set beam=3: the top level has no setting 'beam'; did you mean generation.beam?"


def test_in_a_recipe_too() -> None:
    text = "# mine\n[training]\nlr = 3e-4\n[model]\nheads = 4\n"
    assert message(text).splitlines() == [
        "recipes/x.toml:3: [training] has no setting 'lr'; did you mean training.optimiser.rate?",
        "recipes/x.toml:5: [model] has no setting 'heads'; did you mean model.mixer.heads?",
    ]


@pytest.mark.parametrize(
    ("table", "kind", "name", "kinds"),
    [
        ("generation.length", "none", "alpha", "'wu' or 'mean'"),
        ("text.source", "characters", "size", "'words', 'bpe' or 'unigram'"),
        ("training.schedule", "cosine", "factor", "'plateau'"),
        ("model.mixer", "attention", "kernel", "'convolution' or 'bottleneck-convolution'"),
        ("model.encoder.mixer", "attention", "kernel", "'convolution' or 'bottleneck-convolution'"),
    ],
)
def test_a_setting_of_another_kind(table: str, kind: str, name: str, kinds: str) -> None:
    said = f"[{table}] has no setting {name!r} with kind = {kind!r}; kind = {kinds} has it"
    assert message("", f"{table}.kind={kind}", f"{table}.{name}=3") == f"--set {table}.{name}=3: {said}"


def test_what_nobody_has() -> None:
    assert message("", "text.quux=3") == (
        "--set text.quux=3: [text] has no setting 'quux'; it has source, target, shared, extend"
    )


def test_a_schema_that_has_no_such_setting_is_told_nothing_of_it() -> None:
    with pytest.raises(SettingsError, match=r"\[model\] has no setting 'lr'; it has width, mixer, memory"):
        loads("source = 'x'\n[model]\nwidth = 2\nlr = 1\nmixer = { kind = 'attention' }", example.Recipe)
