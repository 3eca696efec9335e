"""Shaw's vectors for distances, against eq. 3 and 4 in loops."""

import math

import pytest
import torch

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.layout import Packed
from seqloom.layers.positions import Shaw, ShawRelative


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_equations_three_and_four(values: bool, causal: bool) -> None:
    torch.manual_seed(0)
    T, K, reach = 6, 4, 2
    mixer = SelfAttention(Attention(heads=2, output=False, relative=Shaw(distance=reach, values=values)), 8, causal)
    mixer = mixer.double()
    x = torch.randn(T, 8).double()
    y, _ = mixer(x, Packed.of([T]))
    relative = mixer.relative
    assert isinstance(relative, ShawRelative)
    q, k, v = mixer.heads.of_itself(x)
    for head in range(2):
        for i in range(T):
            seen = range(i + 1) if causal else range(T)
            vectors = [max(-reach, min(reach, j - i)) + reach for j in seen]
            scores = torch.stack(
                [
                    q[i, head] @ (k[j, head] + relative.key_MK[m]) / math.sqrt(K)
                    for j, m in zip(seen, vectors, strict=True)
                ]
            )
            weights = scores.softmax(-1)
            expected = sum(
                weights[n] * (v[j, head] + (relative.value_MK[m] if values else 0))
                for n, (j, m) in enumerate(zip(seen, vectors, strict=True))
            )
            torch.testing.assert_close(y[i, head * K : (head + 1) * K], expected)


def test_no_vectors_for_values_where_none_are_wanted() -> None:
    assert [name for name, _ in ShawRelative(Shaw(distance=3, values=False), 4).named_parameters()] == ["key_MK"]
    both = ShawRelative(Shaw(distance=3), 4)
    assert both.key_MK.shape == both.value_MK.shape == (7, 4)
