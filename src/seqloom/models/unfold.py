"""Dynamic unfolding: a source with empty steps behind it, for a decoder that stands on its encoder."""
# B rows  T steps of the longest row

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.models.settings import Unfold


def unfolded(x: Tensor, layout: Layout, settings: Unfold) -> tuple[Tensor, Layout]:
    """Each row ⌈times · length⌉ + more long (Kalchbrenner et al. 2016, eq. 3); one without steps stays so."""
    longest = int(_lengthened(torch.tensor([layout.longest]), settings))
    x_BTD = F.pad(layout.pad(x), (0, 0, 0, longest - layout.longest))
    # within a frame of fixed shapes only the padded form has a size that the lengths do not change
    if isinstance(layout, Packed) and layout.real is None:
        packed = Packed.of(_lengthened(layout.lengths_on_host, settings), device=x.device)
        return packed.unpad(x_BTD[:, : packed.longest]), packed
    return x_BTD, Padded(_lengthened(layout.lengths_B, settings), longest, full=layout.uniform)


def _lengthened(lengths_B: Tensor, settings: Unfold) -> Tensor:
    # in whole thousandths: with floating point 1.1 · 10 is a little more than 11, and would be 12
    longer_B = (lengths_B * round(1000 * settings.times) + 999) // 1000 + settings.more
    return torch.where(lengths_B > 0, longer_B, 0)
