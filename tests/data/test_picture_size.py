"""Pictures scaled to one size, beside torch's way."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seqloom.data.picture_size import scaled


@pytest.mark.parametrize("size", [(4, 4), (9, 5), (3, 20), (1, 1), (6, 8)])
def test_it_is_linear_interpolation_that_leaves_no_pixel_out(size: tuple[int, int]) -> None:
    x = np.random.default_rng(1).uniform(0, 255, (6, 8, 3)).astype(np.float32)
    theirs = F.interpolate(torch.from_numpy(x).permute(2, 0, 1)[None], size, mode="bilinear", antialias=True)
    np.testing.assert_allclose(scaled(x, size), theirs[0].permute(1, 2, 0).numpy(), rtol=1e-4, atol=1e-3)


def test_one_colour_stays() -> None:
    np.testing.assert_allclose(scaled(np.full((7, 3, 1), 41.0), (5, 4)), 41.0, rtol=1e-6)
