"""The data of the demos; nothing of training, and no torch.

`make("dates")` gives examples in three splits. The same seed gives the same examples, without a network.
"""

from typing import Literal, assert_never, get_args

from seqloom.jobs.demos.dates import make_dates
from seqloom.jobs.demos.digits import make_digits
from seqloom.jobs.demos.example import Demo, Example
from seqloom.jobs.demos.numbers import make_numbers
from seqloom.jobs.demos.phonemes import make_phonemes
from seqloom.settings import UserError
from seqloom.settings.words import nearest

__all__ = ["NAMES", "Demo", "Example", "Name", "check_name", "make"]

Name = Literal["dates", "numbers", "phonemes", "digits"]
NAMES: tuple[Name, ...] = get_args(Name)


def check_name(name: str) -> Name:
    """The name, if there is such a demo; otherwise a UserError."""
    for known in NAMES:
        if name == known:
            return known
    near = nearest(name, NAMES)
    guess = f"did you mean {near!r}? The" if near else "the"
    raise UserError(f"there is no demo {name!r}; {guess} demos are {', '.join(NAMES)}")


def make(name: Name, seed: int = 1, train: int | None = None) -> Demo:
    """A demo's data, with `train` training examples where given (there may be fewer: not all are made at will)."""
    check_name(name)
    if train is not None and train < 1:
        raise UserError(f"a demo needs at least one training example, not {train}")
    match name:
        case "dates":
            return make_dates(seed) if train is None else make_dates(seed, train)
        case "numbers":
            return make_numbers(seed) if train is None else make_numbers(seed, train)
        case "phonemes":
            return make_phonemes(seed, train)
        case "digits":
            return make_digits(seed, train)
        case _:
            assert_never(name)
