"""Impossible combinations of settings, told before anything is built."""

from collections.abc import Iterator

Faults = Iterator[tuple[str, str]]
"""(setting, why it cannot be): yielded by each layer's settings once the model's width is known."""
