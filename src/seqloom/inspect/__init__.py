"""Look inside a model while it runs."""

from seqloom.inspect.alignment import alignment
from seqloom.inspect.attention import watch_attention
from seqloom.inspect.picture import attention_svg, attention_text
from seqloom.inspect.states import watch_states

__all__ = ["alignment", "attention_svg", "attention_text", "watch_attention", "watch_states"]
