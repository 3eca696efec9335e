"""The search against all that could be said, greedy by hand, and what the model says of its answers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation import GenerationSettings, Item, PairScorer, write
from tests.generation.tiny import BEGIN, END, PAIRS, SIZE, everything, pair_model, read

LENGTHS = [
    {"kind": "none"},
    {"kind": "mean"},
    {"kind": "mean", "alpha": 0.5},
    {"kind": "wu"},
    {"kind": "wu", "alpha": 2.0},
]
SOURCES = st.lists(st.integers(2, SIZE - 1), min_size=0, max_size=4)


def said(model: Any, items: list[Item], **asked: Any) -> dict[int, list[Any]]:
    scorer = PairScorer(model, BEGIN, END)
    return dict(write(scorer, items, GenerationSettings.model_validate(asked)))


def by_hand(length: dict[str, Any], log_prob: float, count: int) -> float:
    alpha = length.get("alpha", {"wu": 0.6, "mean": 1.0}.get(length["kind"]))
    match length["kind"]:
        case "none":
            return log_prob
        case "mean":
            return log_prob / count**alpha
        case _:
            return log_prob / ((5 + count) / 6) ** alpha


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("length", LENGTHS, ids=str)
@given(source=SOURCES, shortest=st.integers(0, 2), seed=st.integers(0, 50), n_best=st.sampled_from([1, 3, 8]))
@settings(max_examples=8)
def test_a_beam_as_wide_as_all_finds_what_is_best_of_all(
    name: str, length: dict[str, Any], source: list[int], shortest: int, seed: int, n_best: int
) -> None:
    longest, model = 3, pair_model(name, seed)
    every = everything(model, source, shortest, longest)
    scored = {tokens: by_hand(length, sum(parts), len(parts)) for tokens, parts in every}
    best = sorted(scored.values(), reverse=True)[:n_best]
    items = [Item(source, 0, longest, shortest)]
    answers = said(model, items, beam=SIZE ** (longest + 1), n_best=n_best, length=length)[0]
    assert [answer.score for answer in answers] == pytest.approx(best, abs=1e-4)
    assert [scored[answer.tokens] for answer in answers] == pytest.approx(best, abs=1e-4)
    assert len({answer.tokens for answer in answers}) == len(answers)
    assert all(answer.ended for answer in answers)


@pytest.mark.parametrize("name", PAIRS)
@given(sources=st.lists(SOURCES, min_size=1, max_size=5), seed=st.integers(0, 50), batch=st.integers(1, 3))
@settings(max_examples=8)
def test_a_beam_of_one_is_greedy(name: str, sources: list[list[int]], seed: int, batch: int) -> None:
    model = pair_model(name, seed)
    answers = said(model, [Item(source, n, 6) for n, source in enumerate(sources)], beam=1, batch=batch)
    for number, source in enumerate(sources):
        wanted: list[int] = []
        while len(wanted) < 6 and (token := int(read(model, source, [wanted])[0, -1].argmax())) != END:
            wanted.append(token)
        (answer,) = answers[number]
        assert answer.tokens == tuple(wanted)
        assert answer.ended == (int(read(model, source, [wanted])[0, -1].argmax()) == END)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "asked",
    [
        {"beam": 3, "n_best": 3},
        {"beam": 4, "n_best": 4, "groups": 2},
        {"n_best": 4, "sample": {}},
        {"beam": 3, "n_best": 2, "no_repeat": 2},
        {"beam": 3, "n_best": 3, "coverage": 0.3},
    ],
    ids=str,
)
@given(sources=st.lists(SOURCES, min_size=1, max_size=5), seed=st.integers(0, 50), batch=st.integers(1, 3))
@settings(max_examples=5)
def test_what_comes_back_is_what_the_model_says(
    name: str, asked: dict[str, Any], sources: list[list[int]], seed: int, batch: int
) -> None:
    if name == "bottleneck" and "coverage" in asked:
        return
    model = pair_model(name, seed)
    answers = said(model, [Item(source, n, 5) for n, source in enumerate(sources)], batch=batch, **asked)
    assert sorted(answers) == list(range(len(sources)))
    for number, source in enumerate(sources):
        said_here = answers[number]
        assert 1 <= len(said_here) <= asked["n_best"]
        ranks = [(not answer.ended, -answer.score) for answer in said_here]
        assert ranks == sorted(ranks)
        assert "sample" in asked or len({answer.tokens for answer in said_here}) == len(said_here)
        for answer in said_here:
            log_probs_TV = read(model, source, [answer.tokens])[0]
            goal = [*answer.tokens, END] if answer.ended else list(answer.tokens)
            each = [float(log_probs_V[token]) for log_probs_V, token in zip(log_probs_TV, goal, strict=False)]
            assert list(answer.log_probs) == pytest.approx(each, abs=1e-4)
            assert answer.log_prob == pytest.approx(sum(each), abs=1e-4)
            assert len(answer.tokens) == 5 or answer.ended or "no_repeat" in asked
            if "coverage" not in asked:
                assert answer.score == pytest.approx(by_hand({"kind": "wu"}, sum(each), max(1, len(goal))), abs=1e-4)
