"""What defines the Transformers among the recipes."""

import pytest

from tests.recipes.tricks.lookup import ABSENT, Tricks, both, of

_VASWANI: Tricks = {  # Vaswani et al. 2017
    **both({"mixer.kind": "attention", "mixer.score": "scaled-dot"}),
    **both({"norm.kind": "layer", "norm.place": "post", "residual.kind": "add"}),  # section 3.1
    **both({"feed_forward.kind": "dense", "feed_forward.activation": "relu"}),
    **both({"positions.kind": "sinusoidal", "positions.join": "add"}),  # section 3.5
    "decoder.cross.kind": "attention",
    "model.input.scale": True,  # section 3.4
    "model.tie": "all",
    "training.optimiser.kind": "adam",  # section 5.3
    "training.optimiser.betas": (0.9, 0.98),
    "training.schedule.kind": "inverse-sqrt",
    "training.smoothing": 0.1,  # section 5.4
}


def _warm(width: int) -> Tricks:
    """Its schedule, eq. 3: the peak follows from the width and 4,000 steps of warm-up."""
    return {
        "training.optimiser.rate": pytest.approx((width * 4000) ** -0.5, rel=0.01),
        "training.schedule.kind": "inverse-sqrt",
        "training.schedule.warmup": 4000,
    }


def _vaswani(width: int, dropout: float, average: int) -> Tricks:
    """Table 3; average: checkpoints, section 6.1."""
    heads = {"mixer.heads": width // 64}
    return _VASWANI | _warm(width) | both({"depth": 6, "dropout": dropout, **heads}) | {"training.average": average}


_LIU: Tricks = {  # Liu et al. 2018
    "task.kind": "translate",
    "task.learn": "all",  # section 4.2.3: source, separator and target are one text
    "text.shared": True,
    "data.too_long": "truncate",
    "model.family": "decoder-only",
    "model.input.scale": True,
    "decoder.positions.kind": "sinusoidal",
    "decoder.norm.kind": "layer",
}
_LIU_FULL = _warm(512) | {"decoder.mixer.heads": 8, "decoder.norm.place": "post", "training.smoothing": 0.1}
_D: Tricks = {"decoder.mixer.kind": "attention", "decoder.mixer.block": None, "decoder.feed_forward.kind": "dense"}


def _dmca(block: int) -> Tricks:
    """Section 4.2.4: L M L M L."""
    return {
        "decoder.mixer.kind": ["attention", "memory-compressed"] * 2 + ["attention"],
        "decoder.mixer.block": [block, ABSENT] * 2 + [block],
        "decoder.mixer.factor": [ABSENT, 3] * 2 + [ABSENT],
    }


def _experts(count: int) -> Tricks:
    """In the middle layer, kept in balance (Shazeer et al. 2017, eq. 4, 7 and 11)."""
    how = {"experts": count, "active": 2, "noise": True, "importance": 0.01, "load": 0.01}
    return {f"decoder.feed_forward.{name}": [ABSENT] * 2 + [value] + [ABSENT] * 2 for name, value in how.items()}


_DENSE: Tricks = {"decoder.feed_forward.kind": "dense"}

_BERT: Tricks = {  # Devlin et al. 2019
    "task.kind": "masked",
    "task.share": 0.15,  # section 3.1
    "task.masked": 0.8,
    "task.random": 0.1,
    "task.follows": True,
    "model.family": "encoder-only",
    "model.output.follows": True,
    "model.output.transform": "gelu",
    "model.input.segments": 2,
    "model.input.norm": True,
    "model.tie": "output",
    "encoder.mixer.kind": "attention",
    "encoder.feed_forward.activation": "gelu",  # appendix A.2
    "encoder.positions.kind": "learned",
}
_BERT_FULL = {
    "encoder.mixer.heads": 12,
    "encoder.norm.place": "post",
    "training.schedule.kind": "linear",
    "training.schedule.warmup": 10000,
    "training.optimiser.decay": 0.01,
}

_LANGUAGE: Tricks = {"task.kind": "language", "model.family": "decoder-only", "text.source.bytes": True}

_GPT = _LANGUAGE | {  # Radford et al. 2019, section 2.3
    "decoder.mixer.kind": "attention",
    "decoder.norm.kind": "layer",
    "decoder.norm.place": "pre",
    "decoder.positions.kind": "learned",
    "decoder.feed_forward.activation": "gelu-tanh",
    "model.tie": "output",
}

_GATED: Tricks = {"feed_forward.gated": True, "feed_forward.activation": "silu", "feed_forward.bias": False}
_RMS: Tricks = {"norm.kind": "rms", "norm.place": "pre"}

_LLAMA = _LANGUAGE | {  # Touvron et al. 2023, section 2.2
    **of("decoder", _GATED | _RMS),
    "decoder.mixer.relative.kind": "rotary",
    "decoder.mixer.bias": False,
    "decoder.positions.kind": "none",
    "model.tie": "none",
}
_LINEAR = ["gated-linear"]
_HYBRID = _LANGUAGE | of("decoder", _GATED | _RMS) | {"decoder.positions.kind": "none"}

_MUSIC: Tricks = {  # Huang et al. 2018
    "task.kind": "music",
    "task.transpose": 3,
    "task.stretch": 0.05,
    "model.family": "decoder-only",
    "decoder.mixer.relative.kind": "music",
    "decoder.positions.kind": "sinusoidal",
}

_T5: Tricks = {  # Raffel et al. 2020, section 2.1
    **both({"mixer.relative.kind": "t5", "mixer.relative.buckets": 32, "mixer.relative.shared": True}),
    **both({"mixer.score": "dot", "mixer.bias": False, "positions.kind": "none"}),
    **both({**_RMS, "feed_forward.bias": False, "feed_forward.activation": "relu"}),
    "text.source.kind": "unigram",
    "model.tie": "all",
    "model.output.scale": True,
    "training.schedule.kind": "inverse-sqrt",
}

_MODERN: Tricks = {
    **both({"mixer.relative.kind": "rotary", "mixer.bias": False, **_GATED, "positions.kind": "sinusoidal"}),
    "model.tie": "all",
    "training.optimiser.kind": "muon",
    "training.schedule.kind": "warmup-stable-decay",
    "training.smoothing": 0.1,
}

_VIT: Tricks = {  # Dosovitskiy et al. 2021, section 3.1
    "task.kind": "classify",
    "task.reads": "series",
    "model.family": "encoder-only",
    "model.input.kind": "images",
    "model.output.kind": "classes",
    "model.output.pool": "mean",  # appendix D.3
    "encoder.mixer.kind": "attention",
    "encoder.positions.kind": "learned",
    "encoder.norm.kind": "layer",
    "encoder.norm.place": "pre",
    "encoder.feed_forward.activation": "gelu",
    "training.optimiser.kind": "adamw",
}

TRANSFORMERS = {
    "transformer-base": _vaswani(512, 0.1, 5),
    "transformer-big": _vaswani(1024, 0.3, 20),
    "transformer-base-small": _VASWANI | {"training.schedule.warmup": 400, "training.average": 3},
    "transformer-big-small": _VASWANI | {"model.dropout": 0.3, "training.schedule.warmup": 400, "training.average": 5},
    "transformer-decoder": _LIU | _LIU_FULL | _D | {"data.longest_source": 4000},
    "transformer-decoder-small": _LIU | _D,
    "transformer-dmca": _LIU | _LIU_FULL | _dmca(256) | _DENSE | {"data.longest_source": 11000},
    "transformer-dmca-small": _LIU | _dmca(32) | _DENSE,
    "transformer-dmca-moe": _LIU | _LIU_FULL | _dmca(256) | _experts(128) | {"data.longest_source": 11000},
    "transformer-dmca-moe-small": _LIU | _dmca(32) | _experts(16),
    "bert": _BERT | _BERT_FULL,
    "bert-small": _BERT,
    "gpt": _GPT | {"decoder.mixer.heads": 12},
    "gpt-small": _GPT,
    "llama-style": _LLAMA | {"decoder.mixer.heads": 32, "decoder.mixer.key_heads": 4},  # grouped queries
    "llama-style-small": _LLAMA | {"decoder.mixer.heads": 6, "decoder.mixer.key_heads": 2},
    "hybrid": _HYBRID | {"decoder.mixer.kind": [*_LINEAR * 4, "attention", *_LINEAR] * 2},
    "hybrid-small": _HYBRID | {"decoder.mixer.kind": [*_LINEAR * 2, "attention", *_LINEAR]},
    "music-transformer": _MUSIC | {"decoder.mixer.relative.distance": 1024},  # half of the context
    "music-transformer-small": _MUSIC | {"decoder.mixer.relative.distance": 128},
    "t5-style": _T5 | both({"mixer.relative.distance": 128}),
    "t5-style-small": _T5 | both({"mixer.relative.distance": 64}),
    "transformer-modern": _MODERN | both({"mixer.qk_norm": True, **_RMS}) | {"training.ema.decay": 0.999},
    # of three layers and a few minutes, as was measured
    "transformer-modern-small": _MODERN
    | both({"mixer.qk_norm": False, "norm.place": "post"})
    | {"training.ema.decay": 0.99},
    "vit": _VIT | {"encoder.mixer.heads": 12, "model.input.patch": 16, "training.schedule.warmup": 10000},
    "vit-small": _VIT | {"model.input.patch": 2},
}
