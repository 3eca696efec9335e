"""Minimum Bayes risk, and its likenesses against sacrebleu."""

import re

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from seqloom.generation.rerank import MBR, bleu, build_likeness, chrf, in_pairs, mbr
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings

ODD = [
    "",
    " ",
    "a",
    "ab",
    "a b  c",
    "the cat sat on the mat.",
    "The cat, sat on the mat!",
    "猫が座った",
    "1,000.50 – x",
]
TEXTS = st.lists(st.one_of(st.sampled_from(ODD), st.text("ab c.", max_size=12)), min_size=1, max_size=6)


@settings(max_examples=40)
@given(TEXTS, TEXTS)
def test_chrf_is_sacrebleus(hypotheses: list[str], references: list[str]) -> None:
    peer = [[sacrebleu.sentence_chrf(hyp, [ref]).score for ref in references] for hyp in hypotheses]
    np.testing.assert_allclose(chrf(hypotheses, references), peer, rtol=1e-12)


@settings(max_examples=40)
@given(TEXTS, TEXTS)
def test_bleu_is_sacrebleus(hypotheses: list[str], references: list[str]) -> None:
    peer = [[sacrebleu.sentence_bleu(hyp, [ref]).score for ref in references] for hyp in hypotheses]
    np.testing.assert_array_equal(bleu(hypotheses, references), peer)


def test_many_texts_are_compared_in_parts() -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdefgh "), 300)) for _ in range(70)]
    peer = [sacrebleu.sentence_chrf(texts[3], [ref]).score for ref in texts]
    np.testing.assert_allclose(chrf(texts, texts)[3], peer, rtol=1e-12)


@settings(max_examples=40)
@given(TEXTS, st.booleans(), st.data())
def test_the_best_has_the_highest_mean(texts: list[str], weighted: bool, data: st.DataObject) -> None:
    weights = [data.draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in texts] if weighted else None
    given_weights = weights or [1.0] * len(texts)
    expected = [
        sum(w * sacrebleu.sentence_chrf(hyp, [ref]).score for w, ref in zip(given_weights, texts, strict=True))
        / sum(given_weights)
        for hyp in texts
    ]
    order = mbr(texts, weights, build_likeness("chrf"))
    assert sorted(place for place, _ in order) == list(range(len(texts)))
    for place, value in order:
        assert value == pytest.approx(expected[place])
    assert [value for _, value in order] == sorted((value for _, value in order), reverse=True)


def test_exact_is_a_vote() -> None:
    exact = build_likeness("exact")
    assert mbr(["a", "b", "b", "c"], None, exact) == [(1, 0.5), (2, 0.5), (0, 0.25), (3, 0.25)]
    assert mbr(["a", "b", "b"], [3.0, 0.5, 0.5], exact)[0] == (0, 0.75)
    assert mbr([], None, exact) == []


def test_any_score_of_pairs_will_do() -> None:
    order = mbr(
        ["aaa", "a", "aaaa"], None, in_pairs(lambda hypothesis, reference: -abs(len(hypothesis) - len(reference)))
    )
    assert [place for place, _ in order] == [0, 2, 1]
    assert [value for _, value in order] == pytest.approx([-1, -4 / 3, -5 / 3])


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_weights_must_fit(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="2 texts need as many weights, none below 0 and not all 0; not"):
        mbr(["a", "b"], weights, chrf)


@pytest.mark.parametrize(
    ("settings_given", "reason"),
    [
        ({"n_best": 17, "rerank": MBR()}, "17 answers cannot come from 16 candidates"),
        ({"groups": 2, "rerank": MBR()}, "without a beam; set groups = 1, or of = 'n-best'"),
        ({"rerank": MBR(of="n-best")}, "16 answers cannot come from a beam of 4; set beam = 16"),
        ({"sample": Sampling(), "rerank": MBR(of="n-best")}, "with sample there is none; set of = 'samples'"),
        ({"n_best": 8, "rerank": MBR()}, None),
        ({"beam": 16, "groups": 4, "rerank": MBR(of="n-best")}, None),
    ],
)
def test_what_cannot_go_together(settings_given: dict[str, object], reason: str | None) -> None:
    if reason is None:
        GenerationSettings.model_validate(settings_given)
    else:
        with pytest.raises(ValidationError, match=re.escape(reason)):
            GenerationSettings.model_validate(settings_given)
