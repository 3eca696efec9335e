"""Where a model looked while it wrote: one picture out of many heads and layers."""
# B rows  H heads  T steps written  S steps read

from collections.abc import Mapping, Sequence

from torch import Tensor


def alignment(seen: Mapping[str, Sequence[Tensor]]) -> Tensor:
    """Of what `watch_attention` saw of an encoder-decoder's one pass over one pair: w_TS.

    The mean over the heads of the layer that is surest where it looks. Raises ValueError if no layer reads a source.
    """
    crossing = {name: parts for name, parts in seen.items() if name.endswith(".cross")}
    # a recurrent decoder's mixer is its attention
    crossing = crossing or {name: parts for name, parts in seen.items() if name.startswith("decoder.")}
    if not crossing:
        raise ValueError("no layer of the model looks at a source")
    means = [parts[0][0].mean(0) for parts in crossing.values()]
    return max(means, key=lambda weights_TS: float(weights_TS.amax(-1).mean()))
