"""Weights side by side are the same weights, and so are their gradients."""

import torch

from seqloom.layers.cudnn_weights import in_one_piece, laid_out


def _weights() -> list[torch.Tensor]:
    """Of an LSTM that reads 2 numbers, holds 3 and carries on 1."""
    torch.manual_seed(0)
    return [torch.randn(*shape).requires_grad_() for shape in ((12, 2), (12, 1), (12,), (12,), (1, 3))]


def test_with_gaps_and_in_another_order() -> None:
    weights = _weights()
    places = [4, 28, 50, 62, 40]
    pieces = laid_out(weights, places, 80)
    for piece, weight, place in zip(pieces, weights, places, strict=True):
        assert torch.equal(piece, weight)
        assert piece.storage_offset() == place
        assert piece.untyped_storage().data_ptr() == pieces[0].untyped_storage().data_ptr()
        assert piece.is_contiguous()
    assert pieces[0].untyped_storage().nbytes() == 4 * 80
    pulls = [torch.randn_like(weight) for weight in weights]
    found = torch.autograd.grad(pieces, weights, pulls)
    assert all(map(torch.equal, found, pulls))


def test_without_cudnn_they_lie_end_to_end() -> None:
    weights = _weights()
    pieces = in_one_piece(weights, "LSTM")
    assert all(map(torch.equal, pieces, weights))
    assert [piece.storage_offset() for piece in pieces] == [0, 24, 36, 48, 60]


def test_they_can_be_asked_for_while_nobody_wants_gradients() -> None:
    with torch.inference_mode():
        weights = [torch.randn(8, 5), torch.randn(8, 8), torch.randn(8), torch.randn(8)]
        assert all(map(torch.equal, in_one_piece(weights, "RNN_TANH"), weights))
