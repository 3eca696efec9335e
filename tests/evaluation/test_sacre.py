"""BLEU, chrF and TER are sacreBLEU's, to the last bit."""

import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from seqloom.evaluation import Bleu, Chrf, Metric, Ter, bleu, interval, total
from seqloom.evaluation.sacre import SacreMetric
from seqloom.settings import UserError
from tests.evaluation.corpus import BAD, GOOD, MANY, MANY_BAD, MANY_BETTER, MANY_GOOD, OTHERS, REFERENCES

ALL: list[SacreMetric] = [Bleu(), Bleu("char"), Bleu("none", lowercase=True), Chrf(), Chrf(2), Chrf(2, True), Ter()]
V = f"version:{sacrebleu.__version__}"


@pytest.mark.parametrize(
    ("metric", "references", "good", "bad", "signature"),
    [
        (Bleu(), 1, 78.24121466290902, 26.98790501999242, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"),
        (Chrf(), 1, 86.54546987973583, 61.49453211142751, "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"),
        (Ter(), 1, 11.39240506329114, 46.20253164556962, "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no"),
        (Bleu("char", True), 2, 90.25139014963167, 68.80104732201347, "nrefs:2|case:lc|eff:no|tok:char|smooth:exp"),
        (Chrf(2), 2, 86.85315950565166, 59.86621101453265, "nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no"),
        (Ter(), 2, 11.50159744408946, 45.36741214057508, "nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no"),
    ],
    ids=["bleu", "chrf", "ter", "bleu-char-2", "chrf++-2", "ter-2"],
)
def test_what_the_command_sacrebleu_says(
    metric: Metric[str], references: int, good: float, bad: float, signature: str
) -> None:
    """As `sacrebleu REF… -i HYP -m bleu chrf ter -w 14` printed it."""
    wanted = [REFERENCES, OTHERS][:references]
    for said, score in (GOOD, good), (BAD, bad):
        assert round(float(metric.score(total(metric.statistics(said, wanted)))), 14) == score
    assert metric.signature(references) == f"{signature}|{V}"


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.signature())
@given(
    rows=st.lists(st.tuples(*[st.text("ab. ", max_size=14)] * 4), min_size=1, max_size=5),
    references=st.integers(1, 3),
)
def test_difference_0(metric: SacreMetric, rows: list[tuple[str, str, str, str]], references: int) -> None:
    said, *others = (list(column) for column in zip(*rows, strict=True))
    wanted = others[:references]
    found = metric.score(total(metric.statistics(said, wanted)))
    assert float(found) == metric.counter.corpus_score(said, wanted).score


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.signature())
def test_each_sentence(metric: SacreMetric) -> None:
    counter = metric.counter
    if isinstance(metric, Bleu):
        counter = sacrebleu.BLEU(
            tokenize=counter.tokenizer_signature, lowercase=counter.lowercase, effective_order=True, force=True
        )
    each = metric.each(metric.statistics(BAD, [REFERENCES]))
    scores = [counter.sentence_score(one, [other]).score for one, other in zip(BAD, REFERENCES, strict=True)]
    most = 100.0 if isinstance(metric, Bleu) else math.inf  # sacreBLEU's own is 100.00000000000004 at times
    assert each.tolist() == [min(score, most) for score in scores]


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.signature())
def test_many_sums_at_once_are_as_one_by_one(metric: SacreMetric) -> None:
    stats_ND = metric.statistics(BAD, [REFERENCES])
    sums_23D = np.stack([stats_ND[:12].reshape(2, 3, 2, -1).sum(2), stats_ND[4:].reshape(2, 3, 2, -1).sum(2)])
    scores = metric.score(sums_23D)
    assert scores.shape == sums_23D.shape[:-1]
    for place in np.ndindex(*scores.shape):
        assert scores[place] == metric.score(sums_23D[place])


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.signature())
def test_nothing_said_and_nothing_there(metric: SacreMetric) -> None:
    assert metric.statistics([], [[]]).shape == (0, metric.width)
    nothing = float(metric.score(total(metric.statistics(["", ""], [["", ""]]))))
    assert nothing == 0.0
    assert math.isfinite(interval(metric, metric.statistics(["", "a b c d"], [["a b c d", ""]])).low)


def test_a_tokenizer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**given: object) -> None:
        raise RuntimeError("\nneeds more.\n\n   pip install sacrebleu[ko]\n")

    monkeypatch.setattr(bleu, "BLEU", missing)
    with pytest.raises(UserError) as caught:
        Bleu("ko-mecab")
    assert str(caught.value) == (
        "evaluation.bleu.tokenize = 'ko-mecab' needs more than is installed: needs more. pip install sacrebleu[ko]"
    )


def test_fractions_are_added_one_after_the_other() -> None:
    """Lengths of three references are thirds, whose sum depends on the order in the last bit."""
    metric = Ter()
    wanted = [MANY, MANY_GOOD, MANY_BAD]
    stats_ND = metric.statistics(MANY_BETTER, wanted)
    assert float(metric.score(total(stats_ND))) == metric.counter.corpus_score(MANY_BETTER, wanted).score
    assert total(stats_ND).tolist() == [sum(column) for column in stats_ND.T.tolist()]
    tenths_ND = np.full((1000, 2), 0.1)
    assert total(tenths_ND).tolist() == [sum([0.1] * 1000)] * 2 != [100.0, 100.0]
