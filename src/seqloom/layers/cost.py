"""What a layer costs, from its settings alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """parameters: learned numbers. flops: two for each multiply-add of the matrix products in one token's forward pass.

    Training costs three times the forward pass: each product has two more in the backward pass (Kaplan et al. 2020).
    Adding, normalising and activating are left out, as is the custom: they are small beside the products.
    """

    parameters: int = 0
    flops: float = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.parameters + other.parameters, self.flops + other.flops)

    def times(self, n: float) -> "Cost":
        """The same parameters, used n times for each token."""
        return Cost(self.parameters, self.flops * n)


@dataclass(frozen=True)
class Use:
    """How a mixer is used, as far as its cost depends on it."""

    causal: bool
    length: float  # of the own sequence
    memory: float = 0  # of the source, for what reads a memory
    ratio: float = 1  # source tokens for each own token
    memory_width: int | None = None  # of a source's states; None: as the own width
    inputs: int | None = None  # of what a convolution reads; None: as the own width


def linear(inputs: int, outputs: int, bias: bool) -> Cost:
    return Cost(inputs * outputs + (outputs if bias else 0), 2 * inputs * outputs)
