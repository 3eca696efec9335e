"""What each layer hands to the next."""

import torch

from seqloom.inspect import watch_states
from seqloom.layers.layout import Packed
from seqloom.models import ModelSettings, Sizes, build_model
from seqloom.models.encoder_only import EncoderOnly


def test_the_states_of_every_layer() -> None:
    settings = {"family": "encoder-only", "width": 8, "depth": 3, "mixer": {"kind": "attention", "heads": 2}}
    model = build_model(
        ModelSettings.model_validate({**settings, "norm": {"kind": "layer", "place": "pre"}}), Sizes(5, 5)
    )
    assert isinstance(model, EncoderOnly)
    tokens, layout = torch.tensor([1, 2, 3, 4, 0]), Packed.of([2, 3])
    model.eval()
    with watch_states(model.encoder) as seen:
        output = model(tokens, layout)
        assert len(seen) == 4
        model(tokens, layout)
    assert len(seen) == 4  # of the latest call
    assert seen[-1].equal(output.hidden)
    assert seen[0].equal(model.input(tokens, layout)[0])
    x = seen[0]
    for block, state in zip(list(model.encoder.blocks)[:2], seen[1:3], strict=True):
        x = block(x, layout, None)[0]
        assert torch.allclose(x, state)
    model(tokens[:2], Packed.of([2]))
    assert len(seen[0]) == 5  # it looks no longer
