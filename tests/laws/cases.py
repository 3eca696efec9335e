"""The list that a new mixer joins to inherit every law; and the models of `model_cases.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from seqloom.layers.aligned import Aligned
from seqloom.layers.attention import Attention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence, StepAttention
from seqloom.layers.bottleneck import Bottleneck
from seqloom.layers.bottleneck_convolution import BottleneckConvolution
from seqloom.layers.convolution import Convolution
from seqloom.layers.cross_attention import CrossAttention
from seqloom.layers.gated_linear import GatedLinear
from seqloom.layers.memory_compressed import MemoryCompressed
from seqloom.layers.mixers import CrossSettings, MixerSettings, build_cross, build_mixer
from seqloom.layers.multi_step_attention import MultiStep
from seqloom.layers.positions import T5, Alibi, Music, Rotary, Shaw
from seqloom.layers.recurrence import Recurrence
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from tests.laws.model_cases import READINGS, SETTINGS, WIDTH, sizes_of
from tests.laws.subject import Subject, mixer_subject, model_subject

M = TypeVar("M", bound=torch.nn.Module)

BOTH: dict[str, MixerSettings] = {
    "attention": Attention(heads=2),
    "attention-dot-one-head": Attention(heads=1, score="dot"),
    "attention-multiplicative": Attention(heads=2, score="multiplicative", bias=False),
    "attention-additive": Attention(heads=2, score="additive"),
    "attention-parameter-free": Attention(heads=1, score="dot", project=False, output=False),
    "attention-unprojected-additive": Attention(heads=2, score="additive", project=False),
    "attention-leaky-additive": Attention(heads=2, score="leaky-additive"),
    "attention-graph": Attention(
        heads=2, score="leaky-additive", project=False, output=False, input_dropout=0.5, output_activation="elu"
    ),
    "attention-multi-query": Attention(heads=4, key_heads=1),
    "attention-grouped-query": Attention(heads=4, key_heads=2, head_width=3, output_bias=False),
    "attention-grouped-additive": Attention(heads=4, key_heads=2, score="additive"),
    "attention-qk-norm": Attention(heads=2, qk_norm=True, activation="tanh"),
    "attention-window": Attention(heads=2, window=2),
    "attention-window-one": Attention(heads=2, window=1),
    "attention-block": Attention(heads=2, block=3),
    "attention-shaw": Attention(heads=2, relative=Shaw(distance=2)),
    "attention-shaw-keys-only": Attention(heads=4, key_heads=2, relative=Shaw(distance=2, values=False)),
    "attention-music": Attention(heads=2, relative=Music(distance=3)),
    "attention-music-long": Attention(heads=2, relative=Music(distance=20)),
    "attention-t5": Attention(heads=2, score="dot", relative=T5(buckets=8, distance=6)),
    "attention-alibi": Attention(heads=2, relative=Alibi()),
    "attention-alibi-window": Attention(heads=2, window=3, relative=Alibi()),
    "attention-rotary": Attention(heads=2, relative=Rotary()),
    "attention-rotary-interleaved": Attention(heads=2, relative=Rotary(order="interleaved", fraction=0.5), window=3),
    "memory-compressed": MemoryCompressed(heads=2, factor=3),
    "memory-compressed-additive": MemoryCompressed(heads=2, key_heads=1, factor=2, score="additive"),
    "memory-compressed-one": MemoryCompressed(heads=2, factor=1),
    "elman": Recurrence(cell="elman"),
    "gru": Recurrence(cell="gru", hidden=5),
    "lstm": Recurrence(cell="lstm"),
    "lstm-deep": Recurrence(depth=3, hidden=(5, 5, 5), residual=2),
    "lstm-projected": Recurrence(depth=2, hidden=11, projection=True, residual=2),
    "gru-fast-forward": Recurrence(cell="gru", depth=3, fast_forward=True),
    "convolution": Convolution(kernel=3),
    "convolution-dilated": Convolution(kernel=3, dilation=2, activation="tanh"),
    "convolution-gated": Convolution(kernel=5, gated=True, bias=False),
    "convolution-depthwise": Convolution(kernel=3, depthwise=True),
    "convolution-depthwise-gated": Convolution(kernel=3, dilation=2, depthwise=True, gated=True),
    "convolution-one": Convolution(kernel=1),
    "convolution-weight-norm": Convolution(kernel=3, gated=True, weight_norm=True),
    "bottleneck-convolution": BottleneckConvolution(kernel=3, dilation=2),
    "bottleneck-convolution-wide": BottleneckConvolution(kernel=5, hidden=11, activation="gelu"),
    "gated-linear": GatedLinear(heads=2),
}

NOT_CAUSAL: dict[str, MixerSettings] = {
    "lstm-both": Recurrence(cell="lstm", direction="both"),
    "gru-both-sum": Recurrence(cell="gru", direction="both", join="sum"),
    "elman-backward": Recurrence(cell="elman", direction="backward"),
    "lstm-gnmt": Recurrence(depth=4, direction=("both", "forward", "forward", "forward"), hidden=8, residual=3),
    "lstm-interleaved": Recurrence(depth=3, direction="interleaved", hidden=4, fast_forward=True),
    "gru-interleaved-sum": Recurrence(cell="gru", depth=2, direction="interleaved", join="sum", residual=2),
    "elman-both-fast-forward": Recurrence(cell="elman", depth=2, direction="both", fast_forward=True),
}

WITH_MEMORY: dict[str, MixerSettings] = {
    "gru-from-memory": Recurrence(cell="gru", initial="memory"),
    "lstm-from-memory": Recurrence(cell="lstm", initial="memory", summary="ends"),
    "gru-deep-from-memory": Recurrence(cell="gru", depth=2, initial="memory"),
    "luong": AttentiveRecurrence(cell="lstm", depth=2),
    "luong-unfed": AttentiveRecurrence(feed=False, cell="gru", summary="mean"),
    "luong-multiplicative": AttentiveRecurrence(
        cell="elman", initial="zeros", attention=StepAttention(score="multiplicative", output=True)
    ),
    "bahdanau": AttentiveRecurrence(
        form="bahdanau",
        cell="gru",
        attention=StepAttention(score="additive"),
    ),
    "bahdanau-deep": AttentiveRecurrence(form="bahdanau", depth=3, told="all", residual=3, fast_forward=True),
    "bahdanau-projected": AttentiveRecurrence(
        form="bahdanau", depth=2, asks="bottom", hidden=11, projection=True, fast_forward=True
    ),
    "gnmt-decoder": AttentiveRecurrence(
        form="bahdanau",
        depth=4,
        asks="bottom",
        told="all",
        output="state",
        residual=3,
        initial="zeros",
        attention=StepAttention(score="additive"),
    ),
}

CROSS: dict[str, CrossSettings] = {
    "cross": CrossAttention(heads=2),
    "cross-additive": CrossAttention(heads=1, score="additive", project=False),
    "cross-multiplicative": CrossAttention(heads=2, key_heads=1, score="multiplicative"),
    "cross-dot": CrossAttention(heads=1, score="dot", project=False, output=False),
    "bottleneck": Bottleneck(),
    "bottleneck-ends": Bottleneck(summary="ends"),
    "bottleneck-first": Bottleneck(summary="first"),
    "bottleneck-mean": Bottleneck(summary="mean"),
    "multi-step": MultiStep(),
    "multi-step-plain": MultiStep(weight_norm=False),
    "aligned": Aligned(),
}


@dataclass(frozen=True)
class Case:
    """Makes the same subject for the same seed."""

    name: str
    make: Callable[[int, torch.dtype], Subject]
    set_like: bool = False  # knows no order: law 6 holds

    def __repr__(self) -> str:
        return self.name


def _mixer(settings: MixerSettings, causal: bool) -> Callable[[int, torch.dtype], Subject]:
    def make(seed: int, dtype: torch.dtype) -> Subject:
        torch.manual_seed(seed)
        return mixer_subject(stirred(build_mixer(settings, WIDTH, causal)), WIDTH, seed, dtype)

    return make


def _cross(settings: CrossSettings) -> Callable[[int, torch.dtype], Subject]:
    def make(seed: int, dtype: torch.dtype) -> Subject:
        torch.manual_seed(seed)
        mixer = build_cross(settings, WIDTH)
        assert mixer is not None
        return mixer_subject(stirred(mixer), WIDTH, seed, dtype)

    return make


def stirred(module: M, most: float = 0.3) -> M:
    """No parameter or statistic at a special value: a zero or a one could hide a fault. most: less for wide models,
    whose attention would else look at one step alone."""
    with torch.no_grad():
        for tensor in {id(tensor): tensor for tensor in module.state_dict().values()}.values():
            tensor.add_(torch.rand_like(tensor) * most)
    return module


def _model(name: str) -> Callable[[int, torch.dtype], Subject]:
    settings, sizes = ModelSettings.model_validate((SETTINGS | READINGS)[name]), sizes_of(name)

    def make(seed: int, dtype: torch.dtype) -> Subject:
        torch.manual_seed(seed)
        return model_subject(stirred(build_model(settings, sizes)), seed, dtype)

    return make


def _orderless(settings: MixerSettings) -> bool:
    return isinstance(settings, Attention) and not (settings.window or settings.block or settings.relative)


MIXERS: list[Case] = [
    *(Case(f"{name}-causal", _mixer(settings, True)) for name, settings in BOTH.items()),
    *(Case(name, _mixer(settings, False), _orderless(settings)) for name, settings in (BOTH | NOT_CAUSAL).items()),
    *(Case(name, _mixer(settings, True)) for name, settings in WITH_MEMORY.items()),
    *(Case(name, _cross(settings), not isinstance(settings, Aligned)) for name, settings in CROSS.items()),
]

MODELS: list[Case] = [Case(name, _model(name)) for name in (*SETTINGS, *READINGS)]
