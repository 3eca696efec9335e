"""A run folder: weights, settings, vocabulary, training state. Every write is atomic; nothing in it is code."""

from seqloom.store.run import RunFolder
from seqloom.store.weights import load_weights, read_tensors, refuse_no_numbers, weights

__all__ = ["RunFolder", "load_weights", "read_tensors", "refuse_no_numbers", "weights"]
