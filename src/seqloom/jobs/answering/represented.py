"""A text as a model sees it: a vector for each token, each word, and the whole, in its context."""
# L layers  T tokens  W words  D width

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from seqloom.settings import UserError

Pool = Literal["mean", "max", "first", "last"]
Array = np.ndarray | Tensor


@dataclass(frozen=True, repr=False)
class Represented:
    """tokens and words as people can see them; word_of: the number of each token's word, -1: it is in none.

    vectors: x_TD, one a token; of all layers, x_LTD.
    """

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]
    vectors: Array

    def __repr__(self) -> str:
        return f"Represented({len(self.tokens)} tokens, {len(self.words)} words, {tuple(self.vectors.shape)})"

    @property
    def of_words(self) -> Array:
        """A vector for each word, the mean of its tokens': x_WD, or x_LWD."""
        x = self._tensor
        word_T = torch.tensor(self.word_of)
        inside = torch.nn.functional.one_hot(word_T[word_T >= 0], len(self.words)).to(x.dtype)
        sums = torch.einsum("tw,...td->...wd", inside, x[..., word_T >= 0, :])
        return self._like(sums / inside.sum(0).clamp(min=1)[:, None])

    def pooled(self, pool: Pool = "mean") -> Array:
        """One vector for the whole text: x_D, or x_LD."""
        x = self._tensor
        match pool:
            case "mean":
                return self._like(x.mean(-2))
            case "max":
                return self._like(x.amax(-2))
            case "first":
                return self._like(x[..., 0, :])
            case "last":
                return self._like(x[..., -1, :])
            case _:
                raise UserError(f"pool should be 'mean', 'max', 'first' or 'last', but is {pool!r}")

    @property
    def _tensor(self) -> Tensor:
        return self.vectors if isinstance(self.vectors, Tensor) else torch.from_numpy(self.vectors)

    def _like(self, x: Tensor) -> Array:
        return x if isinstance(self.vectors, Tensor) else x.numpy()

    def to_numpy(self) -> "Represented":
        return replace(self, vectors=self._tensor.cpu().numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self._tensor.cpu().numpy()
        return found if dtype is None else found.astype(dtype)
