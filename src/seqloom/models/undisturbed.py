"""A model that is asked in the middle of training."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Without dropout and noise, but with gradients."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)
