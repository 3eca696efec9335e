"""Look inside a model while it runs."""

from seqloom.inspect.attention import watch_attention

__all__ = ["watch_attention"]
