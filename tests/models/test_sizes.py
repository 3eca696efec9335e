"""Vectors can be shared within one vocabulary only."""

import pytest
import torch
from torch import nn

from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import Family

MESSAGE = "token vectors can be tied only within one vocabulary, and there are two, of 5 and 7 tokens"


def test_shared() -> None:
    vectors = nn.Parameter(torch.zeros(5, 2))
    assert Sizes(5, 5).shared(vectors) is vectors
    with pytest.raises(ValueError, match=f"^{MESSAGE}; use a shared vocabulary, or tie less$"):
        Sizes(5, 7).shared(vectors)


@pytest.mark.parametrize(
    ("family", "tie", "refused"),
    [
        ("encoder-decoder", "all", True),
        ("encoder-decoder", "inputs", True),
        ("encoder-decoder", "output", False),
        ("encoder-decoder", "none", False),
        ("decoder-only", "output", True),
        ("decoder-only", "none", False),
        ("encoder-only", "all", True),
        ("encoder-only", "none", False),
    ],
)
def test_a_model_of_two_vocabularies(family: Family, tie: str, refused: bool) -> None:
    settings = ModelSettings.model_validate(
        {"family": family, "tie": tie, "width": 4, "depth": 1, "mixer": {"kind": "attention", "heads": 2}}
    )
    if refused:
        with pytest.raises(ValueError, match=MESSAGE):
            build_model(settings, Sizes(5, 7))
    else:
        build_model(settings, Sizes(5, 7))
