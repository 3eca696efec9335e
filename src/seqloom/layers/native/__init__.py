"""Kernels of our own for a CPU, in C. Each does what some plain lines do, which stay beside whoever calls it.

They are made by the machine's own compiler when they are first of use, and kept in the cache folder; without a compiler
the plain lines do it (docs/decisions/0026-native-kernels.md). SEQLOOM_NATIVE=0 turns them off; with SEQLOOM_NATIVE=1
the first who needs one waits for it.

    lib = NORM.get() if usable(x) else None     # None: the plain lines
"""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from seqloom.layers.native.library import Library
from seqloom.layers.paths import fast

PLAIN = (Tensor, nn.Parameter)  # others may have their numbers elsewhere

__all__ = ["Library", "address", "changed", "readable", "usable", "usable_both_ways"]


def usable(*tensors: Tensor) -> bool:
    """Whether our kernels may work on these: numbers of full precision, side by side, of which nobody wants gradients.

    Whoever records what is done (a compiler, a tracer, a counter of operations) gets the plain lines.
    """
    return not torch.is_grad_enabled() and usable_both_ways(*tensors)


def usable_both_ways(*tensors: Tensor) -> bool:
    """The same for kernels with a way back. They are waited for (`Library.wait`): a run must not change its way.

    Their way back takes one gradient at a time: `torch.autograd.grad(…, is_grads_batched=True)` needs `only_plain()`.
    """
    return (
        fast()
        and all(readable(x) for x in tensors)
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
        and torch._C._get_tracing_state() is None
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._len_torch_function_stack()  # a default device is one
        and torch._C._functorch.maybe_current_level() is None
        and forward_ad._current_level < 0
    )


def readable(x: Tensor) -> bool:
    return x.dtype is torch.float32 and x.is_cpu and x.is_contiguous() and type(x) in PLAIN


def changed(x: Tensor) -> None:
    """Tell autograd that x was written to: whoever kept it for a way back is to hear of it."""
    if not x.is_inference():
        torch.autograd.graph.increment_version(x)


def address(x: Tensor | None) -> int | None:
    return None if x is None else x.data_ptr()
