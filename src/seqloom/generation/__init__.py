"""Writing with a model: it knows next-step scores and states, no architecture."""

from seqloom.generation.greedy import Stepper, greedy

__all__ = ["Stepper", "greedy"]
