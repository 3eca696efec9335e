"""A bar for work whose size is known in bytes: live in a terminal, nothing elsewhere unless it takes long."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from seqloom.settings.words import counted

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


LineReport = Callable[[int, int], None]


@contextmanager
def line_bar(title: str, total: int | None, shown: bool = True, before: int = 0) -> Iterator[LineReport]:
    """`report(lines, bytes)`: so many lines are done, and so many bytes of all, if their total is known.

    before: bytes that were done already when it began; they took no time now.
    """
    console = Console(stderr=True)
    if not shown:
        yield lambda lines, size: None
    elif not console.is_terminal:
        yield _LineCount(title, total, before).report
    else:
        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}")]
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
            task, began = progress.add_task(title, total=total, completed=before, speed=""), time.monotonic()

            def report(lines: int, size: int) -> None:
                speed = f"{counted(lines, 'line')}, {_speed(lines, began)}"
                progress.update(task, completed=size, speed=speed)

            yield report


def _speed(lines: int, began: float) -> str:
    each_second = lines / max(time.monotonic() - began, 1e-9)
    return f"{each_second:,.0f} lines/s" if each_second >= 10 else f"{each_second:.1f} lines/s"


class _LineCount:
    def __init__(self, title: str, total: int | None, before: int) -> None:
        self.title, self.total, self.before = title, total, before
        self.began = self.told = time.monotonic()

    def report(self, lines: int, size: int) -> None:
        now = time.monotonic()
        if now - self.told > QUIET:
            self.told = now
            text = f"{self.title}   {counted(lines, 'line')}   {_speed(lines, self.began)}"
            if self.total:
                share = min(1.0, size / self.total)
                left = (now - self.began) * (self.total - size) / max(size - self.before, 1)
                text += f"   {share:.0%}   {_minutes(left)} left"
            sys.stderr.write(text + "\n")


def _minutes(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


@contextmanager
def share_bar(title: str) -> Iterator[Callable[[float], None]]:
    """`report(share)` moves it on by so much of the whole, which is 1."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = _Lines(title, PARTS)
        yield lambda share: lines(round(PARTS * share))
        return
    columns = [TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=1.0, visible=False)
        yield lambda share: progress.update(task, advance=share, visible=True)


PARTS = 10**9  # of a whole, where parts are counted
