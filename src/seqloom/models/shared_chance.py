"""What all rows of a pass share beside the weights."""

from torch import nn

from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.embedding import TokenEmbedding
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.recurrence import RecurrenceMixer


def shares_chance(model: nn.Module) -> bool:
    """Whether what one pass leaves out is left out of all its rows: weights, kinds of tokens, places of experts."""
    return any(_shares(part) for part in model.modules())


def _shares(part: nn.Module) -> bool:
    match part:
        case TokenEmbedding():
            return part.dropout > 0
        case RecurrenceMixer() | AttentiveRecurrenceMixer():
            return part.settings.weight_dropout > 0
        case MixtureOfExperts():
            return part.settings.capacity is not None
        case _:
            return False
