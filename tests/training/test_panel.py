"""The live panel, drawn into a text: what it says, how wide, and that the terminal is left as it was."""

import io
import math
import re

import pytest

from seqloom.training.panel import sparkline
from seqloom.training.watch import Facts, Watcher

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


class Clock:
    def __init__(self) -> None:
        self.now, self.tick = 0.0, 1.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def train(terminal: Terminal, steps: int = 30, total: int | None = 60, tick: float = 1.0) -> Watcher:
    clock = Clock()
    clock.tick = tick
    watcher = Watcher(stream=terminal, clock=clock)
    watcher.began(Facts("runs/[mine]", steps=total, about=["1.2 M [parameters]"], full=100 / 0.37))
    for step in range(1, steps + 1):
        watcher.step(step, 1 / step, 100, memory=5.12e8)
        if step == 20:
            watcher.validated(20, 0.5, 87.1, "accuracy", best=True)
            watcher.note("noted [here]")
    return watcher


def plain(terminal: Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_it_says_all(terminal: Terminal) -> None:
    with train(terminal) as watcher:
        watcher.ended()
    last = plain(terminal).rpartition("╭")[2]
    for words in ("runs/[mine]", "50%", "left", "step 30 of 60", "valid loss 0.500", "accuracy 87.10"):
        assert words in last
    for words in ("best at step 20", "tokens/s", "37% of peak", "512 MB", "▁", "ended at step 30 of 60"):
        assert words in last
    assert "1.2 M [parameters]" in plain(terminal)
    assert "noted [here]" in plain(terminal)


@pytest.mark.parametrize("columns", [10, 24, 39, 40, 60, 200])
def test_it_keeps_within_any_width(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with train(terminal):
        pass
    assert max(len(line) for line in re.split(r"[\r\n]", plain(terminal))) <= columns


def test_an_unknown_total(terminal: Terminal) -> None:
    with train(terminal, total=None):
        pass
    assert "step 30" in plain(terminal)
    assert "%   " not in plain(terminal)


def test_it_draws_at_most_five_times_a_second(terminal: Terminal) -> None:
    with train(terminal, steps=1000, total=1000, tick=0.01):
        pass
    assert plain(terminal).count("╭") <= 10 / 0.2 + 5


def interrupted(terminal: Terminal) -> None:
    with train(terminal):
        raise KeyboardInterrupt


def test_the_cursor_comes_back_after_ctrl_c(terminal: Terminal) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(terminal)
    assert terminal.getvalue().rfind(SHOW_CURSOR) > terminal.getvalue().rfind(HIDE_CURSOR) >= 0


def test_no_color(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with train(terminal):
        pass
    coloured = r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;[\d;]+)m"
    assert re.search(coloured, terminal.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    other = Terminal()
    with train(other):
        pass
    assert not re.search(coloured, other.getvalue())


def test_a_dumb_terminal_gets_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    train(terminal)
    assert "\x1b" not in terminal.getvalue()


def test_sparklines() -> None:
    assert sparkline([3, 2, 1]) == "█▅▁"
    assert sparkline([1.0]) == "▁"
    assert sparkline([math.nan, 1.0, 2.0]) == "×▁█"
    assert sparkline([math.nan]) == sparkline([]) == ""
    assert sparkline(range(100), 10) == "▁▂▃▃▄▅▆▆▇█"
