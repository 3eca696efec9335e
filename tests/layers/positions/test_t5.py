"""T5's buckets: an explicit table for each direction, and the bias that is looked up by them."""

import pytest
import torch

from seqloom.layers.positions import T5, T5Relative
from seqloom.layers.positions.relative import distances


def bucket_by_hand(distance: int, buckets: int, far: int, causal: bool) -> int:
    """Raffel et al. 2020, in whole numbers where a logarithm would round: the largest b whose border is not passed."""
    offset = 0
    if not causal:
        buckets //= 2
        offset = buckets if distance > 0 else 0
        away = abs(distance)
    else:
        away = max(-distance, 0)
    exact = buckets // 2
    if away < exact:
        return offset + away
    # bucket exact + i begins where away ≥ exact · (far / exact)^(i / (buckets - exact))
    grown = max(
        i for i in range(buckets - exact) if away ** (buckets - exact) * exact**i >= exact ** (buckets - exact) * far**i
    )
    return offset + exact + grown


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("buckets", "far"), [(32, 128), (8, 20), (4, 5), (32, 100)])
def test_buckets_against_whole_numbers(buckets: int, far: int, causal: bool) -> None:
    relative = T5Relative(T5(buckets=buckets, distance=far), 2, causal)
    span = range(-3 * far, 3 * far + 1)
    ours = relative.bucket(torch.tensor(list(span))).tolist()
    theirs = [bucket_by_hand(distance, buckets, far, causal) for distance in span]
    assert ours == theirs


def test_the_papers_buckets_spelled_out() -> None:
    """32 buckets up to 128, both directions: 8 exact ones, then 8 that grow; the future has the upper half."""
    relative = T5Relative(T5(), 1, causal=False)
    borders = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 22: 10, 23: 11, 31: 11, 32: 12, 45: 12}
    borders |= {46: 13, 63: 13, 64: 14, 90: 14, 91: 15, 127: 15, 128: 15, 5000: 15}
    for away, bucket in borders.items():
        assert relative.bucket(torch.tensor([-away])).item() == bucket, away
        assert relative.bucket(torch.tensor([away])).item() == (bucket + 16 if away else 0), away


def test_the_future_of_a_causal_layer_is_bucket_zero() -> None:
    relative = T5Relative(T5(buckets=8, distance=20), 1, causal=True)
    assert relative.bucket(torch.tensor([0, 1, 7, 100])).tolist() == [0, 0, 0, 0]
    assert relative.bucket(torch.tensor([0, -1, -2, -3, -4])).tolist() == [0, 1, 2, 3, 4]
    assert relative.bucket(torch.tensor([-1000])).item() == 7


def test_the_bias_is_looked_up() -> None:
    relative = T5Relative(T5(buckets=8, distance=6), 3, causal=False)
    at = torch.tensor([[0, 1], [4, 5]])
    bias = relative.bias(torch.zeros(2, 3, 2, 4), at, 6, False)
    assert bias is not None
    assert bias.shape == (2, 3, 2, 6)
    index = relative.bucket(distances(at, 6))
    for b in range(2):
        for t in range(2):
            for s in range(6):
                assert torch.equal(bias[b, :, t, s], relative.table_MH[index[b, t, s]])
