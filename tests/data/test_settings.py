"""Which files belong together, and settings that cannot be."""

import pytest
from pydantic import ValidationError

from seqloom.data.settings import Corpus, DataSettings, corpora_of
from seqloom.settings import SettingsError, dump, loads


@pytest.mark.parametrize(
    ("files", "corpora"),
    [
        (["a.en", "a.de"], [("a.en", "a.de")]),
        (["a.en.gz", "a.de.gz"], [("a.en.gz", "a.de.gz")]),
        (["train.src", "train.tgt"], [("train.src", "train.tgt")]),
        (["a.txt", "b"], [("a.txt", "b")]),
        (["a.tsv", "b.tsv"], [("a.tsv",), ("b.tsv",)]),
        (["a.txt", "b.tsv"], [("a.txt",), ("b.tsv",)]),
        (["a.en", "a.de", "b.en"], [("a.en",), ("a.de",), ("b.en",)]),
        (["-"], [("-",)]),
        (["-", "a.txt"], [("-",), ("a.txt",)]),
        (["hub:a/b:test", "a.txt"], [("hub:a/b:test",), ("a.txt",)]),
        ([], []),
    ],
)
def test_files_of_a_command_line(files: list[str], corpora: list[tuple[str, ...]]) -> None:
    assert [corpus.files for corpus in corpora_of(files)] == corpora


def test_from_a_recipe_and_back() -> None:
    text = (
        'corpora = [{ files = ["a.en", "a.de"], weight = 2.0 }, { files = ["a.csv"], source = "en", header = true }]\n'
    )
    settings = loads(text, DataSettings)
    assert settings.corpora[0].files == ("a.en", "a.de")
    assert loads(dump(settings), DataSettings) == settings


@pytest.mark.parametrize(
    ("corpus", "reason"),
    [
        ('files = ["a"], format = "aligned"', "aligned text needs two files"),
        ('files = ["a", "b"], format = "tsv"', "tsv is one file; give each file a corpus of its own"),
        ('files = ["a", "a"]', "the two files are the same one"),
        ('files = ["a", "b"], source = "x"', "aligned files have no columns"),
        ('files = ["a.jsonl"], format = "jsonl", header = true', "only TSV and CSV may have a header"),
        ('files = ["a.b"], format = "hub"', "a Hugging Face dataset is written hub:owner/name"),
        ('files = ["a"], weight = 0.0', "above 0"),
        ("files = []", "at least 1 long"),
        ('files = ["a"], format = "tvs"', "'tsv'"),
    ],
)
def test_what_cannot_be(corpus: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=r".") as error:
        loads(f"corpora = [{{ {corpus} }}]", DataSettings, name="x.toml")
    assert str(error.value).startswith("x.toml:1: ")
    assert reason in str(error.value)


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        Corpus(files=("a",)).weight = 2.0


def test_columns_by_number() -> None:
    corpus = Corpus.model_validate({"files": ("a.tsv",), "source": 2, "target": "1"})
    assert (corpus.source, corpus.target) == ("2", "1")
    with pytest.raises(ValidationError):
        Corpus.model_validate({"files": ("a.tsv",), "source": True})


def test_two_ts_files_are_series_and_one_beside_another_is_tsonga() -> None:
    assert [corpus.files for corpus in corpora_of(["a.ts", "b.ts.gz"])] == [("a.ts",), ("b.ts.gz",)]
    assert [corpus.files for corpus in corpora_of(["a.en", "a.ts"])] == [("a.en", "a.ts")]
