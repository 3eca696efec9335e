"""Sequence layers, one file a concept, each usable alone as an nn.Module."""
