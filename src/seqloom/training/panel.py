"""The live panel of a terminal."""

import math
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel as Frame
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seqloom.training.figures import duration, share
from seqloom.training.key_echo import KeyEcho
from seqloom.training.watch import SPARKS, Seen, loss_words, speed_words, valid_words

_PAUSE = 0.2  # seconds between two pictures
_NARROW = 40  # columns: below, a frame would take more than it gives
_BLOCKS = "▁▂▃▄▅▆▇█"


class Panel:
    """One picture, drawn over itself at most five times a second, by the thread that trains: none other is started."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._live: Live | None = None
        self._echo = KeyEcho(stream)
        self._latest = -math.inf

    def began(self, seen: Seen) -> None:
        for line in seen.facts.about:
            self.note(line)
        self.close()
        self._latest = -math.inf
        if seen.facts.over:
            self.note(seen.facts.over)
            return
        self._live = Live(self._picture(seen), console=self._console, auto_refresh=False, redirect_stdout=False)
        self._echo.hide()
        self._live.start()

    def stepped(self, seen: Seen, now: float) -> None:
        if now - self._latest >= _PAUSE:
            self._latest = now
            self._draw(seen)

    def validated(self, seen: Seen, now: float) -> None:
        self._draw(seen)

    def note(self, text: str) -> None:
        self._console.print(Text(text))

    def ended(self, seen: Seen, text: str) -> None:
        self._draw(seen)
        self.close()
        self.note(text)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._echo.show()

    def _draw(self, seen: Seen) -> None:
        if self._live is not None:
            self._live.update(self._picture(seen), refresh=True)

    def _picture(self, seen: Seen) -> RenderableType:
        rows: list[RenderableType] = [_bar(seen), _steps(seen)]
        rows += [_line(valid_words(seen), "green")] if seen.valid_loss is not None else []
        rows += [_line(speed_words(seen), "dim")] if speed_words(seen) else []
        if self._console.width < _NARROW:
            return Group(*rows)
        title = Text(seen.facts.name, style="bold", overflow="ellipsis", no_wrap=True)
        return Frame(Group(*rows), title=title, title_align="left", box=box.ROUNDED, border_style="dim", width=None)


def _line(words: Sequence[str], style: str = "") -> Text:
    return Text(" · ".join(words), style=style, no_wrap=True, overflow="ellipsis")


def _bar(seen: Seen) -> RenderableType:
    if seen.done is None:
        return _line([seen.where])
    left = "" if seen.left is None else f"   {duration(seen.left)} left"
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(ratio=1, min_width=4)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_row(ProgressBar(total=1.0, completed=seen.done), f"{share(seen.done):>4}{left}")
    return grid


def _steps(seen: Seen) -> Text:
    if not seen.losses.values:
        return _line([seen.where])
    text = _line([*([seen.where] if seen.done is not None else []), *loss_words(seen)])
    return text.append("  ").append(sparkline(seen.losses.values), style="cyan")


def sparkline(values: Sequence[float], width: int = SPARKS) -> str:
    """Values as blocks, from their least to their largest; the first and the last are always among them."""
    shown = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)] if len(values) > width else values
    real = [value for value in shown if math.isfinite(value)]
    if not real:
        return ""
    low, high = min(real), max(real)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BLOCKS[round((value - low) * scale)] if math.isfinite(value) else "×" for value in shown)
