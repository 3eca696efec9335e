"""The networks that write, in the precision that is asked for: made when one is first needed."""

from collections.abc import Sequence

import torch

from seqloom.generation.settings import WritingPrecision
from seqloom.models.build import Model as Network
from seqloom.models.in_half import in_half
from seqloom.models.in_int8 import in_int8
from seqloom.settings import UserError


class Precisions:
    """half: all networks were trained in bf16, so that on a GPU they write in it, too, if nothing is said."""

    def __init__(self, networks: Sequence[Network], device: torch.device, half: bool) -> None:
        self.full, self.device = networks, device
        self._half = half and device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        self._made: dict[str, Sequence[Network]] = {}

    def of(self, precision: WritingPrecision) -> tuple[Sequence[Network], torch.dtype | None]:
        """The networks, and the type that autocast makes their products in, if it should."""
        if precision == "auto":
            precision = "bf16" if self._half else "full"
        if precision == "full":
            return self.full, None
        place = "cpu" if precision == "int8" else "cuda"
        if self.device.type != place:
            raise UserError(
                f"generation.precision: {precision} is for a {'CPU' if place == 'cpu' else 'GPU'}, and this model runs "
                f"on {self.device.type}; leave it out, or ask with --device {place}"
            )
        if precision not in self._made:
            self._made[precision] = [
                in_int8(network) if precision == "int8" else in_half(network, torch.bfloat16) for network in self.full
            ]
        return self._made[precision], None if precision == "int8" else torch.bfloat16
