"""Dynamic unfolding: a source with empty steps behind it, for a decoder that stands on its encoder."""
# B rows  T steps of the longest row

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.models.settings import Unfold


def unfolded(x: Tensor, layout: Layout, settings: Unfold) -> tuple[Tensor, Layout]:
    """Each row ⌈times · length⌉ + more long (Kalchbrenner et al. 2016, eq. 3); one without steps stays so."""
    # in whole thousandths: with floating point 1.1 · 10 is a little more than 11, and would be 12
    times, more = round(1000 * settings.times), settings.more

    def longer(lengths_B: Tensor) -> Tensor:
        return torch.where(lengths_B > 0, (lengths_B * times + 999) // 1000 + more, 0)

    longest = (layout.longest * times + 999) // 1000 + more
    x_BTD = F.pad(layout.pad(x), (0, 0, 0, longest - layout.longest))
    # within a frame of fixed shapes only the padded form has a size that the lengths do not change
    if isinstance(layout, Packed) and layout.real is None and layout.lengths_host_B is not None:
        packed = Packed.of(longer(layout.lengths_host_B), device=x.device)
        return packed.unpad(x_BTD[:, : packed.longest]), packed
    return x_BTD, Padded(longer(layout.lengths_B), longest, full=layout.uniform)
