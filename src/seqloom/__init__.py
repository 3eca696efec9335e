"""seqloom trains, runs and opens up models that read one sequence and write another.

import seqloom

run = seqloom.train(data="pairs.tsv", minutes=5)
model = seqloom.load("runs/pairs")
print(model.predict("hello world"))
print(seqloom.evaluate("runs/pairs", data="test.tsv"))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.jobs.answering.answer import Question
    from seqloom.jobs.model import load
    from seqloom.jobs.python import check, compare, evaluate, train

__version__ = "0.1.0.dev0"
__all__ = ["Question", "__version__", "check", "compare", "evaluate", "load", "train"]

_PLACES = {
    "Question": "answering.answer",
    "check": "python",
    "compare": "python",
    "evaluate": "python",
    "load": "model",
    "train": "python",
}


def __getattr__(name: str) -> Any:
    """The jobs, loaded when they are first asked for: torch takes seconds to import."""
    if name not in _PLACES:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"seqloom.jobs.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
