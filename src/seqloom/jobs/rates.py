"""How large a step of Muon may be, by the model, the batch and the number of steps; docs/decisions/0016."""

from collections.abc import Sequence

from seqloom.training.optimisers import AdamW, Muon, OptimiserSettings

OTHERS = 0.3  # the rate of what Muon does not train, as a share of Muon's
LEAST, MOST = 0.001, 0.04  # what was measured, and a little beyond


def rate_for(width: int, batch: int, steps: int) -> float:
    """batch: tokens of a step. More tokens allow larger steps; more steps and wider models need smaller ones."""
    rate = 0.011 * (batch / 1024) ** 0.5 * (256 / width) ** 0.6 * (1200 / max(steps, 1)) ** 0.4
    return float(f"{min(MOST, max(LEAST, rate)):.2g}")


def chosen(changes: Sequence[str]) -> bool:
    """Nobody named an optimiser or a rate."""
    return not any(change.startswith("training.optimiser") for change in changes)


def optimiser_for(width: int, batch: int, steps: int) -> OptimiserSettings:
    rate = rate_for(width, batch, steps)
    return Muon(rate=rate, others=AdamW(rate=float(f"{OTHERS * rate:.2g}"), decay=0.0))
