"""Files → examples → a memory-mapped cache → batches by token budget."""
