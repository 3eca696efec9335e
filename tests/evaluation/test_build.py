"""Every name has its metric, and a name that is none is told."""

import pytest

from seqloom.evaluation import EvaluationSettings
from seqloom.evaluation.build import LABEL, RATE, TEXT, label_metric, named, rate_metric, text_metric
from seqloom.settings import UserError, loads


@pytest.mark.parametrize("name", TEXT)
def test_metrics_of_texts(name: str) -> None:
    metric = text_metric(name, EvaluationSettings())  # type: ignore[arg-type]
    assert metric.name == name
    assert len(metric.statistics(["a b", "c"], [["a b", "d"]])) == 2
    assert metric.signature().startswith("nrefs:1|")


@pytest.mark.parametrize("name", LABEL)
def test_metrics_of_labels(name: str) -> None:
    metric = label_metric(name, [["B-x", "O"]], [["B-x", "B-x"]])  # type: ignore[arg-type]
    assert metric.name == name
    assert len(metric.statistics([["B-x", "B-x"]], [[["B-x", "O"]]])) == 1


@pytest.mark.parametrize("name", RATE)
def test_metrics_of_likelihoods(name: str) -> None:
    assert rate_metric(name).name == name  # type: ignore[arg-type]


def test_settings_reach_the_metrics() -> None:
    settings = loads("bleu.tokenize = 'zh'\nlowercase = true\nrouge.stemmed = true", EvaluationSettings)
    assert "|case:lc|" in text_metric("bleu", settings).signature()
    assert "tok:zh" in text_metric("bleu", settings).signature()
    assert "|case:lc|" in text_metric("chrf++", settings).signature()
    assert "stem:porter" in text_metric("rouge2", settings).signature()
    assert "|case:lc|" in text_metric("wer", settings).signature()


def test_names() -> None:
    assert named(["BLEU", "rougel", "bleu"], TEXT, "texts") == ["bleu", "rougeL"]
    assert named(["bleu,chrf", "ter, exact"], TEXT, "texts") == ["bleu", "chrf", "ter", "exact"]
    with pytest.raises(UserError, match=r"--metrics : no metric of texts"):
        named(["bleu,"], TEXT, "texts")
    with pytest.raises(UserError, match=r"--metrics blue: no metric of texts; did you mean 'bleu'\?"):
        named(["blue"], TEXT, "texts")
    with pytest.raises(UserError, match="--metrics qqq: no metric of texts; there are bleu, chrf, "):
        named(["qqq"], TEXT, "texts")
