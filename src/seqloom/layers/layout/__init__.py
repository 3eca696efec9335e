"""Which positions of a batch are real, and where each sequence begins and ends.

A batch of sequences of unequal length has two forms:

packed   all real tokens in one row, sequence after sequence: x_ND
padded   one row a sequence, filled up to the longest: x_BTD

Token-wise layers do not care: they work on the last axis. A mixer asks its layout for the form it needs. What a
packed layout knows is worked out once, and shared by all layers of a model.

    layout = Packed.of([3, 1, 2])                      # six tokens
    x_BTD = layout.pad(x_ND)                           # flush left, three rows of three
    x_ND = layout.unpad(x_BTD)
"""

from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from seqloom.layers.layout.contract import Layout, flip
from seqloom.layers.layout.edges import Edges
from seqloom.layers.layout.packed import Packed
from seqloom.layers.layout.padded import Padded
from seqloom.layers.layout.twice import halves, repeated, twice


def with_structure(layout: Padded | Packed, structure_BTT: Tensor) -> Layout:
    """The same batch, in which a step may see only what the structure says (True: may see), flush left.

    A graph, for example: its nodes are the steps, its edges the structure. Self-attention obeys it.
    """
    wanted = (layout.rows, layout.longest, layout.longest)
    if structure_BTT.dtype != torch.bool or structure_BTT.dim() != 3:
        raise ValueError(f"a structure is a mask of True and False, rows × steps × steps: {wanted}")
    if any(have not in (1, need) for have, need in zip(structure_BTT.shape, wanted, strict=True)):
        raise ValueError(f"a structure for this batch has the shape {wanted}, not {tuple(structure_BTT.shape)}")
    return replace(layout, structure_BTT=structure_BTT)


P = TypeVar("P", Padded, Packed)


def with_edges(layout: P, edges: Edges) -> P:
    """As `with_structure`, for large graphs: self-attention goes along the edges, and makes no square of all pairs."""
    return replace(layout, edges=edges)


__all__ = [
    "Edges",
    "Layout",
    "Packed",
    "Padded",
    "flip",
    "halves",
    "repeated",
    "twice",
    "with_edges",
    "with_structure",
]
