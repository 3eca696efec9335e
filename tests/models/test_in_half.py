"""A model in half precision: products and caches are narrow, all else is as it was."""

import torch

from seqloom.layers.attention import SelfAttention
from seqloom.models import EncoderDecoder, Sizes, build_model
from seqloom.models.heads import TokenHead
from seqloom.models.in_half import in_half
from seqloom.models.settings import ModelSettings

SETTINGS = {"width": 16, "depth": 1, "mixer": {"kind": "attention", "heads": 2}, "tie": "all"}


def test_a_copy_with_narrow_products() -> None:
    torch.manual_seed(0)
    network = build_model(ModelSettings.model_validate(SETTINGS), Sizes(11, 11)).eval()
    assert isinstance(network, EncoderDecoder)
    half = in_half(network, torch.bfloat16)
    assert isinstance(half, EncoderDecoder)
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}
    narrow = {name for name, weight in half.named_parameters() if weight.dtype == torch.bfloat16}
    assert any("mixer.heads.qkv.weight" in name for name in narrow)
    assert any("cross.heads.kv.bias" in name for name in narrow)
    assert any("feed_forward" in name for name in narrow)
    assert not any("norm" in name or "embedding" in name for name in narrow)
    assert isinstance(half.head, TokenHead)
    assert half.head.weight_VD.dtype == torch.bfloat16
    assert half.target.vectors.dtype == torch.float32, "what is looked up stays, though the output shares it"
    mixers = [part for part in half.modules() if isinstance(part, SelfAttention)]
    assert {mixer.start(1).keys_BGSK.dtype for mixer in mixers if mixer.causal} == {torch.bfloat16}
