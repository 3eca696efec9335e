"""What defines the recipes of convolutions."""

from math import sqrt

import pytest

from tests.recipes.tricks.lookup import Tricks, both


def _bytenet(sets: int) -> Tricks:
    """Kalchbrenner et al. 2016."""
    return {
        **both({"mixer.kind": "bottleneck-convolution", "mixer.kernel": 3, "mixer.dilation": [1, 2, 4, 8, 16] * sets}),
        **both({"feed_forward.kind": "none", "norm.kind": "layer", "norm.place": "pre", "residual.kind": "add"}),
        "text.source.kind": "characters",
        "text.target": None,
        "decoder.cross.kind": ["aligned"] + ["none"] * (5 * sets - 1),  # section 3.1: it stands on the encoder
        "model.unfold.times": 1.2,  # section 3.2
        "model.unfold.more": 0,
        "generation.length.kind": "none",
    }


_CONVS2S: Tricks = {  # Gehring et al. 2017
    **both({"mixer.kind": "convolution", "mixer.gated": True, "mixer.weight_norm": True}),
    **both({"feed_forward.kind": "none", "norm.kind": "none", "positions.kind": "learned"}),
    **both({"residual.kind": "add", "residual.scale": pytest.approx(sqrt(0.5))}),  # section 3.4
    "decoder.cross.kind": "multi-step",  # section 3.3, in every layer
    "decoder.cross.divide": True,  # section 3.5
    "model.input.deviation": 0.1,  # section 3.5
    "training.optimiser.kind": "sgd",
    "training.optimiser.momentum": 0.99,
    "training.optimiser.nesterov": True,
    "training.clip": 0.1,
}

CONVOLUTIONS = {
    "bytenet": _bytenet(6),
    "bytenet-small": _bytenet(2),
    "convs2s": _CONVS2S | both({"depth": 15, "mixer.kernel": [3] * 13 + [1] * 2}),
    "convs2s-small": _CONVS2S | both({"depth": 4, "mixer.kernel": 3}),
}
