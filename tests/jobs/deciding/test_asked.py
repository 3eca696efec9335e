"""The command line's files over the recipe's."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.jobs.deciding.asked import Command, asked
from seqloom.settings import SettingsError, UserError

COLUMNS = """
[task]
kind = "translate"

[[data.corpora]]
files = ["mine.csv"]
source = "en"
target = "de"
"""


def test_how_the_recipe_reads_its_corpus_holds_for_all_files(place: Path) -> None:
    (place / "r.toml").write_text(COLUMNS)
    data = asked(Command("r.toml", ("a.csv",), ("b.csv",), ("c.csv",), skip_bad=True, minutes=2.0)).recipe.data
    for corpus in (*data.corpora, *data.valid, *data.test):
        assert (corpus.source, corpus.target) == ("en", "de")
    assert [corpus.files for corpus in (*data.corpora, *data.valid, *data.test)] == [
        ("a.csv",),
        ("b.csv",),
        ("c.csv",),
    ]
    assert data.bad == "skip"


def test_files_that_cannot_be_read_so(place: Path) -> None:
    (place / "r.toml").write_text(COLUMNS)
    with pytest.raises(UserError) as caught:
        asked(Command("r.toml", ("a.en", "a.de")))
    assert str(caught.value) == (
        "a.en a.de: cannot be read as the recipe's [data] says "
        '(source = "en", target = "de"): aligned files have no columns'
    )


@pytest.mark.parametrize(
    "command", [Command("gpt-small"), Command("bert-small"), Command(changes=("task.kind=language",))]
)
def test_two_texts_of_a_model_of_text_are_no_pair(place: Path, command: Command) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (place / name).write_text("the house is red .\nso it is .\n" * 9)
    files = dict.fromkeys(("data", "valid", "test"), ("a.txt", "b.txt"))
    data = asked(replace(command, **files)).recipe.data
    for corpora in (data.corpora, data.valid, data.test):
        assert [corpus.files for corpus in corpora] == [("a.txt",), ("b.txt",)]
    assert asked(Command(data=("a.txt", "b.txt"))).recipe.data.corpora[0].files == ("a.txt", "b.txt")


@pytest.mark.parametrize("minutes", [float("inf"), float("nan"), 0.0, -1.0])
def test_minutes_without_an_end(place: Path, minutes: float) -> None:
    with pytest.raises(UserError, match=f"--minutes {minutes}: a number of minutes above 0 is needed, such as 5"):
        asked(Command("transformer-base", ("a.tsv",), minutes=minutes))


@pytest.mark.parametrize("option", ["data", "valid", "test"])
def test_a_recipe_behind_the_files(place: Path, option: str) -> None:
    (place / "a.tsv").write_text("a\tb\n")
    command = Command(data=("a.tsv",))
    command = replace(command, **{option: ("a.tsv", "transformer-base")})
    said = f"transformer-base: no such file, but a recipe; put the recipe before --{option}"
    with pytest.raises(UserError) as caught:
        asked(command)
    assert str(caught.value) == said
    (place / "transformer-base").write_text("a\tb\n" * 9)
    assert (place / "transformer-base").exists()
    asked(command)  # a file of that name is a file


def test_the_columns_of_the_command_line(place: Path) -> None:
    (place / "a.tsv").write_text("".join(f"{n}\ta{n} b c d\tc{n} b d\n" for n in range(9)))
    command = Command(data=("a.tsv",), valid=("a.tsv",), source="3", target="2")
    data = asked(command).recipe.data
    assert [(corpus.source, corpus.target) for corpus in (*data.corpora, *data.valid)] == [("3", "2")] * 2
    (place / "r.toml").write_text(COLUMNS)
    corpus = asked(replace(command, recipe="r.toml", target=None)).recipe.data.corpora[0]
    assert (corpus.source, corpus.target) == ("3", "de")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Command(data=("a.en", "a.de"), source="2"), "--source 2: a.en and a.de: plain text has no columns"),
        (Command(data=("a.en",), target="2"), "--target 2: a.en: plain text has no columns"),
        (Command(data=("a.tsv",), target=""), "--target : a.tsv: a column's name or number is needed, such as 2"),
        (
            Command("transformer-base", target="2"),
            "--source and --target are columns of the files of --data, --valid and --test; name some",
        ),
    ],
)
def test_columns_that_are_none(place: Path, command: Command, message: str) -> None:
    for name in "a.en", "a.de", "a.tsv":
        (place / name).write_text("a b c\n" * 9)
    with pytest.raises(UserError) as caught:
        asked(command)
    assert str(caught.value) == message


def test_a_recipe_without_task_text_and_model_gets_those_of_the_data(place: Path) -> None:
    lines = [f"{n}\tthe film was {'good' if n % 2 else 'bad'} in all its {n} parts\t{n % 2}\n" for n in range(100)]
    (place / "a.tsv").write_text("".join(lines))
    (place / "r.toml").write_text(
        "[training]\nclip = 2.0\nsmoothing = 0.2\n"
        '[[data.corpora]]\nfiles = ["a.tsv"]\nsource = 2\ntarget = 3\n[generation]\nbeam = 2\n'
    )
    wish = asked(Command("r.toml", changes=("model.width=96",)))
    recipe = wish.recipe
    assert (recipe.task.kind, recipe.model.family, recipe.model.width) == ("classify", "encoder-only", 96)
    assert (recipe.training.clip, recipe.training.smoothing, recipe.generation.beam) == (2.0, 0.2, 2)
    assert (recipe.training.best, recipe.training.optimiser.kind) == ("accuracy", "muon")
    assert (recipe.data.corpora[0].source, recipe.data.corpora[0].target) == ("2", "3")
    assert wish.model_open
    assert wish.rate_open
    assert wish.notes == (
        "r.toml names no task, text or model: the data looks like classify (bpe); "
        "another task: --set task.kind=…, or a recipe",
    )


def test_the_optimiser_of_such_a_recipe_stays(place: Path) -> None:
    (place / "a.tsv").write_text("a b c d\te f g h\n" * 9)
    (place / "r.toml").write_text('[training]\noptimiser = { kind = "adamw", rate = 0.5 }\n')
    wish = asked(Command("r.toml", ("a.tsv",)))
    assert wish.recipe.training.optimiser.kind == "adamw"
    assert wish.model_open
    assert not wish.rate_open


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training = 3\n", r"r\.toml:1: .*training"),
        ("[data]\nbda = 3\n", r"r\.toml:2: .*'bda'"),
        ("\n[training]\nclipp = 3\n", r"r\.toml:3: .*'clipp'"),
        ("[traning]\nclip = 3\n", r"r\.toml:1: .*'traning'"),
        ("[training\n", r"r\.toml:1: "),
    ],
)
def test_faults_of_such_a_recipe_have_their_lines(place: Path, text: str, message: str) -> None:
    (place / "a.tsv").write_text("a b c d\te f g h\n" * 9)
    (place / "r.toml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        asked(Command("r.toml", ("a.tsv",)))


def test_a_name_that_is_not_utf_8(place: Path) -> None:
    with pytest.raises(UserError) as caught:
        asked(Command(data=(os.fsdecode(b"caf\xe9.tsv"),)))
    assert str(caught.value) == r"caf\xe9.tsv: the name is not UTF-8; rename the file"
    with pytest.raises(UserError, match=r"caf\\xe9: the name is not UTF-8; name another --out"):
        asked(Command(data=("a.tsv",), out=Path(os.fsdecode(b"caf\xe9"))))


def test_a_seed_that_is_too_large(place: Path) -> None:
    (place / "a.tsv").write_text("a b c d\te f g h\n")
    (place / "r.toml").write_text(f"[training]\nseed = {2**63}\n")
    with pytest.raises(SettingsError, match=r"r.toml:2"):
        asked(Command("r.toml", ("a.tsv",)))


def test_minutes_and_out(place: Path) -> None:
    (place / "r.toml").write_text(COLUMNS)
    wish = asked(Command("r.toml", minutes=2.0))
    assert wish.recipe.training.minutes == 2.0
    assert wish.out == Path("runs/mine")
    assert asked(Command("r.toml", ("-",))).out == Path("runs/stdin")
    assert asked(Command("r.toml", out=Path("x"))).out == Path("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[model]\nfamily = "encoder-only"\n', "r.toml:2: .*translate reads one sequence.*not encoder-only"),
        ('[model]\nfamily = "decoder-only"\n', "r.toml:1: .*source and target as one text.*shared = true"),
        ('[task]\nkind = "tag"\n', "tag gives each word a tag: it needs an encoder-only model, not encoder-decoder"),
        ('[training]\nbest = "rouge"\n', "r.toml:2: .*translate has no score 'rouge'; it has loss, exact, bleu, chrf"),
        (
            '[text]\nsource = { kind = "bpe", dropout = 0.1 }\n[task]\nkind = "language"\n'
            '[model]\nfamily = "decoder-only"\n',
            "r.toml:2: .*running text cannot be cut anew in each epoch; set dropout = 0",
        ),
        (
            '[task]\nkind = "language"\ncontext = 300\n[model]\nfamily = "decoder-only"\n'
            'positions = { kind = "learned", length = 256 }\n',
            "r.toml:3: .*300 tokens, but the model's positions end at 256",
        ),
    ],
)
def test_what_does_not_go_together_is_told_with_its_line(place: Path, text: str, message: str) -> None:
    (place / "a.tsv").write_text("a b c d\te f g h\n")
    (place / "r.toml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        asked(Command("r.toml", ("a.tsv",)))


def test_data_where_a_recipe_belongs(place: Path) -> None:
    (place / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(UserError, match=r"^pairs\.tsv: not a recipe, .*: --data pairs\.tsv$"):
        asked(Command("pairs.tsv"))
