"""One step of a decoder's blocks, in one call: the forms in which C reads its weights and what its rows remember."""

import ctypes
import threading
from array import array
from collections.abc import Sequence
from ctypes import Structure, c_double, c_int, c_int64, c_void_p
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.activations import Activation
from seqloom.layers.native.arena import empty
from seqloom.layers.native.compiler import MissingError
from seqloom.layers.native.eight import Packed
from seqloom.layers.native.library import Library
from seqloom.layers.native.product import MOST_THREADS, lay_in_panels, of_rows, panel
from seqloom.layers.native.scratch import scratch

AT_ONCE = 512
"""Tokens of whole sequences, about: enough for full speed, and few enough to stay in the cache."""
NO_NORM, LAYER, RMS = range(3)
ACTIVATIONS: dict[Activation, int] = {"identity": 0, "relu": 1, "gelu": 2, "gelu-tanh": 3, "silu": 4, "tanh": 5}

_version = attrgetter("_version")


class Map(Structure):
    _fields_ = [
        ("weight", c_void_p),
        ("bias", c_void_p),
        ("inputs", c_int64),
        ("out", c_int64),
        ("turned", c_int64),
        ("eight", c_void_p),
        ("panels", c_void_p),
    ]


class Products(Structure):
    _fields_ = [("torch", c_void_p), ("own", c_void_p)]


class Norm(Structure):
    _fields_ = [("gain", c_void_p), ("bias", c_void_p), ("epsilon", c_double), ("kind", c_int64)]


class Around(Structure):
    _fields_ = [("before", Norm), ("behind", Norm), ("sum", Norm), ("carry", c_double), ("scale", c_double)]


class Heads(Structure):
    _fields_ = [
        ("around", Around), ("asks", Map), ("out", Map),
        ("heads", c_int64), ("groups", c_int64), ("width", c_int64), ("scale", c_double),
        ("query", Norm), ("key", Norm),
        ("cosines", c_void_p), ("sines", c_void_p), ("planes", c_int64), ("beside", c_int64),
    ]  # fmt: skip


class Dense(Structure):
    _fields_ = [("around", Around), ("inputs", Map), ("out", Map), ("activation", c_int64), ("gated", c_int64)]


class Block(Structure):
    _fields_ = [
        ("products", c_void_p), ("itself", Heads), ("cross", Heads), ("dense", Dense),
        ("width", c_int64), ("longest", c_int64),
    ]  # fmt: skip

    @property
    def maps(self) -> list[Map]:
        return [self.itself.asks, self.itself.out, self.cross.asks, self.cross.out, self.dense.inputs, self.dense.out]


class Panels:
    """Maps of full precision, laid out as our kernel reads them: twice in memory, but read in half the time.

    Only those that were laid out for writing (models/laid_out.py): weights that learn change in every step.
    """

    def __init__(self, maps: Sequence[Map], held: Sequence[object]) -> None:
        self.weights = [thing for thing in held if isinstance(thing, Tensor)]
        told = not any(map(Tensor.is_inference, self.weights))  # of these nobody knows whether they changed
        self.maps = [part for part in maps if part.turned and not part.eight] if told and products_of().own else []
        self.made: list[Tensor] = []
        self._version, self._lock = -1, threading.Lock()

    def ready(self) -> None:
        """Before rows are multiplied."""
        if not self.maps or (version := sum(map(_version, self.weights))) == self._version:
            return
        if torch.get_num_threads() > MOST_THREADS:
            return  # nobody would read them
        with self._lock:
            if version == self._version:
                return  # another thread has done it meanwhile
            wide = panel()
            self.made = self.made or [empty(m.inputs * -(-m.out // wide) * wide, torch.float32) for m in self.maps]
            for part, to in zip(self.maps, self.made, strict=True):
                lay_in_panels(part.weight, part.inputs, part.out, to)
                part.panels = to.data_ptr()
            self._version = version


def mapped(weight_ED: Tensor, bias_E: Tensor | None) -> Map | None:
    """None if its weights do not lie side by side, in either order."""
    E, D = weight_ED.shape
    turned = weight_ED.stride() == (1, E) and E > 1
    if not turned and weight_ED.stride() != (D, 1):
        return None
    return Map(weight_ED.data_ptr(), None if bias_E is None else bias_E.data_ptr(), D, E, turned)


def mapped_in_eight(packed: Packed) -> Map:
    """packed must live as long as what is returned."""
    form = packed.form
    return Map(None, None, form.inputs, form.out, False, ctypes.addressof(form))


def numbers_of(
    keys: Tensor, values: Tensor, lengths: Tensor | None, even: int, rows: int, fan: int, writer: Tensor | None = None
) -> list[int]:
    """What rows remember; see `attend_one`. even: how many steps each has, where lengths is None."""
    if lengths is not None and not lengths.is_contiguous():
        raise ValueError("lengths that do not lie side by side")
    strides = keys.stride()
    return [
        keys.data_ptr(), values.data_ptr(), strides[0], strides[1], 0 if writer is None else strides[2], strides[-2],
        0 if lengths is None else lengths.data_ptr(), even,
        0 if writer is None else writer.data_ptr(), 0 if writer is None else writer.stride(1), rows, fan,
    ]  # fmt: skip


class Parts(NamedTuple):
    """What the rows of several blocks remember: numbers of all parts, and how many parts each block has."""

    numbers: list[int]
    counts: list[int]

    @property
    def widest(self) -> int:
        """Columns of the widest table of writers."""
        return max(self.numbers[9::12], default=0)


class Blocks:
    """Blocks one upon the other, of one width. held: what they are made of, and must live as long as they do.

    turns: places for which it is known how heads turn; None: they do not.
    """

    def __init__(self, blocks: Sequence[Block], held: Sequence[object] = (), turns: int | None = None) -> None:
        self.blocks, self.held, self.turns = blocks, held, turns
        self.width = blocks[0].width if blocks else 0
        self.longest = max((block.longest for block in blocks), default=0)
        self.places = array("q", [ctypes.addressof(block) for block in blocks])
        self.panels = Panels([part for block in blocks for part in block.maps], held)

    def step(self, lib: ctypes.CDLL, x: Tensor, past: Parts, memory: Parts) -> Tensor:
        """What comes out, in the form of x."""
        y, rows = x.clone(), x.numel() // self.width
        self.panels.ready()
        space = scratch("space", rows * (4 * self.longest + 2))
        given = [array("q", part) for part in (*past, *memory)]  # they must live as long as the call
        lib.stack_step(
            self.places.buffer_info()[0], len(self.blocks), y.data_ptr(), rows,
            *(each.buffer_info()[0] for each in given), space.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        return y

    def read(self, lib: ctypes.CDLL, x_ND: Tensor, lengths: Sequence[int]) -> Tensor:
        """Whole sequences of these lengths, one behind the other, each over itself."""
        begins, parts, most = array("i"), array("q"), 0
        for length in lengths:
            if not parts or begins[-1] + length > AT_ONCE:
                begins.append(0)
                parts.append(0)
            begins.append(begins[-1] + length)
            parts[-1] += 1
            most = max(most, begins[-1])
        if sum(lengths) * self.width != x_ND.numel():
            raise ValueError(f"{tuple(x_ND.shape)} of sequences with {sum(lengths)} tokens")
        self.panels.ready()
        y_ND, space = x_ND.clone(), scratch("space", most * (4 * self.longest + 2))
        lib.stack_read(
            self.places.buffer_info()[0], len(self.blocks), y_ND.data_ptr(), begins.buffer_info()[0],
            parts.buffer_info()[0], len(parts), space.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        return y_ND


def products() -> int:
    """Where torch's own sgemm is, and our kernel for many rows: the form's address."""
    return ctypes.addressof(products_of())


_only = dict[type[Products], Products]()


def products_of() -> Products:
    """The only one there is, as C keeps its address: threads that ask first, at the same time, all get what is ready
    first. `functools.cache` would keep what is ready last, and free the others under C."""
    found = _only.get(Products)
    return _only.setdefault(Products, Products(_sgemm(), of_rows())) if found is None else found


def _sgemm() -> int:
    for file in sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*")):
        found = getattr(ctypes.CDLL(str(file)), "sgemm_", None)
        address = None if found is None else ctypes.cast(found, c_void_p).value
        if address is not None:
            return address
    raise MissingError("torch has no sgemm that others could call")


def _same(lib: ctypes.CDLL) -> bool:
    numbers = torch.linspace(0, 99, 1000).sin()
    x, keys, values = numbers[:16].view(2, 8), numbers[16:64].view(2, 2, 3, 4), numbers[64:112].view(2, 2, 3, 4)
    qkv, q, out, wide = (
        numbers[at:][: 8 * size].view(size, 8) for at, size in ((112, 24), (304, 8), (368, 8), (432, 16))
    )
    narrow, bias = wide.cos().t(), numbers[:16].cos()
    turned, deeper, wider = out.t().contiguous().t(), F.pad(keys, (0, 0, 0, 1)), F.pad(values, (0, 0, 0, 1))
    plain, heads = Around(carry=1, scale=1), (2, 2, 4, 0.5)
    gain, (cosines, sines) = 1 + bias[:4], (numbers[500:508].view(4, 2), numbers[600:608].view(4, 2))
    shape = Norm(gain.data_ptr(), None, 1e-6, RMS), Norm(), cosines.data_ptr(), sines.data_ptr(), 2, 0
    block = Block(
        products(),
        Heads(plain, mapped(qkv, None), mapped(turned, bias), *heads, *shape),
        Heads(plain, mapped(q, None), mapped(turned, bias), *heads),
        Dense(plain, mapped(wide, bias), mapped(narrow, None), ACTIVATIONS["gelu"], 0),
        8,
        24,
    )
    past, memory = numbers_of(deeper, wider, None, 3, 2, 1), numbers_of(keys, values, None, 3, 2, 1)
    y = Blocks([block]).step(lib, x, Parts(past, [1]), Parts(memory, [1]))
    asks, k, v = (x @ qkv.T).view(2, 3, 2, 1, 4).unbind(1)
    asks, k = (_turned(each, cosines[3], sines[3]) for each in (F.rms_norm(asks, (4,), gain, 1e-6), k))
    mixed = F.scaled_dot_product_attention(asks, torch.cat((keys, k), 2), torch.cat((values, v), 2), scale=0.5)
    x = x + F.linear(mixed.reshape(2, 8), out, bias[:8])
    mixed = F.scaled_dot_product_attention((x @ q.T).view(2, 2, 1, 4), keys, values, scale=0.5)
    x = x + F.linear(mixed.reshape(2, 8), out, bias[:8])
    return torch.allclose(y, x + F.linear(F.gelu(F.linear(x, wide, bias)), narrow), atol=1e-4)


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosines - b * sines, b * cosines + a * sines), -1)


BLOCK = Library(
    "block",
    {
        "stack_step": (c_void_p, c_int64, c_void_p, c_int64, *(c_void_p,) * 5, c_int),
        "stack_read": (c_void_p, c_int64, *(c_void_p,) * 3, c_int64, c_void_p, c_int),
    },
    _same,
    products,
)
