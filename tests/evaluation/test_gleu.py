"""GLEU of a corpus: the mean of its sentences', the best reference of each."""

import pytest

from seqloom.evaluation import EvaluationSettings, Gleu, total
from seqloom.evaluation.build import text_metric

gleu_score = pytest.importorskip("nltk.translate.gleu_score")

SAID = ["the cat sat .", "a dog", ""]
WANTED = ["the cat sat on it .", "a dog", "no"]
OTHERS = ["a cat was here .", "the dog runs", "none"]


def test_the_mean_of_sentences() -> None:
    metric = Gleu()
    stats = metric.statistics(SAID, [WANTED])
    theirs = [gleu_score.sentence_gleu([other.split()], one.split()) for one, other in zip(SAID, WANTED, strict=True)]
    assert metric.each(stats).tolist() == pytest.approx([100 * score for score in theirs])
    assert metric.score(total(stats)) == pytest.approx(100 * sum(theirs) / 3)


def test_of_several_references_the_best_counts() -> None:
    both = zip(SAID, WANTED, OTHERS, strict=True)
    theirs = [gleu_score.sentence_gleu([one.split(), other.split()], said.split()) for said, one, other in both]
    stats = Gleu().statistics(SAID, [OTHERS, WANTED])
    assert stats[:, 0].tolist() == pytest.approx(theirs)


def test_words_are_cut_as_for_bleu() -> None:
    assert Gleu().statistics(["A cat."], [["a cat ."]])[0, 0] < 1
    assert Gleu(lowercase=True).statistics(["A cat."], [["a cat ."]])[0, 0] == 1


def test_its_name_and_signature() -> None:
    settings = EvaluationSettings.model_validate({"lowercase": True, "bleu": {"tokenize": "char"}})
    metric = text_metric("gleu", settings)
    assert metric.signature(2).startswith("nrefs:2|case:lc|tok:char|order:4|version:seqloom-")
