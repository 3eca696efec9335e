"""The tables that the recipes hold: Vaswani et al. 2017, Table 2, and Liu et al. 2018, Table 4."""

import pytest

from seqloom.evaluation.build import LABEL, RATE, SERIES, TEXT
from seqloom.jobs.recipes import shipped
from seqloom.jobs.recipes.published import Published
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import load

DE, FR, WIKI = "newstest2014 en-de", "newstest2014 en-fr", "wikisum lead, test"

TRANSLATION = [
    ("bytenet", DE, 23.75, None),
    ("deep-att", FR, 39.2, 1.0e20),
    ("deep-att", FR, 40.4, 8.0e20),
    ("gnmt-rl", DE, 24.6, 2.3e19),
    ("gnmt-rl", FR, 39.92, 1.4e20),
    ("gnmt-rl", DE, 26.30, 1.8e20),
    ("gnmt-rl", FR, 41.16, 1.1e21),
    ("convs2s", DE, 25.16, 9.6e18),
    ("convs2s", FR, 40.46, 1.5e20),
    ("convs2s", DE, 26.36, 7.7e19),
    ("convs2s", FR, 41.29, 1.2e21),
    ("moe-lstm", DE, 26.03, 2.0e19),
    ("moe-lstm", FR, 40.56, 1.2e20),
    ("transformer-base", DE, 27.3, 3.3e18),
    ("transformer-base", FR, 38.1, 3.3e18),
    ("transformer-big", DE, 28.4, 2.3e19),
    ("transformer-big", FR, 41.8, 2.3e19),
]
SUMMARIES = [
    ("rnn-attention-additive", 5.05, 12.7, "L = 500; 2 LSTMs of 128 (Liu et al. 2018)"),
    ("transformer-base", 2.47, 34.2, "L = 500; a million steps (Liu et al. 2018)"),
    ("transformer-decoder", 2.22, 33.6, ""),
    ("transformer-dmca", 2.05, 36.2, ""),
    ("transformer-dmca-moe", 1.93, 37.9, ""),
    ("transformer-dmca-moe", 1.90, 38.8, "256 experts, L = 7500"),
]
ELSEWHERE = {"f1", "loss", "score"}  # of GLUE, SQuAD and music, which seqloom does not score


def _target(name: str) -> Published:
    return load(shipped.names()[name], Recipe).target


@pytest.mark.parametrize(("name", "data", "score", "flops"), TRANSLATION)
def test_translation(name: str, data: str, score: float, flops: float | None) -> None:
    target = _target(name)
    found = [each for each in target.results if (each.data, each.metric, each.score) == (data, "bleu", score)]
    assert [target.spent(each) for each in found] == [flops]


@pytest.mark.parametrize(("name", "perplexity", "rouge", "note"), SUMMARIES)
def test_summaries(name: str, perplexity: float, rouge: float, note: str) -> None:
    target = _target(name)
    found = {each.metric: each for each in target.results if (each.data, each.note) == (WIKI, note)}
    assert found["perplexity"].score == pytest.approx(perplexity, abs=0.005)
    assert found["rougeL"].score == rouge
    assert {target.spent(each) for each in found.values()} == {None}


@pytest.mark.parametrize("name", shipped.names())
def test_results_can_be_told_apart_and_have_a_column(name: str) -> None:
    target = _target(name)
    told = [(target.named(each), each.metric) for each in target.results]
    assert len(set(told)) == len(told)
    assert {each.metric for each in target.results} <= {*TEXT, *LABEL, *RATE, *SERIES, *ELSEWHERE}
