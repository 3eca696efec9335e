"""An answer piece by piece: joined, it is what `predict` says."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.cli import main
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.streaming import Streamed, behind
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs

WAYS: list[dict[str, Any]] = [
    {"beam": 1},
    {"beam": 4},
    {"sample": True},
    {"beam": 3, "changes": ["generation.longest=30", "generation.no_repeat=2"]},
    {"changes": ["generation.rerank.kind=mbr"]},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(
    ("run", "text"), [("text", "good film"), ("documents", "so nice"), ("pairs", "abc"), ("joined", "so")]
)
def test_joined_it_is_the_answer(runs: Runs, run: str, text: str, way: dict[str, Any]) -> None:
    model = seqloom.load(runs[run])
    pieces = model.stream(text, **way)
    said = list(pieces)
    answer = model.predict(text, **way)
    assert "".join(said) == answer.text
    assert pieces.answer is not None
    assert pieces.answer.tokens == answer.tokens
    assert pieces.answer.log_prob == pytest.approx(answer.log_prob, abs=1e-4)
    if way in ({"beam": 1}, {"sample": True}) and len(answer.tokens) > 2:
        assert len(said) > 1


def test_the_first_piece_comes_before_the_last_is_written(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    model, steps = seqloom.load(runs["text"]), []
    (network,) = model.networks
    network.register_forward_hook(lambda *_: steps.append(1))
    pieces = model.stream("good film", beam=1, changes=["generation.longest=20", "generation.shortest=20"])
    next(pieces)
    assert len(steps) < 5
    list(pieces)
    assert len(steps) >= 20


def test_an_empty_text(runs: Runs) -> None:
    pieces = seqloom.load(runs["pairs"]).stream(" ")
    assert "".join(pieces) == ""
    assert pieces.answer == Answer("")


def test_what_is_not_written_token_by_token(runs: Runs) -> None:
    with pytest.raises(UserError, match="tag: its answer is there at once, and is not streamed; use predict"):
        seqloom.load(runs["tags"]).stream("good film")
    with pytest.raises(UserError, match="stream takes one text"):
        seqloom.load(runs["text"]).stream(["good", "bad"])  # type: ignore[arg-type]


def test_half_a_character_is_held_back() -> None:
    assert behind("ab\ufffd", "a") == "b"
    assert behind("ab\ufffd", "ab") == ""
    assert behind("abé", "ab") == "é"
    assert behind("xy", "ab") == ""


def test_the_answer_stays() -> None:
    def pieces() -> Any:
        yield "a"
        return Answer("a")

    streamed = Streamed(pieces())
    assert list(streamed) == ["a"]
    assert list(streamed) == []
    assert streamed.answer == Answer("a")


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.parts.append(text)
        return super().write(text)


def test_a_terminal_sees_it_grow(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.txt").write_text("good film\n")
    screen = Terminal()
    model = str(runs["text"])
    monkeypatch.setattr(sys, "stdout", screen)
    words = ["predict", model, str(tmp_path / "one.txt"), "--beam", "1", "--set", "generation.longest=20"]
    monkeypatch.setattr(sys, "argv", ["seqloom", *words])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert len([part for part in screen.parts if part.strip()]) > 3
    grown = screen.getvalue()
    whole = seqloom.load(model).predict("good film", beam=1, changes=["generation.longest=20"])
    assert grown == f"{whole}\n"
