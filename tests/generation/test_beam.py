"""Which ways on are best, and which of two equals."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.generation.beam import NOTHING, Candidates, followed, forks, likeliest


@given(
    rows=st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, NOTHING]), min_size=7, max_size=7), min_size=1, max_size=4),
    count=st.integers(1, 7),
)
def test_of_equals_the_lower_place_comes_first(rows: list[list[float]], count: int) -> None:
    best, places = likeliest(torch.tensor(rows), count)
    for row, values, at in zip(rows, best.tolist(), places.tolist(), strict=True):
        wanted = sorted(range(len(row)), key=lambda place: (-row[place], place))[:count]
        assert values == [row[place] for place in wanted]
        real = [place for place in wanted if row[place] > NOTHING]
        assert at[: len(real)] == real


def test_the_best_ways_on() -> None:
    total_AK = torch.tensor([[-1.0, -2.0], [0.0, NOTHING]], dtype=torch.float64)
    log_probs_RV = torch.tensor([[-3.0, -1.0, -1.0], [-0.0, -9.0, -1.0], [-2.0, -1.0, -0.5], [0.0, 0.0, 0.0]])
    found = forks(total_AK, log_probs_RV, 4)
    assert found.total_AC.tolist() == [[-2, -2, -2, -3], [-0.5, -1, -2, NOTHING]]
    # equals: the earlier hypothesis, then the lower token
    assert found.origin_AC[0].tolist() == [0, 0, 1, 1]
    assert found.token_AC[0].tolist() == [1, 2, 0, 2]
    assert found.token_AC[1, :3].tolist() == [2, 1, 0]
    assert found.log_prob_AC[0].tolist() == [-1, -1, 0, -1]


def test_costs_change_the_ranking_and_not_the_totals() -> None:
    log_probs_RV = torch.tensor([[-1.0, -2.0, -9.0]])
    found = forks(torch.zeros(1, 1, dtype=torch.float64), log_probs_RV, 2, torch.tensor([[5.0, 0.0, 0.0]]))
    assert found.token_AC.tolist() == [[1, 0]]
    assert found.total_AC.tolist() == [[-2, -1]]


def test_what_does_not_go_on_makes_room() -> None:
    candidates = Candidates(
        torch.tensor([[0, 1, 0]]), torch.tensor([[7, 8, 9]]), torch.zeros(1, 3), torch.tensor([[-1.0, -2.0, -3.0]])
    )
    going = followed(candidates, torch.tensor([[False, True, True]]), 2)
    assert going.token_AC.tolist() == [[8, 9]]
    assert going.total_AC.tolist() == [[-2, -3]]
    few = followed(candidates, torch.tensor([[False, True, False]]), 4)
    assert few.total_AC.tolist() == [[-2, NOTHING, NOTHING, NOTHING]]
