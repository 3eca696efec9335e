"""A linear-time mixer: attention whose memory is one matrix that fades.

S_t = a_t · S_{t-1} + k_t v_tᵀ,  y_t = S_tᵀ q_t, with a decay a_t = σ(…)^(1/16) for each head, computed from the input:
gated linear attention (Yang et al. 2024, arXiv:2312.06635) with one gate a head, as in Mamba-2 (Dao and Gu 2024,
arXiv:2405.21060), whose chunked form makes training parallel. Each head's output is RMS-normed and gated.
"""
# B rows  T steps  H heads  K key width  V value width  D width  n chunks  C steps in a chunk

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.heads import uneven
from seqloom.layers.layout import Layout, Packed, flip
from seqloom.layers.layout.contract import like as shaped_like
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure
from seqloom.layers.norms import RMSNormalisation
from seqloom.layers.paths import fast
from seqloom.settings import Frozen

CHUNK = 64
SEGMENT = 64  # chunks whose states are carried over in one product; more of them follow one another


class GatedLinear(Frozen):
    """A memory of fixed size that fades: time grows with length, not with its square."""

    kind: Literal["gated-linear"] = "gated-linear"
    heads: int = Field(default=4, ge=1)
    key_width: int | None = Field(default=None, ge=1, description="of a head; unset: half of the value's")

    def widths(self, width: int) -> tuple[int, int]:
        """Of a head's keys and values."""
        value = width // self.heads
        return self.key_width or max(value // 2, 1), value

    def check(self, width: int, causal: bool) -> Faults:
        if width % self.heads:
            yield "heads", uneven(width, self.heads)

    def cost(self, width: int, use: Use) -> Cost:
        """The products with the fading memory count as the recurrence has them, not as the chunks do."""
        K, V = self.widths(width)
        one = linear(width, self._outputs(width), bias=False)
        one += Cost(self.heads, 4 * self.heads * K * V)
        tail = Cost(V) + linear(width, width, bias=False)
        return one + tail if use.causal else one + one + tail

    def _outputs(self, width: int) -> int:
        K, V = self.widths(width)
        return self.heads * (2 * K + 2 * V + 1)


@dataclass(frozen=True)
class GatedLinearState:
    memory_BHKV: Tensor


@dataclass(frozen=True)
class FadingParts:
    """What one direction makes, spelled out as attention: y = read · v, then norm and gate. Flush left."""

    q_BHTK: Tensor
    k_BHTK: Tensor
    v_BHTV: Tensor
    decay_BTH: Tensor
    """How much of the memory stays at each step."""
    read_BHTS: Tensor
    """How much each step reads of each: q · k, faded by all decays between them."""
    gate_BHTV: Tensor
    out_BHTV: Tensor
    """Behind norm and gate."""


class FadingMemory(nn.Module):
    """One direction: projections, decay, and the two forms of the recurrence."""

    def __init__(self, settings: GatedLinear, width: int) -> None:
        super().__init__()
        self.H = settings.heads
        self.K, self.V = settings.widths(width)
        self.parts = [self.H * self.K, self.H * self.K, self.H * self.V, self.H * self.V, self.H]
        self.inputs = nn.Linear(width, sum(self.parts), bias=False)
        # at first a head remembers over about 16 · (1 + e^b) steps, each head over another span
        self.decay_H = nn.Parameter(torch.linspace(0.0, 4.0, self.H))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """q_…HK, k_…HK, v_…HV, gate_…HV and log of the decay, fade_…H."""
        q, k, v, gate, decay = self.inputs(x).split(self.parts, -1)
        q, k = q.unflatten(-1, (self.H, self.K)) * self.K**-0.5, k.unflatten(-1, (self.H, self.K))
        v, gate = v.unflatten(-1, (self.H, self.V)), gate.unflatten(-1, (self.H, self.V))
        # many small logarithms are added up: half precision would lose them
        precise = decay.to(torch.promote_types(decay.dtype, torch.float32))
        return q, k, v, gate, F.logsigmoid(precise + self.decay_H) / 16

    def start(self, rows: int, like: Tensor) -> Tensor:
        """In float32 at least: a decay of 0.999 is 1 in half precision, and nothing would ever be forgotten."""
        return like.new_zeros(rows, self.H, self.K, self.V, dtype=torch.promote_types(like.dtype, torch.float32))


def fade_plain(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, fade_BTH: Tensor, memory_BHKV: Tensor, new_BT: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The recurrence, one step after the other. new_BT: True where another sequence begins."""
    outputs = [v_BTHV[:, :0]]
    for t in range(q_BTHK.shape[1]):
        kept_BHKV = memory_BHKV * fade_BTH[:, t].exp()[..., None, None]
        if new_BT is not None:
            kept_BHKV = torch.where(new_BT[:, t, None, None, None], 0, kept_BHKV)
        memory_BHKV = kept_BHKV + k_BTHK[:, t, :, :, None] * v_BTHV[:, t, :, None, :]
        outputs.append(torch.einsum("bhk,bhkv->bhv", q_BTHK[:, t], memory_BHKV.to(q_BTHK.dtype))[:, None])
    return torch.cat(outputs, 1), memory_BHKV


def fade_chunked(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, fade_BTH: Tensor, memory_BHKV: Tensor, new_BT: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The same by chunks: within a chunk as masked attention, from chunk to chunk through the memory."""
    T, stride, outputs = q_BTHK.shape[1], CHUNK * SEGMENT, [v_BTHV[:, :0]]
    parts = [q_BTHK, k_BTHK, v_BTHV, fade_BTH]
    begun_BT = None if new_BT is None else new_BT.long().cumsum(1)
    zero_B = torch.zeros(q_BTHK.shape[0], 1, dtype=torch.int64, device=q_BTHK.device)
    for at in range(0, T, stride):
        size = min(stride, T - at)
        fill = -size % min(CHUNK, size)
        piece = [F.pad(x[:, at : at + size], (0, 0) * (x.dim() - 2) + (0, fill)) for x in parts]
        if begun_BT is None:
            row_BT = zero_B.expand(-1, size + fill)
            before_B1 = zero_B
        else:
            # what fills up belongs to the last sequence: it adds nothing to its memory, and takes nothing away
            last = begun_BT[:, at + size - 1 : at + size].expand(-1, fill)
            row_BT = torch.cat((begun_BT[:, at : at + size], last), 1)
            before_B1 = begun_BT[:, at - 1 : at] if at else zero_B
        y_BTHV, memory_BHKV = _segment(piece, row_BT, before_B1, memory_BHKV)
        outputs.append(y_BTHV[:, :size])
    return torch.cat(outputs, 1), memory_BHKV


def _segment(parts: list[Tensor], row_BT: Tensor, before_B1: Tensor, memory_BHKV: Tensor) -> tuple[Tensor, Tensor]:
    """Up to SEGMENT chunks. row_BT numbers the sequences; before_B1 is the one that the memory belongs to."""
    C = min(CHUNK, row_BT.shape[1])
    q, k, v = (x.unflatten(1, (-1, C)).transpose(2, 3) for x in parts[:3])  # BnHCK
    faded_BnHC = parts[3].unflatten(1, (-1, C)).transpose(2, 3).cumsum(-1)
    total_BnH = faded_BnHC[..., -1]
    row_BnC = row_BT.unflatten(1, (-1, C))
    ends_Bn = row_BnC[..., -1]
    # within a chunk: token c reads token e ≤ c of its own sequence, faded by what lies between
    within_CC = torch.ones(C, C, dtype=torch.bool, device=q.device).tril()
    same_BnCC = (row_BnC[..., None] == row_BnC[..., None, :]) & within_CC
    decay_BnHCC = _decay(faded_BnHC[..., None] - faded_BnHC[..., None, :], same_BnCC[:, :, None], q.dtype)
    y_BnHCV = (q @ k.transpose(-1, -2) * decay_BnHCC) @ v
    # each chunk's own memory, at its end
    left_BnHC = _decay(total_BnH[..., None] - faded_BnHC, (row_BnC == ends_Bn[..., None])[:, :, None], q.dtype)
    own_BnHKV = (k * left_BnHC[..., None]).transpose(-1, -2) @ v
    # from chunk to chunk: the memory behind chunk m is the sum of all chunks' own ones up to m, and the first memory
    stack_BmHKV = torch.cat((memory_BHKV[:, None], own_BnHKV.to(memory_BHKV.dtype)), 1)
    clock_BmH = F.pad(total_BnH.cumsum(1), (0, 0, 1, 0))
    rows_Bm = torch.cat((before_B1, ends_Bn), 1)
    m = rows_Bm.shape[1]
    carried = (rows_Bm[:, :, None] == rows_Bm[:, None]) & torch.ones(m, m, dtype=torch.bool, device=q.device).tril()
    carry_BmmH = _decay(clock_BmH[:, :, None] - clock_BmH[:, None], carried[..., None], memory_BHKV.dtype)
    with torch.autocast(q.device.type, enabled=False):
        behind_BmHKV = torch.einsum("bmlh,blhkv->bmhkv", carry_BmmH, stack_BmHKV)
    read_BnHC = _decay(faded_BnHC, (row_BnC == rows_Bm[:, :-1, None])[:, :, None], q.dtype)
    y_BnHCV = y_BnHCV + (q * read_BnHC[..., None]) @ behind_BmHKV[:, :-1].to(q.dtype)
    return y_BnHCV.transpose(2, 3).flatten(1, 2), behind_BmHKV[:, -1].contiguous()


def _decay(exponent: Tensor, allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """e^exponent where allowed, else 0; masked before the power, which could overflow where it is not allowed."""
    return (torch.where(allowed, exponent, 0).exp() * allowed).to(dtype)


class GatedLinearMixer(Mixer):
    """Not causal: one memory runs forward and one backward, and their outputs are added."""

    stepwise = True  # piece by piece

    def __init__(self, settings: GatedLinear, width: int, causal: bool) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.causal = causal
        self.ahead = FadingMemory(settings, width)
        self.back = None if causal else FadingMemory(settings, width)
        self.norm = RMSNormalisation(self.ahead.V, 1e-5, gain=True, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> GatedLinearState:
        return GatedLinearState(self.ahead.start(rows, self.anchor))

    def forward(
        self, x: Tensor, layout: Layout, state: GatedLinearState | None = None
    ) -> tuple[Tensor, GatedLinearState | None]:
        if not self.causal:
            no_state(self, state)
        no_structure(self, layout)
        y, after = self._run(self.ahead, x, layout, state, backward=False)
        if self.back is not None:
            y = y + self._run(self.back, x, layout, None, backward=True)[0]
        return self.out(y.flatten(-2)), (None if state is None else GatedLinearState(after))

    def _run(
        self, memory: FadingMemory, x: Tensor, layout: Layout, state: GatedLinearState | None, backward: bool
    ) -> tuple[Tensor, Tensor]:
        q, k, v, gate, fade = memory.project(x)
        if isinstance(layout, Packed) and state is None and fast():
            y, after = self._packed(memory, (q, k, v, fade), layout, backward)
        else:
            y, after = self._padded(memory, (q, k, v, fade), layout, state, backward)
        return self.norm(y) * F.silu(gate), after

    def parts(self, x: Tensor, layout: Layout) -> list[FadingParts]:
        """What each direction makes of whole sequences, by the equation; their sum goes through the output map."""
        found = [self._spelled_out(self.ahead, x, layout, backward=False)]
        return found if self.back is None else [*found, self._spelled_out(self.back, x, layout, backward=True)]

    def _spelled_out(self, memory: FadingMemory, x: Tensor, layout: Layout, backward: bool) -> FadingParts:
        q, k, v, gate, fade = (layout.pad(part) for part in memory.project(x))
        clock_BHT = (fade.flip(1).cumsum(1).flip(1) if backward else fade.cumsum(1)).transpose(1, 2)
        q_BHTK, k_BHTK, v_BHTV, gate_BHTV = (part.transpose(1, 2) for part in (q, k, v, gate))
        away_TS = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device)
        allowed_TS = away_TS.triu() if backward else away_TS.tril()
        faded_BHTS = _decay(clock_BHT[..., None] - clock_BHT[..., None, :], allowed_TS, q.dtype)
        read_BHTS = q_BHTK @ k_BHTK.transpose(-1, -2) * faded_BHTS
        out_BHTV = self.norm(read_BHTS @ v_BHTV) * F.silu(gate_BHTV)
        return FadingParts(q_BHTK, k_BHTK, v_BHTV, fade.exp(), read_BHTS, gate_BHTV, out_BHTV)

    def _packed(
        self, memory: FadingMemory, parts: tuple[Tensor, ...], layout: Packed, backward: bool
    ) -> tuple[Tensor, Tensor]:
        """All sequences in one row; the memory is emptied where another begins."""
        row_N = layout.row_N
        if layout.real_N is not None:  # filler is a row of its own, and holds nothing
            row_N = row_N + ~layout.real_N
            parts = tuple(torch.where(shaped_like(layout.real_N, x), x, 0) for x in parts)
        if backward:
            parts, row_N = tuple(x.flip(0) for x in parts), row_N.flip(0)
        new_N = F.pad(row_N[1:] != row_N[:-1], (1, 0))
        q, k, v, fade = (x[None] for x in parts)
        y_1NHV, after = fade_chunked(q, k, v, fade, memory.start(1, q), new_N[None])
        y_NHV = y_1NHV[0]
        return (y_NHV.flip(0) if backward else y_NHV), after

    def _padded(
        self,
        memory: FadingMemory,
        parts: tuple[Tensor, ...],
        layout: Layout,
        state: GatedLinearState | None,
        backward: bool,
    ) -> tuple[Tensor, Tensor]:
        """Behind a row's end keys are zero and nothing fades, so the last memory is the one at the end."""
        q, k, v, fade = (layout.pad(x) for x in parts)
        if backward:
            q, k, v, fade = (flip(x, layout.lengths_B) for x in (q, k, v, fade))
        begin = memory.start(layout.rows, q) if state is None else state.memory_BHKV
        y_BTHV, after = (fade_chunked if fast() else fade_plain)(q, k, v, fade, begin, None)
        return layout.unpad(flip(y_BTHV, layout.lengths_B) if backward else y_BTHV), after
