"""`evaluate`: what files and runs are scored with, and what is refused."""

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from rich.console import Console

from seqloom.evaluation.likelihood import Perplexity
from seqloom.evaluation.report import Report
from seqloom.evaluation.series import SquaredError
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.jobs.evaluating.score_page import Form, page, show
from seqloom.jobs.evaluating.score_table import number, probability
from seqloom.settings import UserError
from tests.evaluation.corpus import BAD, GOOD, OTHERS, REFERENCES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, texts in ("good", GOOD), ("bad", BAD), ("ref", REFERENCES), ("other", OTHERS):
        _write(name, texts)
    return tmp_path


def _write(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _files(*hypotheses: str, references: tuple[str, ...] = ("ref",), **more: object) -> tuple[Report, Evaluated]:
    return evaluate(Evaluate(hypotheses=hypotheses, references=references, **more))  # type: ignore[arg-type]


def test_systems_against_references(place: Path) -> None:
    found, _ = _files("good", "bad", references=("ref", "other"))
    assert [(each.system, each.metric.name) for each in found.measured] == [
        (system, metric) for metric in ("bleu", "chrf", "ter") for system in ("good", "bad")
    ]
    assert found.measured[0].score == sacrebleu.corpus_bleu(GOOD, [REFERENCES, OTHERS]).score
    assert found.measured[0].comparison is None
    compared = found.measured[1].comparison
    assert compared is not None
    assert compared.difference == found.measured[1].score - found.measured[0].score < 0
    assert compared.mark == "***"
    assert found.references == 2
    assert all(signature.startswith("nrefs:2|") for _, signature in found.signatures)


def test_texts_that_are_cut_into_pieces_are_told(place: Path) -> None:
    _write("cut", [line.replace("a", "a@@ ") for line in GOOD])
    notes = list[str]()
    evaluate(Evaluate(hypotheses=("good", "cut"), references=("ref",)), notes.append)
    (told,) = [note for note in notes if "cut into pieces" in note]
    assert told.startswith("cut: cut into pieces already ('")
    assert told.endswith("seqloom cuts words itself; these scores are of pieces")


def test_settings_and_metrics(place: Path) -> None:
    changes = ("evaluation.bleu.tokenize=char", "evaluation.resamples=100", "evaluation.lowercase=true")
    found, _ = _files("good", metrics=("bleu", "wer"), changes=changes)
    assert [title for title, _ in found.signatures] == ["BLEU", "WER"]
    assert "tok:char" in found.signatures[0][1]
    assert "case:lc" in found.signatures[1][1]
    assert found.settings.resamples == 100


JAPANESE = ["今日は雨が降っています。", "私は東京に住んでいます。"]


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        (JAPANESE, "char"),
        (["今天下雨了。", "我住在北京,每天早上都去公园散步,喜欢の字"], "zh"),
        (["ผมอาศัยอยู่ที่กรุงเทพ", "วันนี้ฝนตก"], "char"),
        (["မင်္ဂလာပါ ခင်ဗျာ"], "char"),
        (["오늘은 비가 많이 옵니다 그렇죠"], "13a"),
        (["Das ist ein 東京 in Japan gelegenes Café"], "13a"),
    ],
)
def test_scripts_without_spaces(place: Path, texts: list[str], tokenizer: str) -> None:
    _write("r", texts)
    notes: list[str] = []
    found, _ = evaluate(Evaluate(hypotheses=("r",), references=("r",)), notes.append)
    assert f"|tok:{tokenizer}|" in dict(found.signatures)["BLEU"]
    assert found.measured[0].score == pytest.approx(100)
    assert any(f"tokens of '{tokenizer}'" in note for note in notes) == (tokenizer != "13a")


def test_the_references_alone_choose(place: Path) -> None:
    _write("r", JAPANESE)
    _write("h", ["English instead of it", "and more of it"])
    found, _ = _files("h", references=("r",))
    assert "|tok:char|" in dict(found.signatures)["BLEU"]


def test_bleu_of_words_is_left_out(place: Path) -> None:
    """Not even the references themselves would score above 0."""
    _write("r", ["cat", "dog house"])
    notes: list[str] = []
    asked = Evaluate(hypotheses=("r",), references=("r",))
    found, _ = evaluate(asked, notes.append)
    assert [each.metric.name for each in found.measured] == ["chrf", "ter"]
    assert notes == ["BLEU is left out: no reference has 4 tokens; --metrics bleu counts it all the same"]
    found, _ = _files("r", references=("r",), metrics=("bleu",))
    assert [each.score for each in found.measured] == [0.0]


LATELY = [*["cat"] * 4, *["a cat"] * 4, *["a cat sat on it"] * 4]


def test_bleu_of_slices_of_words_is_left_out(place: Path) -> None:
    """Of the first, though its answers are longer."""
    _write("r", LATELY)
    _write("h", ["a cat sat on"] * 12)
    said = "BLEU is left out (–) of slices in which no reference has 4 tokens"
    found, what = _files("h", references=("r",), metrics=("bleu", "ter"))
    scores = {(each.slice.name, each.metric.name): each.score for each in found.slices}
    assert scores["1", "bleu"] is scores["2", "bleu"] is None
    assert scores["5", "bleu"] > 50
    assert None not in {scores[name, "ter"] for name in "125"}
    lines = page(found, what, "text").splitlines()
    assert lines[lines.index("by reference words") + 2].split()[:3] == ["1", "4", "–"]
    assert said in lines
    records = [json.loads(line) for line in page(found, what, "jsonl").splitlines()]
    assert [each["score"] for each in records if each["kind"] == "slice" and each["metric"] == "bleu"][:2] == [None] * 2
    found, what = _files("h", "r", references=("r",), metrics=("ter", "bleu"))
    assert said not in page(found, what, "text")
    assert said in page(*_files("h", "r", references=("r",), metrics=("bleu", "ter")), "text")


def test_several_references_are_long_enough_together(place: Path) -> None:
    _write("r", LATELY)
    _write("long", ["a cat sat on it"] * 12)
    assert None not in {each.score for each in _files("r", references=("r", "long"))[0].slices}


def test_bleu_of_words_that_was_asked_for_has_slices(place: Path) -> None:
    _write("r", LATELY[:8])
    assert {each.score for each in _files("r", references=("r",), metrics=("bleu",))[0].slices} == {0.0}


def test_slices_and_examples(place: Path) -> None:
    found, what = _files("bad", sources="other", examples=2)
    by = list(dict.fromkeys(each.slice.by for each in found.slices))
    assert by == ["reference words", "source words"]
    rows = found.slices[0].slice.rows
    assert len(rows) > 1
    parts = [BAD[row] for row in rows], [[REFERENCES[row] for row in rows]]
    assert found.slices[0].score == sacrebleu.corpus_bleu(*parts).score
    assert [each.worst for each in found.shown] == [True, True, False, False]
    assert found.shown[0].row == BAD.index("")
    text = page(found, what, "text")
    assert f"  source     {OTHERS[-1]}\n  reference  {REFERENCES[-1]}\n  hypothesis \n" in text


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_of_perfect_answers_none_is_the_worst(place: Path, form: Form) -> None:
    _write("perfect", REFERENCES)
    _write("nearly", [*REFERENCES[:-1], "wrong"])
    found, what = _files("perfect", examples=3)
    words = f"worst: none is wrong, all {len(REFERENCES)} are as the reference\n"
    assert [each.worst for each in found.shown] == [False, False, False]
    assert words in page(found, what, form)
    found, what = _files("nearly", "perfect", examples=3)
    worst = [each for each in found.shown if each.worst]
    assert [(each.system, each.row) for each in worst] == [("nearly", len(REFERENCES) - 1)]
    assert f"perfect, {words}" in page(found, what, form)


def test_no_score_is_above_100(place: Path) -> None:
    _write("perfect", REFERENCES)
    found, _ = _files("perfect", metrics=("bleu", "chrf", "gleu"), examples=3)
    assert sacrebleu.corpus_bleu(REFERENCES, [REFERENCES]).score > 100
    assert {each.score for each in [*found.measured, *found.shown, *found.slices]} == {100.0}
    assert {(each.interval.low, each.interval.high) for each in found.measured} == {(100.0, 100.0)}


def test_words_are_counted_in_characters(place: Path) -> None:
    _write("a", ["abc", "de", "fghij", "k"])
    found, _ = _files("a", references=("a",), metrics=("exact",))
    assert {each.slice.by for each in found.slices} == {"reference characters"}


def test_tags_in_files(place: Path) -> None:
    _write("wanted", ["B-PER I-PER O", "O B-LOC"])
    _write("said", ["B-PER O O", "O B-LOC"])
    found, what = _files("said", references=("wanted",), metrics=("accuracy", "span-f1", "span-f1-strict"))
    assert [each.score for each in found.measured] == [80.0, 50.0, 50.0]
    assert [(kind.kind, kind.f1) for _, _, kind in found.kinds] == [("LOC", 100.0), ("PER", 0.0)]
    assert "said: span F1 by label" in page(found, what, "text")
    records = [json.loads(line) for line in page(found, what, "jsonl").splitlines()]
    assert {record["metric"] for record in records if record["kind"] == "label"} == {"span-f1"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"hypotheses": ("good",)}, "--hypotheses needs --references FILE…"),
        ({"references": ("ref",)}, "--references needs --hypotheses FILE…"),
        ({}, "nothing to evaluate: name runs and data"),
        ({"runs": ("r",)}, "nothing to evaluate on: name the data with --data FILE…"),
        ({"data": ("ref",)}, "--data needs a RUN that answers it"),
        ({"runs": ("r",), "hypotheses": ("good",)}, "either runs with --data, or --hypotheses with --references"),
        ({"hypotheses": ("short", "good"), "references": ("ref", "shorter")},
         "ref has 16 lines, but shorter has 1, short has 2; line n of each file belongs to line n"),
        ({"hypotheses": ("good", "good"), "references": ("ref",)}, "good: is named twice; name each"),
        ({"hypotheses": ("empty",), "references": ("ref",)}, "empty: empty; is it the right file?"),
        ({"hypotheses": ("goood",), "references": ("ref",)}, "goood: no such file; did you mean good?"),
        ({"hypotheses": ("latin",), "references": ("ref",)}, "latin:2: not UTF-8 text (byte 0xe4 at column 1)"),
        ({"hypotheses": ("good",), "references": ("ref",), "metrics": ("blue",)}, "--metrics blue: no metric of texts"),
        ({"hypotheses": ("good",), "references": ("ref",), "changes": ("generation.beam=2",)},
         "--set generation.beam=2: files are only counted; what can be set begins with evaluation."),
        ({"hypotheses": ("good",), "references": ("ref",), "changes": ("evaluation.seeed=2",)}, "did you mean 'seed'?"),
        ({"hypotheses": ("good",), "references": ("ref",), "metrics": ("accuracy",)},
         "good:1: 8 labels, but ref:1 has 10; accuracy compares label by label (whole lines: --metrics exact)"),
        ({"hypotheses": ("good",), "references": ("ref", "other"), "metrics": ("accuracy",)},
         "--metrics accuracy: labels have one reference, not 2"),
        ({"hypotheses": ("ref",), "references": ("ref",), "metrics": ("span-f1",)}, "marks no span"),
    ],
)  # fmt: skip
def test_mistakes(place: Path, asked: dict[str, tuple[str, ...]], message: str) -> None:
    _write("short", ["a", "b"])
    _write("shorter", ["a"])
    _write("empty", [])
    Path("latin").write_bytes(b"a\n\xe4\n")
    with pytest.raises(UserError) as caught:
        evaluate(Evaluate(**asked))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_systems_of_the_same_name_are_told_by_their_folders(place: Path) -> None:
    for folder in ("one", "two"):
        Path(folder).mkdir()
        _write(f"{folder}/out.txt", GOOD)
    found, _ = _files("one/out.txt", "two/out.txt", metrics=("exact",))
    assert found.systems == ("one/out.txt", "two/out.txt")


def test_systems_are_called_as_is_said(place: Path) -> None:
    Path("beam=8").write_bytes(Path("good").read_bytes())
    names = "our own=good", "bad", "other=good", "beam=8"
    found, what = _files(*names, metrics=("exact",))
    assert found.systems == ("our own", "bad", "other", "beam=8")
    assert what.answers[0] == what.answers[2] == what.answers[3] == GOOD
    Path("a=b").mkdir()
    _write("a=b/out", BAD)
    assert _files("x=a=b/out", "a=b/out", metrics=("exact",))[0].systems == ("x", "out")


def test_a_terminal_gets_drawn_tables(place: Path) -> None:
    found, what = _files("good", metrics=("ter",), examples=1)
    into = io.StringIO()
    show(found, what, Console(file=into, force_terminal=True, width=100, color_system=None))
    assert "\nmetric  score  95 % interval\n─────" in into.getvalue()
    assert "\nTER ↓   11.39  " in into.getvalue()
    assert "good, worst" not in into.getvalue()
    assert "worst: example " in into.getvalue()
    assert "TER: nrefs:1|case:lc|" in into.getvalue()


def test_markdown(place: Path) -> None:
    found, what = _files("good", "bad", metrics=("ter",), examples=1)
    text = page(found, what, "markdown")
    assert "| metric | system | score | 95 % interval | difference |  | p (randomisation, two-sided) |" in text
    assert " | p (bootstrap, one-sided) |\n" in text
    assert "- p (bootstrap, one-sided): paired bootstrap (Koehn 2004)|resamples:" in text
    assert "| --- | --- | ---: |" in text
    assert "| TER ↓ | bad | 46.20 | " in text
    assert " | \\*\\*\\* | " in text
    assert "- TER: nrefs:1|case:lc|" in text
    assert "```\nbad, worst: example " in text


@pytest.mark.parametrize("examples", [-1, 1.5, True])
def test_examples_that_cannot_be_counted(place: Path, examples: object) -> None:
    with pytest.raises(UserError, match=r"^examples=.*: a whole number is needed"):
        _files("good", examples=examples)


def test_latex(place: Path) -> None:
    Path("a_b").write_bytes(Path("good").read_bytes())
    found, what = _files("a_b", metrics=("ter",))
    text = page(found, what, "latex")
    assert "\\begin{tabular}{lrr}\n\\hline\nmetric & score & 95 \\% interval \\\\ \\hline\n" in text
    assert "TER $\\downarrow$ & 11.39 & " in text
    assert "% TER: nrefs:1" in text


def test_latex_shows_examples_too(place: Path) -> None:
    _write("good", ["100 % of_it", *GOOD[1:]])
    found, what = _files("good", metrics=("chrf",), examples=1)
    text = page(found, what, "latex")
    assert r"\multicolumn{2}{l}{worst: example 1, chrF " in text
    assert r"hypothesis & 100 \% of\_it \\" in text
    assert rf"reference & {REFERENCES[0].replace('%', chr(92) + '%')} \\" in text
    assert text.count(r"\begin{tabular}{lp{0.8\linewidth}}") == len(found.shown) == 2


def test_json_lines(place: Path) -> None:
    found, what = _files("good", "bad", metrics=("bleu",), examples=1)
    records = [json.loads(line) for line in page(found, what, "jsonl").splitlines()]
    first, second = (record for record in records if record["kind"] == "score")
    assert first["score"] == sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score
    assert first["low"] < first["score"] < first["high"]
    assert "p_randomisation" not in first
    assert second["baseline"] == "good"
    assert second["difference"] == second["score"] - first["score"]
    assert second["p_randomisation"] < 0.001
    assert {record["kind"] for record in records} == {"score", "slice", "worst", "best"}
    worst = next(record for record in records if record["kind"] == "worst")
    assert worst["hypothesis"] == GOOD[worst["example"] - 1]
    assert worst["references"] == [REFERENCES[worst["example"] - 1]]


def test_many_systems_are_warned_of(place: Path) -> None:
    Path("third").write_bytes(Path("good").read_bytes())
    found, what = _files("good", "bad", "third", metrics=("exact",))
    assert "2 systems are compared with good; the p-values are not corrected" in page(found, what, "text")
    last = found.measured[-1].comparison
    assert last is not None
    assert (last.difference, last.randomisation, last.mark) == (0.0, 1.0, "")
    assert not any(math.isnan(each.score) for each in found.measured)


@pytest.mark.parametrize(
    ("p", "draws", "shown"),
    [
        (1 / 1001, 1000, "<0.001"),
        (1 / 10001, 10_000, "<0.0001"),
        (1 / 3001, 3000, "<0.0004"),
        (1 / 101, 100, "<0.01"),
        (2 / 1001, 1000, "0.0020"),
        (2 / 100_001, 100_000, "<0.0001"),
        (1.0, 1000, "1.0000"),
    ],
)
def test_no_p_is_smaller_than_a_test_can_know(p: float, draws: int, shown: str) -> None:
    assert probability(p, draws) == shown


def test_one_example(place: Path) -> None:
    _write("a", ["one two three four"])
    _write("b", ["one two three five"])
    heard = list[str]()
    found, what = evaluate(Evaluate(hypotheses=("a", "b"), references=("a",), metrics=("exact", "cer")), heard.append)
    assert page(found, what, "text").startswith("1 example; differences from a\n")
    assert heard == ["there is one example: its intervals have no width, and say nothing"]
    tests = [each.comparison for each in found.measured if each.comparison is not None]
    assert [(test.bootstrap, test.randomisation) for test in tests] == [(0.5, 1.0)] * 2


def test_a_perplexity_of_hundreds_of_digits_is_not_written_out() -> None:
    """Of a model that has learnt nothing."""
    assert number(Perplexity(), 1.01e304) == "1e+304"
    assert number(Perplexity(), 999_999.0) == "999999.00"
    assert number(Perplexity(), 0.05) == "0.05"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0000"),
        (2.5, "2.5000"),
        (0.1, "0.1000"),
        (0.0123451, "0.01235"),
        (1.23456e-7, "1.235e-07"),
        (-4.5e-9, "-4.5e-09"),
        (999_999.0, "999999.0000"),
        (1.5e12, "1.5e+12"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_of_any_scale_keep_their_digits(value: float, shown: str) -> None:
    assert number(SquaredError(), value) == shown
    if value > 0:
        assert number(SquaredError(), value, "+") == f"+{shown}"


def test_a_perplexity_of_a_model_that_diverged_fits_into_a_table() -> None:
    assert [number(Perplexity(), value) for value in (1.0, 65.8, 54_321.0, 1.5e12)] == [
        "1.00",
        "65.80",
        "54321.00",
        "1.5e+12",
    ]
    huge = float(Perplexity().score(np.array([1e6, 1.0])))
    assert number(Perplexity(), huge) == "1e+304"
