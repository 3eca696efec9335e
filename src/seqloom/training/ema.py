"""A moving average of the weights, which is often a better model than the weights themselves."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.settings import Frozen
from seqloom.training.roles import trained


class Ema(Frozen):
    """Exponential moving average of the weights (Polyak and Juditsky 1992)."""

    decay: float = Field(default=0.999, gt=0, lt=1, description="how much of the average each step keeps")
    warm: bool = Field(default=True, description="keep less at first: (1 + t) / (10 + t) in step t, up to decay")


class MovingAverage:
    """average ← decay · average + (1 - decay) · weights, after each step; a tied weight is averaged once.

    Buffers and what is not trained are copied. Averages are in float32 at least, as a half-precision number would
    not move by a thousandth of itself.
    """

    def __init__(self, settings: Ema, model: nn.Module) -> None:
        self.settings = settings
        self.steps = 0
        self._applied = False
        self._model: nn.Module | None = None
        self._bind(model)
        self._averages = {
            name: weight.to(torch.promote_types(weight.dtype, torch.float32), copy=True)
            for name, weight in self._weights.items()
        }
        self._copies = {name: value.clone() for name, value in self._others.items()}

    @property
    def decay(self) -> float:
        """Of the next update."""
        warm = (1 + self.steps) / (10 + self.steps) if self.settings.warm else 1.0
        return min(self.settings.decay, warm)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take in the model's weights of now: once after each step."""
        if self._applied:
            raise RuntimeError("the model holds the average itself at present; update outside of applied()")
        self._bind(model)
        averages = list(self._averages.values())
        latest = [self._weights[name].to(average.dtype) for name, average in self._averages.items()]
        torch._foreach_lerp_(averages, latest, 1 - self.decay)
        _copy(self._others, self._copies)
        self.steps += 1

    @torch.no_grad()
    def pull(self, model: nn.Module, by: Tensor) -> None:
        """As `update`, by a number on the device. Whoever asks for it counts the step."""
        self._bind(model)
        averages = list(self._averages.values())
        apart = torch._foreach_sub(
            [self._weights[name].to(average.dtype) for name, average in self._averages.items()], averages
        )
        torch._foreach_mul_(apart, by)
        torch._foreach_add_(averages, apart)
        _copy(self._others, self._copies)

    def weights(self) -> dict[str, Tensor]:
        """The average by name, with the copies; not to be changed."""
        return self._averages | self._copies

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[nn.Module]:
        """Within it, the model has the average's weights; afterwards, its own again, to the bit."""
        self._bind(model)
        places = self._weights | self._others
        own = {name: place.clone() for name, place in places.items()}
        _copy(self.weights(), places)
        self._applied = True
        try:
            yield model
        finally:
            _copy(own, places)
            self._applied = False

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors by name, and numbers that JSON can hold."""
        return self.weights(), {"steps": self.steps}

    def load(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Go on from a state; ValueError, and nothing changed, if it is another model's."""
        mine = self.weights()
        wrong = sorted(mine.keys() ^ tensors.keys())
        wrong += sorted(n for n in mine.keys() & tensors.keys() if mine[n].shape != tensors[n].shape)
        if wrong:
            more = f" and {len(wrong) - 8} more" if len(wrong) > 8 else ""
            raise ValueError(f"the average is of another model; these differ: {', '.join(wrong[:8])}{more}")
        _copy(tensors, mine)
        self.steps = int(numbers["steps"])

    def _bind(self, model: nn.Module) -> None:
        """Find the model's tensors, once: to go through all modules in each step would be slow."""
        if self._model is not model:
            self._model = model
            self._weights = {name: weight.detach() for name, weight in trained(model).items()}
            self._others = _others(model)


@torch.no_grad()
def _copy(values: Mapping[str, Tensor], places: Mapping[str, Tensor]) -> None:
    for name, place in places.items():
        place.copy_(values[name])


def _others(model: nn.Module) -> dict[str, Tensor]:
    """What a model saves besides trained weights: buffers and frozen weights, each tensor once."""
    saved = model.state_dict()
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach() for name, value in named if name in saved and not value.requires_grad}
