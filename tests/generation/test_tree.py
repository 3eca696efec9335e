"""The recorded search is the search: its winner, its totals, its scores."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation import GenerationSettings, Item, PairScorer, write
from seqloom.generation.length import penalty
from seqloom.generation.search import write_tree
from seqloom.generation.tree import Tree
from seqloom.settings import UserError
from tests.generation.tiny import BEGIN, END, PAIRS, SIZE, attention_total, pair_model, read

SOURCES = st.lists(st.integers(2, SIZE - 1), min_size=0, max_size=4)
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3},
    "wider than the vocabulary": {"beam": 8},
    "mean": {"beam": 3, "length": {"kind": "mean", "alpha": 0.7}},
    "n-best": {"beam": 4, "n_best": 3},
    "groups": {"beam": 4, "groups": 2, "diversity": 1.0},
    "coverage": {"beam": 3, "coverage": 0.3},
    "no repeat": {"beam": 3, "no_repeat": 2},
}


def both(name: str, seed: int, item: Item, way: dict[str, Any]) -> tuple[Any, list[Any], list[Any], Tree]:
    model, asked = pair_model(name, seed), GenerationSettings.model_validate(way)
    ((_, plain),) = write(PairScorer(model, BEGIN, END), [item], asked)
    written, tree = write_tree(PairScorer(model, BEGIN, END), item, asked)
    return model, plain, written, tree


@pytest.mark.parametrize("way", WAYS)
@given(source=SOURCES, seed=st.integers(0, 50), longest=st.integers(1, 6))
@settings(max_examples=15)
def test_the_winner_is_the_search_s_own(way: str, source: list[int], seed: int, longest: int) -> None:
    _, plain, written, tree = both("attention", seed, Item(source, 0, longest), WAYS[way])
    assert [answer.tokens for answer in written] == [answer.tokens for answer in plain]
    assert [answer.score for answer in written] == [answer.score for answer in plain]
    for answer in written:
        ending = tree.endings[tree.place(answer)]
        assert ending.score == answer.score
        assert tree.tokens(ending) == answer.tokens
        assert ending.length == max(1, len(answer.tokens) + answer.ended)
    ranked = sorted(tree.endings, key=lambda one: (not one.ended, -one.score))
    assert ranked[0].score == written[0].score


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "bottleneck"])
def test_every_number_is_the_model_s(name: str) -> None:
    source, weight = [2, 3, 4], 0.3
    model, _, _, tree = both(name, 3, Item(source, 0, 5), {"beam": 3, "coverage": weight})
    assert any(not node.kept for node in tree.nodes)
    for node in tree.nodes:
        before, at = list[int](), node.parent
        total = node.log_prob
        while at is not None:
            parent = tree.nodes[at]
            assert parent.kept
            assert parent.step == node.step - 1 - len(before)
            before.append(parent.token)
            total += parent.log_prob
            at = parent.parent
        assert node.step == len(before)
        log_probs_TV = read(model, source, [before[::-1]])[0]
        assert node.log_prob == pytest.approx(float(log_probs_TV[-1, node.token]), abs=1e-5)
        assert node.total == pytest.approx(total, abs=1e-6)
        assert not node.finished or node.token == END
    for ending in (one for one in tree.endings if one.ended):
        read_S = attention_total(model, source, tree.tokens(ending))
        assert ending.coverage == pytest.approx(weight * float(read_S.clamp(max=1).log().sum()), abs=1e-4)
        worth = ending.total / penalty(tree.length, float(ending.length))
        assert ending.score == pytest.approx(worth + ending.coverage)


def test_every_step_has_all_that_was_considered() -> None:
    """Twice as many as are kept, of which the best that do not end go on; what ends stands among the best."""
    _, _, _, tree = both("attention", 3, Item([2, 3, 4], 0, 6), {"beam": 2})
    for step in range(max(node.step for node in tree.nodes)):
        nodes = [node for node in tree.nodes if node.step == step]
        assert len(nodes) == 4
        assert [node.total for node in nodes] == sorted((node.total for node in nodes), reverse=True)
        assert [node.kept for node in nodes].count(True) == 2
        going = [node for node in nodes if node.token != END]
        assert all(node.kept for node in going[:2])
        assert not any(node.kept for node in going[2:])
        assert all(node.finished == (node.token == END) for node in nodes[:2])


def test_groups_are_told_apart() -> None:
    _, _, _, tree = both("attention", 3, Item([2, 3, 4], 0, 4), {"beam": 4, "groups": 2})
    for node in tree.nodes:
        assert node.group in (0, 1)
        assert node.parent is None or tree.nodes[node.parent].group == node.group
    assert {node.group for node in tree.nodes if node.kept} == {0, 1}


class Endless:
    """Never ends; of the others each is as likely as before."""

    begin, end, size = BEGIN, END, SIZE

    def start(self, items: Any) -> tuple[Any, torch.Tensor]:
        return torch.zeros(len(items), 1), torch.full((len(items),), BEGIN)

    def step(self, last_R: torch.Tensor, state: Any, attention: bool) -> tuple[torch.Tensor, None, Any]:
        log_probs_V = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2]).log()
        return log_probs_V.expand(len(last_R), -1).clone(), None, state


def test_what_is_cut_is_told() -> None:
    (written,), tree = write_tree(Endless(), Item([2, 3], 0, longest=3), GenerationSettings(beam=2))
    assert [one.ended for one in tree.endings] == [False, False]
    ending = tree.endings[tree.place(written)]
    assert tree.tokens(ending) == written.tokens == (2, 2, 2)
    assert ending.score == written.score
    assert ending.length == 3


def test_chance_has_no_tree() -> None:
    asked = GenerationSettings.model_validate({"sample": {}})
    with pytest.raises(UserError, match="leave sample out"):
        write_tree(PairScorer(pair_model("attention", 1), BEGIN, END), Item([2], 0, 3), asked)
