"""Some steps of a decoder in one call of C: the forms in which it is told of the model and of what is asked."""
# R rows  T steps  V tokens

import ctypes
from array import array
from ctypes import Structure, c_double, c_int, c_int64, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from seqloom.layers.native.block import Blocks, Map, Norm, Parts, mapped, products
from seqloom.layers.native.library import Library
from seqloom.layers.native.scratch import scratch
from seqloom.layers.native.search import Search, Told
from seqloom.layers.native.shortlist import Outputs

NEAR = 32  # as in the source


class Decoder(Structure):
    _fields_ = [
        ("vectors", c_void_p), ("positions", c_void_p), ("factor", c_double), ("norm", Norm), ("last", Norm),
        ("blocks", c_void_p), ("count", c_int64), ("width", c_int64), ("tokens", c_int64),
        ("products", c_void_p), ("head", Map), ("shrink", c_double),
    ]  # fmt: skip


class Run(Structure):
    _fields_ = [
        ("rows", c_int64), ("steps", c_int64), ("last", c_void_p), ("lengths", c_void_p), ("left", c_void_p),
        ("past", c_void_p), ("memory", c_void_p), ("pasts", c_void_p), ("memories", c_void_p),
        ("never", c_void_p), ("end", c_int64), ("shortlist", c_void_p),
        ("keys", c_void_p), ("drawn", c_void_p), ("limits", c_void_p), ("search", c_void_p),
        ("tokens", c_void_p), ("log_probs", c_void_p),
        ("x", c_void_p), ("space", c_void_p), ("scores", c_void_p), ("done", c_int64), ("bad", c_int64),
    ]  # fmt: skip


class Chance(NamedTuple):
    """Of each row: what its chance hangs on, tokens that it drew before, and which tokens may be drawn: temperature,
    top-k, top-p and min-p."""

    keys: list[int]
    drawn: list[int]
    limits: list[tuple[float, float, float, float]]


class Wanted(NamedTuple):
    """left: tokens that each row, or item of a search, may still get. steps: at the most. never_V: a byte to each token
    that is not written.

    outputs: nobody asks how likely tokens are, and the likeliest is looked for among these. chance: None: the likeliest
    one is written. nothing: no token may be written, which C does not know how to. search: so many rows are the
    hypotheses of an item, and what comes of them is told there.
    """

    left: list[int]
    steps: int
    never_V: Tensor
    end: int
    log_probs: bool
    outputs: Outputs | None = None
    chance: Chance | None = None
    nothing: bool = False
    search: Search | None = None


class Ran(NamedTuple):
    """tokens_TR: -1 where a row was done before; of a search there are none. bad: some number was none, and nothing of
    it holds."""

    steps: int
    tokens_TR: list[list[int]]
    log_probs_TR: list[list[float]]
    last_R: Tensor
    bad: bool


def ran(
    lib: ctypes.CDLL, form: Decoder, blocks: Blocks, steps: int, last_R: Tensor, lengths_R: Tensor, past: Parts,
    memory: Parts, wanted: Wanted,
) -> Ran:  # fmt: skip
    """So many steps, or fewer where all rows are done before."""
    rows, V, chance = len(last_R), form.tokens, wanted.chance
    last_R, lengths_R = last_R.clone(), lengths_R.clone()
    given = [array("q", part) for part in (*past, *memory, wanted.left)]  # all must live as long as the call
    search = None if wanted.search is None else Told(wanted.search, wanted.left, past.widest)
    tokens_TR = torch.empty(0 if search else steps, rows, dtype=torch.int64)
    log_probs_TR = torch.empty(steps, rows) if wanted.log_probs and not search else None
    near = rows if wanted.outputs is not None else _near(form, rows)
    threads = torch.get_num_threads()
    x = scratch("x", rows * form.width)
    scores = scratch("scores", max(near * V * (1 if chance is None else 3), 2 * rows * threads))
    space = scratch("space", rows * (4 * max(blocks.longest, form.width) + 2))
    drawn = None
    if chance is not None:
        limits = array("d", [number for row in chance.limits for number in row])
        drawn = array("q", chance.keys), array("q", chance.drawn), limits
    at = [each.buffer_info()[0] for each in given]
    run = Run(
        rows, steps, last_R.data_ptr(), lengths_R.data_ptr(), at[4], at[0], at[2], at[1], at[3],
        wanted.never_V.data_ptr(), wanted.end,
        None if wanted.outputs is None else ctypes.addressof(wanted.outputs.form),
        *((None,) * 3 if drawn is None else (each.buffer_info()[0] for each in drawn)),
        None if search is None else search.address, tokens_TR.data_ptr(),
        None if log_probs_TR is None else log_probs_TR.data_ptr(),
        x.data_ptr(), space.data_ptr(), scores.data_ptr(),
    )  # fmt: skip
    numbers = torch.empty(2, rows, dtype=torch.int64)
    lib.write_on(ctypes.addressof(form), ctypes.addressof(run), numbers.data_ptr(), threads)
    if search is not None:
        search.note()
    probs = [] if log_probs_TR is None else log_probs_TR[: run.done].tolist()
    return Ran(run.done, tokens_TR[: run.done].tolist(), probs, last_R, bool(run.bad))


def best(lib: ctypes.CDLL, form: Decoder, x_RD: Tensor, never_V: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """log_prob_RC and token_RC of the best so many, best first; NaN where some number is none."""
    rows = len(x_RD)
    best_RC, token_RC = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.int64)
    scores, rest = scratch("scores", _near(form, rows) * form.tokens), scratch("space", rows * (form.width + 2))
    lib.best_tokens(
        ctypes.addressof(form), x_RD.data_ptr(), rows, never_V.data_ptr(), count, scores.data_ptr(), rest.data_ptr(),
        best_RC.data_ptr(), token_RC.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return best_RC, token_RC


def _near(form: Decoder, rows: int) -> int:
    """Rows whose scores are made at once: as in the source."""
    return min(rows, NEAR) if form.head.eight else rows


def _same(lib: ctypes.CDLL) -> bool:
    """Without blocks: the likeliest token behind each, and again."""
    numbers = torch.linspace(0, 70, 2 * 9 * 4).sin()
    vectors, head = numbers[:36].view(9, 4), numbers[36:].view(9, 4)
    blocks = Blocks([])
    form = Decoder(
        vectors.data_ptr(), None, 2.0, Norm(), Norm(), blocks.places.buffer_info()[0], 0, 4, 9, products(),
        mapped(head, None), 1.0,
    )  # fmt: skip
    none = Parts([], [])
    wanted = Wanted([9, 9], 3, torch.zeros(9, dtype=torch.uint8), -1, True)
    found = ran(lib, form, blocks, 3, torch.tensor([1, 5]), torch.zeros(2, dtype=torch.int64), none, none, wanted)
    last = torch.tensor([1, 5])
    for tokens, log_probs in zip(found.tokens_TR, found.log_probs_TR, strict=True):
        best = (2 * vectors[last] @ head.T).log_softmax(-1).max(-1)
        last = best.indices
        if tokens != last.tolist() or not torch.allclose(torch.tensor(log_probs), best.values, atol=1e-4):
            return False
    return len(found.tokens_TR) == 3 and not found.bad


RUN = Library(
    "run",
    {
        "write_on": (c_void_p, c_void_p, c_void_p, c_int),
        "best_tokens": (c_void_p, c_void_p, c_int64, c_void_p, c_int, *(c_void_p,) * 4, c_int),
    },
    _same,
    products,
)
