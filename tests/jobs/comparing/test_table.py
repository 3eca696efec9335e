"""A comparison on paper: the table, the slices by length, what is published, the picture."""

import io
import json
import math
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from seqloom.evaluation.series import SquaredError
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.comparing.compared import Compared, Row, began_late, otherwise, spent
from seqloom.jobs.comparing.picture import picture
from seqloom.jobs.comparing.result import Facts
from seqloom.jobs.comparing.table import Form, _in_one_line, flops, show, tables, text
from seqloom.jobs.deciding.asked import Budget
from seqloom.jobs.evaluate import reported
from seqloom.jobs.evaluating.likelihood import Likelihood
from seqloom.jobs.evaluating.runs import together
from seqloom.jobs.evaluating.said import Said
from seqloom.jobs.recipes.published import Published, Result

SHORT, LONG = "a b c d", " ".join("abcdefghijklmnop")
TARGETS = [SHORT] * 20 + [LONG] * 20


def _said(texts: list[str], sure: float) -> Said:
    return Said(texts, [], Likelihood([-sure] * 40, [4.0] * 40, [8.0] * 40))


@pytest.fixture
def compared() -> Compared:
    """The bottleneck model is as good where sentences are short, and loses where they are long."""
    lost = " ".join("abcdxxxxxxxxxxxx")
    parts = [_said([SHORT] * 20 + [lost] * 20, 8.0), _said(TARGETS, 2.0)]
    what = together(
        ("bottleneck", "attention"), [TARGETS, TARGETS], parts, ["bleu", "perplexity", "bpc"], "pairs", None
    )
    report = reported(
        what, ["bleu", "perplexity", "bpc"], EvaluationSettings(trials=100, resamples=100), lambda said: None
    )
    facts = Facts(1_900_000, 1.5e15, 300.0, 41_000.0, 1.2e9, 900, "the time is over")
    target = Published(
        parameters=65e6, flops=3.3e18, results=(Result(data="newstest2014 en-de", metric="bleu", score=27.3),)
    )
    rows = (
        Row("bottleneck", facts),
        Row("attention", replace(facts, flops=2.5e15), source="Vaswani et al. 2017", published=target),
        Row("broken", failed="out of memory"),
    )
    return Compared(rows, report, Budget("minutes", 5.0), "test.tsv", "cpu", False, ("a note",))


def test_the_table(compared: Compared) -> None:
    table, *_ = tables(compared)
    assert table.title == "each trained for 5 m 00 s; 40 examples; differences from bottleneck"
    assert table.head == (
        *("system", "BLEU", "95 % interval", "difference", "p", "perplexity ↓"),
        *("parameters", "FLOPs", "time", "tokens/s", "memory"),
    )
    first, second, broken, published = table.rows
    assert first[3:5] == ("", "")
    assert second[1] == "100.00"
    assert second[3].startswith("+")
    assert second[3].endswith(" **")
    assert second[4] == "<0.01"  # of 100 trials
    assert second[5:] == ("1.65", "1.9M", "2.5e15", "5 m 00 s", "41k", "1.2 GB")
    assert broken[:3] == ("broken", "failed", "–")
    assert published == ("attention † newstest2014 en-de", "27.3", *["–"] * 4, "65M", "3.3e18", *["–"] * 3)
    assert {len(row) for row in table.rows} == {len(table.head)}


def test_small_numbers_keep_their_digits(compared: Compared) -> None:
    """As in a table of evaluate."""
    assert compared.report is not None
    small = [
        replace(
            each, comparison=each.comparison and replace(each.comparison, difference=-0.0000123), metric=SquaredError()
        )
        for each in compared.report.measured[:2]
    ]
    table, *_ = tables(replace(compared, report=replace(compared.report, measured=tuple(small), slices=())))
    assert table.rows[1][3] == "-1.23e-05 **"


def test_by_length(compared: Compared) -> None:
    by_source = next(table for table in tables(compared) if table.title == "BLEU by source words")
    assert by_source.head == ("system", "4", "16")
    bottleneck, attention, examples = by_source.rows
    assert bottleneck[1] == attention[1] == "100.00"
    assert float(bottleneck[2]) < 50 < float(attention[2])
    assert examples == ("examples", "20", "20")


def test_slices_that_have_no_score(compared: Compared) -> None:
    said = "BLEU is left out (–) of slices in which no reference has 4 tokens"
    assert said not in text(compared, "text")
    assert compared.report is not None
    slices = [replace(one, score=None) if one.slice.name == "4" else one for one in compared.report.slices]
    found = replace(compared, report=replace(compared.report, slices=tuple(slices)))
    by_source = next(table for table in tables(found) if table.title == "BLEU by source words")
    assert [row[1] for row in by_source.rows] == ["–", "–", "20"]
    assert f"- {said}\n" in text(found, "markdown")
    assert json.loads(text(found, "json"))["systems"][0]["slices"][0]["score"] is None
    others = [replace(one, score=None) if one.metric.name == "bpc" else one for one in compared.report.slices]
    assert said not in text(replace(compared, report=replace(compared.report, slices=tuple(others))), "text")


def test_other_vocabularies_need_bits(compared: Compared) -> None:
    assert "bits/char ↓" not in tables(compared)[0].head
    other = replace(compared, own_vocabularies=True)
    assert "bits/char ↓" in tables(other)[0].head
    assert "so that it is not compared; bits per character are" in text(other, "text")


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_how_it_was_counted_is_told_of_what_is_shown(compared: Compared, form: Form) -> None:
    for one, shown in (compared, False), (replace(compared, own_vocabularies=True), True):
        assert ("bits/char: unit:character|" in text(one, form)) is shown
        assert "BLEU: nrefs:1|" in text(one, form)
        assert "perplexity: unit:token|" in text(one, form)
        assert "bits/char" in json.loads(text(one, "json"))["signatures"]


def test_an_ensemble_that_failed_does_not_write_together(compared: Compared) -> None:
    names = ("bottleneck", "attention")
    whole = Row("bottleneck + attention", compared.rows[0].facts, trained=False, members=names)
    for row, told in (whole, True), (replace(whole, facts=None, failed="another vocabulary"), False):
        found = text(replace(compared, rows=(*compared.rows, row)), "text")
        assert ("bottleneck, attention write together; its FLOPs" in found) is told


def test_a_difference_below_zero_has_a_minus_in_latex(compared: Compared) -> None:
    """A hyphen of a name stays one."""
    assert compared.report is not None
    measured = [
        replace(
            each, system=f"no-{each.system}", comparison=each.comparison and replace(each.comparison, difference=-3.0)
        )
        for each in compared.report.measured
    ]
    rows = [replace(row, name=f"no-{row.name}") for row in compared.rows]
    names = tuple(f"no-{name}" for name in compared.report.systems)
    other = replace(compared.report, measured=tuple(measured), systems=names, slices=())
    assert "no-attention & 100.00 & " in (found := text(replace(compared, rows=tuple(rows), report=other), "latex"))
    assert " & $-$3.00 ** & " in found


def test_a_published_metric_without_a_column(compared: Compared) -> None:
    target = Published(results=(Result(data="wiki", metric="rougeL", score=38.8, note="L = 7500"),))
    found = replace(compared, rows=(replace(compared.rows[0], published=target), *compared.rows[1:]))
    assert ("bottleneck † wiki", "rougeL 38.8", *["–"] * 9) in tables(found)[0].rows
    assert "† published, not measured: bottleneck (L = 7500)" in text(found, "markdown")


def test_forms(compared: Compared) -> None:
    kept = json.loads(text(compared, "json"))
    assert kept["systems"][2]["failed"] == "out of memory"
    assert kept["budget"] == {"minutes": 5.0}
    assert "| attention † newstest2014 en-de | 27.3 |" in text(compared, "markdown")
    latex = text(compared, "latex")
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3
    assert "% broken failed: out of memory" in latex
    assert "a note" in text(compared, "text")


def test_what_several_lines_say_of_a_recipe_stays_a_comment(compared: Compared) -> None:
    first, second, *others = compared.rows
    found = replace(compared, rows=(first, replace(second, source="Vaswani\net al. 2017"), *others))
    said = "† published, not measured: attention (Vaswani et al. 2017)"
    assert f"\n% {said}\n" in text(found, "latex")
    assert f"\n- {said}\n" in text(found, "markdown")


def test_json_has_no_name_for_what_is_no_number(compared: Compared) -> None:
    assert compared.report is not None
    measured = [replace(each, score=math.nan) for each in compared.report.measured]
    found = replace(compared, report=replace(compared.report, measured=tuple(measured)))
    assert '"score": null' in text(found, "json")
    assert "NaN" not in text(found, "json")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_in_a_terminal_no_number_is_broken(compared: Compared, width: int) -> None:
    into = io.StringIO()
    show(compared, Console(file=into, force_terminal=True, color_system=None, width=width))
    drawn, notes = into.getvalue().rsplit("\n\n", 1)
    assert notes == text(compared, "text").rsplit("\n\n", 1)[1]
    assert max(map(len, drawn.splitlines())) <= width
    for table in tables(compared):
        for cell in (cell for row in table.rows for cell in row[1:]):
            assert re.search(rf"(^|  ){re.escape(cell)}($|  )", drawn, re.MULTILINE)


def test_the_picture(compared: Compared) -> None:
    drawn = ElementTree.fromstring(picture(compared))
    space = "{http://www.w3.org/2000/svg}"
    dots = {dot[0].text: dot for dot in drawn.iter(f"{space}circle")}
    assert [name.partition(":")[0] for name in dots if name] == ["bottleneck", "attention"]
    low, high = dots.values()
    assert float(low.attrib["cx"]) < float(high.attrib["cx"])  # it cost less
    assert float(low.attrib["cy"]) > float(high.attrib["cy"])  # and is lower
    assert drawn.findtext(f"{space}title") == "BLEU against training FLOPs"
    timed = replace(compared, budget=Budget("flops", 1e15))
    assert "BLEU against seconds of training" in picture(timed)


def test_names_make_way_for_each_other(compared: Compared) -> None:
    rows = tuple(replace(row, facts=compared.rows[0].facts) for row in compared.rows[:2])
    alike = replace(compared, rows=(*rows, compared.rows[2]))
    places = [
        (float(part.attrib["x"]), float(part.attrib["y"]))
        for part in ElementTree.fromstring(picture(alike)).iter()
        if part.text in ("bottleneck", "attention")
    ]
    assert len(set(places)) == 2


@pytest.mark.parametrize(
    ("budget", "changes", "told"),
    [
        (Budget("minutes", 5.0), {}, None),
        (
            Budget("minutes", 5.0),
            {"ended": "no better loss in 3 validations"},
            "less than 5 m 00 s: no better loss in 3",
        ),
        (Budget("minutes", 4.0), {}, "its training took 1.25 times 4 m 00 s, in 900 steps"),
        (Budget("minutes", 4.9), {}, None),
        (Budget("minutes", 5.4), {}, None),
        (Budget("minutes", 6.0), {}, "its start took 1 m 00 s of 6 m 00 s, so that training had 5 m 00 s"),
        (Budget("flops", 1e15), {"ended": "all FLOPs are spent"}, "its training took 1.5 times 1e15 FLOPs"),
        (Budget("flops", 1.45e15), {"ended": "all FLOPs are spent"}, None),
        (Budget("epochs", 3.0), {"ended": "all steps are done"}, None),
        (Budget("epochs", 3.0), {}, "trained for less than 3 epochs: the time is over after 900 steps"),
        (None, {"ended": "whatever"}, None),
    ],
)
def test_who_did_not_spend_the_budget(
    compared: Compared, budget: Budget | None, changes: dict[str, Any], told: str | None
) -> None:
    row = compared.rows[0]
    assert row.facts is not None
    row = replace(row, facts=replace(row.facts, **changes))
    found = replace(compared, rows=(row,), budget=budget)
    assert ((otherwise(row, budget) or began_late(row, budget)) is None) is (told is None)
    assert (told or "scored on test.tsv") in text(found, "text")
    old = replace(row, trained=False)
    assert otherwise(old, budget) is began_late(old, budget) is None


def _title(compared: Compared, minutes: float, *seconds: float, old: int = 0) -> str:
    """What the title begins with. seconds: of each training; old: so many others were trained before."""
    facts = compared.rows[0].facts
    assert facts is not None
    rows = [Row(f"s{number}", replace(facts, seconds=each)) for number, each in enumerate(seconds)]
    rows += [Row(f"old{number}", facts, trained=False) for number in range(old)]
    found = replace(compared, rows=tuple(rows), budget=Budget("minutes", minutes))
    return tables(found)[0].title.removesuffix("; 40 examples; differences from bottleneck")


def test_the_title_says_what_training_cost(compared: Compared) -> None:
    assert compared.rows[0].facts is not None
    assert _title(compared, 5, 300, 300) == "each trained for 5 m 00 s"
    assert _title(compared, 5, 300, old=2) == "trained for 5 m 00 s"
    assert _title(compared, 5, 300, 400, 300) == "each trained for 5 m 00 s, but not s1 (see below)"
    assert _title(compared, 5, 400, 400) == "each meant to be trained for 5 m 00 s (see below)"
    assert _title(compared, 5, 400, old=1) == "meant to be trained for 5 m 00 s (see below)"
    assert _title(compared, 0.1, 4, 5) == "each trained for 6 s, its start included"
    early = replace(compared.rows[0].facts, seconds=30.0, ended="no better for 3 validations")
    title = tables(replace(compared, rows=(Row("s", early), *compared.rows[:1])))[0].title
    assert title.startswith("each trained for 5 m 00 s, but not s (see below)"), "its patience ended it, and no start"
    assert _title(compared, 0.1, 4) == "trained for 6 s, its start included"
    assert _title(compared, 0.1, 4, 8) == "each trained for 6 s, its start included, but not s1 (see below)"


def test_who_failed_had_no_other_cost(compared: Compared) -> None:
    rows = (replace(compared.rows[0], trained=True), Row("broken", failed="memory"))
    found = tables(replace(compared, rows=rows, budget=Budget("minutes", 4.0)))[0].title
    assert found.startswith("each meant to be trained for 4 m 00 s (see below); ")


def test_the_speed_is_of_one_thing(compared: Compared) -> None:
    assert "tokens/s: tokens of targets, end marks included, without the time" in text(compared, "text")
    other = replace(compared, shape="text", own_vocabularies=True)
    assert "tokens/s: tokens that are read, marks not counted, each system's own, without" in text(other, "text")
    assert "examples/s" in tables(replace(compared, shape="classes"))[0].head


def test_words() -> None:
    assert spent(Budget("flops", 1e15)) == "1e15 FLOPs"
    assert spent(Budget("flops", 2.5e8)) == "2.5e8 FLOPs"
    assert spent(Budget("flops", 500.0)) == "500 FLOPs"
    assert spent(Budget("epochs", 1.0)) == "1 epoch"
    assert flops(3.34e18) == "3.3e18"


def test_a_reason_of_several_lines_is_one() -> None:
    assert _in_one_line("memory") == "memory"
    assert _in_one_line("it is NaN.\nin layer 3\nTry less.") == "it is NaN. in layer 3; Try less."
