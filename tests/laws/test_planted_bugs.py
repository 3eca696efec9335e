"""The laws find what they are for: each bug that people have made before makes its law fail."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.layers import (
    aligned,
    cache,
    convolution,
    cross_attention,
    embedding,
    experts,
    forked_cache,
    gated_linear,
    masks,
    multi_step_attention,
    recurrence,
    recurrent_cell,
)
from seqloom.layers.layout import Layout, Packed, Padded, packed
from seqloom.layers.mixer import Mixer
from seqloom.layers.windows import Taps
from seqloom.models import encoder_decoder
from seqloom.models.settings import Unfold
from tests.laws import laws
from tests.laws.cases import MIXERS, MODELS, Case
from tests.laws.subject import Form, Subject

CASES = {case.name: case for case in [*MIXERS, *MODELS]}
LENGTHS = [5, 2, 4]
LEFT, RIGHT, PACKED = Form("left", 1), Form("right", 2), Form("packed")


def _subject(name: str) -> tuple[Subject, list[Any]]:
    subject = CASES[name].make(3, torch.float64)
    return subject, subject.rows(LENGTHS, [2, 3, 1])


def _future(name: str) -> None:
    subject, rows = _subject(name)
    laws.future_changes_nothing(subject, rows, PACKED, [3, 1, 2])


def _padding(name: str, form: Form) -> None:
    subject, rows = _subject(name)
    laws.padding_changes_nothing(subject, rows, form)


def _parts(name: str) -> None:
    subject, rows = _subject(name)
    laws.parts_are_the_whole(
        subject, rows, [[0, 2, 3, n] if n > 2 else [0, 1, 1, n] for n in LENGTHS], [RIGHT] * 3, None
    )


def _paths(name: str) -> None:
    subject, rows = _subject(name)
    laws.paths_agree(subject, rows, RIGHT)


def _reordering(name: str) -> None:
    subject, rows = _subject(name)
    laws.reordering_commutes(subject, rows, subject.rows([2] * 3, [1] * 3), [2, 0, 0])


def _joining(name: str) -> None:
    subject, rows = _subject(name)
    laws.rows_join_later(subject, rows, [[3, 0], [2]], None)


def _forking(name: str) -> None:
    subject, rows = _subject(name)
    laws.hypotheses_fork(subject, rows, 3, random.Random(1))


def positions_by_arange(patch: pytest.MonkeyPatch) -> None:
    """Left padding shifts every position."""
    steps = property(lambda self: torch.arange(self.width).expand(self.rows, -1))
    patch.setattr(Padded, "steps", steps)


def state_stores_padding(patch: pytest.MonkeyPatch) -> None:
    """The last steps of the batch instead of each row's own."""
    patch.setattr(convolution, "_last", lambda x_BTD, lengths_B, keep: x_BTD[:, x_BTD.shape[1] - keep :])


def mask_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """key ≤ query + 1: everybody sees one step of the future."""
    mask = masks.Sight.mask

    def wrong(self: masks.Sight, at_BT: Tensor, keys: int) -> Tensor | None:
        return mask(self, at_BT + 1, keys)

    patch.setattr(masks.Sight, "mask", wrong)
    patch.setattr(masks.Sight, "kernel_causal", property(lambda self: False))


def mask_of_strict_past(patch: pytest.MonkeyPatch) -> None:
    """key < query in the fast path only."""
    patch.setattr(masks.Sight, "kernel_causal", property(lambda self: False))
    mask = masks.Sight.mask
    patch.setattr(
        masks.Sight,
        "mask",
        lambda self, at_BT, keys: mask(self, at_BT - 1, keys) if self.from_start else mask(self, at_BT, keys),
    )


def ends_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Padding behind the end is looked at."""
    mask = masks.Sight.mask

    def wrong(self: masks.Sight, at_BT: Tensor, keys: int) -> Tensor | None:
        return mask(masks.Sight(self.causal, self.window, self.block), at_BT, keys)

    patch.setattr(masks.Sight, "mask", wrong)


def cache_by_the_batch(patch: pytest.MonkeyPatch) -> None:
    """New steps are appended behind the longest row, not behind each row's own end."""

    def extend(self: cache.Cache, k: Tensor, v: Tensor, layout: Layout) -> cache.Cache:
        joined = torch.cat((self.keys_BGSK, k), 2), torch.cat((self.values_BGSK, v), 2)
        return cache.Cache(*joined, self.lengths_B + layout.lengths_B, even=False)

    patch.setattr(cache.Cache, "extend", extend)


def state_runs_on(patch: pytest.MonkeyPatch) -> None:
    """A recurrence goes on over the padding."""
    patch.setattr(recurrent_cell, "last_of", lambda steps, lengths_B: steps[-1])
    patch.setattr(recurrent_cell, "fast", lambda: False)


def flipped_by_the_batch(patch: pytest.MonkeyPatch) -> None:
    """The backward direction begins in the padding."""
    patch.setattr(recurrence, "flip", lambda x_BT, lengths_B: x_BT.flip(1))


def memory_leaks(patch: pytest.MonkeyPatch) -> None:
    """One sequence of a packed row reads the memory of the one before."""
    chunked = gated_linear.fade_chunked
    patch.setattr(gated_linear, "fade_chunked", lambda q, k, v, fade, memory, new: chunked(q, k, v, fade, memory, None))


def edges_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A convolution over the packed row reads across the border of two sequences."""

    def everybody(x_ND: Tensor, layout: Packed, taps: Taps) -> Tensor:
        ahead = (taps.number - 1) * taps.apart - taps.before
        joined = torch.nn.functional.pad(x_ND, (0, 0, taps.before, ahead))
        return torch.cat([joined[tap * taps.apart :][: len(x_ND)] for tap in range(taps.number)], -1)

    patch.setattr(convolution, "windows", everybody)


def neighbours_compete(patch: pytest.MonkeyPatch) -> None:
    """Experts have a capacity when answering too, so that who shares the batch decides who is heard."""
    patch.setattr(experts.MixtureOfExperts, "_share", property(lambda self: 0.1))
    patch.setattr(experts, "fast", lambda: False)


def gradient_forgets_padding(patch: pytest.MonkeyPatch) -> None:
    """The transpose of packing leaves what stood in the padding."""

    def wrong(x_N: Tensor, token_BT: Tensor, *_: Tensor) -> Tensor:
        return x_N.index_select(0, token_BT.flatten()).unflatten(0, token_BT.shape)

    patch.setattr(packed, "_to_padded", wrong)


def patches_cut_across_padding(patch: pytest.MonkeyPatch) -> None:
    """Patches are cut from the batch as it stands, so that left padding shifts where each begins."""

    class Shifted(Padded):
        def pad(self, x: Tensor) -> Tensor:
            return x

    cut = embedding.PatchEmbedding.forward

    def wrong(self: embedding.PatchEmbedding, x: Tensor, layout: Layout, *rest: Any) -> tuple[Tensor, Layout]:
        taken = Shifted(layout.lengths_B, layout.longest) if isinstance(layout, Padded) else layout
        return cut(self, x, taken, *rest)

    patch.setattr(embedding.PatchEmbedding, "forward", wrong)


def patches_never_end(patch: pytest.MonkeyPatch) -> None:
    """As many patches in each row as in the longest."""
    cut = embedding.PatchEmbedding.forward

    def wrong(self: embedding.PatchEmbedding, x: Tensor, layout: Layout, *rest: Any) -> tuple[Tensor, Layout]:
        y, out = cut(self, x, layout, *rest)
        return y, Padded.whole(out.rows, out.longest)

    patch.setattr(embedding.PatchEmbedding, "forward", wrong)


def rows_stay(patch: pytest.MonkeyPatch) -> None:
    """A state that is left out when beams are reordered."""
    patch.setattr(laws, "reorder", lambda state, rows: state)


def forks_read_their_own(patch: pytest.MonkeyPatch) -> None:
    """A hypothesis reads what stood in its place before, not what its ancestor wrote."""

    def fork(cache: forked_cache.ForkedCache, rows_R: Tensor) -> forked_cache.ForkedCache:
        lengths_B = cache.lengths_B.index_select(0, rows_R)
        return replace(cache, writer_AKS=cache.writer_AKS[: len(rows_R) // cache.fan], lengths_B=lengths_B)

    patch.setattr(forked_cache.ForkedCache, "fork", fork)


def forks_read_all(patch: pytest.MonkeyPatch) -> None:
    """Hypotheses to an item read each other's steps."""
    sees = forked_cache.ForkedCache.sees
    patch.setattr(forked_cache.ForkedCache, "sees", lambda cache, see_RTS: torch.ones_like(sees(cache, see_RTS)))


def memories_stay_where_they_are(patch: pytest.MonkeyPatch) -> None:
    """Rows that leave take no memory with them."""
    patch.setattr(cross_attention.SharedMemory, "reorder", lambda memory, rows_R: memory)


def joined_rows_are_even(patch: pytest.MonkeyPatch) -> None:
    """Rows that join are padded, and the padding is read."""
    joined, read = cache.Cache.join, cross_attention.SharedMemory.join
    patch.setattr(cache.Cache, "join", lambda caches: replace(joined(caches), even=True))
    patch.setattr(cross_attention.SharedMemory, "join", lambda memories: replace(read(memories), even=True))


def every_step_is_the_first(patch: pytest.MonkeyPatch) -> None:
    """A decoder that stands on its encoder forgets how far it is."""
    read = aligned.AlignedMixer._looked_up

    def wrong(self: aligned.AlignedMixer, layout: Layout, state: aligned.AlignedState) -> Tensor:
        at_B = None if state.at_B is None else torch.zeros_like(state.at_B)
        return read(self, layout, replace(state, at_B=at_B))

    patch.setattr(aligned.AlignedMixer, "_looked_up", wrong)


def the_longest_unfolds_for_all(patch: pytest.MonkeyPatch) -> None:
    """The source is lengthened with the batch, and not with each row."""
    lengthened = encoder_decoder.unfolded

    def wrong(x: Tensor, layout: Layout, settings: Unfold) -> tuple[Tensor, Layout]:
        y, longer = lengthened(x, layout, settings)
        return longer.pad(y), Padded.whole(longer.rows, longer.longest)

    patch.setattr(encoder_decoder, "unfolded", wrong)


def the_batch_decides_the_scale(patch: pytest.MonkeyPatch) -> None:
    """The root of the longest source's length, for all."""
    root = multi_step_attention._root_of_lengths
    patch.setattr(multi_step_attention, "_root_of_lengths", lambda layout, state: root(layout, state).max())


@pytest.mark.parametrize(
    ("plant", "law"),
    [
        (positions_by_arange, lambda: _padding("transformer-2017", LEFT)),
        (positions_by_arange, lambda: _padding("bert-like", LEFT)),
        (state_stores_padding, lambda: _parts("convolution-causal")),
        (state_stores_padding, lambda: _parts("hybrid-decoder")),
        (mask_off_by_one, lambda: _future("attention-causal")),
        (mask_off_by_one, lambda: _future("transformer-2017")),
        (mask_of_strict_past, lambda: _parts("attention-causal")),
        (ends_forgotten, lambda: _padding("attention", RIGHT)),
        (ends_forgotten, lambda: _padding("cross", RIGHT)),
        (cache_by_the_batch, lambda: _parts("attention-causal")),
        (state_runs_on, lambda: _parts("lstm-causal")),
        (flipped_by_the_batch, lambda: _padding("lstm-both", RIGHT)),
        (memory_leaks, lambda: _padding("gated-linear-causal", PACKED)),
        (edges_forgotten, lambda: _padding("convolution", PACKED)),
        (neighbours_compete, lambda: _padding("hybrid-decoder", PACKED)),
        (gradient_forgets_padding, lambda: _paths("attention-additive")),
        (patches_cut_across_padding, lambda: _padding("patch-numbers", LEFT)),
        (patches_cut_across_padding, lambda: _padding("patches-to-tokens", LEFT)),
        (patches_never_end, lambda: _padding("patch-classifier", PACKED)),
        (patches_never_end, lambda: _paths("patches-to-tokens")),
        (rows_stay, lambda: _reordering("gru-causal")),
        (forks_read_their_own, lambda: _forking("attention-causal")),
        (forks_read_all, lambda: _forking("attention-causal")),
        (memories_stay_where_they_are, lambda: _reordering("cross")),
        (joined_rows_are_even, lambda: _joining("attention-causal")),
        (joined_rows_are_even, lambda: _joining("cross")),
        (joined_rows_are_even, lambda: _joining("bahdanau-model")),
        (every_step_is_the_first, lambda: _parts("aligned")),
        (every_step_is_the_first, lambda: _parts("bytenet-like")),
        (the_longest_unfolds_for_all, lambda: _padding("bytenet-like", PACKED)),
        (the_batch_decides_the_scale, lambda: _padding("multi-step", PACKED)),
        (the_batch_decides_the_scale, lambda: _padding("convs2s-like", RIGHT)),
    ],
    ids=lambda value: value.__name__ if value.__name__ != "<lambda>" else "",
)
def test_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], law: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    law()  # holds as long as nothing is planted
    plant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        law()


class Wasteful(Mixer):
    """Sees everything, and says that it is causal."""

    causal = True

    def start(self, rows: int, memory: Any = None, capacity: int | None = None) -> Any:
        return None

    def forward(self, x: Tensor, layout: Layout, state: Any = None) -> tuple[Tensor, Any]:
        return layout.unpad(layout.pad(x).cumsum(1).flip(1)), state


def test_a_mixer_of_ones_own_is_judged_too() -> None:
    from tests.laws.subject import mixer_subject

    case = Case("wasteful", lambda seed, dtype: mixer_subject(Wasteful(), 8, seed, dtype))
    subject = case.make(0, torch.float64)
    with pytest.raises(AssertionError):
        laws.future_changes_nothing(subject, subject.rows([5], [1]), PACKED, [2])
