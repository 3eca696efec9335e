"""GAT: what the paper says of it, and what it cannot do without."""

import torch
import torch.nn.functional as F

from seqloom.layers.layout import Edges, Packed, with_edges
from seqloom.models import EncoderOnly, Sizes, build_model
from tests.recipes.shrunk import parameters, recipe

PUBLISHED = 1433 * 64 + 64 + 2 * 64 + 64 * 7 + 7 + 2 * 7


def test_parameters() -> None:
    target = recipe("gat").target
    assert target.parameters == PUBLISHED
    assert parameters("gat") == PUBLISHED + 2 * (64 - 7)
    model = build_model(recipe("gat").model, Sizes(1433, 7))
    assert sum(p.numel() for p in model.parameters()) == parameters("gat")


def built(features: int, classes: int) -> EncoderOnly:
    torch.manual_seed(1)
    model = build_model(recipe("gat", "model.width=16", "model.input.dropout=0.0").model, Sizes(features, classes))
    assert isinstance(model, EncoderOnly)
    return model


def test_two_layers_of_the_paper_by_hand() -> None:
    """Layer 2 written as in the paper, W₂ first: scores_i = Σ_j α_ij W₂ h_j + b."""
    model = built(5, 3).eval()
    x, see = torch.rand(6, 5), torch.rand(1, 6, 6) < 0.5
    see |= torch.eye(6, dtype=torch.bool)
    found = model.scores(model(x, with_edges(Packed.of([6]), Edges.of_structure(see))))
    first, second = (block.mixer for block in model.encoder.blocks)

    def alpha(h: torch.Tensor, score: torch.nn.Module, heads: int) -> torch.Tensor:
        parts = h.unflatten(-1, (heads, -1))
        left, right = (parts * score.query_HK).sum(-1).T, (parts * score.key_GJ).sum(-1).T
        scores = F.leaky_relu(left[:, :, None] + right[:, None], 0.2)
        return scores.masked_fill(~see, float("-inf")).softmax(-1)

    h = model.input.embedding(x, Packed.of([6]))[0]
    mixed = alpha(h, first.heads.score, 8) @ h.unflatten(-1, (8, -1)).transpose(0, 1)
    h = F.elu(mixed.transpose(0, 1).flatten(1))
    out = model.head.out
    wanted = alpha(h, second.heads.score, 1)[0] @ F.linear(h, out.weight) + out.bias
    torch.testing.assert_close(found, wanted)


def test_neighbours_are_learnt_from() -> None:
    """A node's class is its neighbour's feature: by heart along the edges, and not without them."""
    draw = torch.Generator().manual_seed(2)
    kinds = torch.randint(0, 2, (24,), generator=draw)
    pairs = torch.randperm(24, generator=draw).view(12, 2)
    label = torch.empty_like(kinds)
    label[pairs[:, 0]], label[pairs[:, 1]] = kinds[pairs[:, 1]], kinds[pairs[:, 0]]
    both = torch.cat((pairs, pairs.flip(1), torch.arange(24)[:, None].expand(24, 2)))
    alone = torch.arange(24)[:, None].expand(24, 2)
    right = []
    for edges in (both, alone):
        layout = with_edges(Packed.of([24]), Edges.of(torch.zeros(len(edges)), edges[:, 0], edges[:, 1]))
        model = built(2, 2)
        for block in model.encoder.blocks:  # so few nodes are lost, not regularised, by dropout
            block.mixer.settings = block.mixer.settings.model_copy(update={"dropout": 0.0, "input_dropout": 0.0})
        optimiser = torch.optim.Adam(model.parameters(), 0.01)
        for _ in range(400):
            loss = F.cross_entropy(model.scores(model(F.one_hot(kinds).float(), layout)), label)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        scores = model.eval().scores(model(F.one_hot(kinds).float(), layout))
        right.append(float((scores.argmax(-1) == label).float().mean()))
    assert right[0] == 1
    assert right[1] < 0.8
