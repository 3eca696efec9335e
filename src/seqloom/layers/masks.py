"""Who may see whom: the structure that is put into attention's weights.

A mask is True where a query may see a key. Keys stand at their own index in their sequence (caches are kept flush
left), so that a key's number is its position.
"""
# B rows (1: the same for all)  T queries  S keys

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sight:
    """Each rule narrows what a query may see; all hold at once."""

    causal: bool = False  # nobody sees the future
    window: int | None = None  # nobody sees as far as this many steps away, ahead or behind
    block: int | None = None  # nobody sees out of their own block of this many positions (Liu et al. 2018)
    lengths_B: Tensor | None = None  # how many keys of each row are real
    structure_BTS: Tensor | None = None  # any other structure
    from_start: bool = False  # query t stands at position t, and there are as many keys as queries
    surely: bool = False  # every query sees a key, whatever the rules: known without looking

    def mask(self, at_BT: Tensor, keys: int) -> Tensor | None:
        """see_BTS for queries at these positions, or None when everyone sees everything."""
        if not self._rules:
            return None
        key_S = torch.arange(keys, device=at_BT.device)
        at_BT1 = at_BT[..., None]
        rules: list[Tensor] = []
        if self.causal:
            rules.append(key_S <= at_BT1)
        if self.window is not None:
            rules.append((key_S - at_BT1).abs() < self.window)
        if self.block is not None:
            rules.append(key_S // self.block == at_BT1 // self.block)
        if self.lengths_B is not None:
            rules.append(key_S < self.lengths_B[:, None, None])
        if self.structure_BTS is not None:
            rules.append(self.structure_BTS)
        see = rules[0]
        for rule in rules[1:]:
            see = see & rule
        return see

    @property
    def _rules(self) -> bool:
        narrowed = self.window, self.block, self.lengths_B, self.structure_BTS
        return self.causal or any(rule is not None for rule in narrowed)

    @property
    def kernel_causal(self) -> bool:
        """The fast kernel's own causal mask says it all.

        Padding stands behind the real steps, where no real query looks; so a causal mask needs no other.
        """
        return self.kernel_causal_blocks and self.block is None

    @property
    def kernel_causal_blocks(self) -> bool:
        """So it does within each block, if there are any."""
        return self.causal and self.from_start and self.window is None and self.structure_BTS is None
