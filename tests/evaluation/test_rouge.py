"""ROUGE is what the package rouge-score counts."""

import pytest
from rouge_score.rouge_scorer import RougeScorer

from seqloom.evaluation import Rouge, total
from seqloom.evaluation.rouge import Variant
from tests.evaluation.corpus import BAD, GOOD, MANY, MANY_BAD, OTHERS, REFERENCES

# summaries of several sentences, a line each
SUMMARIES = ["\n".join(MANY_BAD[at : at + 4]) + "\n\n" for at in range(0, 80, 4)]
WANTED = ["\n".join([*MANY[at + 1 : at + 4], MANY[at]]) for at in range(0, 80, 4)]
VARIANTS: list[Variant] = ["1", "2", "L", "Lsum"]


@pytest.mark.parametrize("stemmed", [False, True], ids=["words", "stems"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_example(variant: Variant, stemmed: bool) -> None:
    scorer = RougeScorer([f"rouge{variant}"], use_stemmer=stemmed)
    metric = Rouge(variant, stemmed)
    said, wanted = [*BAD, *SUMMARIES, "", "...", "Éé"], [*REFERENCES, *WANTED, "a b", "a", "Éé"]
    found = metric.statistics(said, [wanted])
    for at, row in enumerate(found):
        assert row[0] == pytest.approx(scorer.score(wanted[at], said[at])[f"rouge{variant}"].fmeasure, abs=1e-15)
    assert metric.score(total(found)) == pytest.approx(100 * found[:, 0].mean())


@pytest.mark.parametrize("variant", VARIANTS)
def test_of_several_references_the_best(variant: Variant) -> None:
    scorer = RougeScorer([f"rouge{variant}"])
    found = Rouge(variant).statistics(GOOD, [REFERENCES, OTHERS])
    for at, row in enumerate(found):
        best = scorer.score_multi([REFERENCES[at], OTHERS[at]], GOOD[at])[f"rouge{variant}"].fmeasure
        assert row[0] == pytest.approx(best, abs=1e-15)


def test_letters_of_other_languages() -> None:
    assert Rouge("1").words("Schöne Grüße") == ["sch", "ne", "gr", "e"]
    assert Rouge("1", tokens="unicode").words("Schöne Grüße") == ["schöne", "grüße"]
    assert "tok:unicode|stem:porter" in Rouge("1", stemmed=True, tokens="unicode").signature()
