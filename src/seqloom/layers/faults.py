"""Impossible combinations of settings, told before anything is built."""

from collections.abc import Iterator

Faults = Iterator[tuple[str, str]]
"""(setting, why it cannot be): yielded by each layer's settings once the model's width is known."""


def refuse(kind: str, faults: Faults) -> None:
    """Raise for the first fault: a layer that is built by hand is as safe as one from a recipe."""
    for name, why in faults:
        raise ValueError(f"{kind}.{name}: {why}")
