"""Models of each family, made of all kinds of mixers: every law holds for them too."""

from seqloom.models.sizes import Sizes

WIDTH = 8

SMALL_DENSE = {"kind": "dense", "width": 12, "activation": "gelu"}
HEADS = {"kind": "attention", "heads": 2}

BASE: dict[str, object] = {"width": WIDTH, "depth": 2}

SETTINGS: dict[str, dict[str, object]] = {
    "transformer-2017": {
        **BASE,
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "norm": {"kind": "layer", "place": "post"},
        "positions": {"kind": "sinusoidal"},
        "input": {"kind": "tokens", "scale": True},
        "tie": "all",
    },
    "convs2s-like": {
        **BASE,
        "mixer": {"kind": "convolution", "gated": True, "weight_norm": True},
        "widths": [6, 10],
        "cross": {"kind": "multi-step"},
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "none"},
        "residual": {"kind": "add", "scale": 0.5**0.5},
        "positions": {"kind": "learned", "length": 30},
        "output": {"kind": "tokens", "narrow": 5, "bias": True},
    },
    "bytenet-like": {
        **BASE,
        "mixer": [
            {"kind": "bottleneck-convolution", "hidden": 5},
            {"kind": "bottleneck-convolution", "hidden": 5, "dilation": 2},
        ],
        "cross": [{"kind": "aligned", "project": False}, {"kind": "none"}],
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "layer", "place": "pre"},
        "unfold": {"times": 2.0, "more": 1},
    },
    "widths-of-all-kinds": {
        **BASE,
        "depth": 3,
        "widths": [6, 8, 10],
        "encoder": {"mixer": [HEADS, {"kind": "recurrence", "direction": "both"}, {"kind": "convolution"}]},
        "decoder": {
            "mixer": [{"kind": "recurrence"}, HEADS, {"kind": "convolution"}],
            "cross": [HEADS, {"kind": "bottleneck"}, {"kind": "aligned"}],
        },
        "feed_forward": SMALL_DENSE,
        "norm": {"kind": "rms", "place": "both"},
        "positions": {"kind": "sinusoidal"},
        "tie": "all",
    },
    "rnn-bottleneck": {
        **BASE,
        "encoder": {"mixer": {"kind": "recurrence", "direction": "both"}},
        "decoder": {
            "mixer": {"kind": "recurrence", "initial": "memory", "summary": "ends"},
            "cross": {"kind": "bottleneck"},
        },
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "none"},
        "residual": {"kind": "none"},
    },
    "sutskever-like": {
        **BASE,
        "depth": 1,
        "encoder": {"mixer": {"kind": "recurrence", "depth": 2}},
        "decoder": {"mixer": {"kind": "recurrence", "depth": 2, "initial": "layers"}},
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "none"},
        "residual": {"kind": "none"},
    },
    "luong-like": {
        **BASE,
        "encoder": {"mixer": {"kind": "recurrence", "cell": "gru"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "cell": "gru", "initial": "layers"}},
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "none"},
        "residual": {"kind": "none"},
    },
    "bahdanau-model": {
        **BASE,
        "depth": 1,
        "encoder": {"mixer": {"kind": "recurrence", "cell": "gru", "direction": "both"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "form": "bahdanau", "cell": "gru"}},
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "none"},
        "residual": {"kind": "none"},
    },
    "llama-like": {
        **BASE,
        "family": "decoder-only",
        "mixer": {"kind": "attention", "heads": 2, "key_heads": 1, "bias": False, "relative": {"kind": "rotary"}},
        "feed_forward": {"kind": "dense", "width": 12, "activation": "silu", "gated": True, "bias": False},
        "norm": {"kind": "rms"},
    },
    "hybrid-decoder": {
        **BASE,
        "family": "decoder-only",
        "depth": 3,
        "mixer": [
            {"kind": "gated-linear", "heads": 2},
            {"kind": "attention", "heads": 2, "window": 3},
            {"kind": "convolution"},
        ],
        "feed_forward": {"kind": "experts", "experts": 4, "width": 6},
        "norm": {"kind": "rms", "place": "both"},
        "positions": {"kind": "sinusoidal", "join": "concat", "width": 4},
    },
    "dmca-decoder": {
        **BASE,
        "family": "decoder-only",
        "mixer": [{"kind": "attention", "heads": 2, "block": 3}, {"kind": "memory-compressed", "heads": 2}],
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "sinusoidal"},
    },
    "t5-like": {
        **BASE,
        "mixer": {
            "kind": "attention",
            "heads": 2,
            "score": "dot",
            "bias": False,
            "relative": {"kind": "t5", "buckets": 8},
        },
        "feed_forward": {"kind": "dense", "width": 12, "bias": False},
        "norm": {"kind": "rms"},
        "tie": "output",
        "output": {"kind": "tokens", "scale": True},
    },
    "bert-like": {
        **BASE,
        "family": "encoder-only",
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "norm": {"kind": "layer", "place": "post"},
        "positions": {"kind": "learned", "length": 30},
        "input": {"kind": "tokens", "segments": 2, "norm": True},
        "output": {"kind": "tokens", "bias": True, "transform": "gelu"},
        "tie": "all",
    },
    "batch-normed-tagger": {
        **BASE,
        "family": "encoder-only",
        "mixer": [{"kind": "convolution"}, {"kind": "gated-linear", "heads": 2}],
        "feed_forward": SMALL_DENSE,
        "norm": {"kind": "batch"},
        "positions": {"kind": "learned", "length": 30, "join": "concat", "width": 3},
        "output": {"kind": "tags"},
    },
}

# models of readings, one by one or in patches
READINGS: dict[str, dict[str, object]] = {
    "forecaster": {
        **BASE,
        "family": "decoder-only",
        "mixer": [{"kind": "attention", "heads": 2, "relative": {"kind": "rotary"}}, {"kind": "recurrence"}],
        "feed_forward": SMALL_DENSE,
        "input": {"kind": "vectors", "norm": True},
        "output": {"kind": "numbers", "quantiles": (0.1, 0.5, 0.9)},
    },
    "series-to-series": {
        **BASE,
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "sinusoidal"},
        "input": {"kind": "vectors"},
        "output": {"kind": "numbers"},
    },
    "series-classifier": {
        **BASE,
        "family": "encoder-only",
        "mixer": [{"kind": "convolution"}, {"kind": "recurrence", "cell": "gru", "direction": "both"}],
        "feed_forward": {"kind": "none"},
        "norm": {"kind": "batch"},
        "input": {"kind": "vectors"},
        "output": {"kind": "classes", "pool": "attention"},
    },
    "patch-numbers": {
        **BASE,
        "family": "encoder-only",
        "mixer": [HEADS, {"kind": "gated-linear", "heads": 2}],
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "learned", "length": 30},
        "input": {"kind": "patches", "length": 2, "norm": True},
        "output": {"kind": "numbers"},
    },
    "patch-classifier": {
        **BASE,
        "family": "encoder-only",
        "mixer": [{"kind": "convolution"}, HEADS],
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "sinusoidal", "join": "concat", "width": 4},
        "input": {"kind": "patches", "length": 3},
        "output": {"kind": "classes", "pool": ("max", "mean")},
    },
    "patch-horizon": {
        **BASE,
        "family": "encoder-only",
        "mixer": [HEADS, {"kind": "recurrence", "direction": "both"}],
        "feed_forward": SMALL_DENSE,
        "norm": {"kind": "batch", "place": "post"},
        "positions": {"kind": "learned", "length": 30},
        "input": {"kind": "patches", "length": 4, "stride": 2, "fill": "last"},
        "output": {"kind": "horizon", "quantiles": (0.1, 0.5, 0.9)},
    },
    "patch-horizon-in-patches": {
        **BASE,
        "family": "encoder-only",
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "input": {"kind": "patches", "length": 4},
        "output": {"kind": "horizon", "pool": "patches", "patch": 3, "quantiles": (0.5,)},
    },
    "step-horizon": {
        **BASE,
        "family": "encoder-only",
        "mixer": [{"kind": "convolution"}, {"kind": "gated-linear", "heads": 2}],
        "feed_forward": SMALL_DENSE,
        "input": {"kind": "vectors"},
        "output": {"kind": "horizon", "pool": "last"},
    },
    "vit-like": {
        **BASE,
        "family": "encoder-only",
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "learned", "length": 30},
        "input": {"kind": "images", "patch": 2, "columns": 2, "channels": 1},
        "output": {"kind": "classes"},
    },
    "spelled-tagger": {
        **BASE,
        "family": "encoder-only",
        "mixer": [{"kind": "recurrence", "cell": "lstm", "direction": "both"}, HEADS],
        "feed_forward": {"kind": "none"},
        "positions": {"kind": "sinusoidal"},
        "input": {"kind": "spelled", "letters": 6, "norm": True},
        "output": {"kind": "tags"},
    },
    "spelled-by-convolution": {
        **BASE,
        "family": "encoder-only",
        "mixer": HEADS,
        "feed_forward": SMALL_DENSE,
        "input": {"kind": "spelled", "letters": 4, "reader": {"kind": "convolution", "kernel": 3}},
        "output": {"kind": "tags", "chain": True},
    },
    "patches-to-tokens": {
        **BASE,
        "encoder": {"mixer": {"kind": "recurrence", "direction": "both"}},
        "decoder": {"mixer": [HEADS, {"kind": "convolution"}], "cross": [HEADS, {"kind": "bottleneck"}]},
        "feed_forward": SMALL_DENSE,
        "positions": {"kind": "sinusoidal"},
        "input": {"kind": "patches", "length": 2},
        "tie": "output",
    },
}


def sizes_of(name: str) -> Sizes:
    """One vocabulary, which can be tied; or three readings a step, five of what is written, of at most 30 steps."""
    return Sizes(11, 11) if name in SETTINGS else Sizes(3, 5, 30)
