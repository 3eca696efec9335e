"""A chain of tags against every sequence of tags, written out."""

import itertools
import math
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from seqloom.layers import chain as chain_module
from seqloom.layers.chain import Chain, Links, best_tags, log_marginals, log_score, log_total
from seqloom.layers.paths import only_plain

LENGTHS = [4, 1, 0, 3, 2]
SIZE = 3


def drawn(dtype: torch.dtype = torch.float64, size: int = SIZE) -> tuple[Tensor, Tensor, Links]:
    """Junk stands behind the words of a row."""
    g = torch.Generator().manual_seed(1)
    scores_BTV = 2 * torch.randn(len(LENGTHS), max(LENGTHS), size, generator=g, dtype=torch.float64)
    links = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((size,), (size, size), (size,)))
    return scores_BTV.to(dtype), torch.tensor(LENGTHS), Links(*(2 * part.to(dtype) for part in links))


def every(scores_TV: Tensor, links: Links) -> dict[tuple[int, ...], float]:
    """The score of every sequence of tags."""
    found, scores_TV, links = {}, scores_TV.detach(), Links(*(part.detach() for part in links))
    for tags in itertools.product(range(scores_TV.shape[1]), repeat=len(scores_TV)):
        score = sum(float(scores_TV[step, tag]) for step, tag in enumerate(tags))
        score += sum(float(links.follow_VV[one, next_]) for one, next_ in itertools.pairwise(tags))
        found[tags] = score + (float(links.begin_V[tags[0]] + links.end_V[tags[-1]]) if tags else 0.0)
    return found


def total(scores: dict[tuple[int, ...], float]) -> float:
    return math.log(math.fsum(math.exp(score) for score in scores.values()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_total_is_that_of_every_sequence(dtype: torch.dtype) -> None:
    scores_BTV, lengths_B, links = drawn(dtype)
    wanted = [total(every(scores_BTV[row, :length], links)) for row, length in enumerate(LENGTHS)]
    assert log_total(scores_BTV, lengths_B, links).tolist() == pytest.approx(wanted, rel=1e-5)
    assert wanted[2] == 0


def test_the_score_of_one_sequence() -> None:
    scores_BTV, lengths_B, links = drawn()
    tags_BT = torch.tensor([[2, 0, 1, 1], [1, -7, 9, 0], [5, 5, 5, 5], [0, 0, 2, -1], [2, 2, -1, -1]])
    found = log_score(scores_BTV, tags_BT, lengths_B, links).tolist()
    for row, length in enumerate(LENGTHS):
        wanted = every(scores_BTV[row, :length], links)[tuple(tags_BT[row, :length].tolist())]
        assert found[row] == pytest.approx(wanted)


def test_marginals_are_those_of_every_sequence() -> None:
    scores_BTV, lengths_B, links = drawn()
    found_BTV = log_marginals(scores_BTV, lengths_B, links).exp()
    for row, length in enumerate(LENGTHS):
        scores = every(scores_BTV[row, :length], links)
        whole = total(scores)
        for step, tag in itertools.product(range(length), range(SIZE)):
            wanted = math.fsum(math.exp(score - whole) for tags, score in scores.items() if tags[step] == tag)
            assert float(found_BTV[row, step, tag]) == pytest.approx(wanted)


def test_the_best_is_the_best_of_every_sequence() -> None:
    scores_BTV, lengths_B, links = drawn()
    found_BT = best_tags(scores_BTV, lengths_B, links)
    alone_BT = scores_BTV.argmax(-1)
    for row, length in enumerate(LENGTHS):
        scores = every(scores_BTV[row, :length], links)
        assert tuple(found_BT[row, :length].tolist()) == max(scores, key=lambda tags: scores[tags])
    assert any(found_BT[row, :length].tolist() != alone_BT[row, :length].tolist() for row, length in enumerate(LENGTHS))


def test_rows_by_themselves_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    scores_BTV, lengths_B, links = drawn()
    whole = [made(scores_BTV, lengths_B, links) for made in (log_total, log_marginals, best_tags)]
    monkeypatch.setattr(chain_module, "MOST", 2 * SIZE * SIZE)  # two rows at once
    for made, together in zip((log_total, log_marginals, best_tags), whole, strict=True):
        with only_plain():
            parts = made(scores_BTV, lengths_B, links)
        for row, length in enumerate(LENGTHS):
            alone = made(scores_BTV[row : row + 1, :length], lengths_B[row : row + 1], links)[0]
            for other in (together, parts):
                torch.testing.assert_close(alone, other[row] if made is log_total else other[row, :length])


@pytest.mark.parametrize(("most", "plain"), [(chain_module.MOST, False), (chain_module.MOST, True), (SIZE**2, True)])
def test_gradients(monkeypatch: pytest.MonkeyPatch, most: int, plain: bool) -> None:
    monkeypatch.setattr(chain_module, "MOST", most)
    scores_BTV, lengths_B, links = drawn()
    given = tuple(part.requires_grad_() for part in (scores_BTV, *links))
    tags_BT = torch.tensor([[2, 0, 1, 1]] * len(LENGTHS))

    def log_prob(scores_BTV: Tensor, *parts: Tensor) -> Tensor:
        made = Links(*parts)
        return log_score(scores_BTV, tags_BT, lengths_B, made) - log_total(scores_BTV, lengths_B, made)

    def marginals(scores_BTV: Tensor, *parts: Tensor) -> Tensor:
        return log_marginals(scores_BTV, lengths_B, Links(*parts))[0]

    with only_plain() if plain else nullcontext():
        assert torch.autograd.gradcheck(log_prob, given)
        assert torch.autograd.gradcheck(marginals, given)


def test_products_are_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """In single precision, of scores that are far apart; where they are too far, no product is made."""
    g = torch.Generator().manual_seed(2)
    links_VV, lost = 12 * torch.randn(30, 30, generator=g), torch.zeros(30, 30)
    lost[3] = -torch.cat((torch.full((1,), 200.0), torch.zeros(29)))
    for links, near in (links_VV, True), (lost, False):
        from_BV = 12 * torch.randn(20, 30, generator=g) + 500
        if not near:
            from_BV[:, 1:] -= 300  # what may go on to the third stands far below what may not
        ends, made = [], []
        for paths in nullcontext(), only_plain():
            parts = from_BV.clone().requires_grad_(), links.clone().requires_grad_()
            with paths:
                made.append(chain_module._product(*parts))
                found = chain_module._through(*parts)
                (found * torch.arange(30)).sum().backward()
            ends.append((found.detach(), *(part.grad for part in parts)))
        assert (made[0] is not None, made[1]) == (near, None)
        for one, other in zip(*ends, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_slope_of_the_total_is_the_marginal() -> None:
    scores_BTV, lengths_B, links = drawn()
    scores_BTV.requires_grad_()
    log_total(scores_BTV, lengths_B, links).sum().backward()
    assert scores_BTV.grad is not None
    real_BT1 = (torch.arange(scores_BTV.shape[1]) < lengths_B[:, None])[..., None]
    wanted = torch.where(real_BT1, log_marginals(scores_BTV, lengths_B, links).exp(), 0)
    torch.testing.assert_close(scores_BTV.grad, wanted.detach())


def test_no_words_at_all() -> None:
    _, _, links = drawn()
    scores_BTV, lengths_B = torch.zeros(2, 0, SIZE, dtype=torch.float64), torch.zeros(2, dtype=torch.int64)
    assert log_total(scores_BTV, lengths_B, links).tolist() == [0, 0]
    assert log_score(scores_BTV, torch.zeros(2, 0, dtype=torch.int64), lengths_B, links).tolist() == [0, 0]
    assert log_marginals(scores_BTV, lengths_B, links).shape == (2, 0, SIZE)
    assert best_tags(scores_BTV, lengths_B, links).shape == (2, 0)


def test_links_that_are_next_to_impossible_do_no_harm() -> None:
    """Far beyond what exp can hold in single precision: e⁻²⁰⁰ is nothing there."""
    links = Links(torch.zeros(2), torch.tensor([[-200.0, 0.0], [0.0, -200.0]]), torch.zeros(2))
    scores_BTV = torch.tensor([[[300.0, 0.0], [0.0, 0.0], [0.0, 300.0]]], requires_grad=True)
    lengths_B = torch.tensor([3])
    found = log_total(scores_BTV, lengths_B, links)
    found.sum().backward()
    assert found.item() == pytest.approx(400 + math.log(2))
    assert scores_BTV.grad is not None
    torch.testing.assert_close(scores_BTV.grad[0], torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))


def test_a_new_chain_links_nothing_and_is_exact_in_half_precision() -> None:
    scores_BTV, lengths_B, _ = drawn(torch.float32)
    links = Chain(SIZE).to(torch.bfloat16).links
    assert {part.dtype for part in links} == {torch.float32}
    torch.testing.assert_close(log_marginals(scores_BTV, lengths_B, links)[0], scores_BTV[0].log_softmax(-1))


def test_smoothed_links_are_those_of_tags_that_may_be_others() -> None:
    scores_BTV, lengths_B, links = drawn()
    share, goal = 0.2, (2, 0, 1)
    smooth_TV = (1 - share) * scores_BTV[3, :3] + share * scores_BTV[3, :3].mean(-1, keepdim=True)
    found = log_score(smooth_TV[None], torch.tensor([goal]), lengths_B[3:4], links.smoothed(share))
    chance = [[1 - share + share / SIZE if tag == right else share / SIZE for tag in range(SIZE)] for right in goal]
    wanted = sum(
        score * math.prod(chance[step][tag] for step, tag in enumerate(tags))
        for tags, score in every(scores_BTV[3, :3], links).items()
    )
    assert found.item() == pytest.approx(wanted)
