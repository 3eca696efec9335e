"""What the engine counts; the metrics show it."""

import threading
from collections import Counter


class Counts:
    """Inputs answered and tokens written, by model."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, model: str, inputs: int = 0, tokens: int = 0) -> None:
        with self._lock:
            self.inputs[model] += inputs
            self.tokens[model] += tokens
