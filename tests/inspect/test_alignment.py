import pytest
import torch

from seqloom.inspect import alignment


def sharp(tall: int, wide: int) -> torch.Tensor:
    return torch.eye(wide)[:tall].expand(1, 2, tall, wide)


def flat(tall: int, wide: int) -> torch.Tensor:
    return torch.full((1, 2, tall, wide), 1 / wide)


def test_the_surest_layer_that_reads_the_source() -> None:
    seen = {
        "encoder.blocks.0.mixer": [sharp(4, 4)],
        "decoder.blocks.0.mixer": [sharp(3, 3)],
        "decoder.blocks.0.cross": [flat(3, 4)],
        "decoder.blocks.1.cross": [sharp(3, 4)],
        "decoder.blocks.2.cross": [flat(3, 4)],
    }
    assert torch.equal(alignment(seen), torch.eye(4)[:3])


def test_heads_are_averaged() -> None:
    one = torch.stack([torch.eye(2), 1 - torch.eye(2)])[None]
    assert torch.equal(alignment({"decoder.blocks.0.cross": [one]}), torch.full((2, 2), 0.5))


def test_a_recurrent_decoder() -> None:
    seen = {"encoder.blocks.0.mixer": [sharp(4, 4)], "decoder.blocks.0.mixer": [flat(3, 4)]}
    assert alignment(seen).shape == (3, 4)


def test_no_source() -> None:
    with pytest.raises(ValueError, match="no layer of the model looks at a source"):
        alignment({"encoder.blocks.0.mixer": [sharp(4, 4)]})
