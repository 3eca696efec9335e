"""What mixers may ask of a batch, whichever its form."""
# B rows  T steps of the longest row  N tokens of all rows

import torch
from torch import Tensor

from seqloom.layers.layout.edges import Edges


class Layout:
    """What mixers may ask of a batch, whichever its form."""

    lengths_B: Tensor  # real steps of each row
    edges: Edges | None  # the same as a list, of which no square is ever made; None: no limit
    structure_BTT: Tensor | None  # who may see whom beyond what a mixer itself says (a graph's edges); None: no limit

    @property
    def rows(self) -> int:
        return self.lengths_B.shape[0]

    @property
    def lengths_on_host(self) -> Tensor | None:
        """The lengths on the CPU, for kernels that must know them before they start; None: only the device has them."""
        return self.lengths_B.cpu()

    @property
    def longest(self) -> int:
        """Width of the padded form; no row is longer."""
        raise NotImplementedError

    @property
    def uniform(self) -> bool:
        """Every row is as long as the longest: nothing in the padded form needs a mask."""
        raise NotImplementedError

    @property
    def real(self) -> Tensor | None:
        """True for real tokens, in this layout's own form; None when all are real."""
        raise NotImplementedError

    @property
    def steps(self) -> Tensor:
        """Each token's index within its row, in this layout's own form."""
        raise NotImplementedError

    def places(self, after_B: Tensor | None) -> Tensor:
        """Each token's index in its whole sequence, of which `after_B` steps have gone before; in the own form.

        What is not real stands at 0, so that no padding is ever looked up at a place that does not exist.
        """
        at = self._places(after_B)
        return at if self.real is None else torch.where(self.real, at, 0)

    def _places(self, after_B: Tensor | None) -> Tensor:
        raise NotImplementedError

    @property
    def real_BT(self) -> Tensor:
        """True for real steps of the flush-left padded form."""
        return torch.arange(self.longest, device=self.lengths_B.device) < self.lengths_B[:, None]

    def check(self, x: Tensor) -> None:
        """ValueError if x is not of this layout's shape."""
        raise NotImplementedError

    def pad(self, x: Tensor) -> Tensor:
        """This layout's own form → padded, flush left, zeros behind each row's end."""
        raise NotImplementedError

    def pad_heads(self, x: Tensor) -> Tensor:
        """As `pad`, of x_…GK, with the steps of each head together: x_BGTK."""
        return self.pad(x).transpose(1, 2)

    def unpad(self, x_BT: Tensor) -> Tensor:
        """Padded, flush left → this layout's own form."""
        raise NotImplementedError

    def of_rows(self, x_BD: Tensor) -> Tensor:
        """Each token gets its row's vector, in this layout's own form (or one that expands to it)."""
        raise NotImplementedError

    def last_B(self, x: Tensor) -> Tensor:
        """The last real token of each row (zeros for an empty row): x_BD."""
        return self._at(x, (self.lengths_B - 1).clamp(min=0))

    def first_B(self, x: Tensor) -> Tensor:
        """The first real token of each row (zeros for an empty row): x_BD."""
        return self._at(x, torch.zeros_like(self.lengths_B))

    def _at(self, x: Tensor, at_B: Tensor) -> Tensor:
        if self.longest == 0:
            return x.new_zeros(self.rows, x.shape[-1])
        # padding is zero, and so is what an empty row gives
        return self.pad(x)[torch.arange(self.rows, device=x.device), at_B]

    def mean_B(self, x: Tensor) -> Tensor:
        """The mean of the real tokens of each row (zeros for an empty row): x_BD."""
        return self.pad(x).sum(1) / self.lengths_B.clamp(min=1)[:, None].to(x.dtype)

    def max_B(self, x: Tensor) -> Tensor:
        """The largest of the real tokens of each row, feature by feature (zeros for an empty row): x_BD."""
        if self.longest == 0:
            return x.new_zeros(self.rows, x.shape[-1])
        x_BTD, real_BT1 = self.pad(x), self.real_BT[..., None]
        largest_BD = x_BTD.masked_fill(~real_BT1, torch.finfo(x.dtype).min).amax(1)
        return torch.where(self.lengths_B[:, None] > 0, largest_BD, 0)


def like(mask: Tensor, x: Tensor) -> Tensor:
    """A mask with as many axes as x."""
    return mask.view(*mask.shape, *(1,) * (x.dim() - mask.dim()))


def flip(x_BT: Tensor, lengths_B: Tensor) -> Tensor:
    """Each row's real steps in reverse order; flush left before and after."""
    steps_T = torch.arange(x_BT.shape[1], device=x_BT.device)
    from_BT = torch.where(steps_T < lengths_B[:, None], lengths_B[:, None] - 1 - steps_T, steps_T)
    return torch.gather(x_BT, 1, like(from_BT, x_BT).expand_as(x_BT))
