"""What the data decides about a model: how many tokens, readings, tags or classes there are."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Sizes:
    """source: tokens of the input's vocabulary, or readings a step. target: the same of what is written.

    Of a horizon, target is all its numbers: steps times variables.
    """

    source: int
    target: int
    steps: int = 0
    """Of a sequence, where all are as long and the output is made of all positions at once."""

    def shared(self, vectors: nn.Parameter) -> nn.Parameter:
        """The source's vectors, if the target can use them too."""
        if self.source != self.target:
            raise ValueError(
                f"token vectors can be tied only within one vocabulary, and there are two, of {self.source} and "
                f"{self.target} tokens; use a shared vocabulary, or tie less"
            )
        return vectors
