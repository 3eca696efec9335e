"""Pictures as patches."""

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers.images import ImageEmbedding, Images
from seqloom.layers.layout import Packed, Padded
from seqloom.settings import UserError

WORDS = ["<unknown>", "<end>", *map(str, range(20))]
END = 1


def _made(**settings: int) -> ImageEmbedding:
    torch.manual_seed(1)
    embedding = ImageEmbedding(Images(brightest=10.0, **settings), len(WORDS), 5)
    embedding.learn(WORDS)
    return embedding


def _tokens(picture: torch.Tensor) -> torch.Tensor:
    return torch.cat((picture.flatten() + 2, torch.tensor([END])))


@pytest.mark.parametrize("channels", [1, 3])
def test_patches_are_those_of_a_convolution(channels: int) -> None:
    """The usual way to cut a picture: a convolution whose kernel is as large as its stride."""
    embedding = _made(patch=2, columns=6, channels=channels)
    picture = torch.randint(20, (4, 6, channels))
    y, layout = embedding(_tokens(picture), Packed.of([4 * 6 * channels + 1]))
    kernel = embedding.inputs.weight.unflatten(1, (2, 2, channels)).permute(0, 3, 1, 2)
    expected = F.conv2d(picture.permute(2, 0, 1)[None] / 10, kernel, embedding.inputs.bias, stride=2)
    assert layout.lengths_B.tolist() == [6]
    assert torch.allclose(y[0], expected[0].flatten(1).T, atol=1e-6)


def test_a_smaller_picture_has_fewer_patches() -> None:
    embedding = _made(patch=2, columns=4, channels=1)
    large, small = torch.randint(20, (4, 4)), torch.randint(20, (2, 4))
    together, layout = embedding(torch.cat((_tokens(large), _tokens(small))), Packed.of([17, 9]))
    alone, _ = embedding(_tokens(small), Packed.of([9]))
    assert layout.lengths_B.tolist() == [4, 2]
    assert torch.allclose(together[1, :2], alone[0])


def test_the_numbers_are_kept_with_the_weights() -> None:
    embedding = _made(patch=1, columns=1, channels=1)
    assert embedding.state_dict()["value_V"].tolist() == pytest.approx([0, 0, *(number / 10 for number in range(20))])


def test_words_are_refused() -> None:
    with pytest.raises(UserError, match="'dog' is none; write pixels as numbers"):
        ImageEmbedding(Images(), 2, 5).learn(["<end>", "dog"])


def test_a_picture_must_be_cut_evenly() -> None:
    with pytest.raises(ValueError, match="pictures of 9 columns are not cut evenly by 2"):
        Images(patch=2, columns=9)


def test_positions_are_enough_for_so_many_numbers() -> None:
    assert Images(patch=2, columns=8, channels=1).longest(16) == 8 * 8 + 1


@pytest.mark.parametrize("channels", [1, 3])
def test_readings_are_patches_as_tokens_are(channels: int) -> None:
    """A step for each pixel, its channels side by side, no end mark; packed and padded alike."""
    embedding = _made(patch=2, columns=4, channels=channels)
    large, small = torch.randint(20, (4, 4, channels)), torch.randint(20, (2, 4, channels))
    counts = [16 * channels + 1, 8 * channels + 1]
    tokens, _ = embedding(torch.cat((_tokens(large), _tokens(small))), Packed.of(counts))
    pixels = [picture.flatten(0, 1) / 10 for picture in (large, small)]
    packed, layout = embedding(torch.cat(pixels), Packed.of([16, 8]))
    padded, _ = embedding(torch.nn.utils.rnn.pad_sequence(pixels, batch_first=True), Padded.of([16, 8]))
    assert layout.lengths_B.tolist() == [4, 2]
    for row, patches in enumerate((4, 2)):
        torch.testing.assert_close(packed[row, :patches], tokens[row, :patches])
        torch.testing.assert_close(padded[row, :patches], tokens[row, :patches])


def test_positions_are_enough_for_so_many_pixels() -> None:
    assert Images(patch=2, columns=8, channels=3).most_pixels(16) == 8 * 8
