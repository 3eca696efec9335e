"""Comparisons, in this process: what is trained and asked, what is kept, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.comparing.result import load_result
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import Sizes, model_cost
from seqloom.settings import FailedError, SettingsError, UserError, load
from seqloom.store import RunFolder
from tests.jobs.asked_runs import RECIPES, recipe
from tests.jobs.comparing.systems import QUICK, compared, write_systems
from tests.jobs.run import PAIRS, write_pairs, write_recipe
from tests.jobs.shapes import write_conllu, write_sentences, write_text


@pytest.fixture
def pairs(place: Path, worked: list[Work]) -> Path:
    return write_systems(place)


def test_one_table_of_all(pairs: Path, worked: list[Work]) -> None:
    heard = list[str]()
    found = compared("a.toml", "broken.toml", "b.toml", ensemble=("all",), note=heard.append)
    assert [row.name for row in found.rows] == ["a", "broken", "b", "a + b"]
    assert [row.name for row in found.failed] == ["broken"]
    assert "no example is left to train on" in found.failed[0].failed
    assert found.scores.keys() == {"a", "b", "a + b"}
    assert found.scores["a"].keys() == {"exact", "cer", "perplexity", "bpc"}
    assert "[2 of 3] broken: trains for 1 epoch; about " in heard[1]
    assert heard[1].endswith(" left for all")

    kept = json.loads(Path("out/results.json").read_text())
    assert [system["status"] for system in kept["systems"]] == ["measured", "failed", "measured", "measured"]
    one, _, other, both = kept["systems"]
    assert other["parameters"] > one["parameters"] > 1000
    recipe = load("out/runs/a/recipe.toml", Recipe)
    assert one["parameters"] == model_cost(recipe.model, Sizes(13, 13)).parameters  # eight letters and the marks
    assert both["parameters"] == one["parameters"] + other["parameters"]
    assert both["flops"] == pytest.approx(one["flops"] + other["flops"])
    assert both["members"] == ["a", "b"]
    assert one["memory"] > 2e7
    assert one["per_second"] > 0
    assert kept["per_second"] == "tokens of targets, end marks included"
    assert one["steps"] == other["steps"]
    assert 0 < one["best_step"] <= one["steps"]
    assert both["best_step"] is None
    assert {"difference", "p_randomisation", "low", "high"} <= other["scores"]["perplexity"].keys()
    assert {part["by"] for part in one["slices"]} >= {"source characters", "reference characters"}
    assert kept["published"][0]["score"] == 27.3
    assert kept["examples"] == 30

    table = Path("out/table.txt").read_text()
    assert "b † newstest" in table
    each = ", ".join(f"{row['name']} {row['steps']} ({row['best_step']})" for row in (one, other))
    assert f"\nsteps (of the model that validation chose): {each}\n" in table
    assert "† published, not measured: b (Someone 2017)" in table
    assert "broken failed: pairs.tsv: no example is left to train on; pairs.tsv: 300 left out" in table
    assert "exact by source characters" in table
    assert repr(found) + "\n" == table
    assert "| a + b |" in Path("out/table.md").read_text()
    assert r"b $\dagger$ newstest" in Path("out/table.tex").read_text()
    assert Path("out/picture.svg").read_text().count("<circle") == 3


def test_an_ensemble_says_what_load_says(pairs: Path) -> None:
    compared("a.toml", "b.toml", ensemble=("a", "b"))
    sources = [line.split("\t")[0] for line in Path("test.tsv").read_text().splitlines()]
    model = seqloom.load(["out/runs/a", "out/runs/b"])
    result = load_result(Path("out/answers/+ensemble.json"))
    assert result is not None
    assert result.said.texts == [answer.text for answer in model.predict(sources, beam=1)]


@pytest.mark.slow
def test_what_is_done_is_not_done_again(pairs: Path, worked: list[Work]) -> None:
    first = compared("a.toml", "b.toml")
    assert [work.runs[0].name for work in worked] == ["a", "b"]
    heard = list[str]()
    again = compared("a.toml", "b.toml", note=heard.append)
    assert len(worked) == 2
    assert heard == ["[1 of 2] a: done before", "[2 of 2] b: done before"]
    assert repr(again) == repr(first)
    compared("a.toml", "b.toml", changes=(*QUICK[:2], "generation.beam=2"))  # it is asked anew, and not trained
    assert len(worked) == 4
    assert load_result(Path("out/answers/a.json")) is not None
    model = Path("out/runs/a/model.safetensors")
    model.write_bytes(model.read_bytes()[:-4] + b"\0\0\0\0")  # another model: what the old one said does not hold
    compared("a.toml", "b.toml", changes=(*QUICK[:2], "generation.beam=2"))
    assert [work.runs[0].name for work in worked[4:]] == ["a"]


@pytest.mark.slow
def test_what_failed_is_tried_again_and_others_join(pairs: Path, worked: list[Work]) -> None:
    assert compared("a.toml", "broken.toml").failed
    write_recipe(pairs / "broken.toml")
    found = compared("a.toml", "broken.toml", "b.toml")
    assert not found.failed
    assert [work.runs[0].name for work in worked] == ["a", "broken", "broken", "b"]


def test_a_note_names_its_system_once(pairs: Path) -> None:
    write_recipe(pairs / "short.toml", text=PAIRS.replace('"sinusoidal"', '"learned", length = 7'))
    Path("test.tsv").write_text("abcdefghabc\tab\n" * 3)
    said = repr(compared("a.toml", "short.toml", metrics=("exact",))).splitlines()
    assert any(line.startswith("short: 3 lines were cut: they are longer than what the model reads") for line in said)


def test_equal_flops(pairs: Path) -> None:
    found = compared("a.toml", "b.toml", budget=Budget("flops", 1e8))
    for row in found.rows:
        assert row.facts is not None
        assert row.facts.flops is not None
        assert row.facts.steps is not None
        assert 1e8 <= row.facts.flops < 1e8 * (1 + 2 / row.facts.steps)
    assert "each trained for 1e8 FLOPs" in repr(found)
    assert "seconds of training" in Path("out/picture.svg").read_text()


def test_other_ends_are_told(pairs: Path) -> None:
    write_recipe(pairs / "b.toml", "patience = 1\n[training.optimiser]\nkind = 'adam'\nrate = 1e-20\n")
    found = compared("a.toml", "b.toml", budget=Budget("epochs", 9))
    said = repr(found).splitlines()
    assert said[0].startswith("each trained for 9 epochs, but not b (see below); ")
    assert "b: trained for less than 9 epochs: no better loss in 1 validations after 16 steps" in said
    much = repr(compared("a.toml", budget=Budget("flops", 1e5), out=Path("flops"))).splitlines()
    assert any(
        line.startswith("a: its training took ") and line.endswith("times 1e5 FLOPs, in 1 step") for line in much
    )


@pytest.mark.slow
def test_without_a_test_what_was_held_out_counts(pairs: Path) -> None:
    found = compared("a.toml", "b.toml", test=())
    result = load_result(Path("out/answers/a.json"))
    assert result is not None
    every = [line.split("\t") for line in Path("pairs.tsv").read_text().splitlines()]
    held = list(zip(*result.columns, strict=True))
    trained = seqloom.train("a.toml", data="pairs.tsv", out="alone", changes=["training.steps=0"], view="none")
    assert 0 < len(held) < 60
    assert {tuple(pair) for pair in held} <= {tuple(pair) for pair in every}
    assert len(held) == sum(map(len, trained.corpora.valid))
    assert len(every) - len(held) == trained.corpora.examples
    assert "examples held out of pairs.tsv, which also chose each system's best model" in repr(found)
    write_pairs(pairs / "valid.tsv", count=20, seed=3)
    other = compared("a.toml", valid=("valid.tsv",), test=(), out=Path("other"))
    assert other.report is not None
    assert other.report.examples == 20
    assert "scored on valid.tsv, which also chose" in repr(other)


def test_other_examples_are_not_compared(pairs: Path) -> None:
    write_recipe(pairs / "b.toml", "[data]\nheld_out = 0.5\n")
    found = compared("a.toml", "b.toml", test=())
    assert [row.name for row in found.failed] == ["b"]
    assert "was scored on other examples than a (" in found.failed[0].failed


def test_runs_that_are_trained(pairs: Path) -> None:
    for name in "ab":
        seqloom.train(f"{name}.toml", data="pairs.tsv", out=f"runs/{name}", changes=["training.steps=2"], view="none")
    found = compared("runs/a", "runs/b", data=(), budget=None, baseline="b")
    assert found.report is not None
    assert found.report.systems == ("b", "a")  # what others are compared with comes first there
    assert [row.name for row in found.rows] == ["a", "b"]
    assert [row.facts.steps for row in found.rows if row.facts] == [2, 2]
    assert "a: a run that was trained before, at a cost of its own" in repr(found)
    assert "trained on" not in repr(found), "nobody knows where"
    assert found.device == ""
    best = compared("runs/a", "runs/b", data=(), budget=None, baseline="best", metrics=("perplexity",))
    scores = {name: each["perplexity"] for name, each in best.scores.items()}
    assert best.report is not None
    assert best.report.systems[0] == min(scores, key=lambda name: scores[name])


def test_other_vocabularies(pairs: Path) -> None:
    """Perplexities do not compare then, and they cannot write together."""
    found = compared("a.toml", "words.toml", ensemble=("all",))
    assert "perplexity is per token, and the systems' vocabularies differ, so that it is not compared" in repr(found)
    assert next(iter(found.scores["a"])) == "chrf", "bits per character go before perplexity alone"
    assert "bits/char" in repr(found).splitlines()[1]
    assert [row.failed for row in found.failed] == [
        "no two systems have the same task and vocabulary: give them the same [text]"
    ]


def test_language_models_of_other_pieces(place: Path, worked: list[Work]) -> None:
    """Bits per character are the score then."""
    write_text(place / "text.txt")
    (place / "test.txt").write_text("so good\nnot very nice\n" * 20)
    for name, pieces in ("a", '"characters"'), ("b", '"words"'), ("few", '"words", size = 7'):
        text = recipe('kind = "language"', "decoder-only", text=f"{{ kind = {pieces} }}")
        write_recipe(place / f"{name}.toml", text=text)
    more = {"data": ("text.txt",), "test": ("test.txt",)}
    found = compared("a.toml", "b.toml", **more)
    assert found.report is not None
    assert found.report.measured[0].metric.name == "bpc"
    assert [each.comparison is None for each in found.report.measured] == [True, False, True, True]
    few = compared("a.toml", "b.toml", "few.toml", **more)
    assert few.report is not None
    assert few.scores["a"] == found.scores["a"]
    assert few.scores["few"].keys() == {"perplexity"}  # its few words would be paid for all letters of the others
    assert "few: no bits/char: " in repr(few)
    assert " % of the characters cannot be written by its vocabulary" in repr(few)
    row = next(line.split() for line in repr(few).splitlines() if line.startswith("few "))
    assert row[1:5] == ["–"] * 4
    for metric in "perplexity", "bpc":
        asked = compared("b.toml", "few.toml", metrics=(metric,), **more)
        assert asked.report is not None
        assert all(each.comparison is None for each in asked.report.measured)
    none = compared("few.toml", metrics=("bpc",), **more)
    assert none.report is None
    assert "few: no bits/char: " in repr(none)
    alone = compared("a.toml", out=Path("alone"), **more)
    assert alone.report is not None
    assert alone.report.measured[0].metric.name == "perplexity"


def test_the_speed_of_source_and_target_in_one(place: Path, worked: list[Work]) -> None:
    """Its loss is of both; its speed is of targets, as that of others is."""
    write_sentences(place / "pairs.tsv")
    write_recipe(place / "joined.toml", text=RECIPES["joined"][0])
    (row,) = compared("joined.toml", test=()).rows
    numbers = RunFolder(Path("out/runs/joined")).checkpoints.numbers()
    assert numbers is not None
    assert row.facts is not None
    assert row.facts.per_second is not None
    learning = numbers["place"]["seconds"] - numbers["place"]["validating"]
    assert 0.3 < row.facts.per_second * learning / numbers["place"]["tokens"] < 0.7


def test_a_setting_that_a_task_does_not_have_is_told_before_it_trains(place: Path, worked: list[Work]) -> None:
    write_conllu(place / "tags.conllu")
    write_recipe(place / "a.toml", text=recipe('kind = "tag"', "encoder-only", "tags"))
    with pytest.raises(UserError, match=r"--set generation.beam=1: a tagger gives each word its likeliest tag"):
        compared("a.toml", data=("tags.conllu",), test=())
    assert not worked


def test_a_setting_that_one_recipe_does_not_have_names_it(pairs: Path, worked: list[Work]) -> None:
    with pytest.raises(SettingsError, match=r"^a: --set text.source.size=90: \[text.source\] has no setting 'size'"):
        compared("words.toml", "a.toml", changes=["text.source.size=90"])
    assert not worked


def test_tags(place: Path, worked: list[Work]) -> None:
    write_conllu(place / "tags.conllu")
    write_recipe(place / "a.toml", text=recipe('kind = "tag"', "encoder-only", "tags"))
    found = compared("a.toml", data=("tags.conllu",), test=(), changes=QUICK[:2])  # a tagger has no beam
    assert found.scores["a"].keys() == {"accuracy", "f1-macro"}


def test_all_fail(pairs: Path) -> None:
    write_recipe(pairs / "short.toml", text=PAIRS.replace('"sinusoidal"', '"learned", length = 2'))
    found = compared("broken.toml", "short.toml")
    assert found.report is None
    assert len({row.failed for row in found.rows}) == 2
    assert any(line.split()[:2] == ["broken", "failed"] for line in repr(found).splitlines())
    assert "nothing has been measured" in Path("out/picture.svg").read_text()


def test_who_is_missing_is_told(pairs: Path) -> None:
    """Of an ensemble of which one is left, and of a comparison with whom has no scores."""
    found = compared("broken.toml", "a.toml", ensemble=("all",), baseline="broken")
    assert [row.failed for row in found.failed][1] == "needs two systems, and broken failed"
    assert "broken, which the others were to be compared with, has no scores" in repr(found)


def test_the_best_is_told_to_be_chosen_by_the_test(pairs: Path) -> None:
    found = repr(compared("a.toml", "b.toml", baseline="best"))
    assert "the best was chosen by this very test, which the p-values do not know" in found


def test_the_threads_are_those_of_training(pairs: Path) -> None:
    found = compared("a.toml", changes=(*QUICK, "training.threads=1"))
    assert found.device.endswith(", 1 thread(s)")


def test_all_fail_for_the_same_reason(pairs: Path) -> None:
    Path("one.tsv").write_text("ab\tba\n")
    heard = list[str]()
    with pytest.raises(FailedError) as caught:
        compared("a.toml", "b.toml", data=("one.tsv",), note=heard.append)
    why = "one.tsv: too few examples (1) to keep some for validation; give more, or a file of their own: --valid FILE"
    assert str(caught.value) == why
    assert [line for line in heard if "failed" in line] == [f"a failed: {why}", "b failed: as a did"]
    assert not Path("out/table.txt").exists()


def test_from_python(pairs: Path) -> None:
    found = seqloom.compare(
        ["a.toml", "b.toml"], data="pairs.tsv", test="test.tsv", epochs=1, ensemble=True, changes=QUICK, view="none"
    )
    assert found.scores.keys() == {"a", "b", "a + b"}
    assert Path("runs/compare/table.md").exists()
    assert replace(found, notes=()).failed == ()
