"""A heat map as PNG, written with zlib alone."""
# T rows  S columns

import struct
import zlib

import numpy as np
from torch import Tensor

WHITE, BLUE, FRAME = (255, 255, 255), (21, 72, 166), (110, 119, 129)
CELL = 24  # pixels


def heat_png(weights_TS: Tensor, cell: int = CELL) -> bytes:
    """From white (0) to blue (the largest); a frame of one pixel. Words stand beside it in the SVG only."""
    table_TS = weights_TS.detach().float().cpu().numpy()
    most = float(table_TS.max(initial=0.0))
    share_TS1 = np.clip(table_TS / most if most > 0 else table_TS, 0, 1)[..., None]
    colour_TSC = np.array(WHITE) + share_TS1 * (np.array(BLUE) - np.array(WHITE))
    pixels = colour_TSC.round().astype(np.uint8).repeat(cell, 0).repeat(cell, 1)
    framed = np.empty((pixels.shape[0] + 2, pixels.shape[1] + 2, 3), np.uint8)
    framed[:] = FRAME
    framed[1:-1, 1:-1] = pixels
    return png(framed)


def png(pixels_YXC: np.ndarray) -> bytes:
    """Of red, green and blue, a byte each (W3C, PNG 1.2): a header, the rows with a filter byte each, an end."""
    high, wide, _ = pixels_YXC.shape
    rows = np.zeros((high, 1 + 3 * wide), np.uint8)
    rows[:, 1:] = pixels_YXC.reshape(high, -1)
    header = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
