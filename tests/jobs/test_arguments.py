"""What Python hands to a model: what is meant is taken or told."""

from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom import Question
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs


@pytest.fixture(scope="module")
def pairs(runs: Runs) -> Model:
    return seqloom.load(runs["pairs"])


# -- opening a run


def test_what_is_no_text(pairs: Model) -> None:
    with pytest.raises(TypeError, match=r"predict takes a text, a seqloom\.Question or a list of them, not int"):
        pairs.predict(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"text 2: should be a text or a seqloom\.Question, but is NoneType"):
        pairs.predict(["a", None])  # type: ignore[list-item]


def test_numbers_are_called_what_they_were_called(pairs: Model) -> None:
    for more, match in (
        ({"beam": 0}, "^beam=0: "),
        ({"n_best": 0}, "^n_best=0: n_best should be a whole number"),
        ({"n_best": -1}, "^n_best=-1: "),
        ({"n_best": True}, "^n_best=True: "),
        ({"n_best": "2"}, "^n_best=2: n_best should be a whole number .at least 1., not '2'"),
        ({"beam": 1.5}, "^beam=1.5: "),
        ({"n_best": 3, "beam": 2}, "^n_best=3: 3 answers cannot come from a beam of 2; set beam = 3$"),
    ):
        with pytest.raises(UserError, match=match):
            pairs.predict("abc", **more)  # type: ignore[call-overload]
    with pytest.raises(UserError, match=r"^--n-best 3: 3 answers cannot come from a beam of 2; set beam = 3$"):
        generation_of(pairs.opened[0], (), 2, 3)
    with pytest.raises(UserError, match=r"^--set generation.beam=0: "):  # which was typed
        generation_of(pairs.opened[0], ["generation.beam=0"], None, 1)


@pytest.mark.parametrize("longest", [0, -3, 1.5, True, "3"])
def test_a_longest_that_is_no_length(pairs: Model, longest: Any) -> None:
    with pytest.raises(UserError, match=r"^text 2: longest should be a number of tokens from 1 on, but is "):
        pairs.predict(["ab", Question("ab", longest=longest)])


@pytest.mark.parametrize(
    ("name", "more", "match"),
    [
        ("classes", {"sample": True}, "sample=True: a classifier chooses among its labels; leave it out"),
        ("classes", {"beam": 4}, "beam=4: a classifier"),
        ("classes", {"changes": ["generation.longest=3"]}, "--set generation.longest=3: a classifier"),
        ("classes", {"changes": ["generation.sample.top_k=3"]}, "--set generation.sample.top_k=3: a classifier"),
        ("tags", {"n_best": 2}, "n_best=2: a tagger gives each word its likeliest tag; leave it out"),
        ("tags", {"changes": ["generation.n_best=2"]}, "--set generation.n_best=2: a tagger"),
        ("masked", {"beam": 2}, "beam=2: a masked model fills the gaps"),
        (
            "pairs",
            {"sample": True, "beam": 8},
            "beam=8: answers are drawn by chance, and there is no beam; leave it out",
        ),
        ("pairs", {"sample": True, "changes": ["generation.beam=8"]}, "--set generation.beam=8: answers are drawn"),
        ("pairs", {"beam": 8, "changes": ["generation.rerank.kind=mbr"]}, "beam=8: answers are drawn"),
        ("pairs", {"sample": {"temperature": 0.01}}, r"sample should be True or False, not a table; changes=\["),
    ],
)
def test_settings_that_change_nothing(runs: Runs, name: str, more: dict[str, Any], match: str) -> None:
    with pytest.raises(UserError, match="^" + match):
        seqloom.load(runs[name]).predict("good [MASK]", **more)


def test_settings_that_change_something(runs: Runs, pairs: Model) -> None:
    assert len(seqloom.load(runs["classes"]).predict("good", n_best=2, changes=["generation.batch=3"])) == 2
    assert len(seqloom.load(runs["tags"]).predict("good", n_best=1)) == 1
    assert len(pairs.predict("ab", n_best=6, sample=True)) == 6  # no beam was asked for


# -- arguments


@pytest.mark.parametrize("name", ["must", "must_not"])
def test_a_text_is_no_list_of_phrases(pairs: Model, name: str) -> None:
    match = f"^{name} should be a list of texts, but is 'abc'"
    with pytest.raises(UserError, match=match):
        pairs.predict("ab", **{name: "abc"})  # type: ignore[call-overload]
    with pytest.raises(UserError, match=match):
        Question("ab", **{name: "abc"})  # type: ignore[arg-type]
    with pytest.raises(UserError, match=f"^{name} should be a list of texts, but is a list of 1"):
        Question("ab", **{name: [3]})  # type: ignore[arg-type]
    assert pairs.predict("ab", must=iter(["dd"])) == pairs.predict(Question("ab", must=["dd"]))  # type: ignore[arg-type, call-overload]


def test_a_prefix_for_each(pairs: Model) -> None:
    match = (
        r'^prefix should be text, but is a list of 2; for each answer its own: ask seqloom.Question\("…", prefix="…"\)'
    )
    with pytest.raises(UserError, match=match):
        pairs.predict(["ab", "c"], prefix=["a", "b"])  # type: ignore[call-overload]


def test_a_source_with_many_targets_and_the_other_way_round(pairs: Model) -> None:
    each = [pairs.score("abc", target).log_prob for target in ("cba", "h")]
    assert [one.log_prob for one in pairs.score("abc", ["cba", "h"])] == pytest.approx(each, abs=1e-4)
    answers = pairs.predict("abc", n_best=3)
    scored = pairs.score("abc", answers)
    assert [one.log_prob for one in scored] == pytest.approx([one.log_prob for one in answers], abs=1e-4)
    each = [pairs.score(source, "cba").log_prob for source in ("abc", "h")]
    assert [one.log_prob for one in pairs.score(["abc", "h"], "cba")] == pytest.approx(each, abs=1e-4)
    assert pairs.score("abc", []) == []
    with pytest.raises(TypeError, match=r"text 2: its target should be a text or an Answer, but is int"):
        pairs.score("abc", ["a", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"text 1: should be a text, but is Question"):
        pairs.score([Question("abc")], "a")  # type: ignore[list-item]


def test_settings_are_no_arguments(pairs: Model) -> None:
    match = r"^predict has no argument 'seed'; it is a setting: changes=\[\"generation.seed=3\"\]$"
    with pytest.raises(TypeError, match=match):
        pairs.predict("abc", seed=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^predict has no argument 'nbest'; did you mean 'n_best'\?"):
        pairs.predict("abc", nbest=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^predict has no argument 'zzz'; there are n_best, beam, "):
        pairs.predict("abc", zzz=3)  # type: ignore[call-overload]


def test_texts_that_come_one_by_one(pairs: Model) -> None:
    texts = ["abc", "hh"]
    assert pairs.predict(text for text in texts) == pairs.predict(texts)
    with pytest.raises(TypeError, match="not dict"):
        pairs.predict({"abc": 1})


def test_several_runs_are_a_list(runs: Runs) -> None:
    for other in runs["other"], str(runs["other"]):
        with pytest.raises(UserError, match=r"other: is no device, but a folder; several runs are a list: load\(\["):
            seqloom.load(runs["pairs"], other)  # type: ignore[arg-type]


def test_a_folder_may_have_a_devices_name(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("auto", "cpu"):
        (tmp_path / name).mkdir()
        assert seqloom.load(runs["pairs"], name).device.type == "cpu"
    (tmp_path / "other").mkdir()
    with pytest.raises(UserError, match=r"load\(\['a', 'b', 'other'\]\)$"):
        seqloom.load(["a", "b"], "other")


def test_what_no_text_holds(pairs: Model, runs: Runs) -> None:
    half, nul = (
        r"^text 2: half a surrogate pair, '\\ud800' in .*; remove it$",
        "^text 2: a NUL byte at column 2; remove",
    )
    for bad, match in ("a\ud800", half), ("a\0b", nul):
        for question in (
            bad,
            Question("a", prefix=bad),
            Question("a", must=(bad,)),
            Question("a", must_not=(bad,)),
        ):
            with pytest.raises(UserError, match=match):
                pairs.predict(["ab", question])
        for sources, targets in (["a", bad], ["a", "a"]), (["a", "a"], ["a", bad]):
            with pytest.raises(UserError, match=match):
                pairs.score(sources, targets)
        for name, source in ("tags", ["good", bad]), ("classes", bad), ("text", bad):
            with pytest.raises(UserError, match=match):
                seqloom.load(runs[name]).predict(["good", Question(source)])


# -- wishes
