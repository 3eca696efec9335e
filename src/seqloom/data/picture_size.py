"""Pictures brought to one size: each new pixel is a weighted mean of those that it covers."""
# R, C rows and columns before  A, B rows and columns after  K channels

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]


def scaled(x_RCK: Floats, size: tuple[int, int]) -> Floats:
    """Linear interpolation, over as many pixels as become one where the picture shrinks; its shape is not kept."""
    rows_AR, columns_BC = _weights(x_RCK.shape[0], size[0]), _weights(x_RCK.shape[1], size[1])
    x_ACK = np.tensordot(rows_AR, np.asarray(x_RCK, np.float64), (1, 0))
    return np.einsum("bc,ack->abk", columns_BC, x_ACK, optimize=True).astype(np.float32)


def _weights(before: int, after: int) -> Floats:
    """How much of each pixel of a side is in each new one: less the farther it is from there, each row adds up to 1."""
    step = before / after
    centre_A, place_B = (np.arange(after) + 0.5) * step, np.arange(before) + 0.5
    weight_AB = np.maximum(0.0, 1 - np.abs(place_B - centre_A[:, None]) / max(step, 1.0))
    total_A1: Floats = weight_AB.sum(1, keepdims=True)
    return weight_AB / total_A1
