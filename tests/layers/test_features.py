"""Features of nodes, dense and sparse."""

import torch

from seqloom.layers.features import FeatureEmbedding, Features
from seqloom.layers.layout import Packed

LAYOUT = Packed.of([4])
X = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def built(dropout: float = 0.0) -> FeatureEmbedding:
    torch.manual_seed(1)
    return FeatureEmbedding(Features(dropout=dropout), 3, 5)


def test_sparse_is_dense() -> None:
    for dropout in (0.0, 0.5):
        embedding = built(dropout).eval()
        dense, sparse = embedding(X, LAYOUT)[0], embedding(X.to_sparse(), LAYOUT)[0]
        torch.testing.assert_close(sparse, dense)
        torch.testing.assert_close(dense, X @ embedding.inputs.weight.T + embedding.inputs.bias)


def test_the_weights_learn_from_sparse_features() -> None:
    embedding = built()
    gradients = []
    for x in (X, X.to_sparse()):
        embedding.zero_grad()
        embedding(x, LAYOUT)[0].square().sum().backward()
        assert embedding.inputs.weight.grad is not None
        gradients.append(embedding.inputs.weight.grad.clone())
    torch.testing.assert_close(*gradients)


def test_sparse_features_in_half_precision() -> None:
    """Whatever the rest is computed in: torch has no way back from a sparse product in bf16."""
    embedding = built()
    wanted = embedding(X, LAYOUT)[0]
    with torch.autocast("cpu", torch.bfloat16):
        found = embedding(X.to_sparse(), LAYOUT)[0]
        loss = found.square().sum()
    loss.backward()
    torch.testing.assert_close(found, wanted)
    assert embedding.inputs.weight.grad is not None


def test_dropout_leaves_out_single_features_and_makes_up_for_it() -> None:
    embedding = built(0.5)
    torch.nn.init.ones_(embedding.inputs.weight)
    for x in (X, X.to_sparse()):
        torch.manual_seed(2)
        seen = {round(float(embedding(x, LAYOUT)[0][1, 0].detach()), 3) for _ in range(60)}
        assert seen == {0.0, 2.0, 6.0, 8.0}


def test_cost() -> None:
    assert Features().cost(3, 5).parameters == sum(p.numel() for p in built().parameters())
