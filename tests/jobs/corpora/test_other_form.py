"""Targets in another Unicode form than the one that a model writes: scores in the model's form hide it."""

import unicodedata
from pathlib import Path

from seqloom.jobs.check import check
from seqloom.jobs.corpora.build import corpora
from seqloom.jobs.deciding.asked import Command, asked
from tests.jobs.run import write_pairs

KEEP = "text.source.normalise.form=none"
WORDS = [unicodedata.normalize("NFD", f"{chr(0xAC00 + 7 * number)}가") for number in range(300)]


def _notes(*data: str, **more: tuple[str, ...]) -> list[str]:
    return [note for note in corpora(asked(Command(data=data, **more)).recipe).notes if "in the form" in note]


def test_training_counts_them_over_all_files(place: Path) -> None:
    (place / "nfd.tsv").write_text("".join(f"{word}\t{word}\n" for word in WORDS), encoding="utf-8")
    (place / "test.tsv").write_text("a\tb\ncafe\u0301\tcafe\n", encoding="utf-8")  # of sources it does not matter
    for _ in "made", "from the cache":
        assert _notes("nfd.tsv", test=("test.tsv",)) == [
            "300 of 302 targets are not in the form that the model learns to write (text.source.normalise), so that no "
            "answer can be as they are: '\\u1100\\u1161\\u1100\\u1161' would be '\\uac00\\uac00'; bring them to that "
            f"form, or keep theirs: --set {KEEP}"
        ]
    assert not _notes("nfd.tsv", changes=(KEEP,))
    own = ("text.shared=false", "text.target={kind='bytes'}")
    assert _notes("nfd.tsv", changes=own)[0].endswith("--set text.target.normalise.form=none")
    assert not _notes("nfd.tsv", changes=(*own, "text.target.normalise.form=none"))
    write_pairs(place / "pairs.tsv")
    assert not _notes("pairs.tsv")


def test_check_tells_where_they_are(place: Path) -> None:
    (place / "nfd.tsv").write_text("".join(f"{word}\t{word}\n" for word in WORDS), encoding="utf-8")
    found = [one for one in check(Command(data=("nfd.tsv",))).report.findings if "in the form" in one.title]
    assert [(one.severity, one.count, one.places[0].where) for one in found] == [("warning", 300, "nfd.tsv:1")]
    assert found[0].title == "target: not in the form that a model learns to write (text.source.normalise)"
    assert found[0].remedy == (f"no answer can be as they are: bring them to that form, or keep theirs: --set {KEEP}")
    kept = check(Command(data=("nfd.tsv",), changes=(KEEP,))).report
    assert not [one for one in kept.findings if "in the form" in one.title]
