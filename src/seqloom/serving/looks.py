"""What was looked at lately, kept while somebody clicks from box to box: a desk's own, used in its thread alone."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from seqloom.jobs.look import Look

MOST = 32  # looks, however small


class Looks:
    """The least recently used leave when there are too many, or when all together take more than `room` bytes; the one
    in use stays."""

    def __init__(self, room: float) -> None:
        self.room = room
        self._kept: OrderedDict[str, Look] = OrderedDict()
        self._bytes: dict[str, int] = {}
        self.busy = set[str]()
        """Those whose answers are being written."""

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        return sum(self._bytes.values())

    def find(self, key: str, make: Callable[[], Look]) -> Look:
        if key not in self._kept:
            self._kept[key] = make()
            self._bytes[key] = 0
        self._kept.move_to_end(key)
        return self._kept[key]

    def measure(self, key: str) -> None:
        """After each use: a look grows with what is asked of it."""
        if key in self._kept:
            self._bytes[key] = size(self._kept[key])
        while len(self._kept) > 1 and (len(self._kept) > MOST or self.bytes > self.room):
            oldest, _ = self._kept.popitem(last=False)
            del self._bytes[oldest]
        if self.bytes > self.room:  # one alone is too much to be kept
            self._kept.clear()
            self._bytes.clear()


def size(look: Look) -> int:
    """Bytes of the tensors and texts that it holds, the model's own weights left out. A search's tree is small."""
    held = {tensor.data_ptr() for tensor in look.network.state_dict().values()}
    kept = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in _tensors(dict(vars(look)), set())
        if tensor.data_ptr() not in held
    }
    return sum(kept.values()) + sum(len(text) for text in look.kept.values() if isinstance(text, str))


def _tensors(value: Any, known: set[int]) -> Iterator[Tensor]:
    """All within; what is no container of ours (the model, its modules, functions) is not opened."""
    if isinstance(value, Tensor):
        yield value
        return
    inside: list[Any] = []
    if isinstance(value, dict):
        inside = [one for name, one in value.items() if name not in ("model", "network", "modules")]
    elif isinstance(value, list | tuple):
        inside = list(value)
    elif is_dataclass(value) and not isinstance(value, type):
        inside = [getattr(value, one.name) for one in fields(value) if one.name != "modules"]
    if inside and id(value) not in known:
        known.add(id(value))
        for one in inside:
            yield from _tensors(one, known)
