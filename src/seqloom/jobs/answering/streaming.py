"""An answer while it is written, piece by piece."""

from collections.abc import Generator, Iterator

from seqloom.jobs.answering.answer import Answer

BROKEN = "\ufffd"
"""What stands for a character of which only some bytes are there yet."""


class Streamed(Iterator[str]):
    """The pieces of an answer's text, as they become sure. Joined they are the text of `answer`."""

    def __init__(self, pieces: Generator[str, None, Answer]) -> None:
        self._pieces = pieces
        self.answer: Answer | None = None
        """All that is known of the answer; None before the last piece."""

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration as end:
            self.answer = end.value if self.answer is None else self.answer
            raise StopIteration from None


def behind(text: str, said: str) -> str:
    """What of a text that is not whole yet can be said behind what was said before."""
    sure = text.rstrip(BROKEN)
    return sure[len(said) :] if sure.startswith(said) else ""
