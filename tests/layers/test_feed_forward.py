"""One call for all kinds; only a mixture has something to report."""

import torch

from seqloom.layers.dense import Dense
from seqloom.layers.experts import Experts
from seqloom.layers.feed_forward import NoFeedForward, build_feed_forward
from seqloom.layers.layout import Packed


def test_each_kind() -> None:
    x, layout = torch.randn(3, 4), Packed.of([3])
    dense, experts = build_feed_forward(Dense(), 4), build_feed_forward(Experts(experts=2), 4)
    assert dense is not None
    assert experts is not None
    y, report = dense(x, layout)
    assert report is None
    torch.testing.assert_close(y, dense.layer(x))
    y, report = experts.eval()(x, layout)
    assert y.shape == x.shape
    assert report is not None
    assert report.routed == 6
    assert build_feed_forward(NoFeedForward(), 4) is None
