"""Parts of a model that do not learn, named by patterns."""

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from torch import nn

from seqloom.settings import UserError
from seqloom.settings.words import nearest
from seqloom.training.roles import trained

SHOWN = 12  # names that a message lists

_RANGE = re.compile(r"(\d+)-(\d+)")


def freeze(model: nn.Module, patterns: Sequence[str]) -> int:
    """Take the parts that the patterns name out of training; how many parameters that are.

    A pattern is a path, or a part of one, such as "embedding", "encoder.blocks.0-3" or "blocks.*.mixer": a range of
    numbers and * are allowed in it. One that names nothing is a UserError. A parameter that is tied is frozen by any of
    its names.
    """
    names = dict(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        for single in _spread(pattern):
            found = [parameter for name, parameter in names.items() if _names(single, name)]
            if not found:
                raise UserError(_missed(pattern, single, names))
            for parameter in found:
                parameter.requires_grad_(False)
    if patterns and not trained(model):
        raise UserError(
            f"training.freeze: {', '.join(patterns)} are all of the model, so that nothing is left to learn"
        )
    return sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)


def _spread(pattern: str) -> Iterator[str]:
    """A range as one path for each number, so that each of them has to be there."""
    found = _RANGE.search(pattern)
    if found is None:
        yield pattern
        return
    for number in range(int(found[1]), int(found[2]) + 1):
        yield from _spread(f"{pattern[: found.start()]}{number}{pattern[found.end() :]}")


def _names(pattern: str, name: str) -> bool:
    """Whether the pattern's steps follow each other somewhere in the name."""
    steps, path = pattern.split("."), name.split(".")
    return any(
        all(fnmatchcase(part, step) for part, step in zip(path[begin:], steps, strict=False))
        for begin in range(len(path) - len(steps) + 1)
    )


def _missed(pattern: str, single: str, names: Collection[str]) -> str:
    steps = len(single.split("."))
    paths = (name.split(".") for name in names)
    parts = dict.fromkeys(".".join(path[at : at + steps]) for path in paths for at in range(len(path) - steps + 1))
    near = nearest(single, parts)
    tops = list(dict.fromkeys(".".join(name.split(".")[:2]) for name in names))[:SHOWN]
    fix = f"did you mean '{near}'?" if near else f"there are {', '.join(tops)}"
    what = f"'{pattern}'" if single == pattern else f"'{single}', of '{pattern}',"
    return f"training.freeze: {what} names no part of the model; {fix}"
