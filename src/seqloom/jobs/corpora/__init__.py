"""A recipe's files → vocabularies, caches, and the parts for training, validation and test."""
