"""Blocks, stacks and whole models: encoder-only, decoder-only, encoder-decoder."""
