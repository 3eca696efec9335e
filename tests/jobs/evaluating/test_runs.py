"""Runs on data: each task has its scores, and they are those of what the model says."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu

import seqloom
from seqloom.evaluation.report import Report
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.jobs.evaluating.score_page import page
from seqloom.settings import UserError
from seqloom.store import RunFolder
from tests.jobs.asked_runs import RECIPES, Runs
from tests.jobs.run import write_recipe

FEW = 40  # examples


def _head(file: Path, into: Path, lines: int = FEW) -> str:
    into.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))
    return str(into)


def _run(*folders: Path, data: str, **more: object) -> tuple[Report, Evaluated]:
    return evaluate(Evaluate(runs=tuple(map(str, folders)), data=(data,), **more))  # type: ignore[arg-type]


def _scores(found: Report) -> dict[str, float]:
    return {each.metric.name: each.score for each in found.measured}


def test_a_text_that_cannot_be_scored_is_told_with_its_line(runs: Runs, place: Path) -> None:
    (place / "long.tsv").write_text("a\tb\n" * 300 + f"{'a' * 30}\tb\n")
    with pytest.raises(UserError) as caught:
        _run(runs["short"], data="long.tsv", metrics=("perplexity",))
    assert str(caught.value) == (
        "long.tsv:301: too long to be scored: the model's learned positions end at 12; give a shorter text, or name "
        "metrics that need answers alone: --metrics exact"
    )
    assert _scores(_run(runs["short"], data="long.tsv", metrics=("exact",))[0]).keys() == {"exact"}
    (place / "long.txt").write_text("so good\n" * 300 + "so good " * 99 + "\n")
    with pytest.raises(UserError, match=r"^long\.txt:301: \d+ tokens, but the model reads \d+ at once; give a shorter"):
        _run(runs["masked"], data="long.txt")


def test_references_in_another_form_are_told(runs: Runs, place: Path) -> None:
    (place / "test.tsv").write_text("a\tcafe\u0301\nb\tb\n", encoding="utf-8")
    (place / "nfc.tsv").write_text("a\tcaf\u00e9\nb\tb\n", encoding="utf-8")
    (place / "far.tsv").write_text("a\tThe man who sat in the cafe\u0301\nb\tb\n", encoding="utf-8")
    told = {}
    for name in ("test.tsv", "nfc.tsv", "far.tsv"):
        notes = list[str]()
        evaluate(Evaluate(runs=(str(runs["sentences"]),), data=(name,), changes=("generation.beam=1",)), notes.append)
        told[name] = [note for note in notes if "in the form" in note]
    assert "'in the cafe\\u0301' would be 'in the caf\\xe9'" in told.pop("far.tsv")[0], "where they part is shown"
    assert told == {
        "nfc.tsv": [],
        "test.tsv": [
            "1 of 2 references are not in the form that the run learnt to write (text.target.normalise), so that no "
            "answer can be as they are: 'cafe\\u0301' would be 'caf\\xe9'; bring them to that form"
        ],
    }


def test_translations(runs: Runs, place: Path) -> None:
    data = _head(runs.files["sentences"], place / "test.tsv")
    found, what = _run(runs["sentences"], data=data, changes=("generation.beam=1", "evaluation.resamples=100"))
    sources, targets = zip(*(line.split("\t") for line in Path(data).read_text().splitlines()), strict=True)
    said = [answer.text for answer in seqloom.load(runs["sentences"]).predict(list(sources), beam=1)]
    assert list(what.answers[0]) == said
    assert _scores(found).keys() == {"bleu", "chrf", "ter", "exact"}
    assert _scores(found)["bleu"] == sacrebleu.corpus_bleu(said, [list(targets)]).score
    assert {each.slice.by for each in found.slices} == {"reference words", "source words"}
    assert found.systems == ("sentences",)


def test_characters_two_runs_and_unknown_letters(runs: Runs, place: Path) -> None:
    data = _head(runs.files["pairs"], place / "test.tsv")
    with Path(data).open("a") as file:
        file.write("abz\tzba\nzz\tzz\n")
    named = Path(f"mine={runs['other']}")
    found, what = _run(runs["pairs"], named, data=data, metrics=("cer", "perplexity"))
    assert found.systems == ("pairs", "mine")
    assert [each.system for each in found.measured] == ["pairs", "mine"] * 2
    assert found.measured[1].comparison is not None
    unknown = [each for each in found.slices if each.slice.by == "unknown in the source"]
    assert [(each.slice.name, len(each.slice.rows)) for each in unknown[::4]] == [("0", FEW), ("1", 1), ("2", 1)]
    scored = seqloom.load(runs["pairs"]).score(list(what.sources or ()), list(what.references[0]))
    nats, tokens = sum(-one.log_prob for one in scored), sum(len(one.pieces) for one in scored)
    assert found.measured[2].score == pytest.approx(math.exp(nats / tokens), rel=1e-5)
    assert _scores(_run(runs["pairs"], data=data)[0]).keys() == {"exact", "cer", "chrf"}


def test_runs_together(runs: Runs, place: Path) -> None:
    data = _head(runs.files["pairs"], place / "test.tsv")
    both = runs["pairs"], runs["other"]
    found, what = _run(*both, data=data, metrics=("exact",), ensemble=("all",))
    assert found.systems == ("pairs", "other", "ensemble")
    said = seqloom.load(both).predict(list(what.sources or ()))
    assert list(what.answers[2]) == [answer.text for answer in said]
    assert _run(*both, data=data, metrics=("exact",), ensemble=("pairs", "other"))[1].answers[2] == what.answers[2]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("pears",), "--ensemble pears: no run is called that; they are called pairs, other"),
        (("other",), "is no ensemble; name two or more, or none for all"),
    ],
)
def test_no_ensemble(runs: Runs, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        _run(runs["pairs"], runs["other"], data=str(runs.files["pairs"]), ensemble=names)
    with pytest.raises(UserError, match="--ensemble is of runs"):
        evaluate(Evaluate(hypotheses=("a",), references=("b",), ensemble=names))


def test_other_columns(runs: Runs, place: Path) -> None:
    lines = [line.split("\t") for line in runs.files["pairs"].read_text().splitlines()[:FEW]]
    (place / "test.tsv").write_text("".join(f"{n}\t{b}\t{a}\n" for n, (a, b) in enumerate(lines)))
    _, what = _run(runs["pairs"], data=str(place / "test.tsv"), source="3", target="2", metrics=("exact",))
    assert what.sources == [a for a, _ in lines]
    assert what.references[0] == [b for _, b in lines]
    with pytest.raises(UserError, match="--source and --target are columns of --data"):
        evaluate(Evaluate(hypotheses=("a",), references=("b",), source="2"))


def test_a_guess_of_columns_is_told(runs: Runs, place: Path) -> None:
    lines = runs.files["pairs"].read_text().splitlines()[:FEW]
    (place / "test.tsv").write_text("".join(f"{line}\tCC0\n" for line in lines))
    said: list[str] = []
    evaluate(Evaluate((str(runs["pairs"]),), (str(place / "test.tsv"),), metrics=("exact",)), said.append)
    assert "1 and 2 are read; others: --source COL --target COL" in said[0]


def test_a_note_names_its_run(runs: Runs, place: Path) -> None:
    (place / "test.tsv").write_text("abcdefghabcdefgh\tab\n")
    notes, run = list[str](), str(runs["short"])
    evaluate(Evaluate((run,), (str(place / "test.tsv"),), metrics=("exact",)), notes.append)
    assert (
        f"{run}: 1 line was cut: it is longer than what the model reads (its learned positions, or data.longest_source)"
        in notes
    )


def test_tags(runs: Runs, place: Path) -> None:
    found, what = _run(runs["tags"], data=str(runs.files["conllu"]))
    assert _scores(found).keys() == {"accuracy", "f1-macro"}
    pairs = [(a, b) for one, other in zip(*what.labels or (), strict=True) for a, b in zip(one, other, strict=True)]
    assert _scores(found)["accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    assert {kind.kind for _, _, kind in found.kinds} == {"A", "N"}


def test_sentences_whose_tags_are_all_right(runs: Runs, place: Path) -> None:
    strange = "1\tab\t_\tnever\t_\t_\t0\t_\t_\t_\n\n"
    (place / "test.conllu").write_text(runs.files["conllu"].read_text() + strange)
    found, what = _run(runs["tags"], data=str(place / "test.conllu"), metrics=("exact", "ser"))
    said, wanted = what.labels or ()
    right = [list(one) == list(other) for one, other in zip(said, wanted, strict=True)]
    assert 0 < sum(right) < len(right)
    share = 100 * sum(right) / len(right)
    assert _scores(found) == pytest.approx({"exact": share, "ser": 100 - share})


def test_classes(runs: Runs, place: Path) -> None:
    data = _head(runs.files["labels"], place / "test.tsv")
    with Path(data).open("a") as file:
        file.write("good film\tnever seen\n")
    found, what = _run(runs["classes"], data=data)
    said = [answer.text for answer in seqloom.load(runs["classes"]).predict(list(what.sources or ()))]
    right = sum(one == other for one, other in zip(said, what.references[0], strict=True))
    assert _scores(found)["accuracy"] == pytest.approx(100 * right / (FEW + 1))
    assert "never seen" in {kind.kind for _, _, kind in found.kinds}


@pytest.mark.parametrize(("name", "line"), [("classes", "pos\tgood film\n"), ("tags", "a\tZ\nb\tZ\n\n")])
def test_labels_of_another_kind(runs: Runs, place: Path, name: str, line: str) -> None:
    """Columns the wrong way round would score 0."""
    file = place / ("test.tsv" if name == "classes" else "test.conllu")
    file.write_text(2 * line)
    message = rf"test\.\w+: none of the labels \('.* is known to .*{name} \('.*are the columns the wrong way round\?"
    with pytest.raises(UserError, match=message):
        _run(runs[name], data=str(file))


def test_a_run_that_is_still_training(runs: Runs, place: Path) -> None:
    data, notes = _head(runs.files["labels"], place / "test.tsv", 4), list[str]()
    with RunFolder(runs["classes"]).locked():
        evaluate(Evaluate(runs=(str(runs["classes"]),), data=(data,)), notes.append)
    assert notes == [f"{runs['classes']}: still training: the best model so far"]


def test_data_that_was_trained_on_is_told(runs: Runs, place: Path) -> None:
    """By its content, whatever it is called; what was only validated on is a fair test."""
    data, copy = runs.files["labels"], place / "copy.tsv"
    copy.write_bytes(data.read_bytes())
    other = _head(data, place / "other.tsv", 4)
    valid = seqloom.train(
        write_recipe(place / "r.toml", text=RECIPES["classes"][0]), data=other, valid=copy, out=place / "r", view="none"
    ).run.path
    for folders, file, learnt in (
        ((runs["classes"],), copy, [runs["classes"]]),
        ((runs["classes"],), other, []),
        ((valid, runs["classes"]), copy, [runs["classes"]]),
        ((valid, runs["classes"]), other, [valid]),
    ):
        notes = list[str]()
        evaluate(Evaluate(runs=tuple(map(str, folders)), data=(str(file),), metrics=("accuracy",)), notes.append)
        told = [note for note in notes if "trained on" in note]
        assert [note.split("; ")[0] for note in told] == [
            f"{file}: {run} was trained on these examples" for run in learnt
        ]


@pytest.mark.parametrize("name", ["documents", "window", "words"])
def test_language(runs: Runs, place: Path, name: str) -> None:
    data = _head(runs.files["text"], place / "test.txt")
    found, what = _run(runs[name], data=data)
    assert _scores(found).keys() == {"perplexity", "bpc"}
    assert found.examples == FEW
    letters = len(Path(data).read_text())
    model = seqloom.load(runs[name])
    if name == "documents":
        scored = model.score(list(what.references[0]))
        nats, tokens = sum(-one.log_prob for one in scored), sum(len(one.pieces) for one in scored)
        assert _scores(found)["perplexity"] == pytest.approx(math.exp(nats / tokens), rel=1e-5)
        assert _scores(found)["bpc"] == pytest.approx(nats / letters / math.log(2), rel=1e-5)
    elif name == "window":  # characters: as many tokens as letters
        assert _scores(found)["bpc"] == pytest.approx(math.log2(_scores(found)["perplexity"]))


def test_two_texts_are_scored_one_behind_the_other(runs: Runs, place: Path) -> None:
    data = _head(runs.files["text"], place / "test.txt")
    (place / "other.txt").write_text(Path(data).read_text())
    asked = Evaluate(runs=(str(runs["documents"]),), data=(data, str(place / "other.txt")))
    found, _ = evaluate(asked)
    assert found.examples == 2 * FEW


def test_other_vocabularies(runs: Runs, place: Path) -> None:
    """Perplexities of other tokens are not compared, but bits of all the characters are."""
    data, notes = _head(runs.files["text"], place / "test.txt"), list[str]()
    names = str(runs["documents"]), str(runs["words"])
    found, what = evaluate(Evaluate(names, (data,), metrics=("perplexity", "bpc")), notes.append)
    assert [each.comparison is None for each in found.measured] == [True, True, True, False]
    assert notes == [
        "perplexity is per token, and the runs' vocabularies differ: it is not compared; --metrics bpc compares them"
    ]
    shown = [line.split() for line in page(found, what, "text").splitlines()]
    assert next(line for line in shown if line[2:3] == ["words"])[-3:] == ["–"] * 3
    alike, _ = _run(runs["documents"], runs["window"], data=data, metrics=("perplexity",))
    assert alike.measured[1].comparison is not None


def test_what_cannot_be_written_has_no_bits(runs: Runs, place: Path) -> None:
    (place / "test.txt").write_text("good film\ngood Zoo\n")
    notes, names = list[str](), (str(runs["words"]), str(runs["documents"]))
    command = Evaluate(names, (str(place / "test.txt"),))
    found, _ = evaluate(command, notes.append)
    assert {each.metric.name for each in found.measured} == {"perplexity"}
    share = "16 % of the characters cannot be written by its vocabulary"
    assert f"{names[0]}: no bits/char: {share}" in notes
    with pytest.raises(UserError, match="--metrics bpc: nothing can be scored by that"):
        evaluate(replace(command, metrics=("bpc",)))
    (place / "test.txt").write_text("good goodgood\n")  # letters are known
    found, what = evaluate(command, notes.append)
    assert [(each.system, each.metric.name) for each in found.measured][2:] == [("documents", "bpc")]
    assert "bpc" in page(found, what, "jsonl")


def test_masked_models_have_another_perplexity(runs: Runs, place: Path) -> None:
    data = _head(runs.files["text"], place / "test.txt", 4)
    assert _scores(_run(runs["masked"], data=data)[0]).keys() == {"pseudo-perplexity"}
    with pytest.raises(UserError, match=r"masked: does another task \(masked\) than .*text \(language\)"):
        _run(runs["text"], runs["masked"], data=data)
    with pytest.raises(UserError, match="did you mean 'pseudo-perplexity'"):
        _run(runs["masked"], data=data, metrics=("perplexity",))


def test_running_text_is_foretold_as_in_validation(runs: Runs, place: Path) -> None:
    """But for its first token, which a validation takes as given."""
    data = _head(runs.files["text"], place / "test.txt")
    recipe = write_recipe(place / "window.toml", text=RECIPES["window"][0])
    trained = seqloom.train(
        recipe, data=data, test=data, out=place / "runs" / "w", changes=["training.steps=3"], view="none"
    )
    found, _ = _run(place / "runs" / "w", data=data)
    assert _scores(found)["perplexity"] == pytest.approx(trained.test_scores["perplexity"], rel=0.003)


def test_mistakes(runs: Runs, place: Path) -> None:
    data = _head(runs.files["pairs"], place / "test.tsv")
    with pytest.raises(UserError, match="does another task"):
        _run(runs["pairs"], runs["tags"], data=data)
    with pytest.raises(UserError, match="is named twice; name each run once"):
        _run(runs["pairs"], runs["pairs"], data=data)
    with pytest.raises(UserError, match="--metrics accuracy: no metric of translations"):
        _run(runs["pairs"], data=data, metrics=("accuracy",))
    with pytest.raises(UserError, match="only how it writes can be changed"):
        _run(runs["pairs"], data=data, changes=("model.width=3",))
    with Path(data).open("a") as file:
        file.write("abc\n")
    with pytest.raises(UserError, match=r"test.tsv:41: .* or pass --skip-bad"):
        _run(runs["pairs"], data=data)
    notes: list[str] = []
    found, _ = evaluate(Evaluate(runs=(str(runs["pairs"]),), data=(data,), skip_bad=True), notes.append)
    assert found.examples == FEW
    assert any("1 left out" in text for text in notes)
