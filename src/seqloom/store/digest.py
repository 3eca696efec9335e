"""What a file of tensors says of its own content, to be found out when a disk or a copy changed it."""

from collections.abc import Mapping
from hashlib import blake2b

import torch
from torch import Tensor

KEY = "digest"
"""Its name in the metadata of a safetensors file."""


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and all bytes, whatever the order; about a second for a gigabyte."""
    found = blake2b(digest_size=16)
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        found.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return f"blake2b:{found.hexdigest()}"
