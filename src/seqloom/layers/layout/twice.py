"""A packed batch with each of its rows there twice: two passes of a model, in which chance is another, in one."""
# B rows  N tokens of all rows  E edges

from dataclasses import replace

import torch
from torch import Tensor

from seqloom.layers.layout.contract import Layout
from seqloom.layers.layout.edges import Edges
from seqloom.layers.layout.packed import Packed
from seqloom.layers.layout.padded import Padded


def twice(layout: Packed) -> Packed:
    """Rows 1 … B, and behind them 1 … B again; what fills the batch up comes last."""
    lengths_B, device = layout.lengths_B.repeat(2), layout.lengths_B.device
    if layout.lengths_host_B is None or layout.real_N is not None:
        whole = Packed.within(lengths_B, 2 * len(layout.row_N), layout.most, layout.same)
    else:
        whole = Packed.of(layout.lengths_host_B.repeat(2), device=device)
    structure_BTT, edges = layout.structure_BTT, layout.edges
    if structure_BTT is not None:
        structure_BTT = structure_BTT.repeat(1 if len(structure_BTT) == 1 else 2, 1, 1)
    if edges is not None:
        query_E, key_E = edges.query_E.repeat(2), edges.key_E.repeat(2)
        edges = Edges(torch.cat((edges.row_E, edges.row_E + layout.rows)), query_E, key_E)
    # who asks for the padded form of the one asks for that of the other
    return replace(whole, structure_BTT=structure_BTT, edges=edges, memo={"once": layout})


def repeated(layout: Packed, x_N: Tensor) -> Tensor:
    """What belongs to the tokens, as `twice` lays them out; whatever stands where no token is."""
    if layout.real_N is None:
        both_N = torch.cat((x_N, x_N))
        return both_N.coalesce() if both_N.is_sparse else both_N
    count, place_N = layout.offsets_B1[-1], torch.arange(2 * len(x_N), device=x_N.device)
    return x_N.index_select(0, torch.where(place_N < count, place_N, place_N - count).clamp(0, len(x_N) - 1))


def halves(whole: Layout, x_N: Tensor) -> tuple[Tensor, Tensor, Layout]:
    """What came of either copy of the rows, and how each of them lies. whole: of rows that stand there twice."""
    rows, size = whole.rows // 2, len(x_N) // 2
    if isinstance(whole, Padded):
        return x_N[:rows], x_N[rows:], whole.split((rows, rows))[0]
    assert isinstance(whole, Packed)
    if whole.lengths_host_B is None or whole.real_N is not None:
        once = Packed.within(whole.lengths_B[:rows], size, whole.most, whole.same)
    else:
        once = Packed.of(whole.lengths_host_B[:rows], device=x_N.device)
    if whole.real_N is None:
        return x_N[:size], x_N[size:], once
    place_N = torch.arange(size, device=x_N.device) + once.offsets_B1[-1]
    return x_N[:size], x_N.index_select(0, place_N.clamp(max=len(x_N) - 1)), once
