"""Who is told what happens in a run: the person who watches, TensorBoard, the curves."""

from collections.abc import Mapping
from typing import Protocol


class Teller(Protocol):
    def note(self, text: str) -> None: ...

    def step(self, metrics: Mapping[str, float], tokens: int, done: float) -> None: ...

    def validated(self, metrics: Mapping[str, float], better: bool) -> None: ...
