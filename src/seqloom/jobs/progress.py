"""A bar for work whose size is known in bytes: live in a terminal, nothing elsewhere unless it takes long."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

Report = Callable[[int], None]
QUIET = 10.0  # seconds between two lines where there is no terminal


@contextmanager
def bar(title: str, total: int) -> Iterator[Report]:
    """`report(bytes)` moves it on. It is only seen if anything is reported."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(title, total)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), TransferSpeedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=total or None, visible=False)
        yield lambda size: progress.update(task, advance=size, visible=True)


class _Lines:
    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.told = title, total, 0, time.monotonic()

    def __call__(self, size: int) -> None:
        self.done += size
        if time.monotonic() - self.told > QUIET:
            self.told = time.monotonic()
            share = f"   {min(1.0, self.done / self.total):.0%}" if self.total else ""
            sys.stderr.write(f"{self.title}{share}\n")
