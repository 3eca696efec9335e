"""Attention along edges is attention with a mask of them, and makes no square of all pairs."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.attend_edges import edge_weights
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.layout import Edges, Packed, Padded, with_edges, with_structure
from seqloom.layers.mixers import build_mixer
from seqloom.layers.recurrence import Recurrence

WIDTH = 8
KINDS = {
    "scaled-dot": Attention(heads=2),
    "multiplicative": Attention(heads=2, score="multiplicative"),
    "additive": Attention(heads=2, score="additive"),
    "gat": Attention(heads=4, score="leaky-additive", project=False, output=False, output_activation="elu"),
    "grouped": Attention(heads=4, key_heads=2, score="leaky-additive"),
}


def built(settings: Attention) -> SelfAttention:
    torch.manual_seed(3)
    return SelfAttention(settings, WIDTH, causal=False).double().eval()


def graph(seed: int, lengths: list[int], share: float = 0.4) -> tuple[Tensor, Tensor]:
    """x_ND, and who sees whom: some see nobody."""
    draw = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    see_BTT = torch.rand(len(lengths), longest, longest, generator=draw) < share
    inside = torch.arange(longest) < torch.tensor(lengths)[:, None]
    see_BTT &= inside[:, :, None] & inside[:, None]
    return torch.randn(sum(lengths), WIDTH, generator=draw, dtype=torch.float64), see_BTT


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 99), lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3), share=st.floats(0, 1))
def test_edges_are_a_mask(kind: str, seed: int, lengths: list[int], share: float) -> None:
    """Packed and padded, output and gradients."""
    mixer, (x, see_BTT) = built(KINDS[kind]), graph(seed, lengths, share)
    edges, layout = Edges.of_structure(see_BTT), Packed.of(lengths)
    found = []
    for laid in (with_structure(layout, see_BTT), with_edges(layout, edges)):
        given_x = x.clone().requires_grad_()
        y, _ = mixer(given_x, laid)
        (gradient,) = torch.autograd.grad((y * torch.arange(WIDTH)).sum(), given_x)
        found.append((y.detach(), gradient))
    torch.testing.assert_close(found[1], found[0])
    padded = Padded.of(lengths)
    z, _ = mixer(layout.pad(x), with_edges(padded, edges))
    torch.testing.assert_close(layout.unpad(z).detach(), found[0][0])


@given(seed=st.integers(0, 99))
def test_names_of_nodes_do_not_matter(seed: int) -> None:
    mixer, (x, see_BTT) = built(KINDS["gat"]), graph(seed, [7])
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    y, _ = mixer(x, with_edges(Packed.of([7]), Edges.of_structure(see_BTT)))
    z, _ = mixer(x[order], with_edges(Packed.of([7]), Edges.of_structure(see_BTT[:, order][:, :, order])))
    torch.testing.assert_close(z, y[order])


def test_an_edge_that_is_there_twice_counts_once() -> None:
    mixer, (x, see_BTT) = built(KINDS["gat"]), graph(1, [5])
    once = Edges.of_structure(see_BTT)
    twice = Edges.of(*(torch.cat((part, part)) for part in (once.row_E, once.query_E, once.key_E)))
    assert len(twice.row_E) == len(once.row_E)
    y, _ = mixer(x, with_edges(Packed.of([5]), once))
    z, _ = mixer(x, with_edges(Packed.of([5]), twice))
    assert torch.equal(y, z)


def test_weights_are_those_of_the_square() -> None:
    mixer, (x, see_BTT) = built(Attention(heads=2)), graph(1, [5])
    weights = [
        mixer.weights(x, layout)
        for layout in (
            with_edges(Packed.of([5]), Edges.of_structure(see_BTT)),
            with_structure(Packed.of([5]), see_BTT),
        )
    ]
    assert torch.equal(*weights)


def test_weights_of_large_scores_are_numbers() -> None:
    scores_EH = torch.tensor([[1e4], [1e4 + 1], [-1e4]])
    weights_EH = edge_weights(scores_EH, torch.tensor([0, 0, 2]), 3)
    torch.testing.assert_close(weights_EH[:2, 0], torch.tensor([0.0, 1.0]).softmax(0))
    assert weights_EH[2, 0] == 1


def test_dropout_is_of_single_edges() -> None:
    mixer, (x, see_BTT) = built(Attention(heads=2, score="leaky-additive", dropout=0.5)), graph(1, [6], 1.0)
    layout = with_edges(Packed.of([6]), Edges.of_structure(see_BTT))
    y, _ = mixer(x, layout)
    mixer.train()
    torch.manual_seed(1)
    mean = torch.stack([mixer(x, layout)[0] for _ in range(800)]).mean(0)
    assert not torch.equal(mixer(x, layout)[0], y)
    torch.testing.assert_close(mean, y, atol=0.25, rtol=0)


def test_gat_as_the_paper_writes_it() -> None:
    """h′ = ELU(Σ α W h), α = softmax over neighbours of LeakyReLU(a·[W hᵢ ‖ W hⱼ]) (eq. 1 to 5), node by node."""
    mixer, (h, see_BTT) = built(KINDS["gat"]), graph(2, [5], 0.6)
    y, _ = mixer(h, with_edges(Packed.of([5]), Edges.of_structure(see_BTT)))
    score = mixer.heads.score
    wanted = torch.zeros(5, WIDTH, dtype=torch.float64)
    for node in range(5):
        near = see_BTT[0, node].nonzero()[:, 0].tolist()
        for head in range(4):
            part = slice(2 * head, 2 * head + 2)
            a, b = score.query_HK[head], score.key_GJ[head]  # type: ignore[index]
            scores = [F.leaky_relu(a @ h[node, part] + b @ h[other, part], 0.2) for other in near]
            alpha = torch.stack(scores).softmax(0) if near else []
            for weight, other in zip(alpha, near, strict=True):
                wanted[node, part] += weight * h[other, part]
    torch.testing.assert_close(y, F.elu(wanted))


def test_a_large_graph_makes_no_square() -> None:
    """20,000 nodes: a square of them would be 400 million numbers for each head."""
    N = 20_000
    draw = torch.Generator().manual_seed(1)
    query_E, key_E = torch.randint(0, N, (2, 100_000), generator=draw)
    mixer = SelfAttention(KINDS["gat"], WIDTH, causal=False)
    layout = with_edges(Packed.of([N]), Edges.of(torch.zeros_like(query_E), query_E, key_E))
    x = torch.randn(N, WIDTH, generator=draw, requires_grad=True)
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        mixer(x, layout)[0].sum().backward()
    largest = max(event.self_cpu_memory_usage for event in seen.events())
    assert largest < 100_000 * WIDTH * 4 * 4
    assert x.grad is not None


@pytest.mark.parametrize(
    "settings",
    [Attention(heads=2, window=2), Attention(heads=2, block=2), Attention(heads=2, relative={"kind": "alibi"})],
)
def test_what_else_says_who_sees_whom(settings: Attention) -> None:
    x, see_BTT = graph(1, [5])
    with pytest.raises(ValueError, match="edges say who sees whom"):
        built(settings)(x, with_edges(Packed.of([5]), Edges.of_structure(see_BTT)))


def test_other_mixers_cannot_obey_edges() -> None:
    x, see_BTT = graph(1, [5])
    mixer = build_mixer(Recurrence(), WIDTH, causal=False).double()
    with pytest.raises(ValueError, match="only attention can"):
        mixer(x, with_edges(Packed.of([5]), Edges.of_structure(see_BTT)))


def test_edges_cannot_go_step_by_step() -> None:
    x, see_BTT = graph(1, [5])
    mixer = SelfAttention(Attention(heads=2), WIDTH, causal=True).double()
    with pytest.raises(ValueError, match="cannot be used step by step"):
        mixer(x, with_edges(Packed.of([5]), Edges.of_structure(see_BTT)), mixer.start(1))
