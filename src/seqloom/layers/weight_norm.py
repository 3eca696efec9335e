"""A weight as a direction and a length: w = g · v / ‖v‖ (Salimans and Kingma 2016, arXiv:1602.07868)."""
# O outputs

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


class WeightNorm(nn.Module):
    """One length g_O for each output. It begins as the norm of what was there, so that nothing changes at first."""

    def forward(self, g_O: Tensor, v: Tensor) -> Tensor:
        # the norm in the precision of the weights: squares of many small numbers are summed
        norm = v.flatten(1).norm(dim=1).clamp(min=torch.finfo(v.dtype).tiny)
        return v * (g_O / norm).view(-1, *(1,) * (v.dim() - 1))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return weight.flatten(1).norm(dim=1), weight


def weight_normed(layer: nn.Linear | nn.Conv1d, gain: float) -> None:
    """Begin from a normal distribution of variance gain / inputs and biases of 0, and learn length and direction apart.

    Gehring et al. 2017, section 3.5: a gain of 1 keeps the variance of what a layer reads; before a gate, which
    halves, 4 does.
    """
    with torch.no_grad():
        inputs = layer.weight[0].numel()
        layer.weight.normal_(std=(gain / inputs) ** 0.5)
        if layer.bias is not None:
            layer.bias.zero_()
    parametrize.register_parametrization(layer, "weight", WeightNorm())
