"""A heat map as PNG, for a paper: words on its axes, a scale below it."""
# T rows  S columns

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from seqloom.inspect.picture import alone, full_scale
from seqloom.jobs.looking.font import Fonts, pillow
from seqloom.settings import UserError

WHITE, BLUE, FRAME, INK, SOFT = (255, 255, 255), (21, 72, 166), (110, 119, 129), (31, 35, 40), (87, 96, 106)
CELL, LETTER, MARGIN = 40, 22, 20  # pixels; twice those of a screen
LONGEST = 400  # of a label
SCALE = 240  # wide
SPACE = "␣"


def heat_png(
    weights_TS: Tensor, rows: Sequence[str], columns: Sequence[str], title: str = "", font: Path | None = None
) -> bytes:
    """From white (0) to blue (1, or the largest where all are small). font: a file with the letters of the words."""
    table_TS = weights_TS.detach().float().cpu().numpy()
    down, across = [alone(label) for label in rows], [alone(label) for label in columns]
    fonts = Fonts(LETTER, font)
    lost = fonts.lost([*down, *across, title])
    if SPACE in lost:
        down, across = ([label.replace(SPACE, "_") for label in labels] for labels in (down, across))
        lost.remove(SPACE)
    if lost:
        named = ", ".join(repr(letter) for letter in lost[:5])
        raise UserError(
            f"no font of this machine has {named}: name one that has, with --font FILE.ttf, or write an SVG"
        )
    words = [_label(label, fonts) for label in down]
    heads = [_label(label, fonts).rotate(90, expand=True, fillcolor=WHITE) for label in across]
    head = _label(title, fonts, longest=10 * LONGEST) if title else None
    left = MARGIN + max((word.width for word in words), default=0) + MARGIN // 2
    top = 2 * MARGIN + (head.height if head else 0) + max((word.height for word in heads), default=0)
    wide = max(left + CELL * len(across), MARGIN + (head.width if head else 0), left + SCALE + 160) + MARGIN
    high = top + CELL * len(down) + 3 * MARGIN + LETTER
    picture = pillow("Image").new("RGB", (wide, high), WHITE)
    if head is not None:
        picture.paste(head, (MARGIN, MARGIN))
    for place, word in enumerate(words):
        picture.paste(word, (left - MARGIN // 2 - word.width, top + CELL * place + (CELL - word.height) // 2))
    for place, word in enumerate(heads):
        picture.paste(word, (left + CELL * place + (CELL - word.width) // 2, top - MARGIN // 2 - word.height))
    full = full_scale(float(table_TS.max(initial=0.0)))
    _put(picture, table_TS / full, CELL, left, top)
    _legend(picture, fonts, left, top + CELL * len(down) + MARGIN, full)
    return _bytes(picture)


def colours(share_TS: np.ndarray) -> np.ndarray:
    shades = np.array(WHITE) + np.clip(share_TS, 0, 1)[..., None] * (np.array(BLUE) - np.array(WHITE))
    return np.asarray(shades.round(), np.uint8)


def _put(picture: Any, share_TS: np.ndarray, cell: int, left: int, top: int) -> None:
    """A square a number, with a frame around all of them."""
    pixels = colours(share_TS).repeat(cell, 0).repeat(cell, 1)
    if pixels.size:
        picture.paste(pillow("Image").fromarray(pixels), (left, top))
    corner = left + pixels.shape[1], top + pixels.shape[0]
    pillow("ImageDraw").Draw(picture).rectangle((left - 1, top - 1, *corner), outline=FRAME)


def _legend(picture: Any, fonts: Fonts, left: int, top: int, full: float) -> None:
    ramp = np.linspace(0, 1, SCALE)[None].repeat(LETTER, 0)
    _put(picture, ramp, 1, left, top)
    said = _label(f"0 to {full:.3g}", fonts, SOFT)
    picture.paste(said, (left + SCALE + MARGIN // 2, top + (LETTER - said.height) // 2))


def _label(text: str, fonts: Fonts, colour: tuple[int, int, int] = INK, longest: int = LONGEST) -> Any:
    """A text as a picture of its own, as wide as it is; cut if it is too long."""
    font = fonts.of(text)
    while font.getlength(text) > longest and len(text) > 1:
        text = text[:-2] + "…" if text.endswith("…") else text[:-1] + "…"
    ascent, descent = font.getmetrics()
    drawn = pillow("Image").new("RGB", (max(1, round(font.getlength(text))), ascent + descent), WHITE)
    pillow("ImageDraw").Draw(drawn).text((0, 0), text, font=font, fill=colour)
    return drawn


def _bytes(picture: Any) -> bytes:
    written = io.BytesIO()
    picture.save(written, "PNG", dpi=(300, 300))
    return written.getvalue()
