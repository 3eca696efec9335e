"""Writing with a model: it knows next-step scores and states, no architecture."""

from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.scorer import PairScorer, TextScorer
from seqloom.generation.search import impossible_item, write
from seqloom.generation.settings import GenerationSettings

__all__ = ["GenerationSettings", "Item", "PairScorer", "Scorer", "TextScorer", "Written", "impossible_item", "write"]
