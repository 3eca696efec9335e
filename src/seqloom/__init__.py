"""seqloom trains, runs and opens up models that read one sequence and write another.

import seqloom

run = seqloom.train(data="pairs.tsv", minutes=5)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.jobs.python import train

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "train"]


def __getattr__(name: str) -> Any:
    """The jobs, loaded when they are first asked for: torch takes seconds to import."""
    if name != "train":
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    from seqloom.jobs import python

    return python.train


def __dir__() -> list[str]:
    return __all__
