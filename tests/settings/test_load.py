"""From a file to settings, and every way in which that can fail: each message as a person meets it."""

from pathlib import Path

import pytest

from seqloom.settings import SettingsError, load, loads
from tests.settings.example import Attention, Bias, Convolution, Model, Recipe

GOOD = """\
source = "a paper"
[model]
width = 16
mixer = { kind = "attention", heads = 4 }
"""


def message(text: str, *overrides: str) -> str:
    with pytest.raises(SettingsError) as caught:
        loads(text, Recipe, overrides, name="x.toml")
    return str(caught.value)


def with_mixer(mixer: str) -> str:
    return GOOD.replace('{ kind = "attention", heads = 4 }', mixer)


def test_a_good_recipe() -> None:
    assert loads(GOOD, Recipe) == Recipe(source="a paper", model=Model(width=16, mixer=Attention(heads=4)))


def test_a_list_of_mixers_and_a_nested_choice() -> None:
    text = with_mixer(
        '[{ kind = "attention", relative = { kind = "bias", reach = 3 } }, { kind = "convolution", kernel = 3 }]'
    )
    assert loads(text, Recipe).model.mixer == (Attention(relative=Bias(reach=3)), Convolution(kernel=3))


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())  # as an editor on Windows may save it
    assert load(file, Recipe, ["model.width=32"]) == loads(GOOD, Recipe, ["model.width=32"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"# one\n# caf\xe9\n")
    closed = tmp_path / "latin.toml" / "inside.toml"
    for path, text in [
        (tmp_path / "none.toml", f"{tmp_path}/none.toml: no such file"),
        (tmp_path, f"{tmp_path}: is a folder; name a TOML file in it"),
        (latin, f"{latin}:2: not UTF-8 text; save the file in the encoding UTF-8"),
        (closed, f"{closed}: cannot be read: Not a directory"),
    ]:
        with pytest.raises(SettingsError) as caught:
            load(str(path), Recipe)
        assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "width = 8", "x.toml:5: 'width' is set twice; remove one of the two"),
        (GOOD + "[model]\n", "x.toml:5: [model] is declared twice; join the two"),
        ("[a.b]\n[a.b]\n", "x.toml:2: [a.b] is declared twice; join the two"),
        ("[a]\nb = 1\n[a.b]\n", "x.toml:3: this is set twice; remove one of the two"),
        ("\na = \n", "x.toml:2: not valid TOML: invalid value (column 5)"),
        ("a = [1,\n\n", "x.toml:1: not valid TOML: invalid value (at the end of the file)"),
        ("a = 1\nb c = 2\n", "x.toml:2: not valid TOML: expected '=' after a key in a key/value pair (column 3)"),
    ],
)
def test_text_that_is_not_toml(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace("heads", "haeds"), "x.toml:4: [model.mixer] has no setting 'haeds'; did you mean 'heads'?"),
        (
            GOOD.replace("heads", "dropout"),
            "x.toml:4: [model.mixer] has no setting 'dropout'; did you mean model.dropout?",
        ),
        (GOOD.replace("width", "Width"), "x.toml:3: [model] has no setting 'Width'; did you mean 'width'?"),
        ("modle = 1\n" + GOOD, "x.toml:1: the top level has no setting 'modle'; did you mean 'model'?"),
        (
            with_mixer('{ kind = "attention", kernel = 3 }'),
            "x.toml:4: [model.mixer] has no setting 'kernel' with kind = 'attention'; kind = 'convolution' has it",
        ),
        (
            with_mixer('{ kind = "atention" }'),
            "x.toml:4: [model.mixer] has no kind 'atention'; did you mean 'attention'? (kinds: attention, convolution)",
        ),
        (with_mixer("{ kind = 3 }"), "x.toml:4: [model.mixer] has no kind 3; the kinds are attention, convolution"),
        (with_mixer("{ heads = 3 }"), "x.toml:4: [model.mixer] needs a kind: 'attention' or 'convolution'"),
        (
            with_mixer('{ kind = "convolution" }'),
            "x.toml:4: [model.mixer] needs 'kernel': a whole number (at least 1, at most 99)",
        ),
        (GOOD.replace("source", "# source"), "x.toml:1: the top level needs 'source': text"),
        ("source = 'x'", "x.toml:1: the top level needs 'model': a table"),
        (
            "source = 'x'\n[model]\nwidth = 2",
            "x.toml:2: [model] needs 'mixer': a table with kind = 'attention' or 'convolution', or a list",
        ),
        (
            GOOD.replace("heads = 4", "heads = 'eight'"),
            "x.toml:4: [model.mixer] heads should be a whole number (above 0), not 'eight'",
        ),
        (GOOD.replace("16", "16.0"), "x.toml:3: [model] width should be a whole number (a multiple of 2), not 16.0"),
        (GOOD.replace("16", "true"), "x.toml:3: [model] width should be a whole number (a multiple of 2), not true"),
        (GOOD.replace("16", "3"), "x.toml:3: [model] width should be a whole number (a multiple of 2), not 3"),
        (GOOD + "dropout = 1.5", "x.toml:5: [model] dropout should be a number (at least 0, below 1), not 1.5"),
        (GOOD + "dropout = nan", "x.toml:5: [model] dropout should be a number (at least 0, below 1), not nan"),
        (GOOD + "tie = 'yes'", "x.toml:5: [model] tie should be true or false, not 'yes'"),
        (GOOD.replace('"a paper"', "2017"), "x.toml:1: source should be text, not 2017"),
        ("source = 'x'\nmodel = 3", "x.toml:2: model should be a table, not 3"),
        (
            with_mixer("'attention'"),
            "x.toml:4: [model] mixer should be a table with kind = 'attention' or 'convolution', not 'attention'",
        ),
        (
            GOOD + "memory = [1]",
            "x.toml:5: [model] memory should be a table with kind = 'attention' or 'convolution', not a list of 1",
        ),
        (GOOD + "names = 'x'", "x.toml:5: [model] names should be a list, not 'x'"),
        (GOOD + "names = [\n  'x',\n  '',\n]", "x.toml:7: [model] names.1 should be text (at least 1 long), not ''"),
        (GOOD + "names = ['a b']", "x.toml:5: [model] a name holds no space"),
        (GOOD + "[model.limits]\na = 'x'", "x.toml:6: [model.limits] a should be a whole number, not 'x'"),
        (
            with_mixer('{ kind = "attention", score = "scaled_dot" }'),
            "x.toml:4: [model.mixer] score should be 'dot', 'scaled-dot' or 'additive', not 'scaled_dot';"
            " did you mean 'scaled-dot'?",
        ),
        (
            with_mixer('{ kind = "attention", window = -2 }'),
            "x.toml:4: [model.mixer] window should be a whole number (above 0) or 'all', not -2",
        ),
        (
            with_mixer('{ kind = "attention", window = "al" }'),
            "x.toml:4: [model.mixer] window should be a whole number (above 0) or 'all', not 'al'; did you mean 'all'?",
        ),
        (
            GOOD + "[model.memory]\nkind = 'attention'\n[model.memory.relative]\nkind = 'bias'\nrech = 3",
            "x.toml:9: [model.memory.relative] has no setting 'rech'; did you mean 'reach'?",
        ),
        (
            GOOD + "[model.memory]\nkind = 'attention'\n[model.memory.relative]\nkind = 'none'",
            "x.toml:8: [model.memory.relative] has no kind 'none'; the kinds are bias, rotary",
        ),
        (
            with_mixer('{ kind = "convolution", kernel = 1, convolution = 3 }'),
            "x.toml:4: [model.mixer] convolution should be true or false, not 3",
        ),
        (
            GOOD + "cross = [{ kind = 'convolution', kernel = 1 },\n{ kind = 'convolution', kernel = 0 }]",
            "x.toml:6: [model.cross.1] kernel should be a whole number (at least 1, at most 99), not 0",
        ),
        (GOOD + "decoder = { hedas = 1 }", "x.toml:5: [model.decoder] has no setting 'hedas'; did you mean 'heads'?"),
        (GOOD.replace("16", "10"), "x.toml:4: [model.mixer] width 10 cannot be split into 4 heads"),
        # The setting to blame may have been left to its default: then its table is the place.
        (
            GOOD.replace("16", "10").replace(", heads = 4", ""),
            "x.toml:4: [model.mixer] width 10 cannot be split into 8 heads",
        ),
    ],
)
def test_one_fault(text: str, expected: str) -> None:
    assert message(text) == expected


def test_a_misspelt_name_is_not_missing_too() -> None:
    text = with_mixer('{ kind = "convolution", kernl = 3 }')
    assert message(text) == "x.toml:4: [model.mixer] has no setting 'kernl'; did you mean 'kernel'?"


def test_all_faults_of_a_list_sorted_by_line() -> None:
    text = """\
[[model.mixer]]
kind = "convolution"
kernel = 0
[[model.mixer]]
kind = "con"
[[model.mixer]]
haeds = 2
kind = "attention"
[model]
width = "wide"
memory = { kind = "attention", heads = 0, relative = {} }
"""
    assert message(text).splitlines() == [
        "x.toml:1: the top level needs 'source': text",
        "x.toml:3: [model.mixer.0] kernel should be a whole number (at least 1, at most 99), not 0",
        "x.toml:5: [model.mixer.1] has no kind 'con'; the kinds are attention, convolution",
        "x.toml:7: [model.mixer.2] has no setting 'haeds'; did you mean 'heads'?",
        "x.toml:10: [model] width should be a whole number (a multiple of 2), not 'wide'",
        "x.toml:11: [model.memory] heads should be a whole number (above 0), not 0",
        "x.toml:11: [model.memory.relative] needs a kind: 'bias' or 'rotary'",
    ]


def test_an_item_that_is_no_table() -> None:
    assert message(with_mixer("[\n3]")) == (
        "x.toml:5: [model] mixer.0 should be a table with kind = 'attention' or 'convolution', not 3"
    )


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("model.mixer.haeds=4", "[model.mixer] has no setting 'haeds'; did you mean 'heads'?"),
        ("modle.width=4", "the top level has no setting 'modle'; did you mean 'model'?"),
        ("model.mixer.kind=none", "[model.mixer] has no kind 'none'; the kinds are attention, convolution"),
        ("model.mixer.heads=5", "[model.mixer] width 16 cannot be split into 5 heads"),
        ("model.memory.reach=5", "[model.memory] needs a kind: 'attention' or 'convolution'"),
        ('model.mixer={kind="convolution"}', "[model.mixer] needs 'kernel': a whole number (at least 1, at most 99)"),
        ("source=2017", "source should be text, not 2017"),
    ],
)
def test_a_fault_in_an_override(override: str, expected: str) -> None:
    assert message(GOOD, override) == f"--set {override}: {expected}"


def test_faults_of_the_file_come_before_those_of_overrides() -> None:
    faults = message(GOOD + "tie = 1", "model.zzz=1", "model.dropout=2", "model.dropout=3").splitlines()
    assert [fault.partition(": ")[0] for fault in faults] == ["x.toml:5", "--set model.zzz=1", "--set model.dropout=3"]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["model.width=10"], "--set model.width=10: [model.mixer] width 10 cannot be split into 4 heads"),
        (
            ["source=b", "model.width=10", "model.dropout=0.1"],
            "--set model.width=10: [model.mixer] width 10 cannot be split into 4 heads",
        ),
        (
            ["model.width=14", "model.width=10"],
            "--set model.width=10: [model.mixer] width 10 cannot be split into 4 heads",
        ),
        (
            ["model.mixer.kind=convolution"],
            "--set model.mixer.kind=convolution: [model.mixer] needs 'kernel': a whole number (at least 1, at most 99)",
        ),
    ],
)
def test_the_change_that_does_not_fit_is_blamed_and_not_what_it_does_not_fit(
    overrides: list[str], expected: str
) -> None:
    assert message(GOOD, *overrides) == expected


def test_a_change_is_not_blamed_for_what_the_file_has_by_itself() -> None:
    wrong = GOOD.replace("16", "10")
    assert message(wrong, "source=b") == "x.toml:4: [model.mixer] width 10 cannot be split into 4 heads"


def test_a_change_is_not_blamed_where_another_fault_comes_up_without_it() -> None:
    """Of what does not go together nothing is known before each setting by itself is right."""
    late = GOOD.replace("16", "10") + "dropout = 1.5\n"
    assert message(late, "model.dropout=0.1") == "x.toml:4: [model.mixer] width 10 cannot be split into 4 heads"
