"""Banks that share a beam, against a plain loop."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation.allocation import allocate

SCORES = st.sampled_from([-math.inf, -3.0, -2.5, -2.0, -1.0, 0.0])
CANDIDATES = st.lists(st.tuples(SCORES, st.integers(0, 3)), min_size=1, max_size=12)


def in_turn(candidates: list[tuple[float, int]], beam: int) -> list[int]:
    """Round after round, each bank gives its best, the fullest bank first; then the impossible ones."""
    banks: dict[int, list[int]] = {}
    for number in sorted(range(len(candidates)), key=lambda n: (-candidates[n][0], n)):
        banks.setdefault(candidates[number][1], []).append(number)
    chosen: list[int] = []
    for alive in (True, False):
        rest = {met: [n for n in bank if (candidates[n][0] > -math.inf) == alive] for met, bank in banks.items()}
        offset = {} if alive else {met: sum(candidates[n][0] > -math.inf for n in bank) for met, bank in banks.items()}
        for turn in range(len(candidates)):
            for met in sorted(rest, reverse=True):
                place = turn - offset.get(met, 0)
                if 0 <= place < len(rest[met]):
                    chosen.append(rest[met][place])
    return chosen[:beam]


@settings(max_examples=100)
@given(CANDIDATES, st.integers(1, 6))
def test_the_same_as_turn_by_turn(candidates: list[tuple[float, int]], beam: int) -> None:
    scores_AC = torch.tensor([[score for score, _ in candidates]])
    met_AC = torch.tensor([[met for _, met in candidates]])
    # beside another item, which changes nothing
    chosen = allocate(torch.cat([scores_AC, -scores_AC.nan_to_num()]), torch.cat([met_AC, met_AC.flip(1)]), beam)
    assert chosen[0].tolist() == in_turn(candidates, beam)


@settings(max_examples=50)
@given(CANDIDATES, st.integers(1, 6))
def test_with_one_bank_it_is_top_k(candidates: list[tuple[float, int]], beam: int) -> None:
    scores = [score for score, _ in candidates]
    chosen = allocate(torch.tensor([scores]), torch.full((1, len(scores)), 2), beam)[0].tolist()
    assert chosen == sorted(range(len(scores)), key=lambda n: -scores[n])[:beam]


def test_the_best_of_the_fullest_bank_is_never_crowded_out() -> None:
    scores = torch.tensor([[-0.1, -0.2, -0.3, -9.0, -8.0, -50.0, -math.inf]])
    met = torch.tensor([[0, 0, 0, 1, 1, 2, 3]])
    assert allocate(scores, met, 1).tolist() == [[5]]
    assert allocate(scores, met, 4).tolist() == [[5, 4, 0, 3]]
    assert allocate(scores, met, 9).tolist() == [[5, 4, 0, 3, 1, 2, 6]]
